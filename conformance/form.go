package conformance

import (
	"bytes"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// form is a form of a page, with the values that it would send.
type form struct {
	method, action string
	values         url.Values
	fields         []field
	buttons        []control
}

type field struct{ name, kind, hint string }

// control is a button of a form, or a link.
type control struct {
	name, value string
	text        string // what stands on it, with its value and its other names
	action      string // where it leads, if not where the form does
}

// page is what of a page can be acted on.
type page struct {
	forms    []*form
	links    []control
	scripted bool
	title    string
	text     string
}

func parsePage(a *Answer) *page {
	p := &page{}
	if a.MediaType() != "text/html" && a.MediaType() != "application/xhtml+xml" {
		return p
	}
	root, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return p
	}
	owners := map[string]*form{} // by id, for controls that stand outside
	p.walk(root, nil, owners)
	p.text = strings.Join(strings.Fields(textOf(root)), " ")
	return p
}

func (p *page) walk(n *html.Node, in *form, owners map[string]*form) {
	if n.Type == html.ElementNode {
		switch n.Data {
		case "form":
			in = &form{method: strings.ToUpper(attribute(n, "method")), action: attribute(n, "action"), values: url.Values{}}
			p.forms = append(p.forms, in)
			owners[attribute(n, "id")] = in
		case "input", "select", "textarea", "button":
			of := in
			if id := attribute(n, "form"); id != "" {
				of = owners[id]
			}
			if of != nil && !has(n, "disabled") {
				of.add(n)
			}
		case "a":
			p.links = append(p.links, control{text: label(n), action: attribute(n, "href")})
		case "title":
			p.title = strings.Join(strings.Fields(textOf(n)), " ")
		case "script":
			p.scripted = true
		case "noscript":
			return
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		p.walk(child, in, owners)
	}
}

func (f *form) add(n *html.Node) {
	name, kind, value := attribute(n, "name"), strings.ToLower(attribute(n, "type")), attribute(n, "value")
	switch {
	case n.Data == "button" && (kind == "" || kind == "submit"), n.Data == "input" && (kind == "submit" || kind == "image"):
		f.buttons = append(f.buttons, control{name, value, label(n), attribute(n, "formaction")})
		return
	case n.Data == "button" || kind == "button" || kind == "reset" || kind == "file" || name == "":
		return
	}
	f.fields = append(f.fields, field{name, kindOf(n, kind), strings.ToLower(strings.Join([]string{name, attribute(n, "id"),
		attribute(n, "autocomplete"), attribute(n, "placeholder"), attribute(n, "aria-label")}, " "))})
	switch {
	case n.Data == "select":
		f.values[name] = selected(n)
	case n.Data == "textarea":
		f.values.Add(name, strings.TrimPrefix(textOf(n), "\n"))
	case kind == "checkbox" || kind == "radio":
		if has(n, "checked") {
			f.values.Add(name, on(n))
		}
	default:
		f.values.Add(name, value)
	}
}

func kindOf(n *html.Node, kind string) string {
	if n.Data != "input" {
		return n.Data
	}
	if kind == "" {
		return "text"
	}
	if kind == "checkbox" {
		return "checkbox=" + on(n)
	}
	return kind
}

func on(n *html.Node) string {
	if has(n, "value") {
		return attribute(n, "value")
	}
	return "on"
}

func selected(n *html.Node) []string {
	var all, chosen []string
	for o := range n.Descendants() {
		if o.Type != html.ElementNode || o.Data != "option" {
			continue
		}
		value := attribute(o, "value")
		if !has(o, "value") {
			value = strings.TrimSpace(textOf(o))
		}
		all = append(all, value)
		if has(o, "selected") {
			chosen = append(chosen, value)
		}
	}
	if len(chosen) == 0 && len(all) > 0 && !has(n, "multiple") {
		chosen = all[:1]
	}
	return chosen
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func has(n *html.Node, name string) bool {
	return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func textOf(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && d.Parent.Data != "script" && d.Parent.Data != "style" {
			b.WriteString(d.Data + " ")
		}
	}
	return b.String()
}

// label is all that says what a button does.
func label(n *html.Node) string {
	words := []string{textOf(n), attribute(n, "value"), attribute(n, "aria-label"), attribute(n, "title"), attribute(n, "name"), attribute(n, "id")}
	return strings.Join(strings.Fields(strings.ToLower(strings.Join(words, " "))), " ")
}

func (f *form) find(is func(field) bool) *field {
	i := slices.IndexFunc(f.fields, is)
	if i < 0 {
		return nil
	}
	return &f.fields[i]
}

// first is the button that the Enter key presses.
func (f *form) first() *control {
	if len(f.buttons) == 0 {
		return nil
	}
	return &f.buttons[0]
}

// press adds the button to what its form sends.
func (f *form) press(c *control) {
	if c == nil {
		return
	}
	if c.name != "" {
		f.values.Set(c.name, c.value)
	}
	if c.action != "" {
		f.action = c.action
	}
}

// tick ticks what a person is asked to agree to.
func (f *form) tick() {
	for _, l := range f.fields {
		value, box := strings.CutPrefix(l.kind, "checkbox=")
		if box && !strings.Contains(l.hint, "remember") && !slices.Contains(f.values[l.name], value) {
			f.values.Add(l.name, value)
		}
	}
}
