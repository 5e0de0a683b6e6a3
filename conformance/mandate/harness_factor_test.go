package mandate

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base32"
	big "encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// authenticator is an authenticator app on a person's phone.
type authenticator struct{ key []byte }

// code returns the code of a step from now (RFC 6238 §4).
func (a authenticator) code(steps int64) string {
	mac := hmac.New(sha1.New, a.key)
	mac.Write(big.BigEndian.AppendUint64(nil, uint64(time.Now().Unix()/30+steps)))
	sum := mac.Sum(nil)
	at := sum[len(sum)-1] & 15
	return fmt.Sprintf("%06d", big.BigEndian.Uint32(sum[at:])&0x7fffffff%1_000_000)
}

var shownKey = regexp.MustCompile(`class="key"[^>]*>([A-Z2-7 ]+)<`)

// appOf scans the key that the browser shows.
func appOf(t testing.TB, b *browser) authenticator {
	t.Helper()
	shown := shownKey.FindStringSubmatch(b.Body)
	if shown == nil {
		t.Fatalf("%s shows no key: %d\n%s", b.URL, b.Status, b.Body)
	}
	secret := strings.ReplaceAll(shown[1], " ", "")
	b.server.secret(secret)
	key, err := base32.StdEncoding.WithPadding(base32.NoPadding).DecodeString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return authenticator{key}
}

// addsApp adds an authenticator app on the page that the browser shows.
func (b *browser) addsApp(t testing.TB) authenticator {
	t.Helper()
	app := appOf(t, b)
	b.submit(t, "Add the app", params("code", app.code(0)))
	b.server.newStep(t)
	return app
}

// newStep lets the present code be used again, as after half a minute.
func (s *server) newStep(t testing.TB) {
	t.Helper()
	behind(t, s.database, `UPDATE totps SET last_step = 0`)
}

// withApp returns a person who has an authenticator app, and their browser.
func (s *server) withApp(t testing.TB, p person) (authenticator, *browser) {
	t.Helper()
	b := s.signedIn(t, p)
	b.open(t, "/account/factors/totp/")
	app := b.addsApp(t)
	if b.URL.Path != "/account/factors/codes/" {
		t.Fatalf("after the app was added: %d %s\n%s", b.Status, b.URL, b.Body)
	}
	return app, b
}

var shownCode = regexp.MustCompile(`<li><code dir="ltr">([a-z2-7]{4}(?:-[a-z2-7]{4}){3})</code></li>`)

// recoveryCodes makes recovery codes on the page that the browser shows.
func (b *browser) recoveryCodes(t testing.TB) []string {
	t.Helper()
	b.submit(t, "Make ten recovery codes", nil)
	var codes []string
	for _, found := range shownCode.FindAllStringSubmatch(b.Body, -1) {
		codes = append(codes, b.server.secret(found[1]))
	}
	if len(codes) != 10 {
		t.Fatalf("%d recovery codes\n%s", len(codes), b.Body)
	}
	return codes
}

// awaitsCode checks that the browser shows the page of the second factor.
func (b *browser) awaitsCode(t testing.TB, what string) {
	t.Helper()
	if b.Away != nil || b.URL.Path != "/login/factor/" || !b.shows("code") {
		t.Fatalf("%s: nobody asks for the second factor: %d %s, sent to %v", what, b.Status, b.URL, b.Away)
	}
}

// answers fills in the page of the second factor.
func (b *browser) answers(t testing.TB, by, code string) {
	t.Helper()
	b.send(t, "/login/factor/",
		params("by", by, "code", code, "next", b.URL.Query().Get("next"), "acr", b.URL.Query().Get("acr")))
}

// isSignedIn reports whether the browser has a session.
func (b *browser) isSignedIn(t testing.TB) bool {
	t.Helper()
	b.open(t, "/account/")
	return b.URL.Path == "/account/"
}

// acrOf returns acr and amr of an ID token.
func acrOf(claims map[string]any) string { return fmt.Sprint(claims["acr"], " ", claims["amr"]) }

// reaches reports whether a person can sign in so that the ID token has this acr. The person has only a
// password, and adds what is missing.
func (d *discovered) reaches(t *testing.T, acr string) bool {
	t.Helper()
	b, p := d.browser(t), d.person(t, strings.ToLower(rand.Text()))
	address, verifier := d.authorizeURL(d.app, "scope", "openid", "claims",
		`{"id_token":{"acr":{"essential":true,"value":`+quote(acr)+`}}}`)
	b.open(t, address)
	b.logIn(t, p)
	if b.Away == nil && b.URL.Path == "/login/factor/" {
		b.addsApp(t)
	}
	if b.shows("decision") {
		b.decide(t, "approve")
	}
	if b.Away == nil || !b.Away.Query().Has("code") {
		return false
	}
	got := d.redeem(t, d.app, b.Away.Query().Get("code"), verifier)
	return d.verified(t, d.app, "RS256", got.IDToken)["acr"] == acr
}
