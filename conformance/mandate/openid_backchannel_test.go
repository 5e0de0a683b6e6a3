package mandate

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

func TestBackChannel_2_4_logout_token(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		alice, at := s.person(t, "alice"), listen(t, http.StatusOK)
		for _, algorithm := range []string{"RS256", "ES256", "PS256", "EdDSA", "HS256"} {
			args := []string{"--backchannel-logout-uri", at.URL + "/bc?of=" + algorithm, "--algorithm", algorithm,
				"--post-logout-redirect-uri", bye}
			if algorithm == "HS256" {
				args = append(args, "--no-hash-client-secret")
			}
			app, b := s.relyingParty(t, args...), s.browser(t)
			tokens := b.signsIn(t, app, alice, "nonce", "n-1")
			id := s.verified(t, app, algorithm, tokens.IDToken)
			b.open(t, s.endSession("id_token_hint", tokens.IDToken))
			said := at.next(t)
			checkEqual(t, "query of the registered URI", said.query, "of="+algorithm)
			checkEqual(t, "content type", said.header.Get("Content-Type"), "application/x-www-form-urlencoded")
			text := said.form.Get("logout_token")
			claims := s.verified(t, app, algorithm, text)
			for _, name := range []string{"iss", "sub", "aud", "sid"} {
				checkEqual(t, name, claims[name], id[name])
			}
			checkEqual(t, "events", claims["events"], any(map[string]any{eventName: map[string]any{}}))
			if _, has := claims["nonce"]; has || claims["jti"] == nil {
				t.Errorf("nonce or no jti: %v", claims)
			}
			if life := number(t, claims, "exp") - number(t, claims, "iat"); life < 1 || life > 120 {
				t.Errorf("it lives %d seconds", life)
			}
			token, _, err := jwt.NewParser().ParseUnverified(text, jwt.MapClaims{})
			if err != nil || token.Header["typ"] != "logout+jwt" {
				t.Errorf("typ is %v (%v)", token.Header["typ"], err)
			}
			// A logout token is not accepted as an ID token.
			b.open(t, s.endSession("id_token_hint", text))
			checkEqual(t, "as a hint", b.Status, http.StatusBadRequest)
			checkEqual(t, "as a bearer token", s.userInfoStatus(t, text), http.StatusUnauthorized)
		}
	})
}

