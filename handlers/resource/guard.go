package resource

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"mandate/provider/mtls"
)

// NewGuard returns a Guard, or an error that says what is wrong with c.
func NewGuard(c GuardConfig) (*Guard, error) {
	if c.Verifier == nil {
		return nil, errors.New("guard: no verifier")
	}
	realm := c.Realm
	if realm == "" {
		realm = "api"
	}
	// RFC 6750 §3: the realm is written in a quoted string of the challenge.
	if strings.ContainsFunc(realm, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return nil, fmt.Errorf("guard: realm %q: use printable ASCII without quotes and backslashes", realm)
	}
	for _, origin := range c.AllowedOrigins {
		err := checkOrigin(origin)
		if err != nil {
			return nil, err
		}
	}
	checked, err := newProofs(c)
	if err != nil {
		return nil, err
	}
	mutual := c.Certificates || c.CertificateHeader != ""
	switch c.RequiredBinding {
	case "":
	case bindingKey, bindingAny:
		if checked == nil && (c.RequiredBinding == bindingKey || !mutual) {
			return nil, errors.New("guard: access tokens must be bound to a key, and the URL of the API is not known: set " +
				"BaseURLs or Audience")
		}
	case bindingCertificate:
		if !mutual {
			return nil, errors.New("guard: access tokens must be bound to a certificate, and nobody asks clients for one: set " +
				"Certificates or CertificateHeader")
		}
		checked = nil
	default:
		return nil, fmt.Errorf("guard: required binding %q: use dpop, certificate or any", c.RequiredBinding)
	}
	return &Guard{
		verifier:     c.Verifier,
		realm:        realm,
		audience:     c.Audience,
		binding:      c.RequiredBinding,
		proofs:       checked,
		bases:        apiURLs(c),
		certificates: mtls.Source{Header: c.CertificateHeader, Proxies: slices.Clone(c.TrustedProxies)},
		showScopes:   c.ShowScopes,
		described:    describe(c, checked != nil, mutual),
		origins:      slices.Clone(c.AllowedOrigins),
		log:          logger(c.Logger),
		refused:      newRequestLog(),
		unchecked:    newRequestLog(),
	}, nil
}

// Ask lets the Verifier check a token that nobody has. If it gets no clear answer, it logs why: the requests with such
// a token will get 503. A program calls it when it starts, because otherwise only the first of them shows that a
// setting is wrong. A Verifier of signed tokens alone asks nobody about it.
func (g *Guard) Ask(ctx context.Context) error {
	_, err := g.verifier.Verify(ctx, rand.Text())
	if err == nil || errors.Is(err, ErrInactive) {
		return nil
	}
	g.log.ErrorContext(ctx, "no access token can be checked yet; requests with a token get 503", "error", explained(err))
	return err
}

// Require returns a handler that calls next if the token is active and has all the
// scopes. Without scopes, any active token is sufficient. Each string is one scope: no
// token has an empty scope, or one with a space. The metadata of the API lists the scopes
// of all calls.
func (g *Guard) Require(next http.Handler, scopes ...string) http.Handler {
	return g.require(next, requirement{scopes: scopes})
}

// RequireLogin is [Guard.Require] with a requirement on the login behind the token. It
// returns an error that says what is wrong with l.
func (g *Guard) RequireLogin(next http.Handler, l Login, scopes ...string) (http.Handler, error) {
	err := l.validate()
	if err != nil {
		return nil, fmt.Errorf("guard: %w", err)
	}
	return g.require(next, requirement{scopes: scopes, login: l}), nil
}

func (g *Guard) require(next http.Handler, q requirement) http.Handler {
	q.scopes, q.login.ACRValues = slices.Clone(q.scopes), slices.Clone(q.login.ACRValues)
	if g.described != nil {
		g.described.add(q.scopes)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, no := g.check(r, q)
		if no != nil {
			g.refuse(w, no)
			return
		}
		setNonce(w.Header(), a.nonce)
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, a.token)))
	})
}

// access is the token of a request that the guard accepts.
type access struct {
	token *Token
	nonce string // what the next DPoP proof has to contain, if the client does not know it yet
}

// check returns the token of an accepted request, or the refusal.
func (g *Guard) check(r *http.Request, q requirement) (access, *refusal) {
	sent, problem := g.credentials(r)
	a, no := g.decide(r, q, sent, problem)
	if no != nil {
		no.scheme = sent.scheme
	}
	return a, no
}

