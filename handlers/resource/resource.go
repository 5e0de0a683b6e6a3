// Package resource protects an API with access tokens: it implements the resource
// server of RFC 6749 §1.1. A [Guard] wraps any http.Handler. It passes the bearer token
// of each request (RFC 6750) to a [Verifier]. It then calls the handler with the facts
// of the token in the request's context, or refuses the request with a challenge.
//
// These types implement Verifier: [Introspection] asks the authorization server (RFC
// 7662), [Signed] checks signed tokens itself (RFC 9068), and [Cache] stores the
// results of another Verifier. A [Proxy] protects an API that cannot be changed. By
// [Guard.Wrap] an API describes itself (RFC 9728), and scripts can call it.
//
// The package knows the authorization server only by its URLs. Besides the standard
// library it imports only leaf packages: provider/jose for signatures and keys,
// provider/indicator for the identifier of the API, provider/throttle for the log.
package resource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
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
	// audiences must contain it; a token without audiences is accepted. If Audience is
	// empty, audiences are not checked.
	Audience string

	// ShowScopes adds required_scopes to the response body if the token lacks a scope.
	ShowScopes bool

	// AuthorizationServers are the issuers whose tokens the API accepts, exactly as they
	// call themselves. If there is one and Audience is an https URL, the API describes
	// itself (RFC 9728): [Guard.Wrap] serves its metadata, and challenges name the URL of it.
	AuthorizationServers []string

	Name          string // the name of the API for people, in its metadata
	Documentation string // the URL of a page for developers, in its metadata

	// AllowHTTP allows metadata for an Audience with http on another computer. Use it only
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
	verifier   Verifier
	challenge  string
	audience   string
	showScopes bool
	described  *description // nil: the API does not describe itself
	origins    []string
	log        *slog.Logger
	refused    requestLog
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
	return &Guard{verifier: c.Verifier, challenge: `Bearer realm="` + realm + `"`, audience: c.Audience, showScopes: c.ShowScopes,
		described: describe(c), origins: slices.Clone(c.AllowedOrigins), log: logger(c.Logger), refused: newRequestLog()}, nil
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
		token, no := g.check(r, q)
		if no != nil {
			g.refuse(w, no)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, token)))
	})
}

// refusal is the guard's response to a request that it refuses.
type refusal struct {
	status int
	params string // the parameters after the realm in the challenge
	detail string
	scopes []string // the required scopes, if the body may name them
}

// check returns the token of an accepted request, or the refusal.
func (g *Guard) check(r *http.Request, q requirement) (*Token, *refusal) {
	scopes := q.scopes
	raw, problem := bearer(r)
	if problem != "" {
		// RFC 6750 §3.1: a malformed request is 400 invalid_request.
		params := fmt.Sprintf(`, error="invalid_request", error_description=%q`, problem)
		return nil, &refusal{http.StatusBadRequest, params, problem + ".", nil}
	}
	if raw == "" {
		// RFC 6750 §3.1: a request without a token gets no error code.
		return nil, &refusal{http.StatusUnauthorized, g.needs(scopes), "Authentication credentials were not provided.", nil}
	}
	token, err := g.verifier.Verify(r.Context(), raw)
	if err == nil && token == nil {
		err = errors.New("the verifier returned neither a token nor an error")
	}
	if err != nil && !errors.Is(err, ErrInactive) {
		g.report(r.Context(), err)
		return nil, &refusal{http.StatusServiceUnavailable, "", "The access token cannot be checked at the moment.", nil}
	}
	if err == nil {
		err = g.acceptable(token)
	}
	if err != nil {
		g.logReason(r, err)
		// RFC 6750 §3.1: invalid_token is the error for expired, revoked and malformed
		// tokens, and for tokens that are not acceptable here.
		const why = "The access token is invalid, expired or revoked"
		return nil, &refusal{http.StatusUnauthorized, `, error="invalid_token", error_description="` + why + `"` + g.needs(scopes), why + ".", nil}
	}
	if no := q.stepUp(token); no != nil {
		return nil, no
	}
	if !token.HasScope(scopes...) {
		// RFC 6750 §3.1: the challenge names the scopes that are needed.
		params := fmt.Sprintf(`, error="insufficient_scope", scope=%q`, strings.Join(scopes, " "))
		no := &refusal{http.StatusForbidden, params, "You do not have permission to perform this action.", nil}
		if g.showScopes {
			no.scopes = scopes
		}
		return nil, no
	}
	return token, nil
}

