package conformance

import (
	"bufio"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// asked runs --write-target with one answer per line, and reads the written file.
func asked(t *testing.T, answers ...string) (*target.Target, servertest.Output) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "target.yaml")
	r := servertest.Run(t, strings.Join(answers, "\n")+"\n", "--target", path, "--write-target")
	r.Want(t, 0, "Wrote "+path, "mandate conformance --target "+path)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, mode %v", err, info.Mode())
	}
	target, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return target, r
}

// If the server registers clients, few questions are asked. The clients are registered for the run, and deleted after
// it.
func TestAskWhereClientsAreRegistered(t *testing.T) {
	server := newRegistrar(t)
	server.token = "initial"
	written, r := asked(t, server.url, "", "alice", "open sesame", "read", "", "initial", "")
	if written.Register != target.Once || written.InitialAccessToken != "initial" || written.Scope != "read" ||
		written.User != (target.User{Username: "alice", Password: "open sesame"}) || len(written.Clients) != 0 {
		t.Errorf("%+v", written)
	}
	r.Want(t, 0, "one of 6 more clients: introspection, jwt, certificate, second-certificate, device, password.")
	path := targetFile(t, written)
	servertest.Run(t, "", "--target", path, "--only", "RFC7636/4.1").Want(t, 0, "metadata has no authorization_endpoint")
	server.empty(t, 5)
	servertest.Run(t, "", "--target", path, "--write-target").Want(t, 2, "already exists")
}

// Without metadata and registration, the most important clients come first, and one key skips the others. A question
// is repeated after a wrong answer.
func TestAskForClients(t *testing.T) {
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	beginning := []string{"auth.example.org", bare.URL, "", "/authorize", bare.URL + "/authorize", bare.URL + "/token", "",
		"", "", "",
		"client-1", "", "secret-1", "secret-1", "https://client.example/back", "", "client-2", "", "", ""}
	written, r := asked(t, append(beginning, "")...)
	r.Want(t, 0, `issuer: "auth.example.org" is not an http or https URL`, `"/authorize" is not an http or https URL`,
		"There is no metadata (RFC 8414, OIDC Discovery) at "+bare.URL+"/.well-known/oauth-authorization-server or ",
		"this cannot be empty", `"secret-1" is no absolute URI`,
		"grants authorization_code and refresh_token; auth client_secret_basic; redirect URI https://client.example/code.",
		"Further rules need")
	code, public := written.Clients[need.Code], written.Clients[need.Public]
	if len(written.Clients) != 2 || written.Endpoints["token_endpoint"] != bare.URL+"/token" ||
		code.Secret != "secret-1" || code.RedirectURIs[0] != "https://client.example/back" ||
		public.Auth != need.NoAuthentication || public.RedirectURIs[0] != "https://client.example/public" {
		t.Errorf("%+v", written)
	}
	// All further roles are asked for, with their fields.
	rest := append(beginning, "yes",
		"several", "s", "https://a.example/1", "https://a.example/1 https://a.example/2", "loopback", "", "scheme", "",
		"logout", "s", "", "https://a.example/bye",
		"back", "s", "", "here", "127.0.0.1:7070", "hs256", "s", "", "", "jwt", "s", "", "key", "", "second-key", "", "hmac",
		"s", "", "", "pairwise", "s", "", "elsewhere", "s", "", "tv", "password", "s",
		bare.URL+"/api", bare.URL+"/api/wide", "wide")
	written, r = asked(t, rest...)
	r.Want(t, 0, "2 are needed", `"here" is not host:port`)
	for _, role := range need.Roles() {
		skipped := role.Name == need.Signed || role.Profile != "" || role.Auth == need.CertificateAuth ||
			role.First && role.Name != need.Code && role.Name != need.Public
		if (written.Clients[role.Name] == nil) != skipped {
			t.Errorf("the client %s: %+v", role.Name, written.Clients[role.Name])
		}
	}
	if written.Backchannel != "127.0.0.1:7070" ||
		written.API != (target.API{URL: bare.URL + "/api", Restricted: bare.URL + "/api/wide", Scope: "wide"}) ||
		written.Clients[need.Logout].PostLogoutRedirectURIs[0] != "https://a.example/bye" {
		t.Errorf("%+v", written)
	}
}

