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

// rfc6749TokenEndpoint has the checks of the rules about the token endpoint and scopes (RFC 6749 §3.2, §3.3).
var rfc6749TokenEndpoint = checks{
	"RFC6749/3.2/no-fragment": func(t *T) { wantNoFragment(t, need.Token) },
	"RFC6749/3.2/tls":         func(t *T) { wantTLS(t, t.Endpoint(need.Token)) },
	"RFC6749/3.2/post-only": func(t *T) {
		r := aTokenRequest(t)
		c := withBasic(t, r.client)
		r.granted(t)
		t.WantRefused(t.Get(wire.WithQuery(t.Endpoint(need.Token), r.fresh()), wire.Basic(c.ID, c.Secret)),
			"it was asked for by GET")
	},
	"RFC6749/3.2/empty-is-absent": func(t *T) {
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
	"RFC6749/3.2/unknown-ignored": func(t *T) {
		r := aTokenRequest(t)
		r.granted(t)
		t.WantGranted(t.Token(r.client, r.with("conformance_unknown", "1")))
	},
	"RFC6749/3.2/not-repeated": func(t *T) {
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
	"RFC6749/3.3/scope-told": func(t *T) {
		got := t.Granted(t.AsMachine(t.Client(need.Machine).Credentials()))
		if got.Scope != "" {
			return
		}
		if !t.Has(need.Introspection) || !t.Has(need.Introspect) {
			t.Skipf("no scope was requested and none is returned: the rule needs a client introspection, because only " +
				"introspection shows which scope was granted")
		}
		if scope, _ := t.Introspected(got.Access)["scope"].(string); scope != "" {
			t.At(got.Answer)
			t.Failf("no scope was requested, the token has %q, but the response has no scope", scope)
		}
	},
	"RFC6749/3.3/left-out-scope-told": func(t *T) {
		scope := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)[0]
		requested := scope + " " + badScopes[0]
		a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", requested)
		if a.Text("error") == "invalid_scope" {
			t.Skipf("the server refuses a request with an unknown scope: the rule needs one that leaves it out")
		}
		wantToldScope(t, t.Granted(a), requested)
	},
	"RFC6749/3.3/order": func(t *T) {
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
	"RFC6749/3.3/case": func(t *T) {
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
	"RFC6749/3.3/default-or-refused": rfc6749DefaultOrRefused,
	"RFC6749/3.3/default-scope": func(t *T) {
		for name := range strings.FieldsSeq(t.Machine().Scope) {
			if name == "openid" || name == "introspection" {
				t.Errorf("%s was granted to a client that did not request it", name)
			}
		}
	},
	"RFC6749/3.3/scope-honoured": func(t *T) {
		scope := t.Scopes(t.Machine(), t.Client(need.Machine).Scope)[0]
		got := t.WantGranted(t.AsMachine(t.Client(need.Machine).Credentials(), "scope", scope))
		if !sameWords(got.Scope, scope) && got.Scope != "" {
			t.Failf("%q was requested, but the token has %q", scope, got.Scope)
		}
	},
	"RFC6749/3.3/unknown-scope-refused": func(t *T) {
		t.Machine()
		a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", "conformance-unknown")
		t.WantRefused(a, "the scope does not exist")
	},
}

func rfc6749DefaultOrRefused(t *T) {
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
	t.Blockedf("the client machine gets no token, neither without scope nor with one: %s. Name its scope in the target "+
		"under clients.machine.scope", a.Failure())
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

// rfc6749Clients has the checks of the rules about roles, registration and client authentication (RFC 6749 §1, §2).
var rfc6749Clients = checks{
	"RFC6749/2.1/public-allowed":    func(t *T) { t.WantGranted(t.Redeem(t.Code(t.Request(t.Client(need.Public))))) },
	"RFC6749/2.3.1/basic-supported": func(t *T) { wantBasic(t) },
	"RFC6749/2.3.1/basic-form-encoded": func(t *T) {
		r := aTokenRequest(t)
		c := withBasic(t, r.client)
		r.granted(t)
		encoded := percentEncoded(c.ID) + ":" + percentEncoded(c.Secret)
		header := "Basic " + base64.StdEncoding.EncodeToString([]byte(encoded))
		t.WantGranted(t.Post(t.Endpoint(need.Token), r.fresh(), wire.Header("Authorization", header)))
	},
	"RFC6749/2.3.1/in-body": func(t *T) {
		r := aTokenRequest(t)
		c := withSecret(t, r.client)
		r.granted(t)
		t.WantGranted(t.Post(t.Endpoint(need.Token), r.fresh(), wire.InBody(c.ID, c.Secret)))
	},
	"RFC6749/2.3.1/not-in-uri": func(t *T) {
		r := aTokenRequest(t)
		c := withSecret(t, r.client)
		r.granted(t)
		query := wire.Params("client_id", c.ID, "client_secret", c.Secret)
		t.WantRefused(t.Post(wire.WithQuery(t.Endpoint(need.Token), query), r.fresh()), "the secret was in the query")
	},
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
		t.Blockedf("the client %s gets no token, neither with its secret in HTTP Basic nor in the body: %s. The target can "+
			"be wrong", r.client.Role, a.Failure())
	}
	t.At(a)
	t.Failf("the secret of the client %s is accepted in the body, but not in HTTP Basic: %s. If the client is "+
		"registered for client_secret_post, say so in the target under auth", r.client.Role, a.Failure())
}

// percentEncoded encodes every character, even if it is not necessary.
func percentEncoded(text string) string {
	var b strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&b, "%%%02X", text[i])
	}
	return b.String()
}
