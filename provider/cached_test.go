package provider

import "testing"

// Other nodes get no notification when a refresh token is used. A copy would therefore show a
// used refresh token as active.
func TestRefreshTokenIsNoCopy(t *testing.T) {
	f := begin(t)
	app, asker := f.app(), f.app(introspects)
	first := f.tokens(app, f.login("alice"))
	asks := func() bool {
		answer, _, err := f.Tokens.Introspect(t.Context(),
			by(asker, "token", first.RefreshToken, "token_type_hint", "refresh_token"), "")
		if err != nil {
			t.Fatal(err)
		}
		return answer.Active
	}
	if !asks() {
		t.Error("the token is inactive before it is spent")
	}
	f.wantActive(true, first.RefreshToken)
	f.must(f.refresh(app, first.RefreshToken))
	if asks() {
		t.Error("a spent token is active")
	}
	f.wantActive(false, first.RefreshToken)
}
