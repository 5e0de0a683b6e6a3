package templates

import (
	"strings"
	"testing"
)

// WCAG 2.2 §1.4.3: text stands out from its ground by 4.5 to 1. §1.4.11: the edge of a control and the focus by 3 to 1.
func TestContrast(t *testing.T) {
	sheet, err := static.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	light, dark, err := tokens(string(sheet))
	if err != nil {
		t.Fatal(err)
	}
	checkContrasts(t, "the usual colours", light, dark)
}

// checkContrasts checks the pairs of colours that stand on each other.
func checkContrasts(t *testing.T, of string, light, dark map[string]color) {
	t.Helper()
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
	for scheme, colors := range map[string]map[string]color{"light": light, "dark": dark} {
		for _, pair := range pairs {
			for ground := range strings.FieldsSeq(pair.grounds) {
				a, known := colors[pair.text]
				b, also := colors[ground]
				if !known || !also {
					t.Errorf("%s, %s: no token %s or %s", of, scheme, pair.text, ground)
					continue
				}
				if ratio := contrast(a, b); ratio < pair.least {
					t.Errorf("%s, %s: %s on %s is %.2f, needs %.1f", of, scheme, pair.text, ground, ratio, pair.least)
				}
			}
		}
	}
}
