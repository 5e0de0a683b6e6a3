// Package templates is what people see: every page of the server, rendered on the server, with the style sheet it needs.
//
// A page is a struct in pages.go and a file of the same story beside it. Pages work without script: the three files in
// static copy a value, send a form on, and guard the consent page against double clicks. Pages load nothing from elsewhere and carry no inline script or style, so that the strictest content security policy fits. URLs in the structs
// are used as they stand; links that the templates make themselves begin with the base given to New.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"reflect"
)

//go:embed *.html
var files embed.FS

// Pages is every template, parsed.
type Pages struct {
	base   string
	assets *assets
	pages  map[reflect.Type]*template.Template
}

// page says which file draws a struct and where it stands in the layout.
type page struct {
	of      any
	file    string
	section string // the entry of the navigation that it belongs to
	width   string // "narrow" or "letter" for a page that asks for one decision; empty is the frame's own
}

// alone is true of a page that asks for one decision: it has no navigation, nothing beside it leads elsewhere.
func (p page) alone() bool { return p.width != "" }

// current is the value of aria-current for an entry of the navigation, empty when it is another part of the site.
func (p page) current(section string) string {
	switch {
	case p.section != section:
		return ""
	case p.file == section+".html":
		return "page"
	}
	return "true"
}

func catalogue() []page {
	return []page{
		{Home{}, "home.html", "", ""},
		{Login{}, "login.html", "", "narrow"},
		{Setup{}, "setup.html", "", "narrow"},
		{Logout{}, "logout.html", "", "narrow"},
		{Consent{}, "consent.html", "", "letter"},
		{FormPost{}, "form_post.html", "", "narrow"},
		{ErrorPage{}, "error.html", "", ""},
		{Applications{}, "applications.html", "applications", ""},
		{ApplicationForm{}, "application_form.html", "applications", ""},
		{Application{}, "application.html", "applications", ""},
		{Rotate{}, "rotate.html", "applications", ""},
		{Owner{}, "owner.html", "applications", ""},
		{Confirm{}, "confirm.html", "", ""},
		{Account{}, "account.html", "account", ""},
		{Users{}, "users.html", "users", ""},
		{UserForm{}, "user_form.html", "users", ""},
		{Groups{}, "groups.html", "groups", ""},
		{Walk{}, "walk.html", "", ""},
	}
}

// New parses every page. Base is the path under which the server is mounted: "" or "/auth".
func New(base string) (*Pages, error) {
	assets, err := newAssets()
	if err != nil {
		return nil, err
	}
	p := &Pages{base: base, assets: assets, pages: map[reflect.Type]*template.Template{}}
	for _, page := range catalogue() {
		t := template.New(page.file).Funcs(controls()).Funcs(p.funcs(page))
		_, err := t.ParseFS(files, "layout.html", "parts.html", page.file)
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", page.file, err)
		}
		p.pages[reflect.TypeOf(page.of)] = t
	}
	return p, nil
}

// Render draws one of the structs of this package. It writes to a buffer, so that half a page never leaves the server.
func (p *Pages) Render(page any) ([]byte, error) {
	t := p.pages[reflect.TypeOf(page)]
	if t == nil {
		return nil, fmt.Errorf("render: no page for %T", page)
	}
	var b bytes.Buffer
	err := t.ExecuteTemplate(&b, "layout", page)
	if err != nil {
		return nil, fmt.Errorf("render %T: %w", page, err)
	}
	return b.Bytes(), nil
}

// funcs is what the layout may ask of its surroundings.
func (p *Pages) funcs(page page) template.FuncMap {
	return template.FuncMap{
		"path":      func(to string) string { return p.base + to },
		"asset":     func(name string) (string, error) { return p.assets.url(p.base, name) },
		"integrity": p.assets.integrity,
		"current":   page.current,
		"alone":     page.alone,
		"width":     func() string { return page.width },
	}
}