func TestBackChannel_2_7_every_way_to_end_a_session_tells_every_application(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		root := s.person(t, "root", "--admin")
		one, two := listen(t, http.StatusOK), listen(t, http.StatusNoContent)
		first := s.relyingParty(t, "--backchannel-logout-uri", one.URL, "--post-logout-redirect-uri", bye)
		second := s.relyingParty(t, "--backchannel-logout-uri", two.URL, "--pairwise")
		silent := s.relyingParty(t)
		administrator := s.browser(t)
		administrator.open(t, "/login/")
		administrator.logIn(t, root)
		for name, end := range map[string]func(t *testing.T, b *browser, id string, who person, own tokens){
			"by the application": func(t *testing.T, b *browser, _ string, _ person, own tokens) {
				b.open(t, s.endSession("id_token_hint", own.IDToken))
			},
			"at the logout page": func(t *testing.T, b *browser, _ string, _ person, _ tokens) {
				b.open(t, "/logout/")
				b.submit(t, "Sign out", nil)
			},
			"everywhere, at the account page": func(t *testing.T, b *browser, _ string, _ person, _ tokens) {
				b.open(t, "/account/")
				b.submit(t, "Sign out everywhere", nil)
			},
			"from another browser": func(t *testing.T, _ *browser, _ string, who person, _ tokens) {
				other := s.browser(t)
				other.open(t, "/account/")
				other.logIn(t, who)
				other.submit(t, other.button(t, "Sign out of"), nil)
			},
			"by an administrator": func(t *testing.T, _ *browser, id string, _ person, _ tokens) {
				administrator.open(t, "/admin/users/"+id+"/")
				administrator.submit(t, administrator.button(t, "Sign out of"), nil)
			},
			"everywhere, by an administrator": func(t *testing.T, _ *browser, id string, _ person, _ tokens) {
				administrator.open(t, "/admin/users/"+id+"/")
				administrator.submit(t, "Sign out everywhere", nil)
			},
			"at the command line": func(t *testing.T, _ *browser, _ string, who person, _ tokens) {
				s.mustCLI(t, "", "user", "logout", who.Name)
			},
			"disabled at the command line": func(t *testing.T, _ *browser, _ string, who person, _ tokens) {
				s.mustCLI(t, "", "user", "disable", who.Name)
			},
			"by a new password": func(t *testing.T, _ *browser, _ string, who person, _ tokens) {
				s.mustCLI(t, s.secret("an entirely new password")+"\n", "user", "passwd", who.Name, "--password-stdin")
			},
			"deleted": func(t *testing.T, _ *browser, id string, _ person, _ tokens) {
				administrator.open(t, "/admin/users/"+id+"/delete/")
				administrator.submit(t, "Delete the person", nil)
			},
		} {
			who := s.person(t, "a-"+strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), ",", ""))
			b := s.browser(t)
			own, others, quiet := b.signsIn(t, first, who), b.signsIn(t, second, who), b.signsIn(t, silent, who)
			offline := b.signsIn(t, first, who, "scope", "openid offline_access", "prompt", "consent")
			plain := b.signsIn(t, first, who, "scope", "read")
			ids := map[*listener]jwt.MapClaims{one: s.verified(t, first, "RS256", own.IDToken),
				two: s.verified(t, second, "RS256", others.IDToken)}
			end(t, b, ids[one]["sub"].(string), who, own)
			for at, id := range ids {
				app := first
				if at == two {
					app = second
				}
				claims := s.verified(t, app, "RS256", at.next(t).form.Get("logout_token"))
				checkEqual(t, name+": subject", claims["sub"], id["sub"])
				checkEqual(t, name+": session", claims["sid"], id["sid"])
			}
			if ids[one]["sid"] == ids[two]["sid"] || ids[one]["sub"] == ids[two]["sub"] {
				t.Errorf("%s: a pairwise application can compare people: %v, %v", name, ids[one], ids[two])
			}
			for _, ended := range []tokens{own, others, quiet} {
				checkEqual(t, name+": UserInfo with a token of the session", s.userInfoStatus(t, ended.AccessToken),
					http.StatusUnauthorized)
			}
			gone := map[string]bool{"disabled at the command line": true, "by a new password": true, "deleted": true}[name]
			checkEqual(t, name+": offline access stays", s.userInfoStatus(t, offline.AccessToken) == http.StatusOK, !gone)
			checkEqual(t, name+": so does what was no login", s.userInfoStatus(t, plain.AccessToken) == http.StatusForbidden,
				!gone)
			one.silent(t)
			two.silent(t)
		}
	})
}

