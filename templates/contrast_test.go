package templates

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// WCAG 2.2 §1.4.3: text stands out from its ground by 4.5 to 1. §1.4.11: the edge of a control and the focus by 3 to 1.
func TestContrast(t *testing.T) {
	sheet, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, found := strings.Cut(string(sheet), "@media (prefers-color-scheme: dark)")
	if !found {
		t.Fatal("no dark scheme")
	}
	dark, _, _ = strings.Cut(dark, "/* Ground */")

	pairs := []struct {
		text, grounds string
		least         float64
	}{
		{"ink", "paper sheet sunken", 4.5},
		{"muted", "paper sheet sunken", 4.5},
		{"accent", "paper sheet sunken", 4.5},
		{"accent-over", "paper sheet sunken", 4.5},
		{"on-accent", "accent accent-over", 4.5},
		{"brass", "brass-ground", 4.5},
		{"good", "good-ground", 4.5},
		{"bad", "bad-ground paper sheet sunken", 4.5},
		{"on-bad", "bad bad-over", 4.5},
		{"on-mark", "mark", 4.5},
		{"edge", "paper sheet sunken", 3},
		{"focus", "paper sheet sunken bad-ground", 3},
	}
	for scheme, css := range map[string]string{"light": light, "dark": dark} {
		tokens := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6});`).FindAllStringSubmatch(css, -1) {
			tokens[m[1]] = luminance(t, m[2])
		}
		for _, pair := range pairs {
			for ground := range strings.FieldsSeq(pair.grounds) {
				a, known := tokens[pair.text]
				b, also := tokens[ground]
				if !known || !also {
					t.Errorf("%s: no token %s or %s", scheme, pair.text, ground)
					continue
				}
				ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05)
				if ratio < pair.least {
					t.Errorf("%s: %s on %s is %.2f, needs %.1f", scheme, pair.text, ground, ratio, pair.least)
				}
			}
		}
	}
}

// luminance is the relative luminance of WCAG 2.2 for a colour such as "16211f".
func luminance(t *testing.T, hex string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(channel uint64) float64 {
		c := float64(channel&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(n>>16) + 0.7152*linear(n>>8) + 0.0722*linear(n)
}
