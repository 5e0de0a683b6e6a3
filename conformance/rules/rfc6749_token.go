package rules

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"mandate/conformance/check"
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
			// The MUST binds the client. For the server the clauses define the place of the parameters of each grant, without a
			// keyword (§4.1.3, §4.4.2): the body.
			ID: "RFC6749/3.2/post-only", Level: Should,
			Text:  "The token endpoint takes a request by POST: it issues no token for one by GET, whose code or secret appears in logs.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				c := withBasic(t, r.client)
				r.granted(t)
				t.WantRefused(t.Get(wire.WithQuery(t.Endpoint(need.Token), r.fresh()), wire.Basic(c.ID, c.Secret)), "it was asked for by GET")
			},
		},
		{
			ID: "RFC6749/3.2/empty-is-absent", Level: Must,
			Text:  "The token endpoint treats a parameter without a value as omitted.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Machine)
				without := t.Granted(t.AsMachine(c.Credentials()))
				a := t.AsMachine(c.Credentials(), "scope", "")
				if !a.Granted() {
					t.Failf("a request with an empty scope gets no token (%s), but one without scope gets one", a.Failure())
				}
				empty := t.Granted(a)
				if without.Scope != "" && empty.Scope != "" && !sameWords(empty.Scope, without.Scope) {
					t.Failf("with an empty scope the token has %q, but without scope %q", empty.Scope, without.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.2/unknown-ignored", Level: Must,
			Text:  "The token endpoint ignores unknown parameters.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				r.granted(t)
				t.WantGranted(t.Token(r.client, r.with("conformance_unknown", "1")))
			},
		},
		{
			// The MUST NOT binds the sender. For the server §5.2 defines the error invalid_request, without a key word.
			ID: "RFC6749/3.2/not-repeated", Level: Should,
			Text:  "The token endpoint refuses a parameter that is sent twice.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				scope, _, _ := strings.Cut(r.granted(t).Scope, " ")
				grant := r.fresh()
				grant.Add("grant_type", grant.Get("grant_type"))
				t.WantRefused(t.Token(r.client, grant), "grant_type was sent twice")
				if scope != "" {
					scopes := r.with("scope", scope)
					scopes.Add("scope", scope)
					t.WantRefused(t.Token(r.client, scopes), "scope was sent twice")
				}
			},
		},
		{
			ID: "RFC6749/3.2.1/client-authenticates", Level: Must,
			Text:         "A confidential client authenticates at the token endpoint, and a public one sends its client_id.",
			Inapplicable: "This binds clients. What the server does is in §4.1.3, §4.3.2, §4.4.2 and §6, whose rules are checked.",
		},
		{
			ID: "RFC6749/3.3/scope-told", Level: Must,
			Text:  "The response has scope if it differs from the requested one.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				got := t.Granted(t.AsMachine(t.Client(need.Machine).Credentials()))
				if got.Scope != "" {
					return
				}
				if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
					t.Skipf("no scope was requested and none is returned: the rule needs a client introspection, because only introspection shows which scope was granted")
				}
				if scope, _ := t.Introspected(got.Access)["scope"].(string); scope != "" {
					t.At(got.Answer)
					t.Failf("no scope was requested, the token has %q, but the response has no scope", scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/left-out-scope-told", Level: Must,
			Text:  "If the server leaves out a part of the requested scope, the response has the scope of the token.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				scope := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)[0]
				requested := scope + " " + badScopes[0]
				a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", requested)
				if a.Text("error") == "invalid_scope" {
					t.Skipf("the server refuses a request with an unknown scope: the rule needs one that leaves it out")
				}
				wantToldScope(t, t.Granted(a), requested)
			},
		},
		{
			// The document says this without a keyword.
			ID: "RFC6749/3.3/order", Level: Should,
			Text:  "The order of the scopes in a request does not matter.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				names := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)
				in := func(names []string) *check.Tokens {
					return t.WantGranted(
						t.AsMachine(t.Client(need.Machine).Credentials(), "scope", strings.Join(names, " ")),
					)
				}
				one, turned := in(names), slices.Clone(names)
				slices.Reverse(turned)
				if other := in(turned); one.Scope != "" && other.Scope != "" && !sameWords(one.Scope, other.Scope) {
					t.Failf("the same scopes in two orders give %q and %q", one.Scope, other.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/case", Level: Should,
			Text:  "A scope in another case is another scope, and does not give the same access.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				scope := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)[0]
				other := strings.ToUpper(scope)
				if other == scope {
					other = strings.ToLower(scope)
				}
				a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", other)
				if a.Granted() && slices.Contains(strings.Fields(a.Text("scope")), scope) {
					t.At(a)
					t.Failf("%s was requested, and %s granted", other, scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/default-or-refused", Level: Must,
			Text:  "A request without scope gets the default scope or the error invalid_scope.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Machine)
				a := t.AsMachine(c.Credentials())
				if a.Granted() || a.Text("error") == "invalid_scope" {
					return
				}
				// Another error can have another cause than the missing scope.
				scopes, _ := t.Metadata().List("scopes_supported")
				for _, scope := range append([]string{c.Scope}, scopes...) {
					if scope != "" && t.AsMachine(c.Credentials(), "scope", scope).Granted() {
						t.At(a)
						t.Failf("without scope the answer is %s, but with the scope %s a token is issued", a.Failure(), scope)
					}
				}
				t.At(a)
				t.Blockedf("the client machine gets no token, neither without scope nor with one: %s. Name its scope in the target under clients.machine.scope", a.Failure())
			},
		},
		{
			ID: "RFC6749/3.3/default-scope", Level: May,
			Text:  "The default scope contains neither openid nor introspection.",
			Needs: machineNeeds(),
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
			Needs: machineNeeds(),
			Check: func(t *T) {
				scope := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)[0]
				got := t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "scope", scope))
				if !sameWords(got.Scope, scope) && got.Scope != "" {
					t.Failf("%q was requested, but the token has %q", scope, got.Scope)
				}
			},
		},
		{
			ID: "RFC6749/3.3/unknown-scope-refused", Level: May,
			Text:  "An unknown scope is refused, and not ignored silently.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				t.Machine()
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

// wantToldScope asserts that the response to a request with an unknown scope says that the token lacks it.
func wantToldScope(t *T, tokens *check.Tokens, requested string) {
	t.At(tokens.Answer)
	switch {
	case tokens.Scope == "":
		t.Failf(
			"%q was requested, and the response has no scope, so that the client believes that it has %s",
			requested,
			badScopes[0],
		)
	case slices.Contains(strings.Fields(tokens.Scope), badScopes[0]):
		t.Failf("the response has the scope %q, although no server has %s", tokens.Scope, badScopes[0])
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
			Needs: publicCodeNeeds(),
			Check: func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Public))))) },
		},
		{
			ID: "RFC6749/2.2/client-id-unique", Level: Should,
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
			Inapplicable: "Public clients have no credentials in Mandate. Whether the person is asked again depends on the redirect URI, and §10.2 is checked.",
		},
		{
			ID: "RFC6749/2.3/one-method", Level: Must,
			Text:         "A client uses one method of authentication in a request.",
			Inapplicable: "This binds clients. What the server answers is in §5.2, whose rule is checked.",
		},
		{
			ID: "RFC6749/2.3.1/basic-supported", Level: Must,
			Text:  "A client with a secret can authenticate by HTTP Basic.",
			Needs: []Need{need.Token},
			Check: func(t *T) { wantBasic(t) },
		},
		{
			// A client encodes only what has to be encoded. The check encodes each character, so that the rule can be
			// tried with any client, and decoders accept this.
			ID: "RFC6749/2.3.1/basic-form-encoded", Level: Should,
			Text:  "In HTTP Basic the client identifier and the secret are form-encoded.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				c := withBasic(t, r.client)
				r.granted(t)
				encoded := percentEncoded(c.ID) + ":" + percentEncoded(c.Secret)
				header := "Basic " + base64.StdEncoding.EncodeToString([]byte(encoded))
				t.WantGranted(t.Post(t.Endpoint(need.Token), r.fresh(), wire.Header("Authorization", header)))
			},
		},
		{
			ID: "RFC6749/2.3.1/in-body", Level: May,
			Text:  "A client can send its identifier and secret in the body.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				c := withSecret(t, r.client)
				r.granted(t)
				t.WantGranted(t.Post(t.Endpoint(need.Token), r.fresh(), wire.InBody(c.ID, c.Secret)))
			},
		},
		{
			// The sentence is about the parameters, and names neither client nor server. A client has to follow it, and a server
			// that follows it does not read them there.
			ID: "RFC6749/2.3.1/not-in-uri", Level: Should,
			Text:  "The credentials of a client are taken from the body only: in the query they have no effect.",
			Needs: []Need{need.Token},
			Check: func(t *T) {
				r := aTokenRequest(t)
				c := withSecret(t, r.client)
				r.granted(t)
				query := wire.Params("client_id", c.ID, "client_secret", c.Secret)
				t.WantRefused(t.Post(wire.WithQuery(t.Endpoint(need.Token), query), r.fresh()), "the secret was in the query")
			},
		},
		{
			ID: "RFC6749/2.3.1/tls", Level: Must,
			Text:         "Client secrets are sent only by TLS.",
			Inapplicable: "It repeats §3.2, whose rule is checked.",
		},
		{
			ID: "RFC6749/2.3.1/brute-force", Level: Must,
			Text:     "The server limits guesses of client secrets.",
			TestedBy: "provider/client_test.go:TestChosenSecretIsSlowed",
		},
		{
			ID: "RFC6749/2.3.2/other-methods-mapped", Level: Must,
			Text:     "If a server supports further authentication methods, it knows the method of each client.",
			TestedBy: "conformance/mandate/assertion_test.go:TestAttackForgedAssertion",
		},
	}
}

