package totp

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"

	"rsc.io/qr"
)

var errSecret = errors.New("it is not base32")

// quiet is the white margin around a QR code, in modules (ISO/IEC 18004 §9.1).
const quiet = 4

// QR returns a picture of a text as a QR code, as the data of an SVG image (data: URL). It is always
// dark on white, because many cameras do not read the reverse. It is an error if the text is too long.
func QR(content string) (string, error) {
	picture, err := drawing(content)
	if err != nil {
		return "", err
	}
	return "data:image/svg+xml;base64," + base64.StdEncoding.EncodeToString([]byte(picture)), nil
}

// drawing returns the SVG. Each run of dark modules in a row is one rectangle of the path.
func drawing(content string) (string, error) {
	made, err := qr.Encode(content, qr.M)
	if err != nil {
		return "", fmt.Errorf("draw a QR code: %w", err)
	}
	var path strings.Builder
	for y := range made.Size {
		for x := 0; x < made.Size; {
			run := 0
			for x+run < made.Size && made.Black(x+run, y) {
				run++
			}
			if run > 0 {
				fmt.Fprintf(&path, "M%d %dh%dv1h-%dz", x+quiet, y+quiet, run, run)
			}
			x += run + 1
		}
	}
	side := made.Size + 2*quiet
	return fmt.Sprintf(
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" shape-rendering="crispEdges">`+
			`<path fill="#fff" d="M0 0h%dv%dH0z"/><path fill="#000" d="%s"/></svg>`,
		side, side, side, side, path.String()), nil
}
