package templates

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

var quoted = regexp.MustCompile(`="[^"]*"`)

var void = []string{"meta", "link", "img", "input", "br", "hr"}

// document is what checkDocument gathers on its way down.
type document struct {
	faults    []string
	open      []string
	ids       map[string]bool
	labels    map[string]bool // ids that a label is for
	controls  []string        // ids of visible inputs, empty where there is none
	pointers  map[string]bool // ids that something points to: #links, for, aria-describedby, aria-labelledby
	headings  []int
	landmarks map[string]int
	focused   int
}

func (d *document) fault(format string, args ...any) {
	d.faults = append(d.faults, fmt.Sprintf(format, args...))
}

// checkDocument reads a page token by token. A browser forgives what is written here as faults: it closes, moves and
// drops elements in silence, and a test that let it would never see them.
func checkDocument(body []byte) []string {
	d := &document{ids: map[string]bool{}, labels: map[string]bool{}, pointers: map[string]bool{},
		landmarks: map[string]int{}}
	z := html.NewTokenizer(bytes.NewReader(body))
	for z.Next() != html.ErrorToken {
		raw := string(z.Raw())
		token := z.Token()
		switch token.Type {
		case html.StartTagToken:
			d.start(token, raw)
		case html.SelfClosingTagToken:
			d.fault("<%s/> closes itself", token.Data)
		case html.EndTagToken:
			if len(d.open) == 0 || d.open[len(d.open)-1] != token.Data {
				d.fault("</%s> closes %v", token.Data, d.open)
				return d.faults
			}
			d.open = d.open[:len(d.open)-1]
		}
	}
	if len(d.open) > 0 {
		d.fault("never closed: %v", d.open)
	}
	d.whole()
	if bytes.Contains(body, []byte("<no value>")) || bytes.Contains(body, []byte("ZgotmplZ")) {
		d.fault("a value is missing or was refused by html/template")
	}
	return d.faults
}

func (d *document) start(token html.Token, raw string) {
	if token.Data == "p" && slices.Contains(d.open, "p") {
		d.fault("<p> inside of <p>")
	}
	if slices.Contains([]string{"div", "ul", "ol", "dl", "form", "section", "h1", "h2", "h3", "table", "pre"},
		token.Data) && slices.Contains(d.open, "p") {
		d.fault("<%s> inside of <p>: a browser ends the paragraph there", token.Data)
	}
	if token.Data == "form" && slices.Contains(d.open, "form") {
		d.fault("<form> inside of <form>")
	}
	if !slices.Contains(void, token.Data) {
		d.open = append(d.open, token.Data)
	}
	// The tokenizer keeps the first of two attributes and says nothing, so they are counted in the source.
	if words := strings.Fields(strings.Trim(quoted.ReplaceAllString(raw, ""), "<>")); len(words)-1 != len(token.Attr) {
		d.fault("%s: an attribute twice", raw)
	}
	attrs := map[string]string{}
	for _, a := range token.Attr {
		attrs[a.Key] = a.Val
		d.attribute(token.Data, a.Key, a.Val)
	}
	switch token.Data {
	case "script":
		if attrs["src"] == "" {
			d.fault("inline script")
		}
		if attrs["integrity"] == "" {
			d.fault("a script without its digest")
		}
	case "style":
		d.fault("inline style sheet")
	case "input", "textarea", "select":
		if attrs["type"] != "hidden" && attrs["aria-label"] == "" {
			d.controls = append(d.controls, attrs["id"])
		}
	case "label":
		d.labels[attrs["for"]] = true
	case "img":
		_, described := attrs["alt"]
		if !described {
			d.fault("<img> without alt")
		}
	case "button":
		if attrs["type"] == "" && !slices.Contains(d.open, "form") {
			d.fault("a submit button outside of a form")
		}
	case "form":
		if attrs["action"] == "" && attrs["method"] != "get" {
			d.fault("<form> without action")
		}
	case "h1", "h2", "h3":
		d.headings = append(d.headings, int(token.Data[1]-'0'))
	case "main", "header", "title", "html":
		d.landmarks[token.Data]++
	}
}

func (d *document) attribute(element, key, value string) {
	switch {
	case key == "style" || strings.HasPrefix(key, "on"):
		d.fault("<%s %s>: not allowed by the content security policy", element, key)
	case key == "id":
		if d.ids[value] {
			d.fault("id %q twice", value)
		}
		if value == "" || strings.ContainsAny(value, " \t\n") {
			d.fault("id %q", value)
		}
		d.ids[value] = true
	case key == "for" || key == "aria-describedby" || key == "aria-labelledby":
		for id := range strings.FieldsSeq(value) {
			d.pointers[id] = true
		}
	case key == "href" || key == "src" || key == "action":
		id, here := strings.CutPrefix(value, "#")
		if here {
			d.pointers[id] = true
		} else if element == "img" && strings.HasPrefix(value, svgPrefix) ||
			element == "a" && strings.HasPrefix(value, "otpauth://totp/") {
			return // a picture that the server has drawn, and an app on this device
		} else if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "?") || strings.HasPrefix(value, "//") {
			d.fault("<%s %s=%q> leads elsewhere", element, key, value)
		}
	case key == "autofocus":
		d.focused++
	}
}

// whole checks what only shows at the end of a page.
func (d *document) whole() {
	for _, id := range d.controls {
		if !d.labels[id] {
			d.fault("input %q has no label", id)
		}
	}
	for id := range d.pointers {
		if !d.ids[id] {
			d.fault("nothing has the id %q", id)
		}
	}
	for i, level := range d.headings {
		if i == 0 && level != 1 || i > 0 && (level == 1 || level > d.headings[i-1]+1) {
			d.fault("headings out of order: %v", d.headings)
		}
	}
	for _, element := range []string{"html", "title", "header", "main"} {
		if d.landmarks[element] != 1 {
			d.fault("%d <%s>", d.landmarks[element], element)
		}
	}
	if len(d.headings) == 0 {
		d.fault("no heading")
	}
	if d.focused > 1 {
		d.fault("%d elements want the focus", d.focused)
	}
}
