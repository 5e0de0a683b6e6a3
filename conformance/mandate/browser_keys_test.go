package mandate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// testPrivateKey reads the private key from the JWK that a page shows.
func testPrivateKey(t testing.TB, s *server, text string) (*ecdsa.PrivateKey, string) {
	t.Helper()
	var k struct{ Kty, Kid, D string }
	err := json.Unmarshal([]byte(text), &k)
	if err != nil || k.Kty != "EC" {
		t.Fatalf("the private key is %v %s", err, k.Kty)
	}
	d, err := base64.RawURLEncoding.DecodeString(s.secret(k.D))
	if err != nil {
		t.Fatal(err)
	}
	key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), d)
	if err != nil {
		t.Fatal(err)
	}
	return key, k.Kid
}

// A person makes a key pair for testing without scripts. The page shows the private key once, and
// later when it was used.
func TestApplicationKeys(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		root, alice, own := s.person(t, "root", "--admin"), s.person(t, "alice"), newStatementIssuer(t, "page")
		app := s.application(t, "--name", "robot", "--client-id", "robot", "--owner", alice.Name, "--grant",
			"client_credentials",
			"--auth-method", "private_key_jwt", "--jwks", keysFile(t, own.keySet(t)))
		b := s.signIn(t, root, "/o/applications/")
		b.click(t, "robot")
		at := b.URL.Path
		b.submit(t, "Create a key pair for testing", params("algorithm", "ES256"))
		_, after, found := strings.Cut(b.Body, "data-copy>{")
		text, _, _ := strings.Cut(after, "</pre>")
		if !found || b.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("the page has no private key, or may be stored: %s", b.Header.Get("Cache-Control"))
		}
		key, kid := testPrivateKey(t, s, "{"+strings.ReplaceAll(text, "&#34;", `"`))
		b.open(t, at)
		if strings.Contains(b.Body, "private key, for testing") || !strings.Contains(b.Body, kid) ||
			!strings.Contains(b.Body, "<code dir=\"ltr\">ES256</code>") {
			t.Errorf("the second time the page shows %s", b.Body)
		}
		sign := func() auth {
			return asserting(signHeader(t, member{"alg": "ES256", "kid": kid, "typ": "JWT"},
				s.assertionClaims(app.ClientID, nil), key))
		}
		waitFor(t, "the test key works", func() bool {
			got, _ := s.token(t, sign(), forItself)
			return got.AccessToken != ""
		})
		s.mustToken(t, asserting(own.sign(t, s.assertionClaims(app.ClientID, nil), nil)), forItself)
		waitFor(t, "the page shows the last use of two keys", func() bool {
			b.open(t, at)
			_, keys, _ := strings.Cut(b.Body, `id="keys"`)
			keys, _, _ = strings.Cut(keys, "</section>")
			return strings.Count(keys, "Last used: Never") == 4 && strings.Count(keys, "Last used: ") == 6
		})
		for field, wrong := range map[string]url.Values{
			"jwks unreadable": params("jwks", `{"keys":[`),
			"jwks private":    params("jwks", `{"kty":"EC","crv":"P-256","x":"AA","y":"AA","d":"c2VjcmV0LWtleQ"}`),
			"jwks PEM":        params("jwks", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0LWtleQ\n-----END PRIVATE KEY-----"),
			"jwks weak":       params("jwks", `{"keys":[{"kty":"RSA","n":"AQAB","e":"AQAB"}]}`),
			"jwks same kid": params("jwks",
				`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"a"},{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo","kid":"a"}]}`),
			"jwks_uri both":    params("jwks_uri", "https://keys.example/"),
			"jwks_uri no TLS":  params("jwks", "", "jwks_uri", "http://keys.example/"),
			"jwks none at all": params("jwks", ""),
		} {
			id, _, _ := strings.Cut(field, " ")
			b.open(t, at+"update/")
			b.submit(t, "Save changes", wrong)
			if b.Status != 422 || !strings.Contains(b.Body, `id="`+id+`-error"`) {
				t.Errorf("%s: %d", field, b.Status)
			}
			if strings.Contains(b.Body, "c2VjcmV0LWtleQ") {
				t.Errorf("%s: the page shows the private key again", field)
			}
		}
		// The owner of an application for which the operator is responsible may not change its keys.
		other := s.signIn(t, alice, at)
		if strings.Contains(other.Body, "Create a key pair") {
			t.Error("a person who may not change the keys can make a pair")
		}
	})
}

