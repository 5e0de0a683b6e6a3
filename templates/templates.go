// Package templates renders the HTML pages of the server, and contains their style sheet.
//
// A page is a struct in pages.go or application_pages.go and a template file for it. Pages work without JavaScript.
// The scripts in static copy a value, submit a form, protect the consent page against double
// clicks, and use passkeys, which browsers offer to scripts alone. Pages load nothing from other servers and contain no inline script or style, so the
// strictest content security policy can be used. The URLs in the structs are used unchanged. Links
// that the templates build begin with the base path given to New.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"reflect"
	texts "text/template"
)

//go:embed *.html
var files embed.FS

// Pages contains all parsed templates.
type Pages struct {
	base     string
	assets   *assets
	pages    map[reflect.Type]*template.Template
	snippets *texts.Template
}

// page says which file renders a struct, and where the page stands in the layout.
type page struct {
	of      any
	file    string
	section string // the entry of the navigation to which it belongs
	width   string // "narrow" or "letter" for a page that asks for one decision; empty: the normal width
}

// alone reports whether the page asks for one decision. Such a page has no navigation, so that no other
// link distracts from the decision.
func (p page) alone() bool { return p.width != "" }

// current returns the value of aria-current for an entry of the navigation. It is empty if the page
// belongs to another entry.
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
		{Factor{}, "factor.html", "", "narrow"},
		{NewTOTP{}, "new_totp.html", "", "narrow"},
		{Forgot{}, "forgot.html", "", "narrow"},
		{Reset{}, "reset.html", "", "narrow"},
		{Setup{}, "setup.html", "", "narrow"},
		{Logout{}, "logout.html", "", "narrow"},
		{Consent{}, "consent.html", "", "letter"},
		{Device{}, "device.html", "", "narrow"},
		{DeviceApproval{}, "device_approval.html", "", "letter"},
		{DeviceAnswered{}, "device_answered.html", "", "narrow"},
		{FormPost{}, "form_post.html", "", "narrow"},
		{ErrorPage{}, "error.html", "", ""},
		{Applications{}, "applications.html", "applications", ""},
		{ApplicationForm{}, "application_form.html", "applications", ""},
		{Application{}, "application.html", "applications", ""},
		{Rotate{}, "rotate.html", "applications", ""},
		{Owner{}, "owner.html", "applications", ""},
		{Confirm{}, "confirm.html", "", ""},
		{Account{}, "account.html", "account", ""},
		{RecoveryCodes{}, "recovery_codes.html", "account", ""},
		{Passkey{}, "passkey.html", "account", ""},
		{NewPasskey{}, "passkey_new.html", "account", ""},
		{Users{}, "users.html", "users", ""},
		{UserForm{}, "user_form.html", "users", ""},
		{Groups{}, "groups.html", "groups", ""},
		{Resources{}, "resources.html", "resources", ""},
		{ResourceForm{}, "resource_form.html", "resources", ""},
		{InitialTokens{}, "initial_tokens.html", "applications", ""},
		{Walk{}, "walk.html", "", ""},
	}
}

// New parses every template. Base is the path under which the server is mounted: "" or "/auth".
func New(base string) (*Pages, error) {
	assets, err := newAssets()
	if err != nil {
		return nil, err
	}
	snippets, err := parseSnippets()
	if err != nil {
		return nil, err
	}
	p := &Pages{base: base, assets: assets, pages: map[reflect.Type]*template.Template{}, snippets: snippets}
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

// Render renders one of the structs of this package. It writes to a buffer first, so that the server
// never sends half a page.
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

// funcs returns the functions that the layout needs.
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
