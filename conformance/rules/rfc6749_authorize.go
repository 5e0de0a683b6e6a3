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

// rfc6749Authorization returns the rules about the authorization endpoint (RFC 6749 §3.1).
func rfc6749Authorization() []Rule {
	return []Rule{
		{
			ID: "RFC6749/3.1/person-verified", Level: Must,
			Text:  "The server grants nothing before the resource owner is authenticated.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.WantNoCode(t.OpenAnonymously(t.Request(c)), "nobody has signed in")
				t.Code(t.Request(c))
			},
		},
		{
			ID: "RFC6749/3.1/no-fragment", Level: Must,
			Text:  "The address of the authorization endpoint has no fragment.",
			Needs: []Need{need.Authorization},
			Check: func(t *T) { wantNoFragment(t, need.Authorization) },
		},
		{
			ID: "RFC6749/3.1/tls", Level: Must,
			Text:  "The authorization endpoint uses TLS.",
			Needs: []Need{need.Authorization},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Authorization)) },
		},
		{
			ID: "RFC6749/3.1/get", Level: Must,
			Text:  "The server accepts an authorization request by GET.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				r := settled(t, t.OpenAnonymously(t.Request(t.Client(need.Code))))
				first := r.Seen[0]
				t.At(first)
				switch {
				case first.Status == http.StatusMethodNotAllowed || first.Status >= 500:
					t.Failf("a request by GET is answered with %s", first)
				case first.Status >= 400:
					t.Blockedf("a request of the client code is answered with %s: its id or its redirect URI can be wrong in the target", first)
				}
			},
		},
		{
			ID: "RFC6749/3.1/post", Level: May,
			Text:  "The server accepts an authorization request by POST.",
			Needs: []Need{need.Authorization, need.Code},
			Check: func(t *T) {
				r := t.Request(t.Client(need.Code))
				if first := settled(t, t.OpenAnonymously(r)).Seen[0]; first.Status >= 400 {
					t.Blockedf("the same request by GET is answered with %s", first)
				}
				a := t.Post(r.Endpoint, r.Params)
				if a.Status >= 400 {
					t.Failf("a request by POST is answered with %s, although the server accepts it by GET", a)
				}
			},
		},
		{
			ID: "RFC6749/3.1/empty-is-absent", Level: Must,
			Text:  "The authorization endpoint treats a parameter without a value as omitted.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				without := settled(t, t.Authorize(t.Request(c).Del("scope")))
				if without.Params.Get("code") == "" && without.ErrorCode() == "" {
					t.Blockedf("a request without scope ends with %s", without)
				}
				empty := settled(t, t.Authorize(t.Request(c).Set("scope", "")))
				if empty.Outcome() != without.Outcome() {
					t.Failf("a request with an empty scope ends with %s, but one without scope with %s", empty.Outcome(), without.Outcome())
				}
			},
		},
		{
			ID: "RFC6749/3.1/unknown-ignored", Level: Must,
			Text:  "The authorization endpoint ignores unknown parameters.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				wantCode(t, t.Authorize(t.Request(c).Set("conformance_unknown", "1")), "a request with the parameter conformance_unknown")
			},
		},
		{
			// The MUST NOT binds the sender. For the server §4.1.2.1 defines the error invalid_request, without a key
			// word.
			ID: "RFC6749/3.1/not-repeated", Level: Should,
			Text:  "The authorization endpoint refuses a parameter that is sent twice.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "RFC6749/3.1.1/response-type-missing", Level: Must,
			Text:  "A request without response_type is answered with an error at the redirect URI.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				wantError(t, t.Authorize(t.Request(c).Del("response_type")), "invalid_request", "unsupported_response_type")
			},
		},
		{
			ID: "RFC6749/3.1.1/response-type-unknown", Level: Must,
			Text:  "A request with an unknown response_type is answered with an error at the redirect URI.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				r := t.Authorize(t.Request(c).Set("response_type", "conformance"))
				wantError(t, r, "unsupported_response_type", "invalid_request", "unauthorized_client")
			},
		},
		{
			ID: "RFC6749/3.1.2/query-kept", Level: Must,
			Text:  "The query of a redirect URI is retained when the response is added.",
			Needs: []Need{need.Authorization, need.Several, need.User},
			Check: func(t *T) {
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
			},
		},
		{
			ID: "RFC6749/3.1.2/absolute-without-fragment", Level: Must,
			Text:     "A redirect URI is absolute and has no fragment.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC6749/3.1.2.1/insecure-redirect-warned", Level: Should,
			Text:     "The server warns the person if the redirect URI does not use TLS.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC6749/3.1.2.2/public-registers", Level: Must,
			Text:     "A public client registers its redirect URIs.",
			TestedBy: "conformance/elsewhere_test.go:TestRedirectURIIsRequired",
		},
		{
			ID: "RFC6749/3.1.2.2/all-register", Level: Should,
			Text:     "Every client that uses the authorization endpoint registers its redirect URIs.",
			TestedBy: "conformance/elsewhere_test.go:TestRedirectURIIsRequired",
		},
		{
			ID: "RFC6749/3.1.2.2/complete-uri", Level: Should,
			Text:     "The complete redirect URI is registered.",
			TestedBy: "conformance/elsewhere_test.go:TestRedirectURIIsRequired",
		},
		{
			ID: "RFC6749/3.1.2.2/several", Level: May,
			Text:  "A client can register several redirect URIs.",
			Needs: []Need{need.Authorization, need.Several, need.User},
			Check: func(t *T) {
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
		},
		{
			// The MUST binds the client. §3.1.2.4 says what the server does with a request that fails because of it.
			ID: "RFC6749/3.1.2.3/required-with-several", Level: Should,
			Text:  "The server does not guess the redirect URI if a client with several ones sends none.",
			Needs: []Need{need.Authorization, need.Several, need.User},
			Check: func(t *T) {
				c := t.Client(need.Several)
				t.Code(t.Request(c))
				wantNoRedirect(t, settled(t, t.Authorize(t.Request(c).Del("redirect_uri"))))
			},
		},
		{
			ID: "RFC6749/3.1.2.3/optional-with-one", Level: May,
			Text:  "A client with a single redirect URI can omit it.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := singleURI(t)
				// OIDC Core §3.1.2.1: a request with the scope openid cannot omit it.
				t.Code(plainRequest(t, c))
				if r := settled(t, t.Authorize(plainRequest(t, c).Del("redirect_uri"))); !r.Arrived() {
					t.Failf("without redirect_uri the server sends no response to the registered one: %s", r)
				}
			},
		},
		{
			ID: "RFC6749/3.1.2.3/registered", Level: Must,
			Text:  "The server sends no response to a redirect URI that is not registered.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantUnregisteredRefused(t, t.Client(need.Code))
			},
		},
		{
			ID: "RFC6749/3.1.2.3/simple-string-comparison", Level: Must,
			Text:  "The server compares redirect URIs character by character.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantRefusedURIs(t, c, almost(c.RedirectURI()))
			},
		},
		{
			ID: "RFC6749/3.1.2.4/not-redirected", Level: Must,
			Text:  "The server does not redirect to a redirect URI that is invalid or not registered, neither before nor after a login.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				for _, uri := range []string{"https://attacker.example/", "//attacker.example/", "javascript:alert(1)", "not a uri"} {
					wantNoRedirect(t, t.OpenAnonymously(t.Request(c).Set("redirect_uri", uri)))
					wantNoRedirect(t, t.Authorize(t.Request(c).Set("redirect_uri", uri)))
				}
			},
		},
		{
			ID: "RFC6749/3.1.2.4/person-informed", Level: Should,
			Text:  "The server tells the person that the redirect URI is invalid.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.Code(t.Request(c))
				wantErrorPage(t, t.Authorize(t.Request(c).Set("redirect_uri", "https://attacker.example/callback")))
			},
		},
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
