package provider

import "testing"

// A refresh token is spent without a word to anybody, so that a copy would show a
// spent one as active.
func TestRefreshTokenIsNoCopy(t *testing.T) {
	f := begin(t)
	app, asker := f.app(), f.app(introspects)
	first := f.tokens(app, f.login("alice"))
	asks := func() bool {
		answer, _, err := f.Introspect(t.Context(), by(asker, "token", first.RefreshToken, "token_type_hint", "refresh_token"), "")
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
