package programs

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"mandate/conformance/browser"
	"mandate/conformance/wire"
)

// visitor is alice with a browser that has no scripts.
type visitor struct {
	*browser.Browser
	server *server
	asked  []string // what Mandate has asked her: "password", "consent"
}

func newVisitor(t *testing.T, s *server) *visitor {
	send := func(r *http.Request) *wire.Answer {
		answer, err := s.client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		return &wire.Answer{Status: answer.StatusCode, Header: answer.Header, Body: body, Method: r.Method, URL: r.URL}
	}
	return &visitor{Browser: browser.New(browser.NewJar(), send, func(*url.URL) bool { return false }), server: s}
}

// visit opens an address, and answers what Mandate asks until the browser shows a page of the program.
func (v *visitor) visit(t *testing.T, address string) {
	t.Helper()
	v.check(t, v.Open(address))
	v.answer(t)
}

// answer answers what Mandate asks until the browser shows a page of the program.
func (v *visitor) answer(t *testing.T) {
	t.Helper()
	for range 10 {
		page := browser.Parse(v.Page)
		form := page.FormPost()
		if form == nil && !v.atMandate() {
			return
		}
		if form == nil {
			form = v.fill(t, page)
		}
		v.check(t, v.Submit(form))
	}
	t.Fatalf("Mandate asks again and again: %v", v.asked)
}

// fill fills in a page of Mandate.
func (v *visitor) fill(t *testing.T, page *browser.Page) *browser.Form {
	t.Helper()
	hints := browser.Hints{}
	for _, form := range page.Forms {
		if secret := form.Password(hints); secret != nil {
			form.Values.Set(form.Username(hints).Name, alice.username)
			form.Values.Set(secret.Name, alice.password)
			form.Press(form.First())
			v.asked = append(v.asked, "password")
			return form
		}
	}
	form, button := page.Decision(true, hints)
	if form == nil {
		t.Fatalf("Mandate shows %s %s: %s", v.Page, wire.Bare(v.Page.URL), page.Text)
	}
	form.Press(button)
	v.asked = append(v.asked, "consent")
	return form
}

// signInAtMandate signs in on Mandate's own pages.
func (v *visitor) signInAtMandate(t *testing.T) {
	t.Helper()
	v.check(t, v.Open(v.server.base()+"/account/"))
	v.check(t, v.Submit(v.fill(t, browser.Parse(v.Page))))
	v.asked = nil
}

func (v *visitor) atMandate() bool {
	return strings.HasPrefix(v.Page.URL.String(), v.server.base()+"/")
}

func (v *visitor) check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
