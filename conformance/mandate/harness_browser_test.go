package mandate

import (
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// browser is a person's browser without scripts. It keeps cookies, follows redirects
// within the server and sends forms. At a redirect to any other host it stops and does
// not fetch it.
type browser struct {
	server *server
	client *http.Client

	URL    *url.URL // the current page
	Status int
	Header http.Header
	Body   string
	Away   *url.URL // the last redirect to another host
	Hops   []hop    // the redirects since the last open or submit, the one to Away among them
}

// hop is one redirect.
type hop struct {
	Status   int
	Location string
}

func (s *server) browser(t testing.TB) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := *s.client
	client.Jar = jar
	return &browser{server: s, client: &client}
}

// open opens a path of the server or a complete address, as if a person typed it.
func (b *browser) open(t testing.TB, address string) {
	t.Helper()
	if strings.HasPrefix(address, "/") {
		address = b.server.URL + address
	}
	request, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Sec-Fetch-Site", "none")
	b.follow(t, request)
}

// follow sends a request and follows the redirects. A redirect by 307 or 308 repeats
// the form, as in a browser.
func (b *browser) follow(t testing.TB, request *http.Request) {
	t.Helper()
	b.Away, b.Hops = nil, nil
	for range 20 {
		request.Header.Set("Accept", "text/html")
		response, err := b.client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		read, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		b.URL, b.Status, b.Header, b.Body = request.URL, response.StatusCode, response.Header, string(read)
		location := response.Header.Get("Location")
		if response.StatusCode < 300 || response.StatusCode > 399 || location == "" {
			return
		}
		b.Hops = append(b.Hops, hop{response.StatusCode, location})
		target, err := request.URL.Parse(location)
		if err != nil {
			t.Fatalf("redirect to %q: %v", location, err)
		}
		if !b.home(target) {
			b.Away = target
			b.server.secret(target.Query().Get("code"))
			return
		}
		request, err = b.next(request, response.StatusCode, target)
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatalf("more than 20 redirects: %v", b.Hops)
}

func (b *browser) next(request *http.Request, status int, target *url.URL) (*http.Request, error) {
	if status != http.StatusTemporaryRedirect && status != http.StatusPermanentRedirect || request.GetBody == nil {
		next, err := http.NewRequest("GET", target.String(), nil)
		if err == nil {
			next.Header.Set("Sec-Fetch-Site", request.Header.Get("Sec-Fetch-Site"))
		}
		return next, err
	}
	again, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	next, err := http.NewRequest(request.Method, target.String(), again)
	if err == nil {
		next.Header = request.Header.Clone()
		next.GetBody = request.GetBody
	}
	return next, err
}

// home reports whether an address is the server's: its configured or its listening
// address.
func (b *browser) home(address *url.URL) bool {
	origin := address.Scheme + "://" + address.Host
	return origin == b.server.URL || strings.HasPrefix(b.server.BaseURL+"/", origin+"/")
}

// submit fills in a form of the page and presses a button. The button is given as
// `name=value` or by its text; "" is the first one, which the Enter key presses. submit
// uses the first form with this button and all the fields. A field without values is
// cleared, for example a checkbox.
func (b *browser) submit(t testing.TB, button string, fields url.Values) {
	t.Helper()
	f, pressed := b.find(t, button, fields)
	values := f.values()
	for name, filled := range fields {
		values[name] = filled
		if slices.Contains(confidential, name) {
			for _, value := range filled {
				b.server.secret(value)
			}
		}
	}
	method, action := strings.ToUpper(attribute(f.node, "method")), attribute(f.node, "action")
	if pressed != nil {
		if name := attribute(pressed, "name"); name != "" {
			values.Add(name, attribute(pressed, "value"))
		}
		if other := attribute(pressed, "formaction"); other != "" {
			action = other
		}
	}
	target, err := b.URL.Parse(action)
	if err != nil {
		t.Fatalf("the form at %s leads to %q: %v", b.URL, action, err)
	}
	if method != "POST" {
		target.RawQuery = values.Encode()
		b.open(t, target.String())
		return
	}
	body, kind := f.encode(t, values)
	request, err := http.NewRequest("POST", target.String(), strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", kind)
	request.Header.Set("Origin", b.URL.Scheme+"://"+b.URL.Host)
	request.Header.Set("Sec-Fetch-Site", "same-origin")
	b.follow(t, request)
}

// logIn fills in the login page, which the browser must show.
func (b *browser) logIn(t testing.TB, p person) {
	t.Helper()
	b.submit(t, "", params("username", p.Name, "password", p.Password))
}

// decide presses a button of the consent page: approve or deny.
func (b *browser) decide(t testing.TB, decision string) {
	t.Helper()
	b.submit(t, "decision="+decision, nil)
}

// authorize opens an authorization request and handles the pages until the server
// redirects to the client. It signs in and makes the decision if the pages ask.
func (b *browser) authorize(t testing.TB, address string, p person, decision string) *url.URL {
	t.Helper()
	b.open(t, address)
	if b.Away == nil && b.shows("password") {
		b.logIn(t, p)
	}
	if b.Away == nil && b.shows("decision") {
		b.decide(t, decision)
	}
	if b.Away == nil {
		t.Fatalf("the browser was not sent back to the client, it shows %d %s:\n%s", b.Status, b.URL, b.Body)
	}
	return b.Away
}

// code approves an authorization request and returns the code.
func (b *browser) code(t testing.TB, address string, p person) string {
	t.Helper()
	back := b.authorize(t, address, p, "approve")
	code := back.Query().Get("code")
	if code == "" {
		t.Fatalf("no code in %s", back)
	}
	return code
}

// sectionOf returns the HTML of the section of a page whose heading has an id.
func sectionOf(t testing.TB, page, id string) string {
	t.Helper()
	_, section, found := strings.Cut(page, `<h2 id="`+id+`"`)
	if !found {
		t.Fatalf("the page has no section %s:\n%s", id, page)
	}
	section, _, _ = strings.Cut(section, "</section>")
	return section
}

// shows reports whether a form of the page has a field or a button of this name.
func (b *browser) shows(name string) bool {
	return slices.ContainsFunc(b.forms(), func(f form) bool { return f.has(name) })
}

// form is a form of a page, with its controls.
type form struct {
	node     *html.Node
	controls []*html.Node // input, select, textarea and button
}

func (b *browser) forms() []form {
	page, err := html.Parse(strings.NewReader(b.Body))
	if err != nil {
		return nil // the parser takes anything; only a reader can fail
	}
	var forms []form
	for node := range page.Descendants() {
		if node.Type != html.ElementNode {
			continue
		}
		switch node.Data {
		case "form":
			forms = append(forms, form{node: node})
		case "input", "select", "textarea", "button":
			for i := range forms {
				if forms[i].owns(node) {
					forms[i].controls = append(forms[i].controls, node)
				}
			}
		}
	}
	return forms
}

// encode writes the values as the form says. The value of a file control is the content of the file.
func (f form) encode(t testing.TB, values url.Values) (body, kind string) {
	t.Helper()
	if attribute(f.node, "enctype") != "multipart/form-data" {
		return values.Encode(), "application/x-www-form-urlencoded"
	}
	var text strings.Builder
	w := multipart.NewWriter(&text)
	for name, list := range values {
		for _, value := range list {
			isFile := slices.ContainsFunc(f.controls, func(c *html.Node) bool {
				return attribute(c, "name") == name && attribute(c, "type") == "file"
			})
			part, err := w.CreateFormField(name)
			if isFile {
				part, err = w.CreateFormFile(name, "people.csv")
			}
			if err == nil {
				_, err = io.WriteString(part, value)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	err := w.Close()
	if err != nil {
		t.Fatal(err)
	}
	return text.String(), w.FormDataContentType()
}

// owns reports whether a control is within the form or refers to it.
func (f form) owns(control *html.Node) bool {
	if id := attribute(control, "form"); id != "" {
		return id == attribute(f.node, "id")
	}
	for node := range control.Ancestors() {
		if node == f.node {
			return true
		}
	}
	return false
}

// find returns the first form with a button and with all the fields, and the button.
func (b *browser) find(t testing.TB, button string, fields url.Values) (form, *html.Node) {
	t.Helper()
	for _, f := range b.forms() {
		complete := true
		for name := range fields {
			complete = complete && f.has(name)
		}
		i := slices.IndexFunc(f.controls, func(c *html.Node) bool {
			label := attribute(c, "name") + "=" + attribute(c, "value")
			return isButton(c) && (button == "" || button == label || button == text(c))
		})
		if complete && i >= 0 {
			return f, f.controls[i]
		}
		if complete && button == "" {
			return f, nil
		}
	}
	t.Fatalf("%s shows %d and no form with the button %q and the fields %v:\n%s",
		b.URL, b.Status, button, slices.Sorted(maps.Keys(fields)), b.Body)
	return form{}, nil
}

func isButton(control *html.Node) bool {
	kind := strings.ToLower(attribute(control, "type"))
	return !has(control, "disabled") &&
		(control.Data == "button" && (kind == "" || kind == "submit") || control.Data == "input" &&
			(kind == "submit" || kind == "image"))
}

func (f form) has(name string) bool {
	return slices.ContainsFunc(f.controls, func(c *html.Node) bool { return attribute(c, "name") == name })
}

// values returns what the form would send unchanged, without a button.
func (f form) values() url.Values {
	values := url.Values{}
	for _, control := range f.controls {
		name, value := attribute(control, "name"), attribute(control, "value")
		if name == "" || has(control, "disabled") || control.Data == "button" {
			continue
		}
		switch control.Data {
		case "textarea":
			values.Add(name, strings.TrimPrefix(text(control), "\n"))
		case "select":
			for _, chosen := range selected(control) {
				values.Add(name, chosen)
			}
		default:
			switch strings.ToLower(attribute(control, "type")) {
			case "submit", "image", "reset", "button", "file":
			case "checkbox", "radio":
				if has(control, "checked") {
					if !has(control, "value") {
						value = "on"
					}
					values.Add(name, value)
				}
			default:
				values.Add(name, value)
			}
		}
	}
	return values
}

// selected returns the chosen options: the marked ones, or the first if one must be
// chosen.
func selected(control *html.Node) []string {
	var chosen, all []string
	for node := range control.Descendants() {
		if node.Type != html.ElementNode || node.Data != "option" {
			continue
		}
		value := text(node)
		if has(node, "value") {
			value = attribute(node, "value")
		}
		all = append(all, value)
		if has(node, "selected") {
			chosen = append(chosen, value)
		}
	}
	if len(chosen) == 0 && len(all) > 0 && !has(control, "multiple") {
		return all[:1]
	}
	return chosen
}

// text returns the text within a node, or the label that a screen reader says instead. It trims
// surrounding spaces, except in a textarea.
func text(node *html.Node) string {
	if label := attribute(node, "aria-label"); label != "" {
		return label
	}
	var within strings.Builder
	for child := range node.Descendants() {
		if child.Type == html.TextNode {
			within.WriteString(child.Data)
		}
	}
	if node.Data == "textarea" {
		return within.String()
	}
	return strings.TrimSpace(within.String())
}

func has(node *html.Node, name string) bool {
	return slices.ContainsFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
}

func attribute(node *html.Node, name string) string {
	i := slices.IndexFunc(node.Attr, func(a html.Attribute) bool { return a.Key == name })
	if i < 0 {
		return ""
	}
	return node.Attr[i].Val
}
