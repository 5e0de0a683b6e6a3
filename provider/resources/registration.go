package resources

import (
	"slices"
	"strings"

	"mandate/provider/indicator"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// Registration describes a resource that an administrator adds or changes.
type Registration struct {
	// URI names the API in the parameter `resource` and in `aud`: an absolute URI without a fragment (RFC 8707 §2).
	URI string `key:"URI" default:""`
	// Name is shown on the consent page.
	Name string `key:"NAME" default:""`
	// Scopes are the scopes that a token for the API can have. If there are none, it can have every scope of `SCOPES`.
	Scopes []string `key:"SCOPES" default:"[]"`
	// TokenFormat is `opaque` or `jwt` (RFC 9068). By default it is that of the application.
	TokenFormat string `key:"TOKEN_FORMAT" default:""`
	// Lifetime is the longest lifetime of an access token for the API in seconds. With 0 it is that of the
	// application.
	Lifetime int64 `key:"ACCESS_TOKEN_EXPIRE_SECONDS" default:"0" min:"0" max:"31536000"`
	// Algorithm signs access tokens that are JWTs: `ES256`, `EdDSA`, `RS256` or `PS256`. By default it is that of the
	// application.
	Algorithm string `key:"ALGORITHM" default:""`
	// JWTTyp is the `typ` of access tokens that are JWTs: `at+jwt` (RFC 9068), or `JWT` for an API whose library
	// accepts nothing else.
	//
	// A token for several APIs has `JWT` only if all of them say so.
	JWTTyp string `key:"JWT_TYP" default:"at+jwt"`
	// Constrained refuses access tokens for the API that are not bound to a key (RFC 9449) or to a certificate
	// (RFC 8705) of the application.
	Constrained bool `key:"SENDER_CONSTRAINED" default:"false"`
	// Introspectors are the client ids of the applications that may introspect the tokens for the API. An
	// administrator must be responsible for them.
	Introspectors []string `key:"INTROSPECTORS" default:"[]"`
}

func (r Registration) record() storage.Resource {
	return storage.Resource{Key: indicator.Normal(r.URI), URI: r.URI, Name: r.Name, Scopes: strings.Join(r.Scopes, " "),
		TokenFormat: r.TokenFormat,
		Lifetime:    r.Lifetime, Algorithm: r.Algorithm,
		Introspectors: storage.NewIntrospectors(oauth.Union(nil, r.Introspectors)), Constrained: r.Constrained,
		JWTTyp: typOf(r.JWTTyp)}
}

// The typ of signed access tokens. RFC 9068 §2.1 requires at+jwt, so it is used if nothing is set. Some libraries
// accept only JWT, which RFC 7519 §5.1 recommends for JWTs of no particular kind.
const (
	TypAccessToken = "at+jwt"
	TypJWT         = "JWT"
)

// typOf returns the typ as it is stored.
func typOf(said string) string {
	if said == TypAccessToken {
		return ""
	}
	return said
}

// Check returns what is wrong with a registration. server is the URI of the server itself, and
// others are resources that exist already.
func Check(r Registration, rules *policy.Rules, server string, others []Registration) *oauth.Invalid {
	found := &oauth.Invalid{}
	if strings.TrimSpace(r.Name) == "" {
		found.Add("name", "This field is required: people see it on the consent page.")
	}
	people.CheckText(found, "name", r.Name)
	if wrong := indicator.Check(r.URI); wrong != "" {
		found.Add("uri", "The URI %s.", wrong)
	} else if indicator.Same(r.URI, server) {
		found.Add("uri", "This is the server itself, which is always a resource.")
	}
	if slices.ContainsFunc(others, func(other Registration) bool { return indicator.Same(r.URI, other.URI) }) {
		found.Add("uri", "The configuration already has a resource with this URI, in RESOURCES.")
	}
	may := rules.Allowance(policy.StandingAdministrator)
	for _, name := range r.Scopes {
		switch {
		case name == policy.Introspection:
			found.Add("scopes", "Remove the scope introspection: only this server reads it.")
		case rules.IsIdentityScope(name):
			// A scope about the person means the same at each resource, so it cannot protect one of them.
			found.Add("scopes", "The scope %q belongs to OpenID Connect, and every resource has it: remove it, or use another "+
				"name for the scope of this API. With OIDC_ENABLED: false, it is a scope like any other.", oauth.Clip(name, 80))
		case !slices.Contains(rules.ScopeNames(), name):
			offered := slices.DeleteFunc(slices.Clone(may.Scopes), rules.IsIdentityScope)
			found.Add("scopes", "There is no scope %q on this server: use %s.", oauth.Clip(name, 80), oauth.OneOf(offered))
		}
	}
	most := may.AccessMax
	switch r.TokenFormat {
	case policy.FormatJWT:
		most = may.JWTMax
	case "", policy.FormatOpaque:
	default:
		found.Add("token_format", "The format %q is not supported: use opaque or jwt.", oauth.Clip(r.TokenFormat, 40))
	}
	if r.Lifetime < 0 || r.Lifetime > most {
		found.Add("access_token_lifetime", "Use a number of seconds from 1 to %d, or leave it empty.", most)
	}
	if r.Algorithm != "" && !slices.Contains(jose.Algorithms(), r.Algorithm) {
		found.Add("algorithm", "The algorithm %q is not supported: use %s.", oauth.Clip(r.Algorithm, 40),
			oauth.OneOf(jose.Algorithms()))
	} else if r.Algorithm != "" && r.TokenFormat == policy.FormatOpaque {
		found.Add("algorithm", "Only tokens in the format jwt are signed.")
	}
	switch {
	case typOf(r.JWTTyp) == "":
	case r.JWTTyp != TypJWT:
		found.Add("jwt_typ", "The typ %q is not supported: use %s or %s.", oauth.Clip(r.JWTTyp, 40), TypAccessToken, TypJWT)
	case r.TokenFormat == policy.FormatOpaque:
		found.Add("jwt_typ", "Only tokens in the format jwt have a typ.")
	}
	return found
}

// LongestSigned returns the longest lifetime of those with signed access tokens, or -1 if
// there are none.
func LongestSigned(configured []Registration) int64 {
	longest := int64(-1)
	for _, r := range configured {
		if r.TokenFormat == policy.FormatJWT {
			longest = max(longest, r.Lifetime)
		}
	}
	return longest
}
