package rules

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// rfc6749Authorization has the checks of the rules about the authorization endpoint (RFC 6749 §3.1).
var rfc6749Authorization = checks{
	"RFC6749/3.1/person-verified": func(t *T) {
		c := t.Client(need.Code)
		t.WantNoCode(t.OpenAnonymously(t.Request(c)), "nobody has signed in")
		t.Code(t.Request(c))
	},
	"RFC6749/3.1/no-fragment": func(t *T) { wantNoFragment(t, need.Authorization) },
	"RFC6749/3.1/tls":         func(t *T) { wantTLS(t, t.Endpoint(need.Authorization)) },
	"RFC6749/3.1/get": func(t *T) {
		r := settled(t, t.OpenAnonymously(t.Request(t.Client(need.Code))))
		first := r.Seen[0]
		t.At(first)
		switch {
		case first.Status == http.StatusMethodNotAllowed || first.Status >= 500:
			t.Failf("a request by GET is answered with %s", first)
		case first.Status >= 400:
			t.Blockedf("a request of the client code is answered with %s: its id or its redirect URI can be wrong in the target",
				first)
		}
	},
	"RFC6749/3.1/post": func(t *T) {
		r := t.Request(t.Client(need.Code))
		if first := settled(t, t.OpenAnonymously(r)).Seen[0]; first.Status >= 400 {
			t.Blockedf("the same request by GET is answered with %s", first)
		}
		a := t.Post(r.Endpoint, r.Params)
		if a.Status >= 400 {
			t.Failf("a request by POST is answered with %s, although the server accepts it by GET", a)
		}
	},
	"RFC6749/3.1/empty-is-absent": func(t *T) {
		c := t.Client(need.Code)
		without := settled(t, t.Authorize(t.Request(c).Del("scope")))
		if without.Params.Get("code") == "" && without.ErrorCode() == "" {
			t.Blockedf("a request without scope ends with %s", without)
		}
		empty := settled(t, t.Authorize(t.Request(c).Set("scope", "")))
		if empty.Outcome() != without.Outcome() {
			t.Failf("a request with an empty scope ends with %s, but one without scope with %s", empty.Outcome(),
				without.Outcome())
		}
	},
	"RFC6749/3.1/unknown-ignored": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		wantCode(t, t.Authorize(t.Request(c).Set("conformance_unknown", "1")),
			"a request with the parameter conformance_unknown")
	},
	"RFC6749/3.1/not-repeated": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		for _, name := range []string{"response_type", "state", "scope", "client_id", "redirect_uri"} {
			r := t.Request(c)
			value := r.Params.Get(name)
			if value == "" {
				continue // the target names no scope
			}
			r.Params[name] = []string{value, value}
			t.WantNoCode(t.Authorize(r), name+" was sent twice")
		}
	},
	"RFC6749/3.1.1/response-type-missing": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		wantError(t, t.Authorize(t.Request(c).Del("response_type")), "invalid_request", "unsupported_response_type")
	},
	"RFC6749/3.1.1/response-type-unknown": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		r := t.Authorize(t.Request(c).Set("response_type", "conformance"))
		wantError(t, r, "unsupported_response_type", "invalid_request", "unauthorized_client")
	},
	"RFC6749/3.1.2/query-kept": rfc6749QueryKept,
	"RFC6749/3.1.2.2/several": func(t *T) {
		c := t.Client(need.Several)
		var without []string
		for _, uri := range c.RedirectURIs {
			if r := settled(t, t.Authorize(t.Request(c).Set("redirect_uri", uri))); !r.Arrived() {
				without = append(without, uri)
			}
		}
		if len(without) == len(c.RedirectURIs) {
			t.Blockedf("the server sends no response to any redirect URI")
		}
		if len(without) > 0 {
			t.Failf("the server sends no response to the registered redirect URI %s", without[0])
		}
	},
	"RFC6749/3.1.2.3/required-with-several": func(t *T) {
		c := t.Client(need.Several)
		t.Code(t.Request(c))
		wantNoRedirect(t, settled(t, t.Authorize(t.Request(c).Del("redirect_uri"))))
	},
	"RFC6749/3.1.2.3/optional-with-one": func(t *T) {
		c := singleURI(t)
		// OIDC Core §3.1.2.1: a request with the scope openid cannot omit it.
		t.Code(plainRequest(t, c))
		if r := settled(t, t.Authorize(plainRequest(t, c).Del("redirect_uri"))); !r.Arrived() {
			t.Failf("without redirect_uri the server sends no response to the registered one: %s", r)
		}
	},
	"RFC6749/3.1.2.3/registered": func(t *T) {
		wantUnregisteredRefused(t, t.Client(need.Code))
	},
	"RFC6749/3.1.2.3/simple-string-comparison": func(t *T) {
		c := t.Client(need.Code)
		wantRefusedURIs(t, c, almost(c.RedirectURI()))
	},
	"RFC6749/3.1.2.4/not-redirected": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		for _, uri := range []string{"https://attacker.example/", "//attacker.example/", "javascript:alert(1)", "not a uri"} {
			wantNoRedirect(t, t.OpenAnonymously(t.Request(c).Set("redirect_uri", uri)))
			wantNoRedirect(t, t.Authorize(t.Request(c).Set("redirect_uri", uri)))
		}
	},
	"RFC6749/3.1.2.4/person-informed": func(t *T) {
		c := t.Client(need.Code)
		t.Code(t.Request(c))
		wantErrorPage(t, t.Authorize(t.Request(c).Set("redirect_uri", "https://attacker.example/callback")))
	},
}

