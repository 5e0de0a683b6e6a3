package provider

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"io"
	"log/slog"
	"math/big"
	"regexp"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/jose"
	ring "mandate/provider/keys"
	"mandate/provider/policy"
	"mandate/provider/tokens"
	"mandate/storage"
)

// keyLife records what other parties see of a key: when it was published and when it signed.
type keyLife struct {
	published, signed [2]time.Time // the first time and the last time
	expires           time.Time    // when the last token that it signed expires
}

func extend(span *[2]time.Time) {
	if span[0].IsZero() {
		span[0] = time.Now()
	}
	span[1] = time.Now()
}

// OIDC Core §10.1.1: a key is published first. It signs when all parties have had time to read it. It stays published
// until the last token that it signed has expired. Two nodes rotate one set of keys.
func TestKeysRotateBySchedule(t *testing.T) {
	for name, maxAge := range map[string]time.Duration{
		"kept for an hour at least":   0,
		"kept for as long as is said": 75 * time.Minute,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const rotation, life, watched = 3 * time.Hour, 30 * time.Minute, 16 * time.Hour
				f := begin(t, func(c *Config) {
					c.OpenID, c.Tokens.IDTokenLifetime, c.Keys.KeyLifetime, c.Keys.JWKSMaxAge = true, life, rotation, maxAge
				})
				if first := f.logged.String(); !regexp.MustCompile(
					`created a signing key" kid=\S+ kind=\S+ signs_from=\d{4}-\d\d-\d\dT[\d:]+Z\n`).MatchString(first) {
					t.Errorf("the line about a key has no time: %s", first)
				}
				lead := max(time.Hour, 2*maxAge)
				node, err := New(t.Context(), f.config, f.store, slog.New(slog.NewTextHandler(io.Discard, nil)))
				if err != nil {
					t.Fatal(err)
				}
				ctx, cancel := context.WithCancel(t.Context())
				var running sync.WaitGroup
				for _, p := range []*Provider{f.Provider, node} {
					running.Go(func() { p.Keys.Run(ctx) })
				}
				began := time.Now()
				time.Sleep(ring.Check / 2) // so that nothing else happens at the times of the checks
				order := map[string][]string{}
				keys := map[string]*keyLife{}
				for time.Since(began) < watched {
					lookAtKeys(t, f.Provider, node, keys, order)
					time.Sleep(ring.Check)
				}
				cancel()
				running.Wait()
				for algorithm, ids := range order {
					if len(ids) < 3 || len(ids) > int(watched/rotation)+1 {
						t.Errorf("%s: %d keys signed in %v", algorithm, len(ids), watched)
					}
					for i, id := range ids {
						k := keys[id]
						if ahead := k.signed[0].Sub(k.published[0]); i > 0 && ahead < lead || ahead > lead+2*ring.Check {
							t.Errorf("%s: key %d was published %v before it signed", algorithm, i, ahead)
						}
						if i == len(ids)-1 || k.published[1].Sub(began) > watched-2*ring.Check {
							continue // the test does not see the end of this key
						}
						if signed := k.signed[1].Sub(k.signed[0]); signed < rotation-ring.Check || signed > rotation+2*ring.Check {
							t.Errorf("%s: key %d signed for %v", algorithm, i, signed)
						}
						// A tolerance of one hour is for wrong clocks.
						if after := k.published[1].Sub(k.expires); after < -ring.Check || after > time.Hour+2*ring.Check {
							t.Errorf("%s: key %d was published for %v after the last token it signed", algorithm, i, after)
						}
					}
				}
			})
		})
	}
}

// lookAtKeys records which keys are published now, and which keys sign.
func lookAtKeys(t *testing.T, signer, publisher *Provider, keys map[string]*keyLife, order map[string][]string) {
	t.Helper()
	set, err := publisher.Keys.JWKSet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	published := map[string]jose.JWK{}
	for _, k := range set.Keys {
		published[k.ID] = k
		if keys[k.ID] == nil {
			keys[k.ID] = &keyLife{}
		}
		if p := keys[k.ID].published; !p[1].IsZero() && time.Since(p[1]) > ring.Check {
			t.Errorf("the key %s was gone and is back", k.ID)
		}
		extend(&keys[k.ID].published)
	}
	for id, k := range keys {
		if _, there := published[id]; !there && time.Now().Before(k.expires) {
			t.Errorf("the key %s is gone, and tokens that it signed are not", id)
		}
	}
	for _, algorithm := range []string{"RS256", "ES256", "EdDSA"} {
		text, err := signer.Tokens.IDToken(t.Context(), tokens.IDTokenFor{
			Application: storage.Application{ClientID: "a", Algorithm: algorithm},
			UserID:      "u",
			SessionID:   "s",
			AccessToken: "t",
		})
		if err != nil {
			t.Fatal(err)
		}
		token, err := jwt.Parse(
			text, func(token *jwt.Token) (any, error) { return keyOf(t, published[token.Header["kid"].(string)]), nil },
		)
		if err != nil {
			t.Fatalf("%s, after %v: %v", algorithm, time.Now(), err)
		}
		id := token.Header["kid"].(string)
		end, err := token.Claims.GetExpirationTime()
		if err != nil {
			t.Fatal(err)
		}
		keys[id].expires = end.Time
		extend(&keys[id].signed)
		if ids := order[algorithm]; len(ids) == 0 || ids[len(ids)-1] != id {
			order[algorithm] = append(ids, id)
		}
	}
}

// keyOf returns a published key as a client reads it, or nil if it verifies nothing.
func keyOf(t *testing.T, k jose.JWK) any {
	t.Helper()
	read := func(text string) []byte {
		raw, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		return raw
	}
	switch k.Type {
	case "RSA":
		return &rsa.PublicKey{N: new(big.Int).SetBytes(read(k.N)), E: int(new(big.Int).SetBytes(read(k.E)).Int64())}
	case "EC":
		key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), append([]byte{4}, append(read(k.X), read(k.Y)...)...))
		if err != nil {
			t.Fatal(err)
		}
		return key
	case "OKP":
		return ed25519.PublicKey(read(k.X))
	}
	return nil // the key verifies nothing
}

// While the database is not available, signatures can still be verified.
func TestKeysAreKnownWithoutTheDatabase(t *testing.T) {
	f := begin(t, func(c *Config) {
		c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
	})
	before, err := f.Keys.JWKSet(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	f.Keys.Forget()
	f.store.Close()
	after, err := f.Keys.JWKSet(t.Context())
	if err != nil || len(after.Keys) != len(before.Keys) {
		t.Errorf("%+v, %v", after, err)
	}
	_, err = f.Keys.Signer(t.Context(), "ES256")
	wantError(t, err, "503 temporarily_unavailable")
}
