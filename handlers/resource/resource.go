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
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"net/url"
	"slices"
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
