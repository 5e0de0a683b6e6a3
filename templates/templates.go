// Package templates renders the HTML pages of the server, and contains their style sheet.
//
// A page is a struct in pages.go or application_pages.go and a template file for it. Pages work without JavaScript.
// The scripts in static copy a value, submit a form, protect the consent page against double
// clicks, and use passkeys, which browsers offer to scripts alone. Pages load nothing from other servers and contain no
// inline script or style, so the strictest content security policy can be used. The URLs in the structs are used
// unchanged. Links that the templates build begin with the base path given to New.
package templates

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"maps"
	"reflect"
	"slices"
	"sync"
	texts "text/template"

	"mandate/templates/languages"
)

//go:embed *.html
var files embed.FS

// Pages renders the pages.
type Pages struct {
	base     string
	brand    *brand
	assets   *assets
	pages    map[reflect.Type]map[*languages.Language]parsed
	snippets *texts.Template

	// Languages are those in which a page can be rendered.
	Languages *languages.Languages
}

// parsed returns the template of a page in one language. The first call parses it: a server shows few of its
// pages in few languages, and to parse all of them would take most of its start.
type parsed func() (*template.Template, error)

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

// inEnglish reports whether the page is for administrators and developers. Its frame is in the language of
// the reader, and its content is in English.
func (p page) inEnglish() bool { return !slices.Contains(translated(), p.file) }

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
		{AskSignUp{}, "sign_up_ask.html", "", "narrow"},
		{AskedSignUp{}, "sign_up_asked.html", "", "narrow"},
		{SignUp{}, "sign_up.html", "", "narrow"},
		{SignUpPasskey{}, "sign_up_passkey.html", "", "narrow"},
		{Logout{}, "logout.html", "", "narrow"},
		{Consent{}, "consent.html", "", "letter"},
		{Device{}, "device.html", "", "narrow"},
		{DeviceApproval{}, "device_approval.html", "", "letter"},
		{DeviceAnswered{}, "device_answered.html", "", "narrow"},
		{Excluded{}, "excluded.html", "", "narrow"},
		{FormPost{}, "form_post.html", "", "narrow"},
		{ErrorPage{}, "error.html", "", ""},
		{Errors{}, "errors.html", "", ""},
		{ErrorCode{}, "error_code.html", "", ""},
		{Applications{}, "applications.html", "applications", ""},
		{ApplicationForm{}, "application_form.html", "applications", ""},
		{Application{}, "application.html", "applications", ""},
		{Programs{}, "programs.html", "applications", ""},
		{ProgramForm{}, "program_form.html", "applications", ""},
		{Rotate{}, "rotate.html", "applications", ""},
		{Owner{}, "owner.html", "applications", ""},
		{Ask{}, "ask.html", "account", ""},
		{Confirm{}, "confirm.html", "", ""},
		{Account{}, "account.html", "account", ""},
		{Profile{}, "profile.html", "account", ""},
		{NewEmail{}, "new_email.html", "account", ""},
		{RecoveryCodes{}, "recovery_codes.html", "account", ""},
		{Passkey{}, "passkey.html", "account", ""},
		{NewPasskey{}, "passkey_new.html", "account", ""},
		{Users{}, "users.html", "users", ""},
		{UserForm{}, "user_form.html", "users", ""},
		{Invitations{}, "invitations.html", "users", ""},
		{Invitation{}, "invitation.html", "users", ""},
		{Invite{}, "invite.html", "users", ""},
		{Invited{}, "invited.html", "users", ""},
		{Groups{}, "groups.html", "groups", ""},
		{Members{}, "members.html", "members", ""},
		{Member{}, "member.html", "members", ""},
		{Resources{}, "resources.html", "resources", ""},
		{ResourceForm{}, "resource_form.html", "resources", ""},
		{Sites{}, "sites.html", "sites", ""},
		{SiteForm{}, "site_form.html", "sites", ""},
		{Events{}, "events.html", "events", ""},
		{ServerCheck{}, "server_check.html", "", ""},
		{InitialTokens{}, "initial_tokens.html", "applications", ""},
		{Membership{}, "membership.html", "users", ""},
		{AccessCheck{}, "access_check.html", "applications", ""},
		{AccessPeople{}, "access_people.html", "applications", ""},
		{AccessApplications{}, "access_applications.html", "users", ""},
		{Walk{}, "walk.html", "", ""},
	}
}

