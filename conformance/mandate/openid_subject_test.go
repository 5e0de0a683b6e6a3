package mandate

import (
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// OIDC Core §3.1.2.1: a hint is an ID token. Other tokens that the server signs for an
// application are no hints, and neither is an ID token without a subject (§2).
func TestOIDCCore3HintIsAnIDToken(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		key := newOwnKey(t)
		s := openidServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(key.file))
		alice, app := s.somebody(t, "alice"), s.relyingParty(t, "--userinfo-algorithm", "RS256")
		b := s.browser(t)
		got := b.signsIn(t, app, alice)
		for what, hint := range map[string]string{
			"a UserInfo answer": s.get(t, "/o/userinfo/", bearer(got.AccessToken)).Body,
			"without a subject": key.sign(t, got.IDToken, jwt.MapClaims{"sub": nil}),
			"an empty subject":  key.sign(t, got.IDToken, jwt.MapClaims{"sub": ""}),
		} {
			b.asks(t, app, "prompt", "none", "id_token_hint", hint)
			b.sentBack(t, what, "invalid_request")
		}
	})
}

// OIDC Core §3.1.2.2: a request for a certain subject is answered for that subject or
// refused, also if a hint names another one.
func TestOIDCCore3OneSubject(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		alice, bob, app := s.somebody(t, "alice"), s.somebody(t, "bob"), s.relyingParty(t)
		b := s.browser(t)
		mine := b.signsIn(t, app, alice).IDToken
		bobs := s.browser(t).signsIn(t, app, bob).IDToken
		subject := s.verified(t, app, "RS256", bobs)["sub"].(string)
		for what, more := range map[string][]string{
			"bob by claims": {"claims", `{"id_token":{"sub":{"value":` + quote(subject) + `}}}`},
			"bob by claims, alice by the hint": {"claims", `{"id_token":{"sub":{"value":` + quote(subject) + `}}}`,
				"id_token_hint", mine},
			"bob by the hint":  {"id_token_hint", bobs},
			"bob in a list":    {"claims", `{"id_token":{"sub":{"values":[` + quote(subject) + `]}}}`},
			"nobody by claims": {"claims", `{"id_token":{"sub":{"value":""}}}`},
		} {
			b.asks(t, app, append([]string{"prompt", "none"}, more...)...)
			if b.Away == nil || b.Away.Query().Has("code") || b.Away.Query().Get("error") == "" {
				t.Errorf("%s: %v", what, b.Away)
			}
		}
	})
}
