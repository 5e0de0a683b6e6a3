package mandate

import (
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

// OIDC Core §2, §3.1.3: ID tokens, by every algorithm.
func TestOIDCCore2IDToken(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice := s.somebody(t, "alice")
		for _, algorithm := range []string{"", "ES256", "EdDSA", "RS256", "PS256", "HS256"} {
			t.Run("3.1.3.7 "+algorithm, func(t *testing.T) {
				args := []string{"--algorithm", algorithm}
				if algorithm == "HS256" {
					args = append(args, "--no-hash-client-secret")
				}
				if algorithm == "" {
					algorithm = "RS256" // OIDC Registration §2
				}
				app := s.relyingParty(t, args...)
				began := time.Now().Unix()
				got := s.browser(t).signsIn(t, app, alice, "nonce", "n-0S6_WzA2Mj")
				s.checkIDToken(t, app, algorithm, got, began)
				s.checkRefreshed(t, app, algorithm, got)
			})
		}
	})
}

func (s *server) checkIDToken(t *testing.T, app application, algorithm string, got tokens, began int64) {
	t.Helper()
	claims := s.verified(t, app, algorithm, got.IDToken)
	left := func(sum []byte) string { return base64.RawURLEncoding.EncodeToString(sum[:len(sum)/2]) }
	// OIDC Core §3.1.3.6: the hash is that of the signature algorithm; for Ed25519 it is
	// SHA-512.
	short, long := sha256.Sum256([]byte(got.AccessToken)), sha512.Sum512([]byte(got.AccessToken))
	want := map[string]any{"iss": s.Issuer, "aud": app.ClientID, "nonce": "n-0S6_WzA2Mj", "at_hash": left(short[:])}
	if algorithm == "EdDSA" {
		want["at_hash"] = left(long[:])
	}
	for name, value := range want {
		if claims[name] != value {
			t.Errorf("%s is %v, want %v", name, claims[name], value)
		}
	}
	issued := number(t, claims, "iat")
	if end := number(t, claims, "exp"); end != issued+3600 {
		t.Errorf("it lives for %d s", end-issued)
	}
	if at := number(t, claims, "auth_time"); at < began || at > issued {
		t.Errorf("auth_time %d is not between %d and %d", at, began, issued)
	}
	subject, _ := claims["sub"].(string)
	if subject == "" || len(subject) > 255 || strings.Contains(subject, "alice") {
		t.Errorf("sub is %v", claims["sub"])
	}
	// OIDC Core §5.4: the claims of the scopes are returned by the UserInfo endpoint.
	for name := range claims {
		if !slices.Contains([]string{"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "acr", "amr", "sid"},
			name) {
			t.Errorf("it has the claim %s", name)
		}
	}
}

// OIDC Core §12.2: the ID token of a refresh describes the same login and has no nonce.
func (s *server) checkRefreshed(t *testing.T, app application, algorithm string, got tokens) {
	t.Helper()
	first := s.verified(t, app, algorithm, got.IDToken)
	next := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", got.RefreshToken))
	second := s.verified(t, app, algorithm, next.IDToken)
	for _, name := range []string{"iss", "sub", "aud", "auth_time"} {
		if first[name] != second[name] || second[name] == nil {
			t.Errorf("%s was %v and is %v", name, first[name], second[name])
		}
	}
	if second["nonce"] != nil || second["at_hash"] == first["at_hash"] {
		t.Errorf("nonce %v, at_hash %v", second["nonce"], second["at_hash"])
	}
	without := s.mustToken(t, app.auth(),
		params("grant_type", "refresh_token", "refresh_token", next.RefreshToken, "scope", ""))
	if without.IDToken == "" {
		t.Error("the next refresh gives no ID token")
	}
}

// OIDC Core §3.1.2.1: without the scope openid, the request is plain OAuth 2.0.
func TestOIDCCore3IDTokenNeedsTheScope(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		got := s.browser(t).signsIn(t, app, alice, "scope", "read profile", "nonce", "n")
		if got.IDToken != "" {
			t.Error("there is an ID token")
		}
		a := s.get(t, "/o/userinfo/", bearer(got.AccessToken))
		// RFC 6750 §3.1
		if a.Status != http.StatusForbidden ||
			!strings.Contains(a.Header.Get("WWW-Authenticate"), `error="insufficient_scope"`) {
			t.Errorf("UserInfo answers %d %s", a.Status, a.Header.Get("WWW-Authenticate"))
		}
	})
}

// OIDC Core §8: a subject is the same at all applications, or differs in each sector.
func TestOIDCCore8Subjects(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, bob := s.somebody(t, "alice"), s.somebody(t, "bob")
		subject := func(who person, args ...string) string {
			app := s.application(t, append([]string{"--name", "x", "--grant", "authorization_code"}, args...)...)
			got := s.browser(t).signsIn(t, app, who)
			claims := s.verified(t, app, "RS256", got.IDToken)
			if at := s.userInfo(t, got.AccessToken)["sub"]; at != claims["sub"] {
				t.Errorf("sub is %v in the ID token and %v at UserInfo", claims["sub"], at)
			}
			return claims["sub"].(string)
		}
		public := subject(alice, "--redirect-uri", "https://a.example/cb")
		again := subject(alice, "--redirect-uri", "https://b.example/cb")
		if public != again || public == subject(bob, "--redirect-uri", "https://a.example/cb") {
			t.Error("public subjects differ, or are given twice")
		}
		one := subject(alice, "--pairwise", "--redirect-uri", "https://a.example/cb")
		same := subject(alice, "--pairwise", "--redirect-uri", "https://a.example:8443/other")
		other := subject(alice, "--pairwise", "--redirect-uri", "https://b.example/cb")
		if one != same || one == other || one == public ||
			one == subject(bob, "--pairwise", "--redirect-uri", "https://a.example/cb") {
			t.Errorf("pairwise subjects: %s, %s, %s", one, same, other)
		}
	})
}

// An ID token tells one application who signed in. It gives no access.
func TestOIDCCore2IDTokenIsNoBearerToken(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, app, asker := s.somebody(t, "alice"), s.relyingParty(t), s.introspector(t)
		got := s.browser(t).signsIn(t, app, alice, "scope", "openid read")
		s.checkInactive(t, asker.auth(), got.IDToken)
		for _, path := range []string{"/o/userinfo/", "/users/", "/resource"} {
			if a := s.get(t, path, bearer(got.IDToken)); a.Status != http.StatusUnauthorized {
				t.Errorf("%s answers %d to an ID token", path, a.Status)
			}
		}
		if a := s.post(t, "/o/introspect/", bearer(got.IDToken),
			params("token", got.AccessToken)); a.Status != http.StatusUnauthorized {
			t.Errorf("introspection by an ID token answers %d", a.Status)
		}
		checkRefused(t, s.refresh(t, app.auth(), got.IDToken), http.StatusBadRequest, "invalid_grant")
	})
}
