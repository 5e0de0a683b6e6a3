package mandate

import (
	"testing"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
)

// Another third-party relying party: github.com/coreos/go-oidc, with every algorithm
// that it supports.
func TestOIDCCore3GoOIDC(t *testing.T) {
	ownProcesses(t)
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		discovered, err := oidc.NewProvider(t.Context(), s.Issuer)
		if err != nil {
			t.Fatal(err)
		}
		for _, algorithm := range []string{"RS256", "ES256", "PS256", "EdDSA"} {
			app := s.relyingParty(t, "--algorithm", algorithm)
			config := oauth2.Config{ClientID: app.ClientID, ClientSecret: app.ClientSecret, RedirectURL: app.RedirectURI,
				Endpoint: discovered.Endpoint(), Scopes: []string{oidc.ScopeOpenID, "email"}}
			verifier := oauth2.GenerateVerifier()
			address := config.AuthCodeURL("s", oidc.Nonce("n-1"), oauth2.S256ChallengeOption(verifier))
			got, err := config.Exchange(t.Context(), s.browser(t).code(t, address, alice), oauth2.VerifierOption(verifier))
			if err != nil {
				t.Fatal(err)
			}
			text, _ := got.Extra("id_token").(string)
			for _, secret := range []string{text, got.AccessToken, got.RefreshToken} {
				s.secret(secret)
			}
			token, err := discovered.Verifier(&oidc.Config{ClientID: app.ClientID, SupportedSigningAlgs: []string{algorithm}}).
				Verify(t.Context(), text)
			if err != nil {
				t.Fatalf("%s: %v", algorithm, err)
			}
			if err := token.VerifyAccessToken(got.AccessToken); err != nil || token.Nonce != "n-1" {
				t.Errorf("%s: nonce %q, %v", algorithm, token.Nonce, err)
			}
			info, err := discovered.UserInfo(t.Context(), oauth2.StaticTokenSource(got))
			if err != nil || info.Email != "alice@example.org" || !info.EmailVerified || info.Subject != token.Subject {
				t.Errorf("%s: UserInfo says %v, %v", algorithm, info, err)
			}
		}
	})
}
