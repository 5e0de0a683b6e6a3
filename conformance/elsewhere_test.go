package conformance

import (
	"bytes"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// RFC 6749 §3.1.2.2: a client that uses the authorization endpoint registers complete redirect URIs. Registration is
// no part of the protocol, so no check can see it.
func TestRedirectURIIsRequired(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	for _, kind := range []string{"public", "confidential"} {
		for flags, want := range map[string]string{
			"":                                    "needs at least one redirect URI",
			"--redirect-uri https://*.example/":   "must not have a wildcard",
			"--redirect-uri /callback":            "must be absolute",
			"--redirect-uri https://a.example/#x": "must not have a fragment",
		} {
			args := append([]string{"application", "add", "--name", "x", "--client-type", kind, "--grant", "authorization_code"},
				strings.Fields(flags)...)
			_, err := s.CLI("", args...)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", kind, flags, err, want)
			}
		}
	}
}

// RFC 6749 §3.2: a server without TLS fails. A server on this machine, as in these tests, is skipped, and so is one
// whose issuer is in a private network and has http.
func TestTLS(t *testing.T) {
	network := wire.NewNetwork(wire.Options{})
	for address, want := range map[string]check.Status{
		"https://as.example/token": check.Pass, "https://127.0.0.1/token": check.Pass, "http://as.example/token": check.Fail,
		"http://10.0.0.1/token": check.Fail,
		"ftp://127.0.0.1/token": check.Fail, "/token": check.Fail, "http://127.0.0.1:8000/token": check.Skip,
		"http://localhost/token": check.Skip, "http://[::1]/token": check.Skip,
	} {
		r := check.NewServer(&target.Target{Endpoints: map[string]string{"token_endpoint": address}}, network)
		if got := r.Check(t.Context(), rule(t, "RFC6749/3.2/tls")); got.Status != want {
			t.Errorf("%s: %s, want %s: %s", address, got.Status, want, got.Reason)
		}
	}
	for _, c := range []struct {
		issuer, token string
		want          check.Status
	}{
		{"http://10.0.0.1:8080", "http://10.0.0.1:8080/token", check.Skip},
		{"http://[fd00::1]", "http://[fd00::1]/token", check.Skip},
		{"https://10.0.0.1", "http://10.0.0.1/token", check.Fail}, // the server does not know its proxy
		{"http://10.0.0.1", "http://10.0.0.2/token", check.Fail},
		{"http://10.0.0.1", "ftp://10.0.0.1/token", check.Fail},
		{"http://192.0.2.1", "http://192.0.2.1/token", check.Fail}, // RFC 5737: an address of the internet
	} {
		r := check.NewServer(&target.Target{Issuer: c.issuer, Endpoints: map[string]string{"token_endpoint": c.token}},
			network)
		got := r.Check(t.Context(), rule(t, "RFC6749/3.2/tls"))
		if got.Status != c.want || c.want == check.Skip && !strings.Contains(got.Reason, "in a private network") {
			t.Errorf("%s of %s: %s, want %s: %s", c.token, c.issuer, got.Status, c.want, got.Reason)
		}
	}
	local, open := "http://127.0.0.1/token", "http://as.example/authorize"
	r := check.NewServer(
		&target.Target{Endpoints: map[string]string{"token_endpoint": local, "authorization_endpoint": open}}, network)
	if got := r.Check(t.Context(), rule(t, "RFC6749/10.8/tls")); got.Status != check.Fail {
		t.Errorf("%s beside %s: %s, want a failure: %s", open, local, got.Status, got.Reason)
	}
}

// RFC 9110 §6.6.1: without Date, only a server on this machine has a time that is known: our own.
func TestServerWithoutDate(t *testing.T) {
	for address, want := range map[string]check.Status{"http://127.0.0.1/token": check.Pass,
		"https://192.0.2.1/token": check.Blocked, "http://10.0.0.1/token": check.Blocked} {
		server := check.NewServer(&target.Target{}, wire.NewNetwork(wire.Options{}))
		got := server.Check(t.Context(), check.Rule{ID: "TEST/1/date", Check: func(t *check.T) {
			t.DateOf(&wire.Answer{URL: wire.ParseURL(address), Header: http.Header{}})
		}})
		if got.Status != want {
			t.Errorf("%s: %s, want %s: %s", address, got.Status, want, got.Reason)
		}
	}
}

// RFC 6749 §10.3, §10.4: the database contains no token, code, secret or session in plain text.
func TestDatabaseHoldsNoCredential(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	secrets := map[string]string{"the client secret": s.Runner.Target.Clients[need.Code].Secret,
		"the password": s.Runner.Target.User.Password}
	result := s.Runner.Check(t.Context(), check.Rule{ID: "TEST/1/tokens", Check: func(t *check.T) {
		b := t.NewBrowser()
		r := t.Request(t.Client(need.Code))
		code := &check.Code{Value: t.Walk(b, r, true).Params.Get("code"), Request: r}
		tokens := t.Granted(t.Redeem(code))
		secrets["the code"], secrets["the access token"], secrets["the refresh token"] = code.Value, tokens.Access,
			tokens.Refresh
		for _, cookie := range b.Cookies() {
			secrets["the cookie "+cookie.Name] = cookie.Value
		}
	}})
	if result.Status != check.Pass || len(secrets) < 6 {
		t.Fatalf("%s: %s", result.Status, result.Reason)
	}
	files, err := filepath.Glob(filepath.Join(servertest.Dir(), "sqlite.db*"))
	if err != nil || len(files) == 0 {
		t.Fatal("the database is not where it should be", err)
	}
	found := false
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		found = found || bytes.Contains(content, []byte(s.Runner.Target.Clients[need.Code].ID))
		for name, secret := range secrets {
			if secret != "" && bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s stands in %s", name, filepath.Base(file))
			}
		}
	}
	if !found {
		t.Error("not even the client id stands in the database: it is looked for in the wrong place")
	}
}

func rule(t *testing.T, id string) check.Rule {
	t.Helper()
	all := rules.All()
	i := slices.IndexFunc(all, func(r check.Rule) bool { return r.ID == id })
	if i < 0 {
		t.Fatalf("there is no rule %s", id)
	}
	return all[i]
}