// With a profile, the questions are about the clients of its rules, and the printed command has the flags again.
func TestAskForAProfile(t *testing.T) {
	bare := httptest.NewTLSServer(http.NotFoundHandler())
	defer bare.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: bare.Certificate().Raw}), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a target.yaml")
	answers := []string{bare.URL, "", "", "", "", "", "", "", "one", "", "two", "", "three", "https://c.example/3",
		bare.URL + "/api", "", ""}
	r := servertest.Run(t, strings.Join(answers, "\n")+"\n", "--target", path, "--write-target", "--profile", "fapi2-ms",
		"--only", "FAPI2", "--only", "FAPI2MS", "--only", "RFC8414", "--ca", ca, "--i-own-this-server")
	r.Want(t, 0, `"kty":"RSA"`, "Further rules need one of 4 more clients: code, public, machine, introspection.",
		"run: mandate conformance --target '"+path+"' --profile fapi2-ms --only FAPI2 --only FAPI2MS --only RFC8414 --ca "+ca+
			" --i-own-this-server\n")
	written, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	three := written.Clients[need.FAPIMessages]
	if len(written.Clients) != 3 || written.API.URL != bare.URL+"/api" || three.ID != "three" ||
		three.RedirectURIs[0] != "https://c.example/3" || three.Signer == nil {
		t.Errorf("%+v", written)
	}
	path = filepath.Join(t.TempDir(), "target.yaml")
	none := bare.URL + strings.Repeat("\n", 16)
	servertest.Run(t, none, "--target", path, "--write-target", "--profile", "fapi2", "--ca", ca).Want(t, 0,
		"Then run: mandate conformance --target "+path+" --profile fapi2 --ca "+ca+"\n")
}

// If a question cannot be answered, the command ends at once, and leaves no file.
func TestAskEnds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "target.yaml")
	for answers, want := range map[string]string{
		"":                     "standard input ended before all questions were answered",
		"x\n":                  "standard input ended before all questions were answered",
		"http://127.0.0.1:1\n": "connection refused",
		"https://192.0.2.1\n":  "--i-own-this-server",
	} {
		servertest.Run(t, answers, "--target", path, "--write-target").Want(t, 2, want)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%v: it leaves %v", err, left)
	}
	servertest.Run(t, "", "--target", filepath.Join(dir, "no", "target.yaml"), "--write-target").Want(t, 2, "no such file")
}

// The file has the issuer as the server publishes it, even if the answer has another slash at the end.
func TestAskTakesTheIssuerAsPublished(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	target, _ := asked(t, s.URL+"/o/", "", "", "", "", "", "", "")
	if target.Issuer != s.URL+"/o" {
		t.Errorf("the issuer is %s", target.Issuer)
	}
}

// The issuer in the metadata is suggested if the answer is another, and an issuer without metadata is asked for again.
func TestAskForTheIssuerAgain(t *testing.T) {
	s := servertest.OnDatabase(t, "sqlite")
	for _, c := range []struct{ first, again, want string }{{s.URL, "", s.URL + "/o"}, {s.URL, "n", s.URL},
		{s.URL + "/wrong", s.URL + "/o", s.URL + "/o"}} {
		const user, register = "", "n"
		target, r := asked(t, c.first, c.again, user, register, "", "", "", "", "", "")
		r.Want(t, 0, "but it has no clients: ", " rules will be skipped")
		if target.Issuer != c.want {
			t.Errorf("%s, then %q: the issuer is %s: %s", c.first, c.again, target.Issuer, r.Stderr)
		}
	}
}

