package templates

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// color is a colour of the sRGB space, each part from 0 to 255.
type color struct{ r, g, b float64 }

func (c color) String() string {
	return fmt.Sprintf("#%02x%02x%02x", int(math.Round(c.r)), int(math.Round(c.g)), int(math.Round(c.b)))
}

var hexColor = regexp.MustCompile(`^#[0-9A-Fa-f]{6}$`)

func readColor(text string) (color, error) {
	if !hexColor.MatchString(text) {
		return color{}, errors.New("is not a colour: write it as # and six hexadecimal digits, such as #0d5752")
	}
	n, err := strconv.ParseUint(text[1:], 16, 32)
	return color{float64(n >> 16), float64(n >> 8 & 0xff), float64(n & 0xff)}, err
}

// toward returns the colour that is part of the way to another one.
func (c color) toward(other color, part float64) color {
	mix := func(a, b float64) float64 { return math.Round(a + (b-a)*part) }
	return color{mix(c.r, other.r), mix(c.g, other.g), mix(c.b, other.b)}
}

// luminance is the relative luminance of WCAG 2.2.
func (c color) luminance() float64 {
	linear := func(part float64) float64 {
		part /= 255
		if part <= 0.04045 {
			return part / 12.92
		}
		return math.Pow((part+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.r) + 0.7152*linear(c.g) + 0.0722*linear(c.b)
}

// contrast is the contrast ratio of WCAG 2.2.
func contrast(a, b color) float64 {
	x, y := a.luminance(), b.luminance()
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

// tokens reads the colours of the style sheet for both schemes.
func tokens(sheet string) (light, dark map[string]color, err error) {
	first, rest, found := strings.Cut(sheet, "@media (prefers-color-scheme: dark)")
	if !found {
		return nil, nil, errors.New("the style sheet has no dark scheme")
	}
	second, _, _ := strings.Cut(rest, "/* Ground */")
	read := func(css string) map[string]color {
		all := map[string]color{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): (#[0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			all[m[1]], _ = readColor(m[2])
		}
		return all
	}
	return read(first), read(second), nil
}

const (
	// readable is the least contrast of text (WCAG 2.2 §1.4.3).
	readable = 4.5
	// comfortable is the contrast of links in the dark scheme, which we choose.
	comfortable = 7
)

// grounds are the tokens of the surfaces on which links stand.
var grounds = []string{"paper", "sheet", "sunken"}

// accents are the colours of links and buttons in one scheme: as they are, under the pointer, and of the text on a
// button.
type accents struct{ accent, over, on color }

// palette is the colour of a brand in both schemes.
type palette struct{ light, dark accents }

var black, white = color{}, color{255, 255, 255}

// newPalette derives the colours of both schemes. The colour itself is that of the light scheme, so it must stand out
// from the grounds there. That of the dark scheme is lighter.
func newPalette(text string) (*palette, error) {
	c, err := readColor(text)
	if err != nil {
		return nil, err
	}
	sheet, err := static.ReadFile("static/style.css")
	if err != nil {
		return nil, err
	}
	light, dark, err := tokens(string(sheet))
	if err != nil {
		return nil, err
	}
	least := func(c color, on map[string]color) (float64, color) {
		ratio, ground := math.Inf(1), color{}
		for _, name := range grounds {
			if r := contrast(c, on[name]); r < ratio {
				ratio, ground = r, on[name]
			}
		}
		return ratio, ground
	}
	reach := func(c, to color, on map[string]color, wanted float64) color {
		for part := 0.0; part < 1; part += 0.02 {
			mixed := c.toward(to, part)
			if ratio, _ := least(mixed, on); ratio >= wanted {
				return mixed
			}
		}
		return to
	}
	if ratio, ground := least(c, light); ratio < readable {
		return nil, fmt.Errorf("has a contrast of %.2f to 1 against the background %s, and links need %.1f to 1 (WCAG 2.2 "+
			"§1.4.3): use a darker one, such as %s",
			math.Floor(ratio*100)/100, ground, readable, reach(c, black, light, readable))
	}
	p := &palette{light: accents{c, c.toward(black, 0.28), white}}
	if c.luminance() < 0.01 {
		p.light.over = c.toward(white, 0.25) // nothing is much darker
	}
	bright := reach(c, white, dark, comfortable)
	p.dark = accents{bright, bright.toward(white, 0.35), c.toward(black, 0.8)}
	if contrast(p.dark.on, bright) < readable {
		p.dark.on = black
	}
	return p, nil
}

// css returns rules that replace the colours of the style sheet.
func (p *palette) css() string {
	rules := func(a accents) string {
		return fmt.Sprintf(":root { --accent: %s; --accent-over: %s; --on-accent: %s; }", a.accent, a.over, a.on)
	}
	return "\n/* The colour of the brand */\n" + rules(p.light) + "\n@media (prefers-color-scheme: dark) { " +
		rules(p.dark) + " }\n"
}
