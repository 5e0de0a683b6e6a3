package provider

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/policy"
)

// The benchmark measures the time for a signature with each algorithm, in a complete login.
func BenchmarkIDToken(b *testing.B) {
	f := begin(b, func(c *Config) {
		c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
	})
	for _, algorithm := range append(jose.Algorithms(), jose.HS256) {
		app := f.app(func(r *clients.Registration) { r.Algorithm, r.HashClientSecret = algorithm, false })
		b.Run(algorithm, func(b *testing.B) {
			for b.Loop() {
				_, err := f.Tokens.Sign(b.Context(), app.Application, algorithm, "JWT",
					jwt.MapClaims{"iss": "https://auth.example/o", "sub": "alice", "aud": "client"})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