// wantBasic asserts that a client with a secret can authenticate by HTTP Basic. A client that is registered for another
// method can be limited to it, so it is used only if the metadata shows that the server does not have Basic at all.
func wantBasic(t *T) {
	r := aTokenRequest(t)
	withSecret(t, r.client)
	if r.client.Auth != need.SecretBasic {
		methods, known := t.Metadata().List("token_endpoint_auth_methods_supported")
		if !known || slices.Contains(methods, need.SecretBasic) {
			withBasic(t, r.client)
		}
	}
	a := t.Post(t.Endpoint(need.Token), r.fresh(), wire.Basic(r.client.ID, r.client.Secret))
	if a.Granted() {
		return
	}
	if body := t.Post(t.Endpoint(need.Token), r.fresh(), wire.InBody(r.client.ID, r.client.Secret)); !body.Granted() {
		t.At(a)
		t.Blockedf("the client %s gets no token, neither with its secret in HTTP Basic nor in the body: %s. The target can be wrong", r.client.Role, a.Failure())
	}
	t.At(a)
	t.Failf("the secret of the client %s is accepted in the body, but not in HTTP Basic: %s. If the client is registered for client_secret_post, say so in the target under auth", r.client.Role, a.Failure())
}

// percentEncoded encodes every character, even if it is not necessary.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}
