package browser

import (
	"fmt"
	"strings"
)

// Describe lists the fields and the buttons of a page, so that a person can name those that the browser did not find.
func (p *Page) Describe() string {
	var parts []string
	for _, f := range p.Forms {
		for _, l := range f.Fields {
			if l.Kind != "hidden" {
				parts = append(parts, fmt.Sprintf("the field %s (%s)", l.Name, l.Kind))
			}
		}
		for _, b := range f.Buttons {
			parts = append(parts, fmt.Sprintf("the button %q", b.text))
		}
	}
	if len(parts) == 0 {
		return "no form"
	}
	return strings.Join(parts, ", ")
}
