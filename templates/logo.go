package templates

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"image/png"
	"io"
	"strconv"
	"strings"
)

// logo is a logo that was checked.
type logo struct {
	kind          string // its media type
	body          []byte
	width, height float64
}

// wide reports whether a logo contains the name of the brand: a mark is about as wide as it is high.
func (l *logo) wide() bool { return l.width > 2*l.height }

const (
	// MostLogo is the size of the largest logo, in bytes.
	MostLogo = 128 << 10
	// mostPixels is the largest width and height of a PNG.
	mostPixels = 2048
)

// readLogo checks a logo. It is an SVG without scripts that loads nothing, or a PNG.
func readLogo(body []byte) (*logo, error) {
	if len(body) > MostLogo {
		return nil, fmt.Errorf("is larger than %d KiB", MostLogo>>10)
	}
	l := &logo{kind: "image/png", body: body}
	var err error
	if bytes.HasPrefix(body, []byte("\x89PNG\r\n\x1a\n")) {
		err = l.readPNG()
	} else {
		l.kind = svgType
		err = l.readSVG()
	}
	if err == nil && (l.width <= 0 || l.height <= 0) {
		err = errors.New("has no size: give the SVG a viewBox")
	}
	return l, err
}

func (l *logo) readPNG() error {
	size, err := png.DecodeConfig(bytes.NewReader(l.body))
	if err == nil && (size.Width > mostPixels || size.Height > mostPixels) {
		return fmt.Errorf("has more than %d pixels on one side", mostPixels)
	}
	if err == nil {
		_, err = png.Decode(bytes.NewReader(l.body))
	}
	if err != nil {
		return fmt.Errorf("is not a PNG that can be read: %w", err)
	}
	l.width, l.height = float64(size.Width), float64(size.Height)
	return nil
}

// readSVG reads the whole file. A browser runs no script of a picture, but somebody may open the file alone.
func (l *logo) readSVG() error {
	const namespace = "http://www.w3.org/2000/svg"
	d := xml.NewDecoder(bytes.NewReader(l.body))
	inStyle, rooted := false, false
	for depth := 0; ; {
		token, err := d.Token()
		if err == io.EOF && rooted {
			return nil
		}
		if err != nil {
			return fmt.Errorf("is neither a PNG nor an SVG that can be read: %w", err)
		}
		switch t := token.(type) {
		case xml.Directive:
			return errors.New("contains a document type, which an SVG does not need: remove it")
		case xml.ProcInst:
			if t.Target != "xml" {
				return errors.New("contains a processing instruction: remove it")
			}
		case xml.StartElement:
			if depth == 0 {
				if t.Name.Local != "svg" || t.Name.Space != namespace {
					return errors.New("is neither a PNG nor an SVG: its first element is not svg")
				}
				rooted = true
				l.width, l.height = svgSize(t.Attr)
			}
			err = checkElement(t)
			if err != nil {
				return err
			}
			inStyle = strings.EqualFold(t.Name.Local, "style")
			depth++
		case xml.EndElement:
			inStyle = false
			depth--
		case xml.CharData:
			if inStyle && loads(string(t)) {
				return errors.New("loads something in a style: embed it, or remove it")
			}
		}
	}
}

// checkElement refuses what runs, and what loads something.
func checkElement(e xml.StartElement) error {
	switch strings.ToLower(e.Name.Local) {
	case "script", "foreignobject", "iframe", "object", "embed", "audio", "video", "handler", "listener":
		return fmt.Errorf("contains the element %s: remove it", e.Name.Local)
	}
	for _, a := range e.Attr {
		name, value := strings.ToLower(a.Name.Local), strings.TrimSpace(a.Value)
		switch {
		case strings.HasPrefix(name, "on"):
			return fmt.Errorf("contains the script %s: remove it", a.Name.Local)
		case name == "href" && !strings.HasPrefix(value, "#") && !strings.HasPrefix(strings.ToLower(value), "data:image/"),
			name == "src":
			return errors.New("links to something outside of it: embed it, or remove it")
		case a.Name.Space != "xmlns" && a.Name.Local != "xmlns" && loads(value):
			return errors.New("loads something in a style: embed it, or remove it")
		}
	}
	return nil
}

// loads reports whether a style loads something. A reference to a part of the same file loads nothing.
func loads(style string) bool {
	style = strings.ToLower(style)
	if strings.Contains(style, "@import") || strings.Contains(style, `\`) {
		return true
	}
	for _, part := range strings.Split(style, "url(")[1:] {
		part = strings.TrimLeft(part, " \t\n\r\"'")
		if !strings.HasPrefix(part, "#") && !strings.HasPrefix(part, "data:image/") {
			return true
		}
	}
	return false
}

// svgSize returns the size of a drawing, whose unit does not matter. It is 0 if it is not known.
func svgSize(attributes []xml.Attr) (width, height float64) {
	number := func(text string) float64 {
		n, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), "px"), 64)
		if err != nil || n > 1e6 {
			return 0
		}
		return n
	}
	for _, a := range attributes {
		switch a.Name.Local {
		case "viewBox":
			box := strings.Fields(strings.ReplaceAll(a.Value, ",", " "))
			if len(box) == 4 {
				return number(box[2]), number(box[3])
			}
		case "width":
			width = number(a.Value)
		case "height":
			height = number(a.Value)
		}
	}
	return width, height
}