// The sign-in is tried with the answers. The pages are described, and what the browser did not find is asked for.
func TestAskTriesTheSignIn(t *testing.T) {
	odd := pages{login: `<form method=post action=/login><input name=x1><input name=x2><button>Los</button></form>`,
		consent: `<form method=post action=/decide><input type=hidden name=ticket value="a&amp;b"><input type=hidden name=say value=yes><button>Jawohl</button></form>`}
	issuer := odd.start(t).Target.Issuer
	beginning := []string{issuer, "", "alice", "open sesame", "", "c", "secret", "https://client.example/back", "", "",
		"", "", ""}
	written, r := asked(t, append(beginning, "x1", "x2", "", "", "", "", "jawohl", "mitnichten")...)
	r.Want(t, 0, "Trying to sign in as alice ...", "/authorize: 200 OK, the page \"x\" with the field x1 (text), the "+
		"field x2 (text), the button \"los\"", "This page was not understood.",
		"It works: the server issued a code and tokens.")
	if written.Forms != (browser.Hints{Username: "x1", Password: "x2", Approve: "jawohl", Deny: "mitnichten"}) {
		t.Errorf("%+v", written.Forms)
	}
	// Without an answer the walk is not repeated.
	written, r = asked(t, append(beginning, "", "", "", "")...)
	if strings.Count(r.Stderr, "Trying to sign in") != 1 || written.Forms != (browser.Hints{}) {
		t.Errorf("%+v: %s", written.Forms, r.Stderr)
	}
}

// Some servers remember a sign-in only if a box is ticked. Without it no rule about sessions can be checked.
func TestAskOffersTheBoxThatRemembers(t *testing.T) {
	issuer := pages{login: strings.Replace(plainLogin, "<button", "<input type=checkbox name=stay><button", 1),
		consent: plainConsent, box: "stay"}.start(t).Target.Issuer
	beginning := []string{issuer, "", "alice", "open sesame", "", "c", "secret", "https://client.example/back", "", "",
		"", "", ""}
	written, r := asked(t, append(beginning, "")...)
	r.Want(t, 0, "asks for the password again, so that rules about sessions and logout cannot be checked.",
		`Tick the box "stay" on the sign-in page?`)
	if written.Forms.Remember != "stay" || strings.Count(r.Stderr, "asks for the password again") != 1 {
		t.Errorf("%+v: %s", written.Forms, r.Stderr)
	}
	written, _ = asked(t, append(beginning, "n")...)
	if written.Forms.Remember != "" {
		t.Errorf("%+v", written.Forms)
	}
}

// The password and the secrets of clients are sent only to origins that the target names, so another origin in the
// metadata is a question.
func TestAskForOriginsOfTheMetadata(t *testing.T) {
	var other, issuer *httptest.Server
	other = httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { t.Errorf("%s %s", r.Method, r.URL) }))
	defer other.Close()
	issuer = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w,
			`{"issuer": %q, "authorization_endpoint": "%[1]s/authorize", "token_endpoint": "%s/token", "introspection_endpoint": "%[2]s/introspect", "revocation_endpoint": "%[1]s/revoke"}`, issuer.URL, other.URL)
	}))
	defer issuer.Close()
	question := "The metadata names token_endpoint at " + other.URL + ". Does this origin belong to the server?"
	written, r := asked(t, issuer.URL, "y", "", "", "", "", "", "", "")
	if r.Want(t, 0, question); strings.Count(r.Stderr, "Does this origin") != 1 || len(written.Origins) != 1 ||
		written.Origins[0] != other.URL {
		t.Errorf("%q: %s", written.Origins, r.Stderr)
	}
	written, r = asked(t, issuer.URL, "", "n", "", "", "", "", "", "", "")
	if len(written.Origins) != 0 {
		t.Errorf("%q: %s", written.Origins, r.Stderr)
	}
}

