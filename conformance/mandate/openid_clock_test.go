package mandate

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/golang-jwt/jwt/v5"
)

// Times in tokens, and wrong clocks.

// OIDC Core §2: the times of an ID token are consistent with each other and with the
// clock.
func TestOIDCCore2Times(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db, "ID_TOKEN_EXPIRE_SECONDS: 120")
		alice, app := s.somebody(t, "alice"), s.relyingParty(t)
		b := s.browser(t)
		check := func(text string, since time.Time) (issued, login int64) {
			t.Helper()
			claims := s.verified(t, app, "RS256", text)
			issued, login = number(t, claims, "iat"), number(t, claims, "auth_time")
			if issued < since.Unix() || issued > time.Now().Unix() || number(t, claims, "exp") != issued+120 {
				t.Errorf("issued between %d and %d: %v", since.Unix(), time.Now().Unix(), claims)
			}
			return issued, login
		}
		began := time.Now()
		first := b.signsIn(t, app, alice)
		issued, login := check(first.IDToken, began)
		if login < began.Unix() || login > issued {
			t.Errorf("auth_time is %d, between %d and %d", login, began.Unix(), issued)
		}
		// A second later the token is a new one for the same login.
		waitFor(t, "the clock has moved", func() bool { return time.Now().Unix() > issued })
		again := time.Now()
		later, same := check(b.signsIn(t, app, alice).IDToken, again)
		if later <= issued || same != login {
			t.Errorf("iat %d, auth_time %d after iat %d, auth_time %d", later, same, issued, login)
		}
		next := s.mustToken(t, app.auth(), params("grant_type", "refresh_token", "refresh_token", first.RefreshToken))
		later, same = check(next.IDToken, again)
		if later <= issued || same != login {
			t.Errorf("refreshed: iat %d, auth_time %d", later, same)
		}
		// A new login changes the authentication time.
		_, login = check(b.signsIn(t, app, alice, "prompt", "login").IDToken, again)
		if login < again.Unix() {
			t.Errorf("auth_time %d is that of the login before", login)
		}
	})
}

// OIDC Core §3.1.3.7: a relying party whose clock differs from ours by minutes checks
// an ID token. It must refuse a token that has expired by its clock. go-oidc accepts a
// token from the future; golang-jwt accepts it only with leeway.
func TestOIDCCore3ClockOfTheRelyingParty(t *testing.T) {
	s := openidServer(t, newSQLite(t), "ID_TOKEN_EXPIRE_SECONDS: 120")
	alice, app := s.somebody(t, "alice"), s.relyingParty(t)
	text := s.browser(t).signsIn(t, app, alice).IDToken
	discovered, err := oidc.NewProvider(t.Context(), s.Issuer)
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		off             time.Duration
		expired, future bool
	}{
		{0, false, false}, {time.Minute, false, false}, {5 * time.Minute, true, false}, {-5 * time.Minute, false, true},
	} {
		clock := func() time.Time { return time.Now().Add(test.off) }
		_, err := discovered.Verifier(&oidc.Config{ClientID: app.ClientID, Now: clock}).Verify(t.Context(), text)
		var expired *oidc.TokenExpiredError
		if errors.As(err, &expired) != test.expired || (err != nil) != test.expired {
			t.Errorf("go-oidc, with a clock that is %v off: %v", test.off, err)
		}
		for _, leeway := range []time.Duration{0, 6 * time.Minute} {
			_, err = jwt.Parse(text, func(token *jwt.Token) (any, error) {
				return s.keys(t)[token.Header["kid"].(string)].public(t), nil
			}, jwt.WithTimeFunc(clock), jwt.WithIssuedAt(), jwt.WithLeeway(leeway))
			if errors.Is(err, jwt.ErrTokenExpired) != (test.expired && leeway == 0) ||
				errors.Is(err, jwt.ErrTokenUsedBeforeIssued) != (test.future && leeway == 0) {
				t.Errorf("golang-jwt, with a clock that is %v off and a leeway of %v: %v", test.off, leeway, err)
			}
		}
	}
}

// ownKey is an operator's key. With it a test can sign what the server could have
// signed.
type ownKey struct {
	*rsa.PrivateKey
	kid, file string
}

func newOwnKey(t testing.TB) ownKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "own.pem")
	err = os.WriteFile(file,
		pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	b64 := base64.RawURLEncoding.EncodeToString
	public := jwk{Type: "RSA", N: b64(key.N.Bytes()), E: b64(big.NewInt(int64(key.E)).Bytes())}
	return ownKey{key, public.thumbprint(), file}
}

// sign returns a JWT with the claims of another one and some changes. A nil value
// removes a claim.
func (k ownKey) sign(t testing.TB, like string, changes jwt.MapClaims) string {
	t.Helper()
	claims := jwt.MapClaims{}
	_, _, err := jwt.NewParser().ParseUnverified(like, claims)
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
	token.Header["kid"] = k.kid
	text, err := token.SignedString(k.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// OIDC Core §3.1.2.1: a hint names a person, and is not used as a proof with a time
// limit. So an expired one is valid, and so is one of a node whose clock is ahead of
// this one's.
func TestOIDCCore3HintTimes(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		key := newOwnKey(t)
		s := openidServer(t, db, "OIDC_RSA_PRIVATE_KEY_FILE: "+quote(key.file))
		alice, bob, app := s.somebody(t, "alice"), s.somebody(t, "bob"), s.relyingParty(t)
		b := s.browser(t)
		mine := b.signsIn(t, app, alice).IDToken
		bobs := s.browser(t).signsIn(t, app, bob).IDToken
		at := time.Now().Unix()
		for what, times := range map[string]jwt.MapClaims{
			"as it was":           {},
			"expired for a year":  {"iat": at - 400*86400, "auth_time": at - 400*86400, "exp": at - 365*86400},
			"of five minutes on":  {"iat": at + 300, "auth_time": at + 300, "exp": at + 3900},
			"of a year on":        {"iat": at + 365*86400, "exp": at + 366*86400, "nbf": at + 365*86400},
			"expired before 1970": {"iat": -2, "exp": -1},
		} {
			b.asks(t, app, "prompt", "none", "id_token_hint", key.sign(t, mine, times))
			b.sentBack(t, what, "code")
			// The age of the hint does not change its person.
			b.asks(t, app, "prompt", "none", "id_token_hint", key.sign(t, bobs, times))
			b.sentBack(t, "bob's "+what, "login_required")
		}
	})
}