// needs returns the parameter scope of a challenge to a request without a token that is
// active: the scopes that the request needs (RFC 6750 §3). A client that learns from the
// metadata where to get a token learns here what to request.
func (g *Guard) needs(scopes []string) string {
	if g.described == nil || len(scopes) == 0 {
		return ""
	}
	return fmt.Sprintf(`, scope=%q`, strings.Join(scopes, " "))
}

// acceptable returns why an active token may not be used at this service as a bearer
// token, or nil.
func (g *Guard) acceptable(t *Token) error {
	// RFC 7662 §2.2: the endpoint also answers for refresh tokens. Only the type
	// distinguishes them from access tokens.
	// RFC 9449 §7.2: a DPoP token is not accepted as a bearer token, without its proof.
	if t.TokenType != "" && !strings.EqualFold(t.TokenType, "Bearer") {
		return inactive("its token_type is %s, not Bearer", t.TokenType)
	}
	// RFC 8705 §3: a token that is bound to a key requires proof of that key. This guard
	// does not check such proof, so it refuses the token.
	if cnf, bound := t.Claims["cnf"]; bound && string(cnf) != "null" {
		return inactive("it is bound to a key (cnf), and this guard does not check the proof")
	}
	// RFC 9700 §2.3: a token for another service is refused.
	if g.audience != "" && t.Audience != nil && !slices.Contains(t.Audience, g.audience) {
		return wrongAudience(t, g.audience)
	}
	return nil
}

func wrongAudience(t *Token, audience string) error {
	return inactive("its aud is %s, RESOURCE_SERVER_AUDIENCE is %s", strings.Join(t.Audience, " "), audience)
}

// report logs why a token could not be checked. A cancelled request is logged only at
// debug level, because it is not an error of this server.
func (g *Guard) report(ctx context.Context, err error) {
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelDebug
	}
	g.log.Log(ctx, level, "the access token could not be checked", "error", err)
}

// logReason logs why a token was refused. The client is not told: the reason concerns the
// settings of this server. The log has the reasons of this package only, because the
// error of another [Verifier] could contain the token.
func (g *Guard) logReason(r *http.Request, err error) {
	text := ErrInactive.Error()
	if known, ok := errors.AsType[*reasonError](err); ok {
		text = known.text
	}
	g.refused.write(g.log, slog.LevelInfo, r, "the access token was refused", "reason", text)
}

func (g *Guard) refuse(w http.ResponseWriter, no *refusal) {
	if no.status == http.StatusServiceUnavailable {
		// RFC 9110 §15.6.4: Retry-After says when the client may try again.
		w.Header().Set("Retry-After", "5")
	} else {
		// RFC 6750 §3: every other refusal carries a challenge.
		challenge := g.challenge + no.params
		if g.described != nil {
			// RFC 9728 §5.1: the challenge names the URL of the metadata.
			challenge += fmt.Sprintf(`, resource_metadata=%q`, g.described.url)
		}
		w.Header().Set("WWW-Authenticate", challenge)
	}
	writeDetail(w, no.status, no.detail, no.scopes...)
}

// writeDetail writes a refusal. It is valid for this request only, so caches must not
// store it.
func writeDetail(w http.ResponseWriter, status int, detail string, requiredScopes ...string) {
	body, err := json.Marshal(struct {
		Detail         string   `json:"detail"`
		RequiredScopes []string `json:"required_scopes,omitempty"`
	}{detail, requiredScopes})
	if err != nil {
		body = []byte(`{"detail":""}`)
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	w.Write(body) // an error means that the client has closed the connection
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
