package app

import (
	"log/slog"
	"net/http"

	"mandate/app/config"
	"mandate/handlers/resource"
)

// newGuard makes a guard from the settings whose names begin with RESOURCE_SERVER_.
func newGuard(
	c *config.Config,
	p config.Provider,
	transport http.RoundTripper,
	log *slog.Logger,
) (*resource.Guard, error) {
	var verifier resource.Verifier
	if p.ResourceServerIntrospectionURL != "" {
		asking, err := newIntrospectionVerifier(p, transport)
		if err != nil {
			return nil, err
		}
		verifier = asking
	}
	if p.ResourceServerJWKSURL != "" {
		signed, err := resource.NewSigned(resource.SignedConfig{
			KeysURL:      p.ResourceServerJWKSURL,
			Issuer:       p.ResourceServerIssuer,
			Audience:     p.ResourceServerAudience,
			AcceptJWTTyp: p.ResourceServerJWTTyp == "JWT",
			Opaque:       verifier,
			AllowHTTP:    c.AllowInsecureHTTP,
		})
		if err != nil {
			return nil, err
		}
		verifier = signed
	}
	described := resource.GuardConfig{
		Verifier:          verifier,
		Audience:          p.ResourceServerAudience,
		ShowScopes:        p.ErrorResponseWithScopes,
		Logger:            log,
		Name:              p.ResourceServerName,
		Documentation:     p.ResourceServerDocumentation,
		AllowHTTP:         c.AllowInsecureHTTP,
		AllowedOrigins:    p.ResourceServerAllowedOrigins,
		BaseURLs:          p.ResourceServerBaseURLs,
		RequireNonce:      p.ResourceServerDPoPNonce,
		NonceKey:          c.NonceKey,
		Certificates:      c.AsksForCertificates(),
		CertificateHeader: c.MTLSCertificateHeader,
		TrustedProxies:    c.TrustedProxies,
	}
	if p.ResourceServerRequiredBinding != "none" {
		described.RequiredBinding = p.ResourceServerRequiredBinding
	}
	if p.ResourceServerIssuer != "" {
		described.AuthorizationServers = []string{p.ResourceServerIssuer}
	}
	return resource.NewGuard(described)
}

// newIntrospectionVerifier makes a verifier that calls an introspection endpoint and caches the
// responses.
func newIntrospectionVerifier(p config.Provider, transport http.RoundTripper) (resource.Verifier, error) {
	asks := resource.IntrospectionConfig{
		URL:       p.ResourceServerIntrospectionURL,
		AuthToken: p.ResourceServerAuthToken,
		Timeout:   p.ResourceServerIntrospectionTimeout,
		Transport: transport,
	}
	if pair := p.ResourceServerIntrospectionCredentials; len(pair) == 2 {
		asks.ClientID, asks.ClientSecret = pair[0], pair[1]
	}
	introspection, err := resource.NewIntrospection(asks)
	if err != nil {
		return nil, err
	}
	return resource.NewCache(resource.CacheConfig{Verifier: introspection, TTL: p.ResourceServerTokenCaching})
}
