package logo

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"
)

var (
	red   = color.NRGBA{200, 0, 0, 255}
	white = color.NRGBA{255, 255, 255, 255}
	black = color.NRGBA{0, 0, 0, 255}
)

// plain returns an image of one colour.
func plain(width, height int, c color.Color) image.Image {
	i := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			i.Set(x, y, c)
		}
	}
	return i
}

// half returns an image of which the left half is transparent.
func half(side int, c color.Color) image.Image {
	i := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := side / 2; x < side; x++ {
			i.Set(x, y, c)
		}
	}
	return i
}

func asPNG(t testing.TB, i image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	err := png.Encode(&b, i)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func asJPEG(t testing.TB, i image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	err := jpeg.Encode(&b, i, nil)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// asGIF returns an animation.
func asGIF(t testing.TB, frames ...image.Image) []byte {
	t.Helper()
	g := &gif.GIF{}
	for _, f := range frames {
		i := image.NewPaletted(f.Bounds(), color.Palette{red, white, black})
		for y := range f.Bounds().Dy() {
			for x := range f.Bounds().Dx() {
				i.Set(x, y, f.At(x, y))
			}
		}
		g.Image, g.Delay = append(g.Image, i), append(g.Delay, 10)
	}
	var b bytes.Buffer
	err := gif.EncodeAll(&b, g)
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func file(t testing.TB, name string) []byte {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// shown decodes what Read returns.
func shown(t *testing.T, contentType string, body []byte) image.Image {
	t.Helper()
	written, err := Read(contentType, body)
	if err != nil {
		t.Fatal(err)
	}
	i, err := png.Decode(bytes.NewReader(written))
	if err != nil {
		t.Fatal(err)
	}
	if i.Bounds() != image.Rect(0, 0, Side, Side) || !isOpaque(i) {
		t.Errorf("bounds %v, opaque %v", i.Bounds(), isOpaque(i))
	}
	return i
}

// near reports whether two colours are the same, but for what a lossy format changes.
func near(a, b color.Color) bool {
	x, y := color.NRGBAModel.Convert(a).(color.NRGBA), color.NRGBAModel.Convert(b).(color.NRGBA)
	differs := func(a, b uint8) bool { return max(a, b)-min(a, b) > 20 }
	return !differs(x.R, y.R) && !differs(x.G, y.G) && !differs(x.B, y.B)
}

func TestFormats(t *testing.T) {
	for contentType, body := range map[string][]byte{
		"image/png":                  asPNG(t, plain(300, 300, red)),
		"image/jpeg":                 asJPEG(t, plain(300, 300, red)),
		"IMAGE/GIF":                  asGIF(t, plain(300, 300, red), plain(300, 300, black)),
		"image/webp; charset=binary": file(t, "lossy.webp"),
		"image/webp":                 file(t, "lossless.webp"),
	} {
		i := shown(t, contentType, body)
		for _, at := range []image.Point{{0, 0}, {48, 48}, {95, 95}} {
			if c := i.At(at.X, at.Y); !near(c, red) {
				t.Errorf("%s: %v at %v, want red", contentType, c, at)
			}
		}
	}
}

func TestProportions(t *testing.T) {
	for _, test := range []struct {
		name          string
		width, height int
		inside, out   image.Point
	}{
		{"wide", 1024, 128, image.Pt(2, 48), image.Pt(48, 38)},
		{"very wide", 1024, 1, image.Pt(2, 47), image.Pt(48, 45)},
		{"high", 64, 640, image.Pt(48, 2), image.Pt(38, 48)},
		{"small", 16, 16, image.Pt(48, 48), image.Pt(38, 38)},
	} {
		i := shown(t, "image/png", asPNG(t, plain(test.width, test.height, red)))
		if !near(i.At(test.inside.X, test.inside.Y), red) || !near(i.At(test.out.X, test.out.Y), white) {
			t.Errorf("%s: %v inside and %v outside", test.name, i.At(test.inside.X, test.inside.Y), i.At(test.out.X, test.out.Y))
		}
	}
}

// A logo with transparent parts stands on a ground on which it can be seen, also on a dark
// page.
func TestTransparent(t *testing.T) {
	for name, test := range map[string]struct{ logo, ground color.Color }{
		"dark":  {black, white},
		"light": {white, color.NRGBA{32, 32, 32, 255}},
		"red":   {red, white},
	} {
		i := shown(t, "image/png", asPNG(t, half(200, test.logo)))
		if left, right := i.At(20, 48), i.At(75, 48); !near(left, test.ground) || !near(right, test.logo) {
			t.Errorf("%s: %v on %v", name, right, left)
		}
		if edge := i.At(95, 48); !near(edge, test.ground) {
			t.Errorf("%s: no margin, but %v", name, edge)
		}
	}
	// Nothing can be seen of it.
	shown(t, "image/png", asPNG(t, image.NewNRGBA(image.Rect(0, 0, 10, 10))))
}

// bomb returns a PNG whose header promises more pixels than its data has.
func bomb(width, height uint32) []byte {
	header := append([]byte("IHDR"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, width), height)...)
	header = append(header, 8, 6, 0, 0, 0)
	b := binary.BigEndian.AppendUint32([]byte("\x89PNG\r\n\x1a\n"), uint32(len(header)-4))
	b = append(b, header...)
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(header))
}

// scans returns a progressive JPEG with one more scan than is read. The further scans are a
// few bytes each.
func scans(t *testing.T) []byte {
	t.Helper()
	b := asJPEG(t, plain(1024, 1024, red))
	at := bytes.LastIndex(b, []byte{0xff, 0xd9})
	return append(b[:at:at], bytes.Repeat([]byte{0xff, 0xda, 0, 8, 1, 1, 0, 1, 63, 0x10, 0x7f, 0xff}, maxScans)...)
}

func TestRefused(t *testing.T) {
	good := asPNG(t, plain(300, 300, red))
	const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9"><script>alert(1)</script></svg>`
	for name, test := range map[string]struct {
		contentType string
		body        []byte
		want        string
	}{
		"nothing":                          {"image/png", nil, "header"},
		"no media type":                    {"", good, "media type"},
		"a media type that cannot be read": {"image/png;;", good, "media type"},
		"SVG":                              {"image/svg+xml", []byte(svg), "media type"},
		"SVG that claims to be PNG":        {"image/png", []byte(svg), "header"},
		"HTML":                             {"text/html", []byte("<h1>Not found</h1>"), "media type"},
		"HTML that claims to be GIF":       {"image/gif", []byte("<h1>Not found</h1>"), "header"},
		"PNG as HTML":                      {"text/html", good, "media type"},
		"PNG that claims to be JPEG":       {"image/jpeg", good, "header"},
		"a format of another program":      {"image/bmp", []byte("BM"), "media type"},
		"a truncated PNG":                  {"image/png", good[:len(good)/2], "decode"},
		"a truncated JPEG":                 {"image/jpeg", asJPEG(t, plain(300, 300, red))[:700], "decode"},
		"a truncated GIF":                  {"image/gif", asGIF(t, plain(300, 300, red))[:40], "decode"},
		"a truncated WebP":                 {"image/webp", file(t, "lossy.webp")[:60], "decode"},
		"too wide":                         {"image/png", asPNG(t, plain(1025, 1, red)), "1025 x 1 pixels"},
		"too high":                         {"image/jpeg", asJPEG(t, plain(1, 1025, red)), "1 x 1025 pixels"},
		"GIF that is too wide":             {"image/gif", asGIF(t, plain(1025, 1, red)), "1025 x 1 pixels"},
		"WebP that is too wide":            {"image/webp", file(t, "wide.webp"), "513 x 1 pixels"},
		"a bomb":                           {"image/png", bomb(60000, 60000), "60000 x 60000 pixels"},
		"many bytes": {"image/png", append(bytes.Clone(good), make([]byte, MaxBytes)...),
			"larger than"},
		"a JPEG with many scans": {"image/jpeg", scans(t), "scans"},
	} {
		got, err := Read(test.contentType, test.body)
		if err == nil || got != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %d bytes, %v, want an error with %q", name, len(got), err, test.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("image/png", asPNG(f, plain(3, 3, red)))
	f.Add("image/jpeg", asJPEG(f, plain(3, 3, red)))
	f.Add("image/gif", asGIF(f, plain(3, 3, red)))
	f.Add("image/webp", file(f, "lossy.webp"))
	f.Add("image/webp", file(f, "lossless.webp"))
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		written, err := Read(contentType, body)
		if (err == nil) == (written == nil) {
			t.Error(len(written), err)
		}
	})
}
