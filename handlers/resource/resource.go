// Package resource protects an API with access tokens: it implements the resource
// server of RFC 6749 §1.1. A [Guard] wraps any http.Handler. It passes the access token
// of each request (RFC 6750) to a [Verifier]. It then calls the handler with the facts
// of the token in the request's context, or refuses the request with a challenge. A token
// that is bound to a key (RFC 9449) or to a certificate (RFC 8705) is accepted only from
// a sender that proves to have it.
//
// These types implement Verifier: [Introspection] asks the authorization server (RFC
// 7662), [Signed] checks signed tokens itself (RFC 9068), and [Cache] stores the
// results of another Verifier. A [Proxy] protects an API that cannot be changed. By
// [Guard.Wrap] an API describes itself (RFC 9728), and scripts can call it.
//
// The package knows the authorization server only by its URLs. Besides the standard
// library it imports only leaf packages: provider/jose for signatures and keys,
// provider/dpop and provider/mtls for the proofs of bound tokens, provider/indicator for
// the identifier of the API, provider/throttle for the log.
package resource

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/mtls"
)

// ErrInactive is the result for a token that is unknown, expired, revoked or malformed.
// Any other error of a [Verifier] means that it could not check the token.
var ErrInactive = errors.New("the access token is not active")

// reasonError is an ErrInactive with the reason, which the [Guard] logs for the operator.
type reasonError struct{ text string }

func (e *reasonError) Error() string { return ErrInactive.Error() + ": " + e.text }

func (e *reasonError) Unwrap() error { return ErrInactive }

// inactive returns a reasonError. The arguments may come from a token, which anybody can
// invent, so each is escaped and clipped.
func inactive(format string, args ...any) error {
	for i, a := range args {
		args[i] = `"` + printable(fmt.Sprint(a)) + `"`
	}
	return &reasonError{fmt.Sprintf(format, args...)}
}

// Verifier checks whether an access token is active. It returns the facts of the token,
// or [ErrInactive], or another error if it could not check the token. For such an error
// the [Guard] answers 503, never 401. A Verifier must be safe for concurrent use.
type Verifier interface {
	Verify(ctx context.Context, token string) (*Token, error)
}

// Token holds the facts of an active access token. Fields that the authorization server
// did not send are zero. Requests share a Token, so it must not be changed.
type Token struct {
	ClientID  string    // the client to which it was issued
	Username  string    // the resource owner's name, for display
	Subject   string    // the resource owner's identifier, which does not change
	Scope     []string  // the granted scopes
	ExpiresAt time.Time // when it expires
	IssuedAt  time.Time
	NotBefore time.Time
	Audience  []string // the services that may accept it; nil: not restricted
	Issuer    string   // the authorization server that issued it
	ID        string   // jti: identifies the token, but is not the token itself
	TokenType string   // usually Bearer

	AuthTime time.Time // when the person signed in; zero: the token does not say so
	ACR      string    // how the person signed in (Authentication Context Class Reference)

	// Claims holds every member as received, including those above.
	Claims map[string]json.RawMessage
}

// HasScope reports whether the token has all the scopes.
func (t *Token) HasScope(scopes ...string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(t.Scope, s) })
}

type contextKey struct{}

// FromContext returns the token that a [Guard] has stored in the request's context, and
// whether there is one.
func FromContext(ctx context.Context) (*Token, bool) {
	token, ok := ctx.Value(contextKey{}).(*Token)
	return token, ok
}

// GuardConfig configures a [Guard]. Only Verifier is required.
type GuardConfig struct {
	Verifier Verifier

	// Realm is the name of the protected area in challenges. Empty means "api".
	Realm string

	// Audience is this service's identifier at the authorization server. A token with
	// audiences must contain it. A token without audiences is for the authorization server
	// itself: if the server names itself as its issuer, Audience must be the beginning of
	// that issuer. If Audience is empty, audiences are not checked.
	Audience string

	// ShowScopes adds required_scopes to the response body if the token lacks a scope.
	ShowScopes bool

	// AuthorizationServers are the issuers whose tokens the API accepts, exactly as they
	// call themselves. If there is one and Audience is an https URL, the API describes
	// itself (RFC 9728): [Guard.Wrap] serves its metadata, and challenges name the URL of it.
	AuthorizationServers []string

	Name          string // the name of the API for people, in its metadata
	Documentation string // the URL of a page for developers, in its metadata

	// BaseURLs are the URLs by which clients reach the API, up to the path that the guard
	// sees: https://api.example, or https://api.example/v1 if something before the guard
	// removes /v1. A DPoP proof is for one of them (RFC 9449 §4.3). If there is none, it is
	// the scheme and host of Audience. If that is no URL either, the guard accepts no token
	// that is bound to a key.
	BaseURLs []string

	// RequiredBinding is what access tokens must be bound to: dpop (a key, RFC 9449),
	// certificate (RFC 8705), or any of the two. Empty means that bearer tokens are accepted
	// too. A bound token always needs its proof.
	RequiredBinding string

	// RequireNonce requires a nonce of this server in each DPoP proof (RFC 9449 §9), so that
	// nobody can make proofs in advance. NonceKey has at least 32 bytes that serve no other
	// purpose, the same on all nodes. If it is nil, this node makes one.
	RequireNonce bool
	NonceKey     []byte

	// Certificates says that the server asks clients for a certificate in TLS. The metadata
	// says so too.
	Certificates bool

	// CertificateHeader is the header in which the TrustedProxies pass the certificate of a
	// client: Client-Cert (RFC 9440), or another one with the certificate in PEM,
	// percent-encoded. It is never read from anybody else.
	CertificateHeader string
	TrustedProxies    []netip.Prefix

	// AllowHTTP allows an Audience and BaseURLs with http on another computer. Use it only
	// in a test environment.
	AllowHTTP bool

	// AllowedOrigins are the origins (https://app.example) whose scripts may call the API
	// (CORS), by [Guard.Wrap]; * means all. If it is empty, scripts of other sites cannot
	// call it.
	AllowedOrigins []string

	// Logger logs why a token could not be checked, and, limited in rate, why a token was
	// refused. Tokens and secrets are never logged. nil means no logging.
	Logger *slog.Logger
}

// Guard calls a handler only for requests with an active access token and the required
// scopes.
type Guard struct {
	verifier     Verifier
	realm        string
	audience     string
	binding      string     // GuardConfig.RequiredBinding
	proofs       *proofs    // nil: no token that is bound to a key is accepted
	bases        []*url.URL // the URLs of the API, if they are known
	certificates mtls.Source
	showScopes   bool
	described    *description // nil: the API does not describe itself
	origins      []string
	log          *slog.Logger
	refused      requestLog
	unchecked    requestLog
}

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
