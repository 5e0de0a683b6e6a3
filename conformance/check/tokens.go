package check

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Code is an authorization code, with the request for which it was issued.
type Code struct {
	Value   string
	Request *Request
}

// Code requests a code. Without a code the check is blocked.
func (t *T) Code(r *Request) *Code { return t.CodeOf(t.Authorize(r)) }

// CodeOf returns the code of a response. Without a code the check is blocked.
func (t *T) CodeOf(r *Response) *Code {
	if r.Params.Get("code") == "" {
		t.Blockedf("no code was issued: %s", r)
	}
	return &Code{r.Params.Get("code"), r.Request}
}

// Form returns the token request for the code, without client authentication (RFC 6749 §4.1.3).
func (c *Code) Form() url.Values {
	form := wire.Params("grant_type", "authorization_code", "code", c.Value)
	if uri := c.Request.Params.Get("redirect_uri"); uri != "" {
		form.Set("redirect_uri", uri)
	}
	if c.Request.Params.Has("code_challenge") {
		form.Set("code_verifier", c.Request.Verifier)
	}
	return form
}

// Token sends a token request as a client.
func (t *T) Token(c *target.Client, form url.Values) *wire.Answer {
	return t.Post(t.Endpoint(need.Token), form, c.Credentials())
}

// Redeem sends the token request for a code.
func (t *T) Redeem(c *Code) *wire.Answer { return t.Token(c.Request.Client, c.Form()) }

// Tokens are the tokens in a response of the token endpoint (RFC 6749 §5.1).
type Tokens struct {
	Access, Refresh, ID, Scope string
	Answer                     *wire.Answer
}

// TokensOf reads the tokens in an answer.
func TokensOf(a *wire.Answer) *Tokens {
	return &Tokens{a.Text("access_token"), a.Text("refresh_token"), a.Text("id_token"), a.Text("scope"), a}
}

// Granted returns the tokens of an answer. Without an access token the check is blocked.
func (t *T) Granted(a *wire.Answer) *Tokens {
	if !a.Granted() {
		t.Blockedf("no token was issued: %s", a.Failure())
	}
	return TokensOf(a)
}

// Grant performs the authorization code grant, from the authorization request to the tokens.
func (t *T) Grant(c *target.Client) *Tokens { return t.Granted(t.Redeem(t.Code(t.Request(c)))) }

// GrantRefresh does the same, and skips the check if there is no refresh token.
func (t *T) GrantRefresh(c *target.Client) *Tokens { return t.WithRefresh(c, t.Grant(c)) }

// WithRefresh skips the check if a client received no refresh token.
func (t *T) WithRefresh(c *target.Client, tokens *Tokens) *Tokens {
	if tokens.Refresh == "" {
		t.Skipf("the server issues no refresh token to the client %s", c.Role)
	}
	return tokens
}

// Scopes returns the scopes of a token. If there is only one, the check is skipped.
func (t *T) Scopes(tokens *Tokens) []string {
	scopes := strings.Fields(tokens.Scope)
	if len(scopes) < 2 {
		t.Skipf("the client has one scope only")
	}
	return scopes
}

// Refresh uses a refresh token. Further parameters alternate with their values.
func (t *T) Refresh(c *target.Client, token string, more ...string) *wire.Answer {
	return t.Token(c, wire.Params(append([]string{"grant_type", "refresh_token", "refresh_token", token}, more...)...))
}

// Introspect introspects a token (RFC 7662 §2.1). If that fails, the check is blocked. Further parameters alternate
// with their values.
func (t *T) Introspect(token string, more ...string) map[string]any {
	t.Endpoint(need.Introspection)
	t.Client(need.Introspect)
	return t.Introspected(token, more...)
}

// Revoke revokes a token (RFC 7009 §2.1).
func (t *T) Revoke(c *target.Client, token string, more ...string) *wire.Answer {
	return t.Post(t.Endpoint(need.Revocation), wire.Params(append([]string{"token", token}, more...)...), c.Credentials())
}

// Introspected does what Introspect does, for a check that does not depend on it and knows that the target has an
// introspection client.
func (t *T) Introspected(token string, more ...string) map[string]any {
	a := t.Post(t.server.Endpoint(need.Introspection), wire.Params(append([]string{"token", token}, more...)...), t.server.Target.Clients[need.Introspect].Credentials())
	object := a.JSON()
	if _, is := object["active"].(bool); a.Status != http.StatusOK || !is {
		t.Blockedf("introspection failed: %s", a.Failure())
	}
	return object
}

// Accepted reports whether a resource accepted a token, even if its scope is not sufficient there (RFC 6750 §3.1).
func (t *T) Accepted(a *wire.Answer) bool {
	return a.Status/100 == 2 || a.Status == http.StatusForbidden
}

// Works reports whether an access token works. It uses introspection, the API or the UserInfo endpoint, whichever the
// target has first.
func (t *T) Works(access string) bool {
	switch {
	case t.Has(need.Introspection) && t.Has(need.Introspect):
		return t.Introspected(access)["active"] == true
	case t.Has(need.API):
		return t.Accepted(t.Get(t.server.Target.API.URL, wire.Bearer(access)))
	case t.Has(need.UserInfo):
		return t.Accepted(t.Get(t.server.Endpoint(need.UserInfo), wire.Bearer(access)))
	}
	t.Skipf("nothing in the target shows whether an access token works: it has no introspection client and no api")
	return false
}

// AsMachine requests a token by client credentials. Further parameters alternate with their values.
func (t *T) AsMachine(as wire.Auth, pairs ...string) *wire.Answer {
	return t.Post(t.Endpoint(need.Token), wire.Params(append([]string{"grant_type", "client_credentials"}, pairs...)...), as)
}

// Machine gets tokens for the client machine (RFC 6749 §4.4). Further parameters alternate with their values.
func (t *T) Machine(pairs ...string) *Tokens {
	return t.Granted(t.AsMachine(t.Client(need.Machine).Credentials(), pairs...))
}
