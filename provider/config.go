package provider

import (
	"net/http"
	"net/netip"
	"time"

	"mandate/provider/authorize"
	"mandate/provider/clients"
	"mandate/provider/keys"
	"mandate/provider/logout"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/tokens"
)

// Config is what an operator decides.
type Config struct {
	Issuer    string // {base_url}/o, as it stands in metadata and in iss
	ServerKey []byte // 32 bytes; everything sealed at rest is under it

	Scopes        []policy.Scope // in the operator's order
	DefaultScopes []string       // nil: every scope but introspection and openid

	CodeLifetime            time.Duration
	AccessTokenLifetime     time.Duration
	JWTAccessTokenLifetime  time.Duration // of those that an API checks by itself
	RefreshTokenLifetime    time.Duration // idle
	RefreshTokenMaxLifetime time.Duration // of the whole family
	RefreshGrace            time.Duration
	KeepRefreshTokens       bool // confidential applications keep theirs; public ones always rotate

	// What administrators may set an application's lifetimes to, beside
	// RefreshTokenMaxLifetime; never less than the server's own.
	AccessTokenMax    time.Duration
	JWTAccessTokenMax time.Duration

	// What only applications may have for which an administrator answers.
	GrantsByAdministrator []string
	ScopesByAdministrator []string
	PersonQuota           policy.Quota // of all applications of one person
	OpenQuota             policy.Quota // of all applications together that nobody answers for

	// PKCEOptional lets a confidential application leave PKCE out, where an
	// administrator answers for it. For deployments with clients that predate RFC
	// 7636.
	PKCEOptional bool
	// AlwaysAsk shows the consent page although it was agreed to before.
	AlwaysAsk bool
	// RedirectSchemes restricts the schemes of redirect URIs; empty: https,
	// http to this computer, and private-use schemes with a dot.
	RedirectSchemes []string
	// LocalhostLoopback lets the port of http://localhost vary as that of
	// 127.0.0.1 may, for native clients that cannot use the literal.
	LocalhostLoopback bool

	// OpenID turns the server into an OpenID Provider (OIDC Core).
	OpenID          bool
	IDTokenLifetime time.Duration
	RSAPrivateKey   string   // PEM; signs instead of our own RSA keys
	RSAInactiveKeys []string // PEM; published only
	KeyLifetime     time.Duration
	JWKSMaxAge      time.Duration

	RPLogout RPLogout
	// OutboundNetworks are special-use addresses that the server may call where an
	// application registered one.
	OutboundNetworks []netip.Prefix
	// TraceOutbound tells somebody of each call; nil: nobody.
	TraceOutbound func(http.RoundTripper) http.RoundTripper

	SessionLifetime time.Duration
	SessionIdle     time.Duration

	PasswordMinLength   int
	PasswordMemoryKiB   uint32
	PasswordIterations  uint32
	PasswordConcurrency int // 0: from cores and memory

	SweepInterval time.Duration
	SweepBatch    int

	// MaxStaleness is how long a node that does not hear the others goes on with
	// what it has read of applications and tokens; 0: it reads them each time.
	MaxStaleness time.Duration
}

// RPLogout is what an application may do to log people out (OIDC RP-Logout).
type RPLogout struct {
	Enabled       bool
	AlwaysPrompt  bool // ask the person, whatever the application proves
	StrictURIs    bool // post-logout redirect URIs with http:// for confidential applications only
	RefuseExpired bool // an ID token that has expired is no hint
	KeepTokens    bool // the tokens do not end with the session
}

// rules gives what the configuration says about applications.
func (c Config) rules() *policy.Rules {
	return policy.New(policy.Settings{
		Scopes: c.Scopes, DefaultScopes: c.DefaultScopes, OpenID: c.OpenID,
		AccessTokenLifetime: c.AccessTokenLifetime, JWTAccessTokenLifetime: c.JWTAccessTokenLifetime,
		RefreshTokenLifetime: c.RefreshTokenLifetime, RefreshTokenMaxLifetime: c.RefreshTokenMaxLifetime,
		AccessTokenMax: c.AccessTokenMax, JWTAccessTokenMax: c.JWTAccessTokenMax,
		GrantsByAdministrator: c.GrantsByAdministrator, ScopesByAdministrator: c.ScopesByAdministrator,
		PersonQuota: c.PersonQuota, OpenQuota: c.OpenQuota,
	})
}

// people gives what the configuration says about people.
func (c Config) people() people.Config {
	return people.Config{SessionLifetime: c.SessionLifetime, SessionIdle: c.SessionIdle, PasswordMinLength: c.PasswordMinLength}
}

// clients gives what the configuration says about clients.
func (c Config) clients() clients.Config {
	return clients.Config{OpenID: c.OpenID, StrictURIs: c.RPLogout.StrictURIs, Redirects: c.redirects(), ServerKey: c.ServerKey}
}

// tokens gives what the configuration says about tokens.
func (c Config) tokens() tokens.Config {
	return tokens.Config{
		Issuer: c.Issuer, OpenID: c.OpenID, IDTokenLifetime: c.IDTokenLifetime, RefreshTokenMaxLifetime: c.RefreshTokenMaxLifetime,
		PersonTokensPerMinute: c.PersonQuota.TokensPerMinute, OpenTokensPerMinute: c.OpenQuota.TokensPerMinute,
	}
}

// logout gives what the configuration says about logouts.
func (c Config) logout() logout.Config {
	return logout.Config{Issuer: c.Issuer, AlwaysPrompt: c.RPLogout.AlwaysPrompt, RefuseExpired: c.RPLogout.RefuseExpired, KeepTokens: c.RPLogout.KeepTokens, Redirects: c.redirects()}
}

// authorize gives what the configuration says about authorization requests.
func (c Config) authorize() authorize.Config {
	return authorize.Config{Issuer: c.Issuer, OpenID: c.OpenID, AlwaysAsk: c.AlwaysAsk, PKCEOptional: c.PKCEOptional, CodeLifetime: c.CodeLifetime, Redirects: c.redirects()}
}

// keys gives what the configuration says about signing keys.
func (c Config) keys(rules *policy.Rules) keys.Config {
	return keys.Config{
		OpenID: c.OpenID, RSAPrivateKey: c.RSAPrivateKey, RSAInactiveKeys: c.RSAInactiveKeys, KeyLifetime: c.KeyLifetime, JWKSMaxAge: c.JWKSMaxAge,
		SessionLifetime: c.SessionLifetime, IDTokenLifetime: c.IDTokenLifetime, MaxStaleness: c.MaxStaleness,
		JWTAccessTokenLifetime: c.JWTAccessTokenLifetime, JWTMax: rules.Allowance(policy.StandingAdministrator).JWTMax,
	}
}

// Allowance gives what a standing allows under this configuration.
func (c Config) Allowance(s policy.Standing) policy.Allowance { return c.rules().Allowance(s) }

func (c Config) redirects() redirect.Policy {
	return redirect.Policy{Schemes: c.RedirectSchemes, LocalhostLoopback: c.LocalhostLoopback}
}
