package conformance

import "net/url"

const noImplicit = "Mandate has no implicit grant (RFC 9700 §2.1.2)."

// The other grants (RFC 6749 §4.2 to §4.5).
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
			Text:         "The implicit grant answers in the fragment, with token_type, and with scope where it differs.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2.2.1/errors", Level: Must,
			Text:         "The implicit grant tells its errors in the fragment, and redirects to no URI that is not registered.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC6749/4.2/left-out", Level: May,
			Text:  "The implicit grant is left out: response_type=token is refused.",
			Needs: asking(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(NeedCode)).Set("response_type", "token"))
				if r.Params.Has("access_token") {
					t.At(r.Answer)
					t.Failf("an access token was sent through the browser")
				}
				t.WantRedirectError(r, "unsupported_response_type", "unauthorized_client")
			},
		},
		{
			ID: "RFC6749/4.3/registered-only", Level: May,
			Text:  "The password grant is for clients that are registered for it only.",
			Needs: []Need{NeedToken, NeedCode, NeedUser},
			Check: func(t *T) {
				t.WantRefused(t.Token(t.Client(NeedCode), t.passwordForm()), "the client is registered for another grant")
			},
		},
		{
			ID: "RFC6749/4.3.2/client-authenticated", Level: Must,
			Text:  "The password grant authenticates a confidential client.",
			Needs: []Need{NeedToken, NeedPassword, NeedUser},
			Check: func(t *T) {
				c, form := t.Client(NeedPassword), t.passwordForm()
				t.Granted(t.Token(c, form))
				t.wantSecret(c, form)
			},
		},
		{
			ID: "RFC6749/4.3.2/password-validated", Level: Must,
			Text:  "The password grant gives nothing for a wrong password.",
			Needs: []Need{NeedToken, NeedPassword, NeedUser},
			Check: func(t *T) {
				form := t.passwordForm()
				form.Set("password", "wrong-"+t.Random())
				t.WantRefused(t.Token(t.Client(NeedPassword), form), "the password was wrong")
			},
		},
		{
			ID: "RFC6749/4.3.2/brute-force", Level: Must,
			Text:      "Whoever guesses at passwords by the password grant is slowed.",
			Elsewhere: "provider/grant_password_test.go:TestPasswordGrantIsSlowed",
		},
		{
			ID: "RFC6749/4.3.3/granted", Level: Must,
			Text:  "The right name and password are exchanged for an access token.",
			Needs: []Need{NeedToken, NeedPassword, NeedUser},
			Check: func(t *T) { t.WantGranted(t.Token(t.Client(NeedPassword), t.passwordForm())) },
		},
		{
			ID: "RFC6749/4.4/confidential-only", Level: Must,
			Text:  "A public client gets nothing by client credentials.",
			Needs: []Need{NeedToken, NeedPublic},
			Check: func(t *T) {
				t.WantRefused(t.asMachine(t.Client(NeedPublic).Credentials()), "the client is public")
			},
		},
		{
			ID: "RFC6749/4.4.2/client-authenticated", Level: Must,
			Text:  "The client credentials grant authenticates the client.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				t.WantRefused(t.asMachine(c.With("wrong-"+t.Random())), "the secret was wrong")
				t.WantRefused(t.Post(t.Endpoint(NeedToken), params("grant_type", "client_credentials")), "there was no client")
			},
		},
		{
			ID: "RFC6749/4.4.3/granted", Level: Must,
			Text:  "A client with the right secret gets an access token by client credentials.",
			Needs: machine,
			Check: func(t *T) { t.WantGranted(t.asMachine(t.Client(NeedMachine).Credentials())) },
		},
		{
			ID: "RFC6749/4.4.3/no-refresh-token", Level: Should,
			Text:  "No refresh token comes with an access token by client credentials.",
			Needs: machine,
			Check: func(t *T) {
				if got := t.plainly(); got.Refresh != "" {
					t.Failf("the answer has a refresh token")
				}
			},
		},
		{
			ID: "RFC6749/4.5/unknown-grant-type", Level: Must,
			Text:  "A grant type that nobody knows gives no token.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				a := t.Post(t.Endpoint(NeedToken), params("grant_type", "urn:example:conformance"), c.Credentials())
				t.WantRefused(a, "there is no such grant type")
			},
		},
	}
}

func (t *T) passwordForm() url.Values {
	u := t.User()
	return params("grant_type", "password", "username", u.Username, "password", u.Password)
}
