package mandate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"mandate/conformance/jose"
	"mandate/testkit/port"
)

// The link that `mandate demo` prints leads to pages that show the exchange, without and with OpenID Connect.
func TestBrowserDemo(t *testing.T) {
	browser := chromium(t)
	demo, link, alice := startDemo(t)
	b := demo.window(t, browser)
	b.open(link)
	b.expect(200, "The code flow, step by step")
	b.follow("Go to Web")
	b.logIn(alice)
	b.expect(200, "Allow access to your account?")
	b.says("Web", "admin", demo.URL+"/demo/callback")
	b.press("Allow")
	b.expect(200, "The code flow, step by step")
	b.says("GET /o/authorize/", "grant_type=authorization_code", `"token_type": "Bearer"`, `"active": true`,
		"grant_type=refresh_token")
	token := regexp.MustCompile(`"access_token": "(mat_[^"]+)"`).FindStringSubmatch(b.text())
	if token == nil {
		t.Fatalf("the page shows no token:\n%s", b.text())
	}
	// The token is real: the demo's sample API accepts it.
	if a := demo.get(t, "/users/", bearer(token[1])); a.Status != 200 || !strings.Contains(a.Body, `"alice"`) {
		t.Errorf("the sample API answered %d to the token on the page: %s", a.Status, a.Body)
	}
	demo.signsInTo(t, b, "Shop", "RS256")
	demo.signsInTo(t, b, "Forum", "HS256")
	demo.provesTo(t, b, "Budget", "the scheme DPoP instead of Bearer")
	demo.provesTo(t, b, "Broker", "The site verifies the signed response")
	b.look("demo", "/demo/")
	for _, site := range []string{"Web", "Shop", "Forum", "Budget", "Broker"} {
		b.look("demo-"+site, "/demo/start?site="+site) // the application is approved, so this ends on the demo's page
		b.says("The site exchanges the code for tokens")
	}
	b.look("demo-refused", "/demo/callback?code=x")
	b.expect(400, "The demo cannot continue")
}

// startDemo runs the demo and returns the link that it prints, and the person.
func startDemo(t *testing.T) (*server, string, person) {
	t.Helper()
	path := built(t, binary)
	// The demo sends HTTP only to itself. Its output replaces the server's log.
	demo := &server{URL: "http://" + port.Address(), secrets: &vault{}, client: http.DefaultClient}
	demo.Issuer = demo.URL + "/o"
	cmd := exec.Command(path, "demo", "--listen", strings.TrimPrefix(demo.URL, "http://"))
	cmd.Dir, cmd.Env = t.TempDir(), append(environment(), "TMPDIR="+t.TempDir())
	p, err := launch(cmd, &demo.log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.cmd.Process.Signal(syscall.SIGINT) // it may have ended; the exit code tells
		select {
		case <-p.exited:
		case <-time.After(patience):
			_ = p.cmd.Process.Kill()
		}
		if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			t.Errorf("the demo ended with %d:\n%s", code, demo.log.String())
		}
	})
	waitFor(t, "the demo has printed its last line",
		func() bool { return strings.Contains(demo.log.String(), "application list\n") })
	printed := demo.log.String()
	link := regexp.MustCompile(`http://\S+/demo/`).FindString(printed)
	password := regexp.MustCompile(`(?m)^  alice +(\S+)$`).FindStringSubmatch(printed)
	return demo, link, person{"alice", password[1]}
}