func rfc6749QueryKept(t *T) {
	c := t.Client(need.Several)
	uri, query := "", url.Values{}
	for _, registered := range c.RedirectURIs {
		u, err := url.Parse(registered)
		if err == nil && u.RawQuery != "" {
			uri, query = registered, u.Query()
		}
	}
	if uri == "" {
		t.Skipf("no redirect URI of the client several has a query: register one such as https://client.example/two?tenant=7")
	}
	r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
	if !r.Arrived() {
		t.Blockedf("%s", r)
	}
	for name := range query {
		if r.Params.Get(name) != query.Get(name) {
			t.Errorf("%s=%s of the redirect URI is missing", name, query.Get(name))
		}
	}
}

// singleURI returns the client code. If it has several redirect URIs, the check is skipped.
func singleURI(t *T) *target.Client {
	c := t.Client(need.Code)
	if len(c.RedirectURIs) != 1 {
		t.Skipf("the client code has %d redirect URIs: the rule needs a client with one", len(c.RedirectURIs))
	}
	return c
}

// wantErrorPage asserts that the server shows a page that says what is wrong. The server may ask for a login before,
// and may choose the status.
func wantErrorPage(t *T, r *check.Response) {
	settled(t, r)
	t.At(r.Answer)
	switch {
	case r.Location != "" && !ledToClient(r) && !ledTo(r, r.Request.Params.Get("redirect_uri")):
		ledElsewhere(t, r)
	case r.Location != "":
		t.Failf("no page tells the person what is wrong: the browser was sent to %s", place(r.Location))
	case r.Answer.Status >= 500 && !r.NamesError():
		t.Failf("no page tells the person what is wrong: the server fails with %s", r.Answer)
	case len(r.Answer.Body) == 0 || r.Answer.MediaType() == "text/html" && browser.Parse(r.Answer).Text == "":
		t.Failf("no page tells the person what is wrong: the answer is %s without a text", r.Answer)
	}
}

// wantUnregisteredRefused asserts that no response is sent to a redirect URI of another host.
func wantUnregisteredRefused(t *T, c *target.Client) {
	t.Code(t.Request(c))
	r := t.Authorize(t.Request(c).Set("redirect_uri", "https://attacker.example/callback"))
	t.WantNoCode(r, "https://attacker.example/callback is not registered")
	wantNoRedirect(t, r)
}

// wantRefusedURIs asserts that no code is sent to redirect URIs that differ from the registered one.
func wantRefusedURIs(t *T, c *target.Client, uris []string) {
	t.Code(t.Request(c))
	for _, uri := range uris {
		if slices.Contains(c.RedirectURIs, uri) {
			continue
		}
		r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
		t.WantNoCode(r, fmt.Sprintf("%s is not the registered %s", uri, c.RedirectURI()))
		wantNoRedirect(t, r)
	}
}

// almost returns redirect URIs that a careless comparison accepts as the given one.
func almost(uri string) []string {
	u, err := url.Parse(uri)
	if err != nil {
		return nil
	}
	return []string{
		uri + "/", uri + "/more", uri + "?more=1", uri + "%2f", uri + "/../other",
		strings.Replace(uri, u.Host, u.Host+".attacker.example", 1),
		strings.Replace(uri, u.Host, "sub."+u.Host, 1),
		strings.Replace(uri, u.Host, u.Host+"@attacker.example", 1),
		strings.ToUpper(uri),
		uri[:len(uri)-1],
	}
}