func TestAskCorrectsAnswers(t *testing.T) {
	plain := pages{login: plainLogin, consent: plainConsent}.start(t).Target.Issuer
	written, r := asked(t, plain, "", "alice", "wrong", "", "c", "wrong", "https://client.example/back", "", "", "", "",
		"", "", "open sesame", "secret")
	r.Want(t, 0, "The server did not accept the user name or the password.",
		"the token endpoint refuses it: 401 Unauthorized, invalid_client (wrong secret)", "Secret of the client code",
		"It works", "It contains secrets. Now run:")
	if written.User.Password != "open sesame" || written.Clients[need.Code].Secret != "secret" {
		t.Errorf("%+v", written.User)
	}
	_, r = asked(t, plain, "", "alice", "open sesame", "", "c", "wrong", "https://client.example/back", "", "", "",
		"", "", "")
	r.Want(t, 0, "but the sign-in does not work yet: about ", "Correct user and clients.code in the file")
	// The page of an error asks for the client again.
	strict := pages{login: plainLogin, consent: plainConsent,
		answer: func(w http.ResponseWriter, r *http.Request, callback string) {
			if callback == "https://client.example/back" {
				http.Redirect(w, r, callback+"?code=verysecretcode", http.StatusFound)
				return
			}
			http.Error(w, "unknown redirect URI", http.StatusBadRequest)
		}}.start(t).Target.Issuer
	written, r = asked(t, strict, "", "alice", "open sesame", "", "c", "secret", "https://client.example/bcak", "", "", "",
		"", "", "", "https://client.example/back")
	r.Want(t, 0, "The walk ended there: the server shows a page: 400 Bad Request", "It works")
	if c := written.Clients[need.Code]; c.ID != "c" || c.RedirectURIs[0] != "https://client.example/back" {
		t.Errorf("%+v", c)
	}
	elsewhere := pages{login: plainLogin, consent: plainConsent,
		answer: func(w http.ResponseWriter, r *http.Request, _ string) {
			http.Redirect(w, r, "http://127.0.0.1:1/more", http.StatusFound)
		}}.start(t).Target.Issuer
	written, r = asked(t, elsewhere, "", "alice", "open sesame", "", "c", "secret", "https://client.example/back", "", "",
		"", "", "", "y")
	r.Want(t, 0, "The browser was sent to http://127.0.0.1:1. Does the server have its pages there?", "It did not work: ",
		"connection refused")
	if len(written.Origins) != 1 || written.Origins[0] != "http://127.0.0.1:1" {
		t.Errorf("%v", written.Origins)
	}
	refused := pages{login: plainLogin, consent: plainConsent,
		answer: func(w http.ResponseWriter, r *http.Request, callback string) {
			http.Redirect(w, r, callback+"?error=invalid_scope", http.StatusFound)
		}}.start(t).Target.Issuer
	written, r = asked(t, refused, "", "alice", "open sesame", "raed", "c", "secret", "https://client.example/back", "",
		"", "", "", "", "read", "")
	r.Want(t, 0, "The server refuses the scope.")
	if written.Scope != "read" {
		t.Errorf("%q", written.Scope)
	}
}

// The answers are written to the file that was created before the questions, and not to what stands at its path later.
func TestAskWritesToItsOwnFile(t *testing.T) {
	server := newRegistrar(t)
	cmd := servertest.Command(t, "--target", "new.yaml", "--write-target")
	victim := filepath.Join(t.TempDir(), "victim")
	err := os.WriteFile(victim, []byte("untouched"), 0o644)
	if err != nil {
		t.Fatal(err)
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	said := bufio.NewReader(stderr)
	_, err = said.ReadString(':') // the file was created, and the question was asked
	path := filepath.Join(cmd.Dir, "new.yaml")
	if err = errors.Join(err, os.Remove(path), os.Symlink(victim, path)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(stdin, strings.Join([]string{server.url, "", "", "", "", "", "", ""}, "\n")+"\n")
	stdin.Close()
	_, _ = io.Copy(io.Discard, said)
	_ = cmd.Wait() // the file shows it
	if text, err := os.ReadFile(victim); err != nil || string(text) != "untouched" {
		t.Errorf("%v: %s", err, text)
	}
}

// A client that the server cannot delete says nothing about the sign-in.
func TestAskWhereTheClientStays(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w,
			`{"issuer":%q,"authorization_endpoint":"%[1]s/authorize","token_endpoint":"%[1]s/token","registration_endpoint":"%[1]s/register"}`, server.URL)
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"client_id":"stays","client_secret":"a secret of a client"}`)
	})
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=a-code&state="+r.FormValue("state"), http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"access_token":"a-token","token_type":"Bearer"}`)
	})
	_, r := asked(t, server.URL, "", "alice", "open sesame", "read", "", "", "")
	for _, text := range []string{"The client of this trial could not be removed", "no registration_client_uri",
		"It works"} {
		if !strings.Contains(r.Stderr, text) {
			t.Errorf("%q is missing: %s", text, r.Stderr)
		}
	}
	if strings.Contains(r.Stderr+r.Stdout, "not work") {
		t.Errorf("the sign-in works: %s%s", r.Stderr, r.Stdout)
	}
}
