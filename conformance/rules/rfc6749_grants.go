package rules

import (
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

const noImplicit = "Mandate does not support the implicit grant (RFC 9700 §2.1.2)."

// rfc6749Grants returns the rules about the other grants (RFC 6749 §4.2 to §4.5).
func rfc6749Grants() []Rule {
	return []Rule{
		{
			ID: "RFC6749/4.2.1/redirect-uri-verified", Level: Must,
			Text:         "The redirect URI of an implicit request is a registered one.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2.2/no-refresh-token", Level: Must,
			Text:         "The implicit grant issues no refresh token.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2.2/in-fragment", Level: Must,
			Text:         "The implicit grant returns its response in the fragment, with token_type, and with scope if it differs.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2.2.1/errors", Level: Must,
			Text:         "The implicit grant returns errors in the fragment, and redirects only to registered URIs.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2/left-out", Level: May,
			Text:  "The implicit grant is not supported: response_type=token is refused.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Code)))
				r := settled(t, t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", "token")))
				if r.Params.Has("access_token") {
					t.At(r.Answer)
					t.Failf("the browser received an access token")
				}
				t.WantRedirectError(r, "unsupported_response_type", "unauthorized_client")
			},
		},
		{
			ID: "RFC6749/4.3/registered-only", Level: May,
			Text:  "Only clients that are registered for the password grant can use it.",
			Needs: []Need{need.Token, need.Code, need.User, need.Password},
			Check: func(t *T) {
				t.Granted(t.Token(t.Client(need.Password), passwordForm(t)))
				a := t.Token(t.Client(need.Code), passwordForm(t))
				t.WantRefused(a, "the client is registered for another grant")
			},
		},
		{
			ID: "RFC6749/4.3.2/client-authenticated", Level: Must,
			Text:  "The password grant authenticates a confidential client.",
			Needs: []Need{need.Token, need.Password, need.User},
			Check: func(t *T) {
				c := t.Client(need.Password)
				form := scopedForm(t, c)
				wantAuthenticated(t, c, func() url.Values { return form })
			},
		},
		{
			ID: "RFC6749/4.3.2/password-validated", Level: Must,
			Text:  "The password grant refuses a wrong password.",
			Needs: []Need{need.Token, need.Password, need.User},
			Check: func(t *T) {
				c := t.Client(need.Password)
				form := scopedForm(t, c)
				t.Granted(t.Token(c, form))
				form.Set("password", "wrong-"+t.Random())
				t.WantRefused(t.Token(c, form), "the password was wrong")
			},
		},
		{
			ID: "RFC6749/4.3.2/brute-force", Level: Must,
			Text:     "The server limits guesses of passwords at the password grant.",
			TestedBy: "provider/grant_password_test.go:TestPasswordGrantIsSlowed",
		},
		{
			ID: "RFC6749/4.3.3/granted", Level: Should,
			Text:  "The password grant returns an access token for the correct name and password.",
			Needs: []Need{need.Token, need.Password, need.User},
			Check: func(t *T) {
				c := t.Client(need.Password)
				t.WantGranted(t.Token(c, scopedForm(t, c)))
			},
		},
		{
			ID: "RFC6749/4.4/confidential-only", Level: Must,
			Text:  "A public client gets no token by client credentials.",
			Needs: []Need{need.Token, need.Public, need.Machine},
			Check: func(t *T) {
				t.Machine()
				t.WantRefused(t.ByCredentials(t.Client(need.Machine), t.Client(need.Public).Credentials()), "the client is public")
			},
		},
		{
			ID: "RFC6749/4.4.2/client-authenticated", Level: Must,
			Text:  "By client credentials a client gets no token without its secret, or with a wrong one.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Machine)
				wantAuthenticated(t, c, aTokenRequest(t).fresh)
				t.WantRefused(t.ByCredentials(c, c.With(strings.ToUpper(c.Secret)+"x")), "the secret was wrong")
				t.WantRefused(t.Post(t.Endpoint(need.Token), wire.Params("grant_type", "client_credentials")), "the client is unknown")
			},
		},
		{
			ID: "RFC6749/4.4.3/granted", Level: Should,
			Text:  "A client with the correct secret gets an access token by client credentials.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Machine)
				t.WantGranted(t.ByCredentials(c, c.Credentials()))
			},
		},
		{
			ID: "RFC6749/4.4.3/no-refresh-token", Level: Should,
			Text:  "The client credentials grant returns no refresh token.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				if got := t.Machine(); got.Refresh != "" {
					t.Failf("the response has a refresh token")
				}
			},
		},
		{
			ID: "RFC6749/4.5/unknown-grant-type", Level: Should,
			Text:  "An unknown grant type returns no token.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				r.granted(t)
				t.WantRefused(t.Token(r.client, r.with("grant_type", "urn:example:conformance")), "there is no such grant type")
			},
		},
	}
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
