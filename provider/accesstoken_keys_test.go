package provider

import (
	"errors"
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// RFC 9068 §4: a key is published before it signs, and until the last token that it signed has
// expired.
func TestSignedAccessTokenKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, shortJWT, func(c *Config) { c.Keys.KeyLifetime = 24 * time.Hour })
		published := func(p *Provider) bool {
			t.Helper()
			m, err := p.Metadata(t.Context())
			_, missing := p.Keys.JWKSet(t.Context())
			if err != nil || missing != nil && !errors.Is(missing, oauth.ErrNotFound) || (missing == nil) != (m.JWKSURI != "") {
				t.Fatal(err, missing, m.JWKSURI)
			}
			return missing == nil
		}
		node, err := New(t.Context(), f.config, f.store, slog.New(slog.NewTextHandler(io.Discard, nil)))
		if err != nil {
			t.Fatal(err)
		}
		f.app()
		if published(f.Provider) || published(node) {
			t.Error("there are keys, and nothing to sign")
		}
		// The application's own token lifetime is much longer than the time in which a key signs.
		app := f.app(signed, func(r *clients.Registration) { r.AccessTokenLifetime = 3 * 24 * 3600 })
		other := &fixture{node, t, f.file, nil, nil}
		text := other.must(other.token(app, "grant_type", policy.GrantClient)).AccessToken
		if !published(f.Provider) || !published(node) {
			t.Error("there are no keys")
		}
		time.Sleep(24 * time.Hour)
		err = f.Keys.Rotate(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		_, before := f.claimsOf(text)
		_, after := f.claimsOf(f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken)
		if before["kid"] == after["kid"] {
			t.Error("the key does not rotate")
		}
		time.Sleep(45 * time.Hour)
		_, _ = f.claimsOf(text)
		f.wantActive(true, text)
		time.Sleep(time.Hour)
		f.wantActive(false, text)
	})
	t.Run("a token ends before its key does", func(t *testing.T) {
		f := begin(t, shortJWT)
		app := f.app(signed)
		wantError(t, f.Keys.RotateNow(t.Context(), "RSA", time.Hour), "no error")
		wantError(t, f.change(app, signed, func(r *clients.Registration) { r.AccessTokenLifetime = 365 * 24 * 3600 }),
			"no error")
		answer := f.must(f.token(app, "grant_type", policy.GrantClient))
		claims, header := f.claimsOf(answer.AccessToken)
		key, err := f.Keys.ByID(t.Context(), header["kid"].(string))
		if err != nil || int64(claims["exp"].(float64)) != key.ExpiresAt || answer.ExpiresIn > 3600+600+3600 {
			t.Error(claims["exp"], key.ExpiresAt, answer.ExpiresIn, err)
		}
	})
	t.Run("a token ends with its key, where its lifetime was shortened meanwhile", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, shortJWT)
			app := f.app(signed, func(r *clients.Registration) { r.AccessTokenLifetime = 30 * 24 * 3600 })
			text := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
			wantError(t, f.change(app, signed), "no error")
			wantError(t, f.Keys.RotateNow(t.Context(), "RSA", 0), "no error")
			time.Sleep(time.Hour)
			f.wantActive(true, text)
			time.Sleep(10 * time.Minute)
			f.wantActive(false, text)
		})
	})
	t.Run("a key that is taken away takes its tokens with it", func(t *testing.T) {
		f := begin(t, shortJWT)
		app := f.app(signed)
		text := f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken
		_, header := f.claimsOf(text)
		f.wantActive(true, text)
		wantError(t, f.Keys.Retire(t.Context(), header["kid"].(string)), "no error")
		f.wantActive(false, text)
		f.wantActive(true, f.must(f.token(app, "grant_type", policy.GrantClient)).AccessToken)
	})
}

// BenchmarkSignedAccessToken measures how long it takes to issue a signed access token and to
// introspect one: for the first time, and again while there is a copy in memory.
func BenchmarkSignedAccessToken(b *testing.B) {
	f := begin(b, shortJWT, withOpenID)
	caller := f.app(introspects)
	for _, format := range []string{"opaque", "RS256", "ES256"} {
		app := f.app(func(r *clients.Registration) {
			if format != "opaque" {
				r.AccessTokenFormat, r.Algorithm = policy.FormatJWT, format
			}
		})
		answer := f.must(f.token(app, "grant_type", policy.GrantClient))
		b.Run(format+"/issue", func(b *testing.B) {
			for b.Loop() {
				f.must(f.token(app, "grant_type", policy.GrantClient))
			}
		})
		b.Run(format+"/find", func(b *testing.B) {
			for b.Loop() {
				_, err := f.Tokens.FindToken(b.Context(), answer.AccessToken)
				if err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(format+"/introspect", func(b *testing.B) {
			for b.Loop() {
				found, _, err := f.Tokens.Introspect(b.Context(), by(caller, "token", answer.AccessToken), "")
				if err != nil || !found.Active {
					b.Fatal(found, err)
				}
			}
		})
	}
}