// translated lists the pages that are in the language of the reader.
func translated() []string {
	return []string{
		"home.html", "login.html", "factor.html", "new_totp.html", "forgot.html", "reset.html", "setup.html", "logout.html",
		"consent.html", "excluded.html",
		"device.html", "device_approval.html", "device_answered.html", "form_post.html", "error.html", "errors.html",
		"error_code.html", "ask.html", "account.html", "profile.html", "new_email.html",
		"recovery_codes.html", "passkey.html", "passkey_new.html", "sign_up_ask.html", "sign_up_asked.html", "sign_up.html",
		"sign_up_passkey.html",
		"programs.html", "program_form.html",
		"members.html", "member.html",
	}
}

// New prepares the pages. Base is the path under which the server is mounted: "" or "/auth". It returns
// an error if the colour or the logo of the brand cannot be used.
func New(base string, b Brand) (*Pages, error) {
	checked, err := newBrand(b)
	if err != nil {
		return nil, err
	}
	assets, err := newAssets(checked)
	if err != nil {
		return nil, err
	}
	snippets, err := parseSnippets()
	if err != nil {
		return nil, err
	}
	known, err := languages.Load()
	if err != nil {
		return nil, err
	}
	p := &Pages{base: base, brand: checked, assets: assets, pages: map[reflect.Type]map[*languages.Language]parsed{},
		snippets: snippets, Languages: known}
	frame, err := template.New("").Funcs(controls()).Funcs(elements()).Funcs(p.funcs(page{}, known.English())).ParseFS(
		files, "layout.html", "parts.html")
	if err != nil {
		return nil, fmt.Errorf("parse the layout: %w", err)
	}
	for _, page := range catalogue() {
		in := map[*languages.Language]parsed{}
		for _, l := range known.All() {
			in[l] = sync.OnceValues(func() (*template.Template, error) {
				t, err := frame.Clone()
				if err != nil {
					return nil, err
				}
				return t.Funcs(p.funcs(page, l)).ParseFS(files, page.file)
			})
		}
		p.pages[reflect.TypeOf(page.of)] = in
	}
	return p, nil
}

// Render renders one of the structs of this package in a language. It writes to a buffer first, so that the
// server never sends half a page.
func (p *Pages) Render(in *languages.Language, page any) ([]byte, error) {
	parse := p.pages[reflect.TypeOf(page)][in]
	if parse == nil {
		return nil, fmt.Errorf("render: no page for %T", page)
	}
	t, err := parse()
	if err != nil {
		return nil, fmt.Errorf("parse %T: %w", page, err)
	}
	var b bytes.Buffer
	err = t.ExecuteTemplate(&b, "layout", page)
	if err != nil {
		return nil, fmt.Errorf("render %T: %w", page, err)
	}
	return b.Bytes(), nil
}

// funcs returns the functions that the layout needs, and those for texts. f writes a text of the frame.
func (p *Pages) funcs(page page, in *languages.Language) template.FuncMap {
	content, mark := in, ""
	if page.inEnglish() {
		content = p.Languages.English()
	}
	if content != in {
		mark = content.Tag()
	}
	funcs := template.FuncMap{
		"path":      func(to string) string { return p.base + to },
		"asset":     func(name string) (string, error) { return p.assets.url(p.base, name) },
		"integrity": p.assets.integrity,
		"icon_type": func() string { return p.assets.kind("icon") },
		"current":   page.current,
		"alone":     page.alone,
		"width":     func() string { return page.width },
		"language":  in.Tag,
		"content":   func() string { return mark },
		"f":         in.Text,
	}
	maps.Copy(funcs, words(content))
	maps.Copy(funcs, p.brand.funcs())
	return funcs
}