func (g *Guard) decide(r *http.Request, q requirement, sent credentials, problem string) (access, *refusal) {
	if problem != "" {
		// RFC 6750 §3.1: a malformed request is 400 invalid_request.
		return access{}, challenged(http.StatusBadRequest, "invalid_request", problem)
	}
	if sent.token == "" && g.proofs == nil && namesDPoP(r) {
		g.logReason(r, q, g.noProofs("it came with the scheme DPoP"))
		// RFC 6750 §3.1: a scheme that is not supported gets no error code.
		return access{}, &refusal{status: http.StatusUnauthorized, params: g.needs(q.scopes), detail: noDPoP + "."}
	}
	if sent.token == "" {
		// RFC 6750 §3.1: a request without a token gets no error code.
		return access{}, &refusal{
			status: http.StatusUnauthorized,
			params: g.needs(q.scopes),
			detail: "Authentication credentials were not provided.",
		}
	}
	token, no := g.verify(r, q, sent)
	if no != nil {
		return access{}, no
	}
	q.client = token.ClientID
	// The proof is checked before the scopes: whoever stole the token learns nothing about it.
	nonce, no := g.prove(r, q, sent, token)
	if no == nil {
		no = g.permit(q, token)
	}
	return access{token, nonce}, no
}

// still checks again the token of a request whose connection is open. The proof was for the
// request, and works once, so it is not checked again; the token must be bound to the same
// key or certificate.
func (g *Guard) still(r *http.Request, q requirement, opened *Token) *refusal {
	sent, _ := g.credentials(r)
	token, no := g.verify(r, q, sent)
	if no != nil {
		return no
	}
	q.client = token.ClientID
	before, _ := opened.confirmation()
	now, err := token.confirmation()
	if err != nil || now != before {
		return g.inactive(r, q, inactive("it is no longer bound to the same key or certificate"))
	}
	return g.permit(q, token)
}

// verify returns the token if it is active and for this service.
func (g *Guard) verify(r *http.Request, q requirement, sent credentials) (*Token, *refusal) {
	token, err := g.verifier.Verify(r.Context(), sent.token)
	if err == nil && token == nil {
		err = errors.New("the verifier returned neither a token nor an error")
	}
	if err != nil && !errors.Is(err, ErrInactive) {
		g.report(r, err)
		return nil, &refusal{status: http.StatusServiceUnavailable, detail: unchecked}
	}
	if err == nil {
		q.client = token.ClientID
		err = g.acceptable(token)
	}
	if err != nil {
		return nil, g.inactive(r, q, err)
	}
	return token, nil
}

// inactive returns the refusal of a token that is not active or not acceptable here.
func (g *Guard) inactive(r *http.Request, q requirement, err error) *refusal {
	g.logReason(r, q, err)
	// RFC 6750 §3.1: invalid_token is the error for expired, revoked and malformed
	// tokens, and for tokens that are not acceptable here.
	no := challenged(http.StatusUnauthorized, "invalid_token", "The access token is invalid, expired or revoked")
	no.params += g.needs(q.scopes)
	return no
}

// permit checks the login and the scopes of a token that the sender may use.
func (g *Guard) permit(q requirement, token *Token) *refusal {
	if no := q.stepUp(token); no != nil {
		return no
	}
	if token.HasScope(q.scopes...) {
		return nil
	}
	// RFC 6750 §3.1: the challenge names the scopes that are needed.
	params := fmt.Sprintf(`, error="insufficient_scope", scope=%q`, strings.Join(q.scopes, " "))
	no := &refusal{
		status: http.StatusForbidden,
		params: params,
		detail: "You do not have permission to perform this action.",
	}
	if g.showScopes {
		no.scopes = q.scopes
	}
	return no
}

// acceptable returns why an active token may not be used at this service, or nil. Who may use
// it is another question, which prove answers.
func (g *Guard) acceptable(t *Token) error {
	// RFC 7662 §2.2: the endpoint also answers for refresh tokens. Only the type
	// distinguishes them from access tokens.
	if t.TokenType != "" && !strings.EqualFold(t.TokenType, schemeBearer) && !strings.EqualFold(t.TokenType, schemeDPoP) {
		return inactive("its token_type is %s, neither Bearer nor DPoP", t.TokenType)
	}
	// RFC 9700 §2.3: a token for another service is refused.
	switch {
	case g.audience == "" || slices.Contains(t.Audience, g.audience):
		return nil
	case t.Audience != nil:
		return wrongAudience(t, g.audience)
	// RFC 8707 §2: no resource was named for this token, so it is for the server that issued it.
	case t.Issuer != "" && t.Issuer != g.audience && !strings.HasPrefix(t.Issuer, strings.TrimSuffix(g.audience, "/")+"/"):
		return inactive(
			"it has no aud, so it is for its issuer %s, and RESOURCE_SERVER_AUDIENCE is %s: the client must request it with "+
				"the parameter resource",
			t.Issuer, g.audience,
		)
	}
	return nil
}

func wrongAudience(t *Token, audience string) error {
	return inactive("its aud is %s, RESOURCE_SERVER_AUDIENCE is %s", strings.Join(t.Audience, " "), audience)
}
