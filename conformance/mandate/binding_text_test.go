package mandate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"unicode/utf8"
)

// digestOf returns the digest under which the database stores a token. The digest
// itself is not a valid token.
func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// altered returns texts that differ slightly from the right one: shorter, longer, or
// with one bit changed. In long texts only every step-th character is changed.
func altered(text string) []string {
	step := 1 + len(text)/64
	var all []string
	for _, n := range []int{1, 4, len(text) / 2, len(text) - 4, len(text) - 1} {
		all = append(all, text[:n], text[len(text)-n:])
	}
	for _, more := range []string{"A", "=", ".", "%", "+", "/", "-", "_", text, "\u00a0", "\t", "\n", "\r\n"} {
		all = append(all, text+more, more+text)
	}
	digest := sha256.Sum256([]byte(text))
	all = append(all, strings.ToUpper(text), strings.ToLower(text), hex.EncodeToString(digest[:]), digestOf(text),
		strings.ReplaceAll(text, "_", "-"), strings.ReplaceAll(strings.ReplaceAll(text, "-", "+"), "_", "/"))
	for at := 0; at < len(text); at += step {
		for bit := range 8 {
			changed := []byte(text)
			changed[at] ^= 1 << bit
			all = append(all, string(changed))
		}
	}
	var wrong []string
	for _, candidate := range all {
		if candidate != text && candidate != "" {
			wrong = append(wrong, candidate)
		}
	}
	return wrong
}

// printable returns the texts that a header or a cookie can carry.
func printable(texts []string) []string {
	var kept []string
	for _, text := range texts {
		if !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`",;\`, r) }) {
			kept = append(kept, text)
		}
	}
	return kept
}

// boundToText alters every bit of each artefact. Only the unchanged text works, and it
// still works after all attempts.
func (v *fixture) boundToText(t *testing.T) {
	alice := v.signedIn(t, v.alice)
	t.Run("code", func(t *testing.T) {
		form := alice.issue(t, v.web, v.alice)
		for _, text := range altered(form.Get("code")) {
			v.wantRefusal(t, text, "/o/token/", v.web.auth(), with(form, "code", text), "invalid_grant")
		}
		v.mustToken(t, v.web.auth(), form)
	})
	t.Run("verifier", func(t *testing.T) {
		form := alice.issue(t, v.web, v.alice)
		for _, text := range altered(form.Get("code_verifier")) {
			v.wantRefusal(t, text, "/o/token/", v.web.auth(), with(form, "code_verifier", text), "invalid_grant")
		}
		v.mustToken(t, v.web.auth(), form)
	})
	family := alice.family(t, v.web, v.alice)
	t.Run("refresh_token", func(t *testing.T) {
		for _, text := range altered(family.RefreshToken) {
			v.wantRefusal(t, text, "/o/token/", v.web.auth(), refreshForm(text), "invalid_grant")
		}
		family = v.mustToken(t, v.web.auth(), refreshForm(family.RefreshToken))
	})
	t.Run("access_token_at_introspection", func(t *testing.T) {
		for _, text := range altered(family.AccessToken) {
			a := v.post(t, "/o/introspect/", v.asker.auth(), params("token", text))
			if !utf8.ValidString(text) {
				err := a.refused(400, "invalid_request")
				if err != nil {
					t.Errorf("%q: %v", text, err)
				}
			} else if a.Status != 200 || strings.TrimSpace(a.Body) != `{"active":false}` {
				t.Errorf("%q: %d %s", text, a.Status, a.Body)
			}
		}
	})
	t.Run("access_token_at_the_API", func(t *testing.T) {
		for _, text := range printable(altered(family.AccessToken)) {
			if !v.shut(t, bearer(text)) {
				t.Errorf("%q was let in", text)
			}
		}
	})
	t.Run("revocation", func(t *testing.T) {
		for _, text := range altered(family.AccessToken) {
			v.post(t, "/o/revoke_token/", v.web.auth(), params("token", text))
		}
		if !v.active(t, v.asker.auth(), family.AccessToken) || v.shut(t, bearer(family.AccessToken)) {
			t.Error("the access token has ended")
		}
	})
	t.Run("client_secret", func(t *testing.T) {
		const tries = 90 // the server limits wrong secrets for one application, from all sites
		app := v.rival
		for start := 0; start < len(altered(app.ClientSecret)); start += tries {
			texts := altered(app.ClientSecret)
			for _, text := range texts[start:min(start+tries, len(texts))] {
				a := v.post(t, "/o/token/", afar(body(app.ClientID, text)), params("grant_type", "client_credentials"))
				if a.Status != 401 && (a.Status != 400 || utf8.ValidString(text)) {
					t.Errorf("%q: %d %s", text, a.Status, a.Body)
				}
			}
			v.mustToken(t, app.auth(), params("grant_type", "client_credentials"))
			app = v.application(t, "--name", "Another", "--grant", "client_credentials")
		}
	})
	t.Run("session_cookie", func(t *testing.T) {
		session := alice.cookie(t, "/", "mandate_session")
		for _, text := range printable(altered(session)) {
			a := v.get(t, "/account/", withCookie("mandate_session", text))
			if a.Status != 303 || !strings.HasPrefix(a.Header.Get("Location"), "/login/?next=") {
				t.Errorf("%q: %d, Location %q", text, a.Status, a.Header.Get("Location"))
			}
		}
		if a := v.get(t, "/account/", withCookie("mandate_session", session)); a.Status != 200 {
			t.Errorf("the session has ended: %d", a.Status)
		}
	})
	t.Run("consent_ticket", func(t *testing.T) {
		ticket := alice.ticket(t, v.phone)
		for _, text := range altered(ticket) {
			alice.send(t, "/o/consent/", params("ticket", text, "decision", "approve"))
			if alice.Status != 400 || alice.Away != nil {
				t.Errorf("%q: %d, away %v", text, alice.Status, alice.Away)
			}
		}
		alice.send(t, "/o/consent/", params("ticket", ticket, "decision", "approve"))
		if alice.Away == nil || alice.Away.Query().Get("code") == "" {
			t.Errorf("the ticket is worth nothing: %d, away %v", alice.Status, alice.Away)
		}
	})
}

// wantRefusal posts a form in which one artefact was altered, and checks the refusal.
func (v *fixture) wantRefusal(t testing.TB, text, path string, as auth, form map[string][]string, code string) {
	t.Helper()
	if !utf8.ValidString(text) {
		code = "invalid_request" // RFC 6749 appendix B: parameters are UTF-8
	}
	err := v.post(t, path, as, form).refused(400, code)
	if err != nil {
		t.Errorf("%q: %v", text, err)
	}
}