// signsInTo follows the demo with a site that gets an ID token. The page decodes the
// token, and so does the test: with the published keys, or with the client secret that
// the page shows.
func (s *server) signsInTo(t *testing.T, b *tab, site, algorithm string) {
	t.Helper()
	b.follow("Walk through it again")
	b.expect(200, "The code flow, step by step")
	b.follow("Go to " + site)
	b.expect(200, "Allow access to your account?")
	b.says(site, "Sign you in", "See your email address")
	b.press("Allow")
	b.expect(200, "The code flow, step by step")
	shown := b.text()
	find := func(pattern string) string {
		t.Helper()
		found := regexp.MustCompile(pattern).FindStringSubmatch(shown)
		if found == nil {
			t.Fatalf("%s: the page does not show %s:\n%s", algorithm, pattern, shown)
		}
		return found[1]
	}
	credential, err := base64.StdEncoding.DecodeString(find(`Authorization: Basic (\S+)`))
	if err != nil {
		t.Fatal(err)
	}
	id, secret, _ := strings.Cut(string(credential), ":")
	claims := s.verified(t, application{ClientID: id, ClientSecret: secret}, algorithm, find(`"id_token": "([^"]+)"`))
	for name, want := range map[string]string{"aud": id, "nonce": find(`&nonce=(\S+)`), "sub": find(`"sub": "([^"]+)"`)} {
		if claims[name] != want || find(`"`+name+`": "([^"]+)"`) != want {
			t.Errorf("%s: %s is %v, and the page shows %q, want %q", algorithm, name, claims[name],
				find(`"`+name+`": "([^"]+)"`), want)
		}
	}
	b.says(`"alg": "`+algorithm+`"`, "GET /o/userinfo/", `"email": "alice@example.org"`, `"given_name": "Alice"`,
		"The signature is", "nonce is the value", "iss is the server that received the request",
		"with another sub, the same signature is refused")
	// The subject of the ID token and that of UserInfo.
	if n := strings.Count(shown, `"sub": "`+find(`"sub": "([^"]+)"`)+`"`); n != 2 {
		t.Errorf("%s: the page shows the same sub %d times, want 2", algorithm, n)
	}
}

// provesTo follows the demo with a site that has a FAPI profile. What the page shows was sent: the
// server and the API know the assertion, the proof and the token, and refuse them now.
func (s *server) provesTo(t *testing.T, b *tab, site, says string) {
	t.Helper()
	b.follow("Walk through it again")
	b.expect(200, "The code flow, step by step")
	b.follow("Go to " + site)
	b.expect(200, "Allow access to your account?")
	b.says(site, "Read data from the sample API")
	b.press("Allow")
	b.expect(200, "The code flow, step by step")
	b.says("POST /o/par/", "A thief makes a proof with another key", "The site gets a new access token", says)
	shown := b.text()
	all := func(pattern string) []string {
		t.Helper()
		var found []string
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(shown, -1) {
			found = append(found, match[1])
		}
		if len(found) == 0 {
			t.Fatalf("%s: the page does not show %s:\n%s", site, pattern, shown)
		}
		return found
	}
	token, proof := all(`Authorization: DPoP (mat_\S+)`)[0], ""
	for _, one := range all(`DPoP: (ey\S+)`) {
		read, err := jose.Read(one)
		if err != nil {
			t.Fatal(err)
		}
		if read.Text("ath") == digest(token) && proof == "" { // the first is that of the site
			proof = one
		}
	}
	for what, c := range map[string]struct {
		as   auth
		want string
	}{
		"as a bearer token": {bearer(token), "is bound to a key"},
		"with the proof of the page": {
			sending(func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", "DPoP "+token) }, proof),
			"used before"},
		"with a key of the test": {newHolder(t).dpop(t, token), "another key"},
	} {
		a := s.get(t, "/users/", c.as)
		if a.Status != 401 || !strings.Contains(a.Body, c.want) {
			t.Errorf("%s, %s: %d %s, want %s", site, what, a.Status, a.Body, c.want)
		}
	}
	// RFC 7523 §3: an assertion works once.
	assertion := all(`client_assertion=(ey\S+)`)[0]
	a := s.post(t, "/o/revoke_token/", asserting(assertion), params("token", "x"))
	if err := a.refused(401, "invalid_client"); err != nil || !strings.Contains(a.Body, "jti") {
		t.Errorf("%s: the assertion of the page: %v: %s", site, err, a.Body)
	}
	// RFC 9126 §2: without an assertion, nothing is pushed.
	a = s.post(t, "/o/par/", nobody, url.Values{"client_id": {all(`&client_id=(\w+)`)[0]}, "response_type": {"code"}})
	if err := a.refused(401, "invalid_client"); err != nil {
		t.Errorf("%s: no assertion: %v", site, err)
	}
}
