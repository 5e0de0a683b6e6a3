package conformance

import "strings"

// The token endpoint and scopes (RFC 6749 §3.2, §3.3).
func rfc6749TokenEndpoint() []Rule {
	return []Rule{
		{
			ID: "RFC6749/3.2/no-fragment", Level: Must,
			Text:  "The address of the token endpoint has no fragment.",
			Needs: []Need{NeedToken},
			Check: func(t *T) { t.wantNoFragment(NeedToken) },
		},
		{
			ID: "RFC6749/3.2/tls", Level: Must,
			Text:  "The token endpoint is reached by TLS.",
			Needs: []Need{NeedToken},
			Check: func(t *T) { t.wantTLS(t.Endpoint(NeedToken)) },
		},
		{
			ID: "RFC6749/3.2/post-only", Level: Must,
			Text:  "A token is asked for by POST: the same by GET is refused.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				a := t.Get(t.Endpoint(NeedToken)+"?grant_type=client_credentials", Basic(c.ID, c.Secret))
				t.WantRefused(a, "it was asked for by GET")
			},
		},
		{
			ID: "RFC6749/3.2/empty-is-absent", Level: Must,
			Text:  "A parameter without a value counts as left out at the token endpoint.",
			Needs: machine,
			Check: func(t *T) {
				without := t.plainly()
				empty := t.WantGranted(t.asMachine(t.Client(NeedMachine).Credentials(), "scope", ""))
				if without.Scope != "" && empty.Scope != without.Scope {
					t.Failf("with an empty scope the token has %q, without scope %q", empty.Scope, without.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.2/unknown-ignored", Level: Must,
			Text:  "Parameters that the token endpoint does not know are ignored.",
			Needs: machine,
			Check: func(t *T) {
				t.plainly()
				t.WantGranted(t.asMachine(t.Client(NeedMachine).Credentials(), "conformance_unknown", "1"))
			},
		},
		{
			ID: "RFC6749/3.2/not-repeated", Level: Must,
			Text:  "A parameter that is sent twice to the token endpoint is refused.",
			Needs: machine,
			Check: func(t *T) {
				scope, _, _ := strings.Cut(t.plainly().Scope, " ")
				for _, twice := range [][]string{{"grant_type", "client_credentials"}, {"scope", scope, "scope", scope}} {
					a := t.asMachine(t.Client(NeedMachine).Credentials(), twice...)
					t.WantRefused(a, twice[0]+" was sent twice")
				}
			},
		},
		{
			ID: "RFC6749/3.2.1/confidential-authenticates", Level: Must,
			Text:  "A confidential client gets no token without its secret, or with a wrong one.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(NeedMachine)
				t.wantSecret(c, params("grant_type", "client_credentials"))
				t.WantRefused(t.asMachine(c.With(strings.ToUpper(c.Secret)+"x")), "the secret was wrong")
			},
		},
		{
			ID: "RFC6749/3.2.1/public-identifies", Level: Must,
			Text:  "A public client redeems its code with its client_id, and not without.",
			Needs: []Need{NeedAuthorization, NeedToken, NeedPublic, NeedUser},
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(NeedPublic)))
				t.WantRefused(t.Post(t.Endpoint(NeedToken), code.Form()), "the request does not say which client it is from")
				t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(NeedPublic)))))
			},
		},
		{
			ID: "RFC6749/3.3/scope-told", Level: Must,
			Text:  "The answer tells the scope where it is not the one that was asked for.",
			Needs: machine,
			Check: func(t *T) {
				got := t.plainly()
				if got.Scope != "" {
					return
				}
				if !t.Has(NeedIntrospection) || !t.Has(NeedIntrospect) {
					t.Skipf("nothing was asked for and nothing is told; only introspection could show what was given")
				}
				if scope, _ := t.introspected(got.Access)["scope"].(string); scope != "" {
					t.At(got.Answer)
					t.Failf("nothing was asked for, the token has %q, and the answer tells no scope", scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/default-or-refused", Level: Must,
			Text:  "A request without scope gets the default scope or the error invalid_scope.",
			Needs: machine,
			Check: func(t *T) {
				a := t.asMachine(t.Client(NeedMachine).Credentials())
				if !a.Granted() {
					t.WantError(a, "invalid_scope")
				}
			},
		},
		{
			ID: "RFC6749/3.3/default-scope", Level: May,
			Text:  "The default scope has neither openid nor introspection, which somebody has to ask for by name.",
			Needs: machine,
			Check: func(t *T) {
				for name := range strings.FieldsSeq(t.plainly().Scope) {
					if name == "openid" || name == "introspection" {
						t.Errorf("%s was given to a client that did not ask for it", name)
					}
				}
			},
		},
		{
			ID: "RFC6749/3.3/scope-honoured", Level: May,
			Text:  "A token has the scope that was asked for, and no more.",
			Needs: machine,
			Check: func(t *T) {
				scope, _, several := strings.Cut(t.plainly().Scope, " ")
				if !several {
					t.Skipf("the client machine has one scope only")
				}
				got := t.WantGranted(t.asMachine(t.Client(NeedMachine).Credentials(), "scope", scope))
				if got.Scope != scope && got.Scope != "" {
					t.Failf("%q was asked for, and the token has %q", scope, got.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/unknown-scope-refused", Level: May,
			Text:  "A scope that nobody knows is refused, and not left out in silence.",
			Needs: machine,
			Check: func(t *T) {
				a := t.asMachine(t.Client(NeedMachine).Credentials(), "scope", "conformance-unknown")
				t.WantRefused(a, "the scope does not exist")
			},
		},
		{
			ID: "RFC6749/3.3/documented", Level: Should,
			Text:         "The documentation tells the scopes and the default.",
			Inapplicable: "It asks for a sentence in the documentation, which README.md has under SCOPES and DEFAULT_SCOPES; scopes_supported in the metadata lists them.",
		},
	}
}