// The same in a browser, with the keyboard, on a phone and in the dark.
func TestBrowserKeys(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{})
	admin := s.person(t, "root", "--admin")
	s.application(t, "--name", "robot", "--client-id", "robot", "--grant", "client_credentials", "--auth-method",
		"private_key_jwt", "--jwks", keysFile(t, newStatementIssuer(t, "page").keySet(t)))
	b := s.window(t, browser)
	b.open("/o/applications/")
	b.logIn(admin)
	b.follow("robot")
	at := evaluate[string](b, `location.pathname`)
	b.look("application-keys", at, func() { b.says("Public keys", "EdDSA", "Last used: Never") })
	b.open(at)
	evaluate[bool](b, `(() => { document.querySelector("#test-key").focus(); return true })()`)
	b.do(chromedp.KeyEvent("\r"), chromedp.KeyEvent("\t"), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent("\t"))
	b.leave(chromedp.KeyEvent("\r"))
	b.says("The private key, for testing", "Copy it now. You will not see it again.", `"crv": "Ed25519"`, `"d":`)
	s.secret(evaluate[string](b, `JSON.parse(document.querySelector("section.secret pre").textContent).d`))
	b.open(at)
	if strings.Contains(b.text(), "Copy it now") {
		t.Error("the page shows the private key a second time")
	}
	b.look("application-key-new", at, func() {
		b.open(at)
		b.unfold("A key pair for testing")
		b.press("Create a key pair for testing")
		b.says("The private key, for testing")
		s.secret(evaluate[string](b, `JSON.parse(document.querySelector("section.secret pre").textContent).d`))
	})
}

// A person registers an application with a key and a profile on one page. The page with the mistakes
// keeps what was typed, and no secret is shown at the end.
func TestBrowserRegistersAKey(t *testing.T) {
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	b := s.window(t, chromium(t))
	b.open("/o/applications/register/?kind=website")
	b.logIn(root)
	advanced := func() { b.unfold("Advanced") }
	b.look("application-register-advanced", "/o/applications/register/?kind=website", advanced)
	mistaken := func() {
		b.unfold("Advanced")
		b.fill("Name", "Bank of the whole northern hemisphere, its islands, and everybody who lives there")
		b.fill("Redirect URIs", "http://bank.example/back")
		b.tick("radio", "FAPI 2.0 Security Profile")
		b.tick("radio", "Replaced at each use")
		b.tick("radio", "JWT signed with a private key")
		b.fill("Public keys (JWK Set) (optional)", `{"keys": []`)
		b.tick("checkbox", "Accept assertions for an endpoint")
		b.press("Register application")
		b.expect(422, "Register an application")
	}
	b.look("application-register-wrong", "/o/applications/register/?kind=website", mistaken)
	b.summarizes("Accept assertions for an endpoint", "Redirect URIs", "Refresh tokens", "Public keys")
	if got := b.value("Public keys (JWK Set) (optional)"); got != `{"keys": []` {
		t.Errorf("the keys are %q", got)
	}
	b.fill("Redirect URIs", "https://bank.example/back")
	b.tick("radio", "As the server is set")
	b.tick("checkbox", "Accept assertions for an endpoint")
	b.fill("Public keys (JWK Set) (optional)", keys.keySet(t))
	b.press("Register application")
	b.says("The application is registered.", "FAPI 2.0 Security Profile",
		"None: the application authenticates with its private key.")
	if len(b.all("button", "Copy the client secret")) != 0 {
		t.Error("the page shows a secret")
	}
	b.look("application-registered", b.URL().Path)
}
