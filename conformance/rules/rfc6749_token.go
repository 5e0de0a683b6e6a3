package rules

import (
	"encoding/base64"
	"fmt"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc6749TokenEndpoint returns the rules about the token endpoint and scopes (RFC 6749 §3.2, §3.3).
func rfc6749TokenEndpoint() []Rule {
	return []Rule{
		{
			ID: "RFC6749/3.2/no-fragment", Level: Must,
			Text:  "The address of the token endpoint has no fragment.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantNoFragment(t, need.Token) },
		},
		{
			ID: "RFC6749/3.2/tls", Level: Must,
			Text:  "The token endpoint uses TLS.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
		},
		{
			ID: "RFC6749/3.2/post-only", Level: Must,
			Text:  "The token endpoint requires POST: GET is refused.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				a := t.Get(t.Endpoint(need.Token)+"?grant_type=client_credentials", wire.Basic(c.ID, c.Secret))
				t.WantRefused(a, "it was asked for by GET")
			},
		},
		{
			ID: "RFC6749/3.2/empty-is-absent", Level: Must,
			Text:  "The token endpoint treats a parameter without a value as omitted.",
			Needs: machine,
			Check: func(t *T) {
				without := t.Machine()
				empty := t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "scope", ""))
				if without.Scope != "" && empty.Scope != without.Scope {
					t.Failf("with an empty scope the token has %q, but without scope %q", empty.Scope, without.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.2/unknown-ignored", Level: Must,
			Text:  "The token endpoint ignores unknown parameters.",
			Needs: machine,
			Check: func(t *T) {
				t.Machine()
				t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "conformance_unknown", "1"))
			},
		},
		{
			ID: "RFC6749/3.2/not-repeated", Level: Must,
			Text:  "The token endpoint refuses a parameter that is sent twice.",
			Needs: machine,
			Check: func(t *T) {
				scope, _, _ := strings.Cut(t.Machine().Scope, " ")
				for _, twice := range [][]string{{"grant_type", "client_credentials"}, {"scope", scope, "scope", scope}} {
					a := t.AsMachine(t.Client(need.Machine).Credentials(), twice...)
					t.WantRefused(a, twice[0]+" was sent twice")
				}
			},
		},
		{
			ID: "RFC6749/3.2.1/confidential-authenticates", Level: Must,
			Text:  "A confidential client gets no token without its secret, or with a wrong one.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				wantSecret(t, c, wire.Params("grant_type", "client_credentials"))
				t.WantRefused(t.AsMachine(c.With(strings.ToUpper(c.Secret)+"x")), "the secret was wrong")
			},
		},
		{
			ID: "RFC6749/3.2.1/public-identifies", Level: Must,
			Text:  "A public client must send its client_id to redeem a code.",
			Needs: []Need{need.Authorization, need.Token, need.Public, need.User},
			Check: func(t *T) {
				code := t.Code(t.Request(t.Client(need.Public)))
				t.WantRefused(t.Post(t.Endpoint(need.Token), code.Form()), "the request has no client_id")
				t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Public)))))
			},
		},
		{
			ID: "RFC6749/3.3/scope-told", Level: Must,
			Text:  "The response has scope if it differs from the requested one.",
			Needs: machine,
			Check: func(t *T) {
				got := t.Machine()
				if got.Scope != "" {
					return
				}
				if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
					t.Skipf("no scope was requested and none is returned; only introspection could show which scope was granted")
				}
				if scope, _ := t.Introspected(got.Access)["scope"].(string); scope != "" {
					t.At(got.Answer)
					t.Failf("no scope was requested, the token has %q, but the response has no scope", scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/default-or-refused", Level: Must,
			Text:  "A request without scope gets the default scope or the error invalid_scope.",
			Needs: machine,
			Check: func(t *T) {
				a := t.AsMachine(t.Client(need.Machine).Credentials())
				if !a.Granted() {
					t.WantError(a, "invalid_scope")
				}
			},
		},
		{
			ID: "RFC6749/3.3/default-scope", Level: May,
			Text:  "The default scope contains neither openid nor introspection.",
			Needs: machine,
			Check: func(t *T) {
				for name := range strings.FieldsSeq(t.Machine().Scope) {
					if name == "openid" || name == "introspection" {
						t.Errorf("%s was granted to a client that did not request it", name)
					}
				}
			},
		},
		{
			ID: "RFC6749/3.3/scope-honoured", Level: May,
			Text:  "A token has the requested scope, and no more.",
			Needs: machine,
			Check: func(t *T) {
				scope := t.Scopes(t.Machine())[0]
				got := t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "scope", scope))
				if got.Scope != scope && got.Scope != "" {
					t.Failf("%q was requested, but the token has %q", scope, got.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/unknown-scope-refused", Level: May,
			Text:  "An unknown scope is refused, and not ignored silently.",
			Needs: machine,
			Check: func(t *T) {
				a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", "conformance-unknown")
				t.WantRefused(a, "the scope does not exist")
			},
		},
		{
			ID: "RFC6749/3.3/documented", Level: Should,
			Text:         "The documentation names the scopes and the default.",
			Inapplicable: "The documentation has it under SCOPES and DEFAULT_SCOPES; scopes_supported in the metadata lists them.",
		},
	}
}

// rfc6749Clients returns the rules about roles, registration and client authentication (RFC 6749 §1, §2).
func rfc6749Clients() []Rule {
	return []Rule{
		{
			ID: "RFC6749/1.1/servers-apart", Level: May,
			Text:     "A resource server can run apart from the authorization server, and needs only its addresses.",
			TestedBy: "conformance/mandate/walk_resource_test.go:TestWalkResourceServer",
		},
		{
			ID: "RFC6749/2.1/client-type-not-guessed", Level: Should,
			Text:     "The server does not guess whether a client is confidential: its registration says so.",
			TestedBy: "conformance/mandate/spec_application_test.go:TestSpecApplicationKinds",
		},
		{
			ID: "RFC6749/2.1/public-allowed", Level: May,
			Text:  "The server supports public clients, which have no secret.",
			Needs: []Need{need.Authorization, need.Token, need.Public, need.User},
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Public))))) },
		},
		{
			ID: "RFC6749/2.2/client-id-unique", Level: Must,
			Text:     "Every client has a unique identifier.",
			TestedBy: "storage/application_test.go:TestClientIDIsTakenOnce",
		},
		{
			ID: "RFC6749/2.2/client-id-size-documented", Level: Should,
			Text:         "The documentation states the size of client identifiers.",
			Inapplicable: "The documentation states it in its security model.",
		},
		{
			ID: "RFC6749/2.3/public-client-not-relied-on", Level: Must,
			Text:         "The server does not rely on client authentication to identify a public client.",
			Inapplicable: "Public clients have no credentials in Mandate, and each of their requests asks the person.",
		},
		{
			ID: "RFC6749/2.3/one-method", Level: Must,
			Text:  "A request with two methods of client authentication is refused.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				t.Machine()
				both := t.AsMachine(wire.Basic(c.ID, c.Secret), "client_id", c.ID, "client_secret", c.Secret)
				t.WantRefused(both, "the client authenticated in the header and in the body")
			},
		},
		{
			ID: "RFC6749/2.3.1/basic-supported", Level: Must,
			Text:  "A client with a secret can authenticate by HTTP Basic.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				if c.Auth != need.SecretBasic {
					t.Skipf("the client machine is registered for %s", c.Auth)
				}
				t.WantGranted(t.AsMachine(wire.Basic(c.ID, c.Secret)))
			},
		},
		{
			ID: "RFC6749/2.3.1/basic-form-encoded", Level: Must,
			Text:  "In HTTP Basic the client identifier and the secret are form-encoded.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				t.Granted(t.AsMachine(wire.Basic(c.ID, c.Secret)))
				encoded := percentEncoded(c.ID) + ":" + percentEncoded(c.Secret)
				header := "Basic " + base64.StdEncoding.EncodeToString([]byte(encoded))
				t.WantGranted(t.AsMachine(wire.Header("Authorization", header)))
			},
		},
		{
			ID: "RFC6749/2.3.1/in-body", Level: May,
			Text:  "A client can send its identifier and secret in the body.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				t.WantGranted(t.AsMachine(wire.InBody(c.ID, c.Secret)))
			},
		},
		{
			ID: "RFC6749/2.3.1/not-in-uri", Level: Must,
			Text:  "The server ignores client credentials in the query.",
			Needs: machine,
			Check: func(t *T) {
				c := t.Client(need.Machine)
				query := wire.Params("client_id", c.ID, "client_secret", c.Secret)
				a := t.Post(t.Endpoint(need.Token)+"?"+query.Encode(), wire.Params("grant_type", "client_credentials"))
				t.WantRefused(a, "the secret was in the query")
			},
		},
		{
			ID: "RFC6749/2.3.1/tls", Level: Must,
			Text:  "Client secrets are sent only by TLS.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
		},
		{
			ID: "RFC6749/2.3.1/brute-force", Level: Must,
			Text:     "The server limits guesses of client secrets.",
			TestedBy: "provider/client_test.go:TestChosenSecretIsSlowed",
		},
		{
			ID: "RFC6749/2.3.2/other-methods-mapped", Level: Must,
			Text:         "If a server supports further authentication methods, it knows the method of each client.",
			Inapplicable: "There are no further methods: assertions and certificates are refused.",
		},
	}
}

// percentEncoded encodes every character, even if it is not necessary.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}
