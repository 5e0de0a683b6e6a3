package authorize

import (
	"net/url"
	"slices"

	"github.com/ory/fosite"

	"mandate/provider/claims"
	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/storage"
)

// Request is an authorization request as a value: its parameters, and where they came from.
// It is resolved before anything else reads it: what a request refers to or encloses
// replaces its parameters as a whole.
type Request struct {
	Parameters url.Values
	Signed     bool   // the client has signed the parameters: a request object enclosed them
	pushed     pushed // if the client sent the parameters itself (RFC 9126)
	opened     opened // how the same browser comes back to this request
	// refused says why the parameters that this request encloses cannot be used, or is nil.
	// Parameters then only say where the error goes.
	refused *oauth.Error
}

// pushed describes the pushed request from which a Request was resolved.
type pushed struct {
	Digest     string // of the request URI; empty: the request was not pushed
	ClientID   string
	Generation int64 // of the application, when it pushed
}

// opened describes how a browser comes back to a request that is valid for a short time only.
type opened struct {
	digest string     // of the request URI or the request object; empty: the request does not expire
	again  url.Values // the query that opens the request again, without the proof
	at     int64      // when this browser opened it
	proven bool       // the address proves that
}

// hasValue reports whether a parameter has a value that is not empty.
func hasValue(sent url.Values, name string) bool {
	return slices.ContainsFunc(sent[name], func(value string) bool { return value != "" })
}

// Authorization is an authorization request whose client and redirect URI are valid. If
// another part of the request is wrong, Refused holds the error, which is sent to the redirect
// URI.
type Authorization struct {
	Application storage.Application
	RedirectURI string
	Scopes      []policy.Scope
	ClaimScopes []policy.Scope // the scopes for the claims that only the claims parameter asks for
	LeftOut     policy.LeftOut // the scopes of the request that the application cannot get
	Audience    resources.Audience
	Refused     *oauth.Error

	state        string
	redirectSent bool
	sent         url.Values // the request as the browser brought it
	parameters   url.Values // without the parameters that count as omitted
	pushed       pushed     // empty if the request was not pushed
	signed       bool       // a request object enclosed the parameters
	opened       opened
	sign         func(claims map[string]any) (string, error) // signs the response; nil: it is not signed
	OpenID       OpenIDRequest
	request      fosite.AuthorizeRequester
	// what the person has approved, on which the response relies; nil: it relies on nothing stored
	consent *storage.Consent
}

// OpenIDRequest holds the parameters that OpenID Connect adds to an authorization request
// (OIDC Core §3.1.2.1).
type OpenIDRequest struct {
	nonce       string
	prompt      []string
	maxAge      int64 // in seconds; -1 if it was not sent
	loginHint   string
	Subjects    []string // by id_token_hint or claims: the person must be one of them; empty: any person
	claims      string   // the claims parameter, checked and reduced to what is supported
	claimScopes []string // the scopes that contain these claims
	formPost    bool
	acr         acrRequest
	// loginProof is the value that LoginProof made at a login for this request, if there was one.
	loginProof string
}

// acrRequest is what a request says about how the person signs in.
type acrRequest struct {
	values   []string // of acr, the preferred one first; only supported ones
	required bool     // without one of them the request fails
	named    bool     // the claim acr has values, supported or not
}

// scopesToApprove returns the names of all scopes that the person must approve.
func (a *Authorization) scopesToApprove() []string {
	return append(ScopeNames(a.Scopes), ScopeNames(a.ClaimScopes)...)
}

// toApprove returns what the person must approve, at each resource. A claim that an administrator has added since then
// is not approved yet.
func (a *Authorization) toApprove() indicator.Approved {
	return a.Audience.ToApprove(ScopeNames(a.Scopes),
		append(ScopeNames(a.ClaimScopes), claims.Unasked(a.Application.Claims).Approvals()...))
}

// ScopeNames returns the names of the scopes.
func ScopeNames(scopes []policy.Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = s.Name
	}
	return names
}
