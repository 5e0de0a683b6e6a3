package rules

import (
	"net/http"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc6749Errors has the checks of the rules about error responses of the token endpoint (RFC 6749 §5.2).
var rfc6749Errors = checks{
	"RFC6749/5.2/status-400": func(t *T) { t.WantStatus(wrongRequest(t), http.StatusBadRequest) },
	"RFC6749/5.2/error": func(t *T) {
		if a := wrongRequest(t); a.Text("error") == "" {
			t.Failf("a token request without grant_type is answered with %s without the member error", a)
		}
	},
	"RFC6749/5.2/json": func(t *T) {
		if a := wrongRequest(t); a.MediaType() != "application/json" {
			t.Failf("the Content-Type of the error response is %q", a.Header.Get("Content-Type"))
		}
	},
	"RFC6749/5.2/no-store": func(t *T) { wantHeader(t, wrongRequest(t), "Cache-Control", "no-store") },
	"RFC6749/5.2/invalid-request": func(t *T) {
		wantTokenError(t, t.Token(t.Client(need.Code), wire.Params("grant_type", "authorization_code")), "invalid_request")
		wantTokenError(t, t.Token(t.Client(need.Code), wire.Params("code", "conformance")), "invalid_request")
	},
	"RFC6749/5.2/one-method": func(t *T) {
		r := aTokenRequest(t)
		c := withBasic(t, r.client)
		r.granted(t)
		both := t.Post(t.Endpoint(need.Token), r.with("client_id", c.ID, "client_secret", c.Secret),
			wire.Basic(c.ID, c.Secret))
		t.WantRefused(both, "the client authenticated in the header and in the body")
	},
	"RFC6749/5.2/invalid-client": func(t *T) {
		r := aTokenRequest(t)
		r.granted(t)
		unknown := &target.Client{ID: "conformance-" + t.Random(), Auth: r.client.Auth}
		t.WantError(t.Post(t.Endpoint(need.Token), r.fresh(), r.client.With("wrong-"+t.Random())), "invalid_client")
		t.WantError(t.Post(t.Endpoint(need.Token), r.fresh(), unknown.With("wrong-"+t.Random())), "invalid_client")
	},
	"RFC6749/5.2/invalid-client-401": func(t *T) {
		r := aTokenRequest(t)
		c := withBasic(t, r.client)
		r.granted(t)
		a := t.Post(t.Endpoint(need.Token), r.fresh(), wire.Basic(c.ID, "wrong-"+t.Random()))
		t.Refused(a)
		t.WantStatus(a, http.StatusUnauthorized)
		wantScheme(t, a, "Basic")
	},
	"RFC6749/5.2/invalid-grant": func(t *T) {
		c := t.Client(need.Code)
		verifier, _ := check.NewPKCE()
		code := wire.Params("grant_type", "authorization_code", "code", "conformance-"+t.Random(), "redirect_uri",
			c.RedirectURI(), "code_verifier", verifier)
		wantTokenError(t, t.Token(c, code), "invalid_grant")
	},
	"RFC6749/5.2/invalid-refresh-token": func(t *T) {
		c := t.Client(need.Code)
		t.GrantRefresh(c)
		wantTokenError(t, t.Refresh(c, "conformance-"+t.Random()), "invalid_grant")
	},
	"RFC6749/5.2/unauthorized-client": func(t *T) {
		a := t.ByCredentials(t.Client(need.Code), t.Client(need.Code).Credentials())
		if a.Granted() {
			t.Skipf("the server issues tokens to the client code by client credentials: the rule needs a client that may not " +
				"use this grant")
		}
		if a.Text("error") == "unsupported_grant_type" && !offersMachine(t) {
			t.Skipf("the rule applies to a server with the client credentials grant: without it unsupported_grant_type is " +
				"correct")
		}
		t.At(a)
		wantTokenError(t, a, "unauthorized_client")
	},
	"RFC6749/5.2/unsupported-grant-type": func(t *T) {
		r := aTokenRequest(t)
		r.granted(t)
		a := t.Token(r.client, wire.Params("grant_type", "urn:example:conformance"))
		t.WantError(a, "unsupported_grant_type", "unauthorized_client")
	},
	"RFC6749/5.2/invalid-scope": func(t *T) {
		t.Machine()
		ignored := 0
		for _, scope := range badScopes {
			a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", scope)
			if a.Granted() {
				ignored++
				continue
			}
			t.WantError(a, "invalid_scope")
		}
		if ignored == len(badScopes) {
			t.Skipf("the server ignores unknown scopes, as RFC 6749 §3.3 allows: the rule needs a server that refuses them")
		}
	},
	"RFC6749/5.2/description": func(t *T) {
		a := wrongRequest(t)
		if !strings.Contains(a.Text("error_description"), "grant_type") {
			t.Failf("grant_type is missing, but error_description is %q", a.Text("error_description"))
		}
	},
	"RFC6749/5.2/error-uri": func(t *T) {
		a := wrongRequest(t)
		address := a.Text("error_uri")
		switch {
		case address == "":
			t.Skipf("the rule applies to a server whose errors have error_uri, and this one has none")
		case wire.Origin(address) != wire.Origin(t.Issuer()) && wire.Origin(address) != wire.Origin(t.Endpoint(need.Token)):
			t.Skipf("error_uri is at another host, to which the check sends no request: %s", address)
		}
		if page := t.Get(address); page.Status != http.StatusOK || page.MediaType() != "text/html" {
			t.Failf("error_uri is %s, and there is no page: %s", address, page)
		}
	},
	"RFC6749/5.2/ascii": func(t *T) {
		a := t.Token(aTokenRequest(t).client, wire.Params("grant_type", "é\"\\\n\u202e"))
		if a.Text("error") == "" {
			t.Blockedf("the answer has no error: %s", a)
		}
		for _, name := range []string{"error", "error_description", "error_uri"} {
			wantASCII(t, name, a.Text(name))
		}
	},
}

// wantTokenError asserts an error of the token endpoint. If the server refused the client's credentials instead, the
// check is blocked.
func wantTokenError(t *T, a *wire.Answer, codes ...string) {
	clientTaken(t, a)
	t.WantError(a, codes...)
}

// wantTokens asserts that tokens were issued. If the server refused the client's credentials, the check is blocked.
func wantTokens(t *T, a *wire.Answer) *check.Tokens {
	clientTaken(t, a)
	return t.WantGranted(a)
}

// clientTaken blocks the check if the server refused the client's credentials, which another rule checks.
func clientTaken(t *T, a *wire.Answer) {
	if a.Text("error") == "invalid_client" {
		t.Blockedf("the server answers invalid_client, as if the client or its secret were wrong, and does not judge the "+
			"request: %s", a.Failure())
	}
}

// offersMachine reports whether the server supports the client credentials grant.
func offersMachine(t *T) bool {
	if listed, known := listsGrant(t, need.GrantMachine); known {
		return listed
	}
	c := t.OptionalClient(need.Machine)
	return c != nil && t.ByCredentials(c, c.Credentials()).Granted()
}
