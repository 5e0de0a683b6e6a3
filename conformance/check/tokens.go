package check

import (
	"cmp"
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

// Token sends a token request as a client. The functions in as add more, such as a proof.
func (t *T) Token(c *target.Client, form url.Values, as ...wire.Auth) *wire.Answer {
	a := t.Post(t.Endpoint(need.Token), form, append(as, c.Credentials())...)
	t.issuedTo[TokensOf(a).Access], t.issuedTo[TokensOf(a).Refresh] = c, c
	return a
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
		t.Blockedf("no token was issued: %s", t.Failure(a))
	}
	return TokensOf(a)
}

// WantGranted asserts that a token was issued. If the credentials of the target may be wrong, the check is blocked.
func (t *T) WantGranted(a *wire.Answer) *Tokens {
	if !a.Granted() {
		t.At(a)
		if t.server.mistaken(a) != "" {
			t.Granted(a)
		}
		t.Failf("no access token was issued: %s", a.Failure())
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
		t.Skipf("the server issues no refresh token to the client %s: if it does for a certain scope, such as "+
			"offline_access, name it in the target under scope, and prompt: consent under parameters", c.Role)
	}
	return tokens
}

// Scopes returns the scopes of a token. RFC 6749 §5.1: a response without scope grants the requested scope. If there is
// only one, the check is skipped.
func (t *T) Scopes(tokens *Tokens, requested string) []string {
	scopes := strings.Fields(cmp.Or(tokens.Scope, requested))
	if len(scopes) < 2 {
		t.Skipf("the rule needs a token with two scopes, and this one shows %d: name several in the target, under scope or "+
			"as scope of the client", len(scopes))
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
	a := t.AskAbout(token, more...)
	object := a.JSON()
	if _, is := object["active"].(bool); a.Status != http.StatusOK || !is {
		t.Blockedf("introspection failed: %s", t.Failure(a))
	}
	return object
}

// AskAbout does the same, and returns any answer.
func (t *T) AskAbout(token string, more ...string) *wire.Answer {
	caller := t.server.Target.Clients[need.Introspect]
	if t.server.IntrospectsOwn && t.issuedTo[token] != nil {
		caller = t.issuedTo[token]
		if caller.Credential() == "" {
			t.Skipf("%s", ownTokensOnly)
		}
	}
	return t.Post(t.server.Endpoint(need.Introspection), wire.Params(append([]string{"token", token}, more...)...),
		caller.Credentials())
}

// Works reports whether an access token works. It uses introspection, the API or the UserInfo endpoint, whichever the
// target has first.
func (t *T) Works(access string) bool {
	switch {
	case t.Introspects():
		return t.Introspected(access)["active"] == true
	case t.Has(need.API):
		return t.accepts(t.server.Target.API.URL, access)
	case t.Has(need.UserInfo):
		return t.accepts(t.server.Endpoint(need.UserInfo), access)
	}
	t.Skipf("nothing in the target shows whether an access token works: name an api, or a client introspection")
	return false
}

// Introspects reports whether Works uses introspection.
func (t *T) Introspects() bool { return t.Has(need.Introspection) && t.Has(need.Introspect) }

// WorksModified does what Works does, for a token that the check made of one that works. A resource that answers 403 to
// it has refused it, because it accepted the scope of the other.
func (t *T) WorksModified(modified, working string) bool {
	if t.accepted[working] {
		t.accepted[modified] = true
	}
	return t.Works(modified)
}

// accepts reports whether a resource accepts an access token. Only 401 and 400 refuse the token (RFC 6750 §3.1), and
// 403 if the resource has accepted it before: some resources answer 403 to every token without a certain scope, also to
// a revoked one. Other statuses, such as those of a missing page or of an internal error, do not depend on the token. A
// resource that answers an invented token in the same way says nothing either. Then the check is blocked.
func (t *T) accepts(resource, access string) bool {
	a := t.Get(resource, wire.Bearer(access))
	switch {
	case a.Status == http.StatusUnauthorized || a.Status == http.StatusBadRequest || a.Status == http.StatusForbidden &&
		t.accepted[access]:
		return false
	case a.Status/100 != 2:
		t.Blockedf("%s answers %s, which does not show whether the token works: %s", wire.Bare(a.URL), a, anotherAPI)
	}
	if invented := t.toInvented(resource); invented/100 == 2 {
		t.Blockedf("%s answers %d to an invented token too, so that it does not show whether a token works: %s",
			wire.Bare(a.URL), invented, anotherAPI)
	}
	t.At(a)
	t.accepted[access] = true
	return true
}

const anotherAPI = "name an api in the target that answers 200 to every valid token, and 401 to others"

// toInvented returns the status with which a resource answers an invented token. It asks once in a run.
func (t *T) toInvented(resource string) int {
	if status, known := t.server.invented.Load(resource); known {
		return status.(int)
	}
	a := t.Get(resource, wire.Bearer(t.Random()))
	t.server.invented.Store(resource, a.Status)
	return a.Status
}

const ownTokensOnly = "the target has no client introspection, and another client can introspect only its own " +
	"tokens, which a public client cannot"

// AsMachine requests a token by client credentials. Further parameters alternate with their values.
func (t *T) AsMachine(as wire.Auth, pairs ...string) *wire.Answer {
	return t.Post(t.Endpoint(need.Token), wire.Params(append([]string{"grant_type", "client_credentials"}, pairs...)...),
		as)
}

// ByCredentials does the same for any client, with the scope that the target names for it or that the server wants.
func (t *T) ByCredentials(c *target.Client, as wire.Auth, pairs ...string) *wire.Answer {
	if c.Scope != "" && !wire.Params(pairs...).Has("scope") {
		pairs = append(pairs, "scope", c.Scope)
	}
	return t.AsMachine(as, pairs...)
}

// Machine gets tokens for the client machine (RFC 6749 §4.4), with the scope that the target names for it. Further
// parameters alternate with their values.
func (t *T) Machine(pairs ...string) *Tokens {
	c := t.Client(need.Machine)
	return t.Granted(t.ByCredentials(c, c.Credentials(), pairs...))
}
