package check

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"mandate/conformance/browser"
	"mandate/conformance/wire"
)

// NewBrowser returns a browser in which nobody is signed in.
func (t *T) NewBrowser() *browser.Browser { return t.browser(browser.NewJar()) }

func (t *T) browser(cookies *browser.Jar) *browser.Browser {
	return browser.New(cookies, t.visit,
		func(address *url.URL) bool { return !t.AtServer(address.String()) || t.leadsBack(address) })
}

// visit sends a request of a browser. The browser follows forms, buttons and links of pages, and sends the password
// with them: only to the server.
func (t *T) visit(r *http.Request) *wire.Answer {
	if err := t.server.refuses(r); err != nil {
		t.Blockedf("%v", err)
	}
	if !t.AtServer(r.URL.String()) {
		t.Blockedf("a form or link of the server leads to %s, which is no origin of the target: if it is a page of the "+
			"server, add %[1]s to the target under origins", wire.Origin(r.URL.String()))
	}
	return t.Do(r)
}

// AtServer reports whether an address is at an origin of the server's pages, which the target names.
func (t *T) AtServer(address string) bool { return t.server.Owns(address) }

// leadsBack reports whether an address is a redirect URI of one of the target's clients. Such an address can have an
// origin of the server.
func (t *T) leadsBack(target *url.URL) bool {
	for _, c := range t.server.Target.Clients {
		for _, uri := range slices.Concat(c.RedirectURIs, c.PostLogoutRedirectURIs) {
			if wire.SamePlace(target.String(), uri) {
				return true
			}
		}
	}
	return false
}

// posted returns the form of a page that is sent to a client, or nil.
func (t *T) posted(p *browser.Page) *browser.Form {
	f := p.FormPost()
	if f == nil {
		return nil
	}
	target, err := url.Parse(f.Action)
	if err != nil || !target.IsAbs() || t.AtServer(f.Action) && !t.leadsBack(target) {
		return nil
	}
	return f
}

// nextForm fills in the form that a page asks for. It returns nil if there is none, or says why the browser cannot
// continue.
func (t *T) nextForm(p *browser.Page, a *wire.Answer, named, passed *bool, approve bool) (*browser.Form,
	*browser.Control, string) {
	h := t.server.Target.Forms
	for _, f := range p.Forms {
		secret := f.Password(h)
		if secret == nil {
			continue
		}
		if *passed && !t.probing && t.server.signIn.acceptedBefore() {
			return nil, nil, passwordOnce
		}
		if *passed {
			return nil, nil, passwordAgain
		}
		if t.tryPassword() {
			return nil, nil, passwordAgain
		}
		*named, *passed = true, true
		user := t.User()
		if name := f.Username(h); name != nil {
			f.Values.Set(name.Name, user.Username)
		}
		f.Values.Set(secret.Name, user.Password)
		t.mask.Typed(secret.Name)
		f.TickBox(h.Remember)
		f.Press(f.First())
		return f, nil, ""
	}
	for _, f := range p.Forms {
		name := f.Username(h)
		if *named || name == nil || !name.AsksName() {
			continue
		}
		*named = true
		f.Values.Set(name.Name, t.User().Username)
		f.Press(f.First())
		return f, nil, ""
	}
	if a.Status >= http.StatusBadRequest {
		return nil, nil, ""
	}
	f, button := p.Decision(approve, h)
	if f != nil && approve {
		f.Tick()
	}
	if button == nil && p.Scripted && len(p.Forms) == 0 {
		return nil, nil, fmt.Sprintf("the checks cannot use the page at %s: it has no form, and seems to need a script. "+
			"Let the server show pages of plain HTML, or sign the person in and approve the clients without pages",
			wire.Bare(a.URL))
	}
	if button == nil && len(p.Forms) > 0 {
		return nil, nil, fmt.Sprintf("the page at %s has a form, but no known button %s: name the button in the target "+
			"under forms", wire.Bare(a.URL), yesOrNo(approve))
	}
	return f, button, ""
}

// passedLogin reports whether the server shows, after the password was sent, that it accepts the password.
func (t *T) passedLogin(p *browser.Page, r *Response) bool {
	return r.Location != "" || r.Answer.Status < http.StatusBadRequest && !p.AsksPassword(t.server.Target.Forms)
}

// ShowsLogin reports whether a walk ended at a page that asks for a password.
func (t *T) ShowsLogin(r *Response) bool {
	return r.Location == "" && r.Answer != nil && browser.Parse(r.Answer).AsksPassword(t.server.Target.Forms)
}

func yesOrNo(approve bool) string {
	if approve {
		return "to approve"
	}
	return "to deny"
}

// AsksPassword opens a request, and reports whether the server asks the person to sign in. If the page needs scripts,
// the check is blocked.
func (t *T) AsksPassword(b *browser.Browser, r *Request) (bool, *Response) {
	response := t.Open(b, r)
	if response.Stuck != "" {
		t.Blockedf("%s", response)
	}
	if response.Location != "" {
		return false, response
	}
	p, h := browser.Parse(b.Page), t.server.Target.Forms
	for _, f := range p.Forms {
		name := f.Username(h)
		if f.Password(h) != nil || name != nil && name.AsksName() {
			return true, response
		}
	}
	if p.Scripted && len(p.Forms) == 0 {
		t.Blockedf("the checks cannot use the page at %s: it has no form, and seems to need a script", wire.Bare(b.Page.URL))
	}
	return false, response
}

// LoginPage returns a new browser at the login page of a request. Without a login page the check is blocked.
func (t *T) LoginPage(r *Request) *browser.Browser {
	b := t.NewBrowser()
	asked, response := t.AsksPassword(b, r)
	if !asked {
		t.Blockedf("the server does not ask for a login: %s", response)
	}
	return b
}
