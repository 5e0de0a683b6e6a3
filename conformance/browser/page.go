package browser

import (
	"bytes"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"mandate/conformance/wire"
)

// Form is a form of a page, with the values that it would send.
type Form struct {
	Method, Action string
	Values         url.Values
	Fields         []Field
	Buttons        []Control
}

// Field is an input field of a form.
type Field struct{ Name, Kind, hint string }

// Control is a button of a form, or a link.
type Control struct {
	name, value string
	text        string // its label, its value and its other names
	Action      string // its address, if it is not that of the form
}

// Page holds the parts of a page that a person can use.
type Page struct {
	Forms    []*Form
	links    []Control
	Scripted bool
	Title    string
	Text     string
}

// Parse reads the page in an answer. An answer that is no HTML gives an empty page.
func Parse(a *wire.Answer) *Page {
	p := &Page{}
	if !isHTML(a) {
		return p
	}
	root, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return p
	}
	owners := map[string]*Form{} // forms by their id, for controls outside of them
	p.walk(root, nil, owners)
	p.Text = strings.Join(strings.Fields(textOf(root)), " ")
	return p
}

// isHTML reports whether a browser shows an answer as a page. Browsers guess the type of an answer that names none.
func isHTML(a *wire.Answer) bool {
	switch a.MediaType() {
	case "text/html", "application/xhtml+xml":
		return true
	case "":
		return strings.HasPrefix(http.DetectContentType(a.Body), "text/html")
	}
	return false
}

func (p *Page) walk(n *html.Node, in *Form, owners map[string]*Form) {
	if n.Type == html.ElementNode {
		switch n.Data {
		case "form":
			in = &Form{Method: strings.ToUpper(Attribute(n, "method")), Action: Attribute(n, "action"), Values: url.Values{}}
			p.Forms = append(p.Forms, in)
			owners[Attribute(n, "id")] = in
		case "input", "select", "textarea", "button":
			of := in
			if id := Attribute(n, "form"); id != "" {
				of = owners[id]
			}
			if of != nil && !has(n, "disabled") {
				of.add(n)
			}
		case "a":
			p.links = append(p.links, Control{text: label(n), Action: Attribute(n, "href")})
		case "title":
			p.Title = strings.Join(strings.Fields(textOf(n)), " ")
		case "script":
			p.Scripted = true
		case "noscript":
			return
		}
	}
	for child := n.FirstChild; child != nil; child = child.NextSibling {
		p.walk(child, in, owners)
	}
}

func (f *Form) add(n *html.Node) {
	name, kind, value := Attribute(n, "name"), strings.ToLower(Attribute(n, "type")), Attribute(n, "value")
	switch {
	case n.Data == "button" && (kind == "" || kind == "submit"),
		n.Data == "input" && (kind == "submit" || kind == "image"):
		f.Buttons = append(f.Buttons, Control{name, value, label(n), Attribute(n, "formaction")})
		return
	case n.Data == "button" || kind == "button" || kind == "reset" || kind == "file" || name == "":
		return
	}
	f.Fields = append(f.Fields,
		Field{name, kindOf(n, kind), strings.ToLower(strings.Join([]string{name, Attribute(n, "id"),
			Attribute(n, "autocomplete"), Attribute(n, "placeholder"), Attribute(n, "aria-label")}, " "))})
	switch {
	case n.Data == "select":
		f.Values[name] = selected(n)
	case n.Data == "textarea":
		f.Values.Add(name, strings.TrimPrefix(textOf(n), "\n"))
	case kind == "checkbox" || kind == "radio":
		if has(n, "checked") {
			f.Values.Add(name, on(n))
		}
	default:
		f.Values.Add(name, value)
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
		return Attribute(n, "value")
	}
	return "on"
}

func selected(n *html.Node) []string {
	var all, chosen []string
	for o := range n.Descendants() {
		if o.Type != html.ElementNode || o.Data != "option" {
			continue
		}
		value := Attribute(o, "value")
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

// Attribute returns the value of an attribute, or "".
func Attribute(n *html.Node, name string) string {
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

// label returns everything that says what a button does.
func label(n *html.Node) string {
	words := []string{textOf(n), Attribute(n, "value"), Attribute(n, "aria-label"), Attribute(n, "title"),
		Attribute(n, "name"), Attribute(n, "id")}
	return strings.Join(strings.Fields(strings.ToLower(strings.Join(words, " "))), " ")
}

func (f *Form) find(is func(Field) bool) *Field {
	i := slices.IndexFunc(f.Fields, is)
	if i < 0 {
		return nil
	}
	return &f.Fields[i]
}

// First returns the button that the Enter key presses, or nil.
func (f *Form) First() *Control {
	if len(f.Buttons) == 0 {
		return nil
	}
	return &f.Buttons[0]
}

// Press adds a button's value to the values that its form sends.
func (f *Form) Press(c *Control) {
	if c == nil {
		return
	}
	if c.name != "" {
		f.Values.Set(c.name, c.value)
	}
	if c.Action != "" {
		f.Action = c.Action
	}
}

// TickBox checks the box of a name.
func (f *Form) TickBox(name string) {
	for _, l := range f.Fields {
		value, box := strings.CutPrefix(l.Kind, "checkbox=")
		if box && l.Name == name && !slices.Contains(f.Values[l.Name], value) {
			f.Values.Add(l.Name, value)
		}
	}
}

// RememberBox returns the name of the box by which a person stays signed in, or "".
func (f *Form) RememberBox() string {
	if l := f.find(func(l Field) bool {
		return strings.HasPrefix(l.Kind, "checkbox=") && rememberWords.MatchString(l.hint)
	}); l != nil {
		return l.Name
	}
	return ""
}

var rememberWords = regexp.MustCompile(`remember|keep|stay|persist`)

// Tick checks all boxes by which a person agrees to something.
func (f *Form) Tick() {
	for _, l := range f.Fields {
		value, box := strings.CutPrefix(l.Kind, "checkbox=")
		if box && !strings.Contains(l.hint, "remember") && !slices.Contains(f.Values[l.Name], value) {
			f.Values.Add(l.Name, value)
		}
	}
}
