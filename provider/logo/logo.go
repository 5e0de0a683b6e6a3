// Package logo makes a small picture of the logo that an application names (RFC 7591 §2). A
// stranger chose the bytes of the logo, so no browser of a person gets them: they are
// decoded within limits, and a new picture is written.
package logo

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"mime"

	"golang.org/x/image/draw"
	"golang.org/x/image/webp"
)

const (
	// MaxBytes is the greatest size of a logo.
	MaxBytes = 256 << 10
	// Side is the width and the height of the picture that Read returns, in pixels. The pages
	// show it at half the size, so that it is sharp on a dense screen.
	Side = 96
	// margin is the distance of a logo with transparent parts from the edge of the picture.
	margin = 8
)

// maxScans is the greatest number of scans of a JPEG. A usual progressive one has 10. Each
// scan may take a few bytes and pass over all pixels, so 256 KB could take minutes.
const maxScans = 40

// format is a format of images.
type format struct {
	side   int // the greatest width and height
	header func(io.Reader) (image.Config, error)
	decode func(io.Reader) (image.Image, error)
}

// formats lists the formats by media type. SVG is not one of them: it is a program. A
// lossless WebP may have one set of codes for each 16 pixels, and a set takes 2.7 KB, so
// its side is shorter.
var formats = map[string]format{
	"image/png":  {1024, png.DecodeConfig, png.Decode},
	"image/jpeg": {1024, jpeg.DecodeConfig, jpeg.Decode},
	"image/gif":  {1024, gif.DecodeConfig, gif.Decode}, // the first frame
	"image/webp": {512, webp.DecodeConfig, webp.Decode},
}

// Accept lists the media types of the formats.
const Accept = "image/png, image/jpeg, image/webp, image/gif"

// Read decodes a logo that has this media type, and returns the picture as PNG. It needs up
// to 50 MB of memory meanwhile. The picture is always a square without transparent parts, so it looks the same on a
// light and on a dark page, whatever the proportions of the logo are.
func Read(contentType string, body []byte) (written []byte, err error) {
	defer func() {
		// A decoder with a mistake must not end the process.
		if cause := recover(); cause != nil {
			err = fmt.Errorf("decode the logo: panic: %v", cause)
		}
	}()
	media, _, err := mime.ParseMediaType(contentType)
	f, known := formats[media]
	switch {
	case err != nil || !known:
		return nil, errors.New("the media type is none of " + Accept)
	case len(body) > MaxBytes:
		return nil, fmt.Errorf("the logo is larger than %d bytes", MaxBytes)
	case media == "image/jpeg" && bytes.Count(body, []byte{0xff, 0xda}) > maxScans:
		return nil, fmt.Errorf("the logo has more than %d scans", maxScans)
	}
	// The header shows the size before the pixels take memory.
	header, err := f.header(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("read the header of the logo: %w", err)
	}
	if header.Width < 1 || header.Height < 1 || header.Width > f.side || header.Height > f.side {
		return nil, fmt.Errorf("the logo has %d x %d pixels, at most %d x %d are read", header.Width, header.Height,
			f.side, f.side)
	}
	decoded, err := f.decode(bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("decode the logo: %w", err)
	}
	var out bytes.Buffer
	err = png.Encode(&out, picture(decoded))
	return out.Bytes(), err
}

// picture draws a logo in the middle of a square, scaled down if it is larger.
func picture(logo image.Image) image.Image {
	square := image.Rect(0, 0, Side, Side)
	opaque := isOpaque(logo)
	room := Side
	if !opaque {
		room -= 2 * margin
	}
	width, height := fit(logo.Bounds().Dx(), logo.Bounds().Dy(), room)
	at := image.Rect(0, 0, width, height).Add(image.Pt((Side-width)/2, (Side-height)/2))
	scaled := image.NewNRGBA(square)
	draw.CatmullRom.Scale(scaled, at, logo, logo.Bounds(), draw.Src, nil)
	ground := color.NRGBA{255, 255, 255, 255}
	if !opaque && isLight(scaled) {
		ground = color.NRGBA{32, 32, 32, 255}
	}
	whole := image.NewNRGBA(square)
	draw.Draw(whole, square, image.NewUniform(ground), image.Point{}, draw.Src)
	draw.Draw(whole, square, scaled, image.Point{}, draw.Over)
	return whole
}

// fit returns the size of a logo in a square of this side.
func fit(width, height, side int) (int, int) {
	longest := max(width, height)
	if longest <= side {
		return width, height
	}
	return max(1, width*side/longest), max(1, height*side/longest)
}

func isOpaque(i image.Image) bool {
	o, knows := i.(interface{ Opaque() bool })
	return knows && o.Opaque()
}

// isLight reports whether what can be seen of a logo is so light that it would not be seen
// on white.
func isLight(i *image.NRGBA) bool {
	var light, seen int
	for p := 0; p < len(i.Pix); p += 4 {
		alpha := int(i.Pix[p+3])
		light += alpha * (299*int(i.Pix[p]) + 587*int(i.Pix[p+1]) + 114*int(i.Pix[p+2])) / 1000
		seen += alpha
	}
	return light > seen*200
}