func TestBackChannel_2_5_server_calls_no_special_address_and_follows_no_redirect(t *testing.T) {
	t.Run("special addresses", func(t *testing.T) {
		s := openidServer(t, newSQLite(t))
		add := func(uri string) result {
			return s.cli(t, "", "application", "add", "--name", "x", "--grant", "authorization_code", "--redirect-uri",
				"https://a.example/", "--backchannel-logout-uri", uri)
		}
		for _, uri := range []string{"https://127.0.0.1/", "https://localhost/", "https://x.localhost:8/",
			"https://10.1.2.3/", "https://169.254.169.254/latest", "https://[::1]/", "https://[::ffff:10.0.0.1]/",
			"https://[fd00::1]/", "https://[64:ff9b::7f00:1]/", "https://0.0.0.0/", "https://a.example/#x",
			"https://u:p@a.example/", "ftp://a.example/", "/relative", "https://", "https://a.example/ b"} {
			if r := add(uri); r.code != 1 || !strings.Contains(r.stderr, "--backchannel-logout-uri:") {
				t.Errorf("%s: %d %s%s", uri, r.code, r.stdout, r.stderr)
			}
		}
		checkEqual(t, "a public address", add("https://a.example/bc?x=1").code, 0)
		checkEqual(t, "http, for a confidential application", add("http://a.example/bc").code, 0)
		public := s.cli(t, "", "application", "add", "--name", "x", "--client-type", "public", "--grant",
			"authorization_code", "--redirect-uri", "https://a.example/", "--backchannel-logout-uri", "http://a.example/bc")
		if public.code != 1 || !strings.Contains(public.stderr, "only if the application is confidential") {
			t.Errorf("http, for a public application: %d %s", public.code, public.stderr)
		}
	})
	t.Run("an address that is no longer allowed", func(t *testing.T) {
		// The address of a host name is checked at each call, whatever it was at the
		// registration.
		at := listen(t, http.StatusOK)
		s := openidServer(t, newSQLite(t))
		added := run(t, s.dir, []string{"MANDATE_OUTBOUND_ALLOWED_NETWORKS=[127.0.0.0/8]"}, "", "--config", s.config,
			"application", "add", "--json", "--name", "x",
			"--grant", "authorization_code", "--redirect-uri", "https://shop.example/cb", "--backchannel-logout-uri", at.URL)
		app := application{RedirectURI: "https://shop.example/cb"}
		err := json.Unmarshal([]byte(added.stdout), &app)
		if err != nil {
			t.Fatalf("%s%s: %v", added.stdout, added.stderr, err)
		}
		b := s.browser(t)
		b.signsIn(t, app, s.person(t, "alice"))
		b.open(t, "/logout/")
		b.submit(t, "Sign out", nil)
		waitFor(t, "the refusal in the log", func() bool { return strings.Contains(s.log.String(), "special-use address") })
		at.silent(t)
	})
	t.Run("redirects", func(t *testing.T) {
		s := logoutServer(t, newSQLite(t))
		aside := listen(t, http.StatusOK)
		from := httptest.NewServer(http.RedirectHandler(aside.URL, http.StatusTemporaryRedirect))
		defer from.Close()
		app := s.relyingParty(t, "--backchannel-logout-uri", from.URL)
		b := s.browser(t)
		b.signsIn(t, app, s.person(t, "alice"))
		b.open(t, "/logout/")
		b.submit(t, "Sign out", nil)
		waitFor(t, "the failure in the log",
			func() bool { return strings.Contains(s.log.String(), "was not notified of a logout") })
		aside.silent(t)
	})
}

// If a node is killed while it sends notifications, another node sends the rest.
func TestBackChannel_2_8_what_one_node_leaves_another_tells(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := logoutServer(t, db)
		at := listen(t, http.StatusOK)
		app := s.relyingParty(t, "--backchannel-logout-uri", at.URL)
		alice, b := s.person(t, "alice"), s.browser(t)
		b.signsIn(t, app, alice)
		s.kill(t)
		s.mustCLI(t, "", "user", "logout", "alice")
		at.silent(t)
		s.start(t)
		at.next(t)
	})
}

func TestOIDCCore_8_1_session_names_of_pairwise_applications_differ(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice, b := s.person(t, "alice"), s.browser(t)
	sids := map[any]bool{}
	for _, uri := range []string{"https://one.example/cb", "https://two.example/cb"} {
		app := s.application(t, "--name", uri, "--grant", "authorization_code", "--redirect-uri", uri, "--pairwise")
		sids[s.verified(t, app, "RS256", b.signsIn(t, app, alice).IDToken)["sid"]] = true
	}
	app := s.relyingParty(t)
	claims := s.verified(t, app, "RS256", b.signsIn(t, app, alice).IDToken)
	sids[claims["sid"]] = true
	checkEqual(t, "different names of one session", len(sids), 3)
	again := s.verified(t, app, "RS256", b.signsIn(t, app, alice, "prompt", "login").IDToken)
	checkEqual(t, "who signs in again keeps the session", again["sid"], claims["sid"])
	sum := sha256.Sum256([]byte(claims["sid"].(string)))
	if strings.Contains(b.Body, base64.RawURLEncoding.EncodeToString(sum[:])) {
		t.Error("the cookie can be told from the session's name")
	}
}
