package conformance

import (
	"net/http"
	"net/url"
	"strings"
)

// Code is an authorization code with the request that it came from.
type Code struct {
	Value   string
	Request *Request
}

// Code gets one, or blocks the check.
func (t *T) Code(r *Request) *Code { return t.codeOf(t.Authorize(r)) }

// codeOf is that of a response; without one the check is blocked.
func (t *T) codeOf(r *Response) *Code {
	if r.Params.Get("code") == "" {
		t.Blockedf("could not get a code: %s", r)
	}
	return &Code{r.Params.Get("code"), r.request}
}

// Form is the token request that redeems the code, without client authentication (RFC 6749 §4.1.3).
func (c *Code) Form() url.Values {
	form := params("grant_type", "authorization_code", "code", c.Value)
	if uri := c.Request.Params.Get("redirect_uri"); uri != "" {
		form.Set("redirect_uri", uri)
	}
	if c.Request.Params.Has("code_challenge") {
		form.Set("code_verifier", c.Request.Verifier)
	}
	return form
}

// Token sends a token request as a client.
func (t *T) Token(c *Client, form url.Values) *Answer {
	return t.Post(t.Endpoint(NeedToken), form, c.Credentials())
}

// Redeem exchanges a code, whatever comes of it.
func (t *T) Redeem(c *Code) *Answer { return t.Token(c.Request.Client, c.Form()) }

// Tokens are those of an answer of the token endpoint (RFC 6749 §5.1).
type Tokens struct {
	Access, Refresh, ID, Scope string
	Answer                     *Answer
}

func tokensOf(a *Answer) *Tokens {
	return &Tokens{a.Text("access_token"), a.Text("refresh_token"), a.Text("id_token"), a.Text("scope"), a}
}

// Granted is the tokens of an answer; without them the check is blocked.
func (t *T) Granted(a *Answer) *Tokens {
	if !a.Granted() {
		t.Blockedf("could not get a token: %s", a.failure())
	}
	return tokensOf(a)
}

// Grant goes the whole way, from the authorization request to the tokens.
func (t *T) Grant(c *Client) *Tokens { return t.Granted(t.Redeem(t.Code(t.Request(c)))) }

// GrantRefresh is Grant for a check that needs a refresh token.
func (t *T) GrantRefresh(c *Client) *Tokens { return t.withRefresh(c, t.Grant(c)) }

// withRefresh skips the check if a client was given no refresh token.
func (t *T) withRefresh(c *Client, tokens *Tokens) *Tokens {
	if tokens.Refresh == "" {
		t.Skipf("the server gives the client %s no refresh token", c.role)
	}
	return tokens
}

// several are the scopes of a token; with one alone the check is skipped.
func (t *T) several(tokens *Tokens) []string {
	scopes := strings.Fields(tokens.Scope)
	if len(scopes) < 2 {
		t.Skipf("the client has one scope only")
	}
	return scopes
}

// Refresh sends a refresh token; more are further parameters in turn with their values.
func (t *T) Refresh(c *Client, token string, more ...string) *Answer {
	return t.Token(c, params(append([]string{"grant_type", "refresh_token", "refresh_token", token}, more...)...))
}

// Introspect asks about a token (RFC 7662 §2.1), or blocks the check; more are further parameters.
func (t *T) Introspect(token string, more ...string) map[string]any {
	t.Endpoint(NeedIntrospection)
	t.Client(NeedIntrospect)
	return t.introspected(token, more...)
}

// Revoke ends a token (RFC 7009 §2.1), whatever comes of it.
func (t *T) Revoke(c *Client, token string, more ...string) *Answer {
	return t.Post(t.Endpoint(NeedRevocation), params(append([]string{"token", token}, more...)...), c.Credentials())
}

// introspected is Introspect for a check that makes do without, and has looked that the target has a client
// for it.
func (t *T) introspected(token string, more ...string) map[string]any {
	a := t.Post(t.server.endpoint(NeedIntrospection), params(append([]string{"token", token}, more...)...), t.server.Target.Clients[NeedIntrospect].Credentials())
	object := a.JSON()
	if _, is := object["active"].(bool); a.Status != http.StatusOK || !is {
		t.Blockedf("could not introspect: %s", a.failure())
	}
	return object
}

// taken says that a token is good, be it for this resource or for others (RFC 6750 §3.1).
func (t *T) taken(a *Answer) bool { return a.Status/100 == 2 || a.Status == http.StatusForbidden }

// Works says whether an access token does, by whatever the target has that can tell.
func (t *T) Works(access string) bool {
	switch {
	case t.Has(NeedIntrospection) && t.Has(NeedIntrospect):
		return t.introspected(access)["active"] == true
	case t.Has(NeedAPI):
		return t.taken(t.Get(t.server.Target.API.URL, Bearer(access)))
	case t.Has(NeedUserInfo):
		return t.taken(t.Get(t.server.endpoint(NeedUserInfo), Bearer(access)))
	}
	t.Skipf("nothing in the target shows whether an access token works: it has no introspection client and no api")
	return false
}

// asMachine asks for a token by client credentials; the parameters are beside the grant type.
func (t *T) asMachine(as Auth, pairs ...string) *Answer {
	return t.Post(t.Endpoint(NeedToken), params(append([]string{"grant_type", "client_credentials"}, pairs...)...), as)
}

// plainly gets tokens for the client machine itself (RFC 6749 §4.4); the parameters are in turn with their values.
func (t *T) plainly(pairs ...string) *Tokens {
	return t.Granted(t.asMachine(t.Client(NeedMachine).Credentials(), pairs...))
}
