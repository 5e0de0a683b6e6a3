package rules

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// The steps in this file are controls. A check that concludes something from a refusal first shows that the server
// grants the same request without the mistake. Otherwise it is blocked, since the refusal can have another cause.

// tokenRequest is a token request of a confidential client that the server is expected to grant. A check sends it
// without a change at first, and then with one change.
type tokenRequest struct {
	client *target.Client
	fresh  func() url.Values // returns a request that was not sent before, since a code works only once
}

// aTokenRequest returns a client credentials request of the client machine. If the target has no such client, it
// returns the code request of the client code, because every server has that grant.
func aTokenRequest(t *T) tokenRequest {
	if c := t.OptionalClient(need.Machine); c != nil {
		return tokenRequest{c, func() url.Values {
			form := wire.Params("grant_type", "client_credentials")
			if c.Scope != "" {
				form.Set("scope", c.Scope)
			}
			return form
		}}
	}
	c := t.OptionalClient(need.Code)
	if c == nil {
		t.Skipf("the target has neither a client machine nor a client code: name one under clients")
	}
	return tokenRequest{c, func() url.Values { return t.Code(t.Request(c)).Form() }}
}

// granted sends the request without a change. Without a token the check is blocked.
func (r tokenRequest) granted(t *T) *check.Tokens { return t.Granted(t.Token(r.client, r.fresh())) }

// with returns the request with other parameters, which alternate with their values.
func (r tokenRequest) with(pairs ...string) url.Values {
	form := r.fresh()
	for i := 0; i+1 < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// someTokens returns tokens of any grant. Without tokens the check is blocked.
func someTokens(t *T) *check.Tokens { return aTokenRequest(t).granted(t) }

// wrongRequest sends a token request without a grant type as a client whose credentials are correct.
func wrongRequest(t *T) *wire.Answer {
	r := aTokenRequest(t)
	r.granted(t)
	a := t.Token(r.client, wire.Params("scope", "conformance"))
	t.Refused(a)
	return a
}

// withBasic skips the check if a client is not registered for HTTP Basic.
func withBasic(t *T, c *target.Client) *target.Client {
	if c.Auth != need.SecretBasic {
		t.Skipf("the client %s is registered for %s: the rule needs one that is registered for client_secret_basic",
			c.Role, c.Auth)
	}
	return c
}

// withSecret skips the check if a client has no secret that it sends.
func withSecret(t *T, c *target.Client) *target.Client {
	if c.Credential() != "secret" || c.Auth == need.SecretJWT {
		t.Skipf("the client %s is registered for %s: the rule needs one that sends a secret", c.Role, c.Auth)
	}
	return c
}

// begins blocks the check if an authorization request that has no mistake is refused, before anybody signs in.
func begins(t *T, r *check.Request) {
	response := settled(t, t.OpenAnonymously(r))
	if response.ErrorCode() != "" || response.Location == "" && response.Answer.Status >= http.StatusBadRequest {
		t.Blockedf("a request without a mistake is refused: %s", response)
	}
}

// settled blocks the check if the browser could not continue.
func settled(t *T, r *check.Response) *check.Response {
	if r.Stuck != "" {
		t.Blockedf("%s", r)
	}
	return r
}

// wantError asserts that the client receives one of the errors. If the browser could not continue, the check is
// blocked.
func wantError(t *T, r *check.Response, codes ...string) {
	t.WantRedirectError(settled(t, r), codes...)
}

// aRefusal returns an error response of the authorization endpoint for the client code. It tries several mistakes,
// because a server can show a page instead of sending one of these errors to the client. Without an error response the
// check is blocked.
func aRefusal(t *T, mistakes ...func(*check.Request) *check.Request) *check.Response {
	mistakes = append(mistakes,
		func(r *check.Request) *check.Request { return r.Del("response_type") },
		func(r *check.Request) *check.Request { return r.Set("response_type", "conformance") },
		func(r *check.Request) *check.Request { return r.Set("scope", badScopes[0]) })
	for _, mistake := range mistakes {
		r := t.Authorize(mistake(t.Request(t.Client(need.Code))))
		if r.Arrived() && r.ErrorCode() != "" {
			return r
		}
	}
	t.Blockedf("the server sends no error to the client: not for a missing or unknown response_type, nor for an unknown " +
		"scope")
	return nil
}

// liveRefreshToken returns a refresh token of a client, of a family from which the client has refreshed once. If the
// server issues none to the client, the check is skipped.
func liveRefreshToken(t *T, c *target.Client) string { return refreshedOnce(t, c, t.GrantRefresh(c)) }

// refreshedOnce shows that a refresh token works, and returns the one to use next.
func refreshedOnce(t *T, c *target.Client, tokens *check.Tokens) string {
	return cmp.Or(t.Granted(t.Refresh(c, tokens.Refresh)).Refresh, tokens.Refresh)
}

// listsGrant reports whether the metadata lists a grant type, and whether it lists any.
func listsGrant(t *T, name string) (listed, known bool) {
	grants, known := t.Metadata().List("grant_types_supported")
	return slices.Contains(grants, name), known
}

// grantsOnRequest reports whether the client machine gets a further scope if it asks for it.
func grantsOnRequest(t *T, usual []string) bool {
	shown := t.Last()
	defer t.At(shown)
	listed, _ := t.Metadata().List("scopes_supported")
	for _, scope := range listed {
		if slices.Contains(usual, scope) {
			continue
		}
		a := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", usual[0]+" "+scope)
		if slices.Contains(strings.Fields(a.Text("scope")), scope) {
			return true
		}
	}
	return false
}

const inactive = "introspection says that a new token is inactive: give the client introspection the permission to " +
	"introspect tokens of other clients. If the server has no such permission, name the ID and the secret of the client " +
	"code for introspection too"

// liveToken returns the introspection response for a token. If the token is not active, the check is blocked.
func liveToken(t *T, token string) map[string]any {
	object := t.Introspect(token)
	if object["active"] != true {
		t.Blockedf("%s", inactive)
	}
	return object
}
