// Package resource is for a service that offers a protected API: the resource
// server of RFC 6749 §1.1. A [Guard] stands in front of any http.Handler, asks
// a [Verifier] about the bearer token of each request (RFC 6750), and lets the
// request through with the facts of the token in its context, or refuses it
// with a challenge. [Introspection] is a Verifier that asks the authorization
// server (RFC 7662); [Signed] is one that checks signed tokens by itself (RFC 9068);
// [Cache] is one that remembers another's verdicts; [Proxy] protects an API that
// cannot be changed.
//
// The package knows the authorization server by URL only and imports, beside the
// standard library, nothing but golang-jwt, for its signatures.
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

// ErrInactive is the verdict on a token that is unknown, expired, revoked or
// malformed. Every other error of a [Verifier] means that there is no verdict.
var ErrInactive = errors.New("the access token is not active")

// A Verifier finds out whether an access token is live at this moment. It
// returns the token's facts, an error that is [ErrInactive], or any other error
// if it could not find out: the [Guard] answers that one with 503, never 401.
// It must be safe for concurrent use.
type Verifier interface {
	Verify(ctx context.Context, token string) (*Token, error)
}

// Token holds what is known of a live access token. Members that the
// authorization server did not send are zero. A Token is shared between
// requests: read it, do not change it.
type Token struct {
	ClientID  string    // the client it was issued to
	Username  string    // the resource owner by name, for people to read
	Subject   string    // the resource owner by a name that does not change
	Scope     []string  // what it allows
	ExpiresAt time.Time // when it ends
	IssuedAt  time.Time
	NotBefore time.Time
	Audience  []string // the services it is meant for; nil if not restricted
	Issuer    string   // who issued it
	ID        string   // jti: names the token without being it
	TokenType string   // as issued, usually Bearer

	// Claims holds every member as it was received, those above too.
	Claims map[string]json.RawMessage
}

// HasScope reports whether the token has all the scopes.
func (t *Token) HasScope(scopes ...string) bool {
	return !slices.ContainsFunc(scopes, func(s string) bool { return !slices.Contains(t.Scope, s) })
}

type contextKey struct{}

// FromContext returns the token that a [Guard] let in with the request of this
// context, and false behind no guard.
func FromContext(ctx context.Context) (*Token, bool) {
	token, ok := ctx.Value(contextKey{}).(*Token)
	return token, ok
}

// GuardConfig is what a [Guard] needs. Only Verifier is required.
type GuardConfig struct {
	Verifier Verifier

	// Realm names the protected area in challenges; "api" if empty.
	Realm string

	// Audience is the identifier under which the authorization server knows
	// this service. A token that names its audiences must name this one; a token
	// that names none passes. Empty: audiences are not looked at.
	Audience string

	// ShowScopes adds the scopes that were needed to the body of a refusal for
	// want of them, as required_scopes.
	ShowScopes bool

	// Logger is told why a token could not be checked. It never sees a token
	// or a secret. Nil: nothing is logged.
	Logger *slog.Logger
}

// A Guard lets requests with a live access token of the right scope through.
type Guard struct {
	verifier   Verifier
	challenge  string
	audience   string
	showScopes bool
	log        *slog.Logger
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
	// RFC 6750 §3: the realm stands in a quoted string of the challenge.
	if strings.ContainsFunc(realm, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		return nil, fmt.Errorf("guard: realm %q: use printable ASCII without quotes and backslashes", realm)
	}
	return &Guard{c.Verifier, `Bearer realm="` + realm + `"`, c.Audience, c.ShowScopes, logger(c.Logger)}, nil
}

// Require returns a handler that runs next for requests whose token is live and
// has all the scopes; with no scopes, any live token will do. Each scope is
// compared whole: an empty one, or two in one string, no token has.
func (g *Guard) Require(next http.Handler, scopes ...string) http.Handler {
	scopes = slices.Clone(scopes)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token, no := g.check(r, scopes)
		if no != nil {
			g.refuse(w, no)
			return
		}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), contextKey{}, token)))
	})
}

// refusal is a response of the guard that keeps the request out.
type refusal struct {
	status int
	params string // what follows the realm in the challenge
	detail string
	scopes []string // that are needed, where the body may say so
}

// check returns the token of a request that may pass, or the refusal.
func (g *Guard) check(r *http.Request, scopes []string) (*Token, *refusal) {
	raw, problem := bearer(r)
	if problem != "" {
		// RFC 6750 §3.1: a malformed request is 400 invalid_request.
		params := fmt.Sprintf(`, error="invalid_request", error_description=%q`, problem)
		return nil, &refusal{http.StatusBadRequest, params, problem + ".", nil}
	}
	if raw == "" {
		// RFC 6750 §3.1: whoever sent no token is told no error code.
		return nil, &refusal{http.StatusUnauthorized, "", "Authentication credentials were not provided.", nil}
	}
	token, err := g.verifier.Verify(r.Context(), raw)
	if err == nil && token == nil {
		err = errors.New("the verifier returned neither a token nor an error")
	}
	if err != nil && !errors.Is(err, ErrInactive) {
		g.report(r.Context(), err)
		return nil, &refusal{http.StatusServiceUnavailable, "", "The access token cannot be checked at the moment.", nil}
	}
	if err != nil || !g.acceptable(token) {
		// RFC 6750 §3.1: expired, revoked, malformed and misplaced tokens are all invalid_token.
		const why = "The access token is invalid, expired or revoked"
		return nil, &refusal{http.StatusUnauthorized, `, error="invalid_token", error_description="` + why + `"`, why + ".", nil}
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

// acceptable reports whether a live token may be used here, as a bearer token.
func (g *Guard) acceptable(t *Token) bool {
	// RFC 7662 §2.2: a refresh token is introspected like an access token, only
	// its type gives it away.
	// RFC 9449 §7.2: a DPoP token is not accepted as a bearer token, without its proof.
	if t.TokenType != "" && !strings.EqualFold(t.TokenType, "Bearer") {
		return false
	}
	// RFC 8705 §3: a token bound to a key works only with proof of that key,
	// which this guard does not ask for.
	if cnf, bound := t.Claims["cnf"]; bound && string(cnf) != "null" {
		return false
	}
	// RFC 9700 §2.3: a token meant for another service is refused.
	return g.audience == "" || t.Audience == nil || slices.Contains(t.Audience, g.audience)
}

// report logs why there was no verdict. A client that hung up is no fault of ours.
func (g *Guard) report(ctx context.Context, err error) {
	level := slog.LevelError
	if errors.Is(ctx.Err(), context.Canceled) {
		level = slog.LevelDebug
	}
	g.log.Log(ctx, level, "the access token could not be checked", "error", err)
}

func (g *Guard) refuse(w http.ResponseWriter, no *refusal) {
	if no.status == http.StatusServiceUnavailable {
		// RFC 9110 §15.6.4: the client is told when to come back.
		w.Header().Set("Retry-After", "5")
	} else {
		// RFC 6750 §3: every other refusal carries a challenge.
		w.Header().Set("WWW-Authenticate", g.challenge+no.params)
	}
	writeDetail(w, no.status, no.detail, no.scopes...)
}

// writeDetail writes a refusal. It holds for this request only, so no cache may keep it.
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
	w.Write(body) // an error here means that the client has gone
}

func logger(l *slog.Logger) *slog.Logger {
	if l == nil {
		return slog.New(slog.DiscardHandler)
	}
	return l
}
