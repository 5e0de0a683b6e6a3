package rules

import (
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc6749Grants has the checks of the rules about the other grants (RFC 6749 §4.2 to §4.5).
var rfc6749Grants = checks{
	"RFC6749/4.2/left-out": func(t *T) {
		t.Code(t.Request(t.Client(need.Code)))
		r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", "token")))
		if r.Params.Has("access_token") {
			t.At(r.Answer)
			t.Failf("the browser received an access token")
		}
		t.WantRedirectError(r, "unsupported_response_type", "unauthorized_client")
	},
	"RFC6749/4.3/registered-only": func(t *T) {
		t.Granted(t.Token(t.Client(need.Password), passwordForm(t)))
		a := t.Token(t.Client(need.Code), passwordForm(t))
		t.WantRefused(a, "the client is registered for another grant")
	},
	"RFC6749/4.3.2/client-authenticated": func(t *T) {
		c := t.Client(need.Password)
		form := scopedForm(t, c)
		wantAuthenticated(t, c, func() url.Values { return form })
	},
	"RFC6749/4.3.2/password-validated": func(t *T) {
		c := t.Client(need.Password)
		form := scopedForm(t, c)
		t.Granted(t.Token(c, form))
		form.Set("password", "wrong-"+t.Random())
		t.WantRefused(t.Token(c, form), "the password was wrong")
	},
	"RFC6749/4.3.3/granted": func(t *T) {
		c := t.Client(need.Password)
		t.WantGranted(t.Token(c, scopedForm(t, c)))
	},
	"RFC6749/4.4/confidential-only": func(t *T) {
		t.Machine()
		t.WantRefused(t.ByCredentials(t.Client(need.Machine), t.Client(need.Public).Credentials()), "the client is public")
	},
	"RFC6749/4.4.2/client-authenticated": func(t *T) {
		c := t.Client(need.Machine)
		wantAuthenticated(t, c, aTokenRequest(t).fresh)
		t.WantRefused(t.ByCredentials(c, c.With(strings.ToUpper(c.Secret)+"x")), "the secret was wrong")
		t.WantRefused(t.Post(t.Endpoint(need.Token), wire.Params("grant_type", "client_credentials")),
			"the client is unknown")
	},
	"RFC6749/4.4.3/granted": func(t *T) {
		c := t.Client(need.Machine)
		t.WantGranted(t.ByCredentials(c, c.Credentials()))
	},
	"RFC6749/4.4.3/no-refresh-token": func(t *T) {
		if got := t.Machine(); got.Refresh != "" {
			t.Failf("the response has a refresh token")
		}
	},
	"RFC6749/4.5/unknown-grant-type": func(t *T) {
		r := aTokenRequest(t)
		r.granted(t)
		t.WantRefused(t.Token(r.client, r.with("grant_type", "urn:example:conformance")), "there is no such grant type")
	},
}

// scopedForm returns a request of the password grant. RFC 6749 §3.3: a server may refuse a request without scope. Then
// the request has the scope of the target.
func scopedForm(t *T, c *target.Client) url.Values {
	form := passwordForm(t)
	if form.Has("scope") || !t.Scoped() {
		return form
	}
	if code := t.Token(c, form).Text("error"); code == "invalid_scope" || code == "invalid_request" {
		form.Set("scope", t.Scope())
	}
	return form
}

func passwordForm(t *T) url.Values {
	u := t.User()
	form := wire.Params("grant_type", "password", "username", u.Username, "password", u.Password)
	if c := t.OptionalClient(need.Password); c != nil && c.Scope != "" {
		form.Set("scope", c.Scope)
	}
	return form
}
