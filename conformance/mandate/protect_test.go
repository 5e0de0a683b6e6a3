package mandate

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mandate/testkit"
	"mandate/testkit/port"
)

// The programs of docs/protect-an-api.md stand in testdata/protect. The page includes them, and these tests run them.
// People paste them, so they must refuse whatever is no access token for them.

// protected is a program of an API that accepts access tokens. Its name contains _jwt or _introspection.
type protected struct {
	file string
	// command returns how to run a copy of the file with another issuer.
	command func(t testing.TB, copied, port string) *exec.Cmd
}

var protectedPrograms = []protected{
	{"express_jwt.mjs", onExpress}, {"express_introspection.mjs", onExpress},
	{"flask_jwt.py", onFlask}, {"flask_introspection.py", onFlask},
	{"fastapi_jwt.py", onFastAPI}, {"fastapi_introspection.py", onFastAPI},
	{"django_jwt.py", onDjango}, {"django_introspection.py", onDjango},
	{"spring_jwt/Orders.java", onSpring}, {"spring_introspection/Orders.java", onSpring},
	{"go_jwt/main.go", inGo}, {"go_introspection/main.go", inGo},
}

const (
	protectedIssuer = "https://auth.example.org/o" // in each program
	protectedAPI    = "https://orders.example.org"
)

func (p protected) jwt() bool { return strings.Contains(p.file, "_jwt") }

var (
	protectNode   = sync.OnceValues(func() (string, error) { return installNode("protect") })
	protectPython = sync.OnceValues(func() (string, error) { return installPython("protect") })
)

func onExpress(t testing.TB, copied, port string) *exec.Cmd {
	testkit.Program(t, "npm", "nodejs npm")
	dir, err := protectNode()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	// Node.js looks for packages beside the program.
	err = os.Symlink(filepath.Join(dir, "node_modules"), filepath.Join(filepath.Dir(copied), "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("node", copied)
	cmd.Env = append(environment(), "PORT="+port)
	return cmd
}

// inPython runs Python in the folder of the copy, with the packages of testdata/protect.
func inPython(t testing.TB, copied string, args ...string) *exec.Cmd {
	dir, err := protectPython()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	cmd := exec.Command(python, args...)
	cmd.Dir, cmd.Env = filepath.Dir(copied), append(environment(), "PYTHONPATH="+dir)
	return cmd
}

func module(copied string) string { return strings.TrimSuffix(filepath.Base(copied), ".py") }

func onFlask(t testing.TB, copied, port string) *exec.Cmd {
	return inPython(t, copied, "-m", "flask", "--app", module(copied), "run", "--port", port)
}

func onFastAPI(t testing.TB, copied, port string) *exec.Cmd {
	return inPython(t, copied, "-m", "uvicorn", module(copied)+":app", "--port", port)
}

func onDjango(t testing.TB, copied, port string) *exec.Cmd {
	// Python looks for modules beside the program, first of all.
	manage, err := os.ReadFile(filepath.Join("testdata", "protect", "manage.py"))
	if err == nil {
		err = os.WriteFile(filepath.Join(filepath.Dir(copied), "manage.py"), manage, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return inPython(t, copied, "manage.py", module(copied), "127.0.0.1:"+port)
}

// springPackages lets Maven copy the packages of Spring, which it keeps in its own folder.
var springPackages = sync.OnceValues(func() (string, error) {
	folder, jars := filepath.Join("testdata", "protect"), filepath.Join(binaryDir, "spring")
	out, err := exec.Command("mvn", "--batch-mode", "--quiet", "--file", filepath.Join(folder, "pom.xml"),
		"dependency:copy-dependencies", "-DoutputDirectory="+jars).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("mvn: %w\n%s", err, out)
	}
	return filepath.Join(jars, "*"), checkSums(jars, filepath.Join(folder, "SHA256SUMS"))
})

func onSpring(t testing.TB, copied, port string) *exec.Cmd {
	for _, program := range []string{"java", "javac", "mvn"} {
		testkit.Program(t, program, "default-jdk-headless maven")
	}
	jars, err := springPackages()
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	classes := t.TempDir()
	out, err := exec.Command("javac", "-parameters", "-cp", jars, "-d", classes, copied).CombinedOutput()
	if err != nil {
		t.Fatalf("javac: %v\n%s", err, out)
	}
	cmd := exec.Command("java", "-XX:TieredStopAtLevel=1", "-cp", classes+":"+jars, "Orders")
	cmd.Env = append(environment(), "SERVER_ADDRESS=127.0.0.1", "SERVER_PORT="+port)
	return cmd
}

func inGo(t testing.TB, copied, port string) *exec.Cmd {
	program := filepath.Join(t.TempDir(), "main")
	out, err := exec.Command("go", "build", "-o", program, copied).CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command(program)
	cmd.Env = append(environment(), "PORT="+port)
	return cmd
}

// start runs a program as it is, but for the address of the authorization server, and returns its own.
func (p protected) start(t testing.TB, issuer string, environ ...string) string {
	t.Helper()
	code, err := os.ReadFile(filepath.Join("testdata", "protect", filepath.FromSlash(p.file)))
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), filepath.Base(p.file))
	err = os.WriteFile(copied, []byte(strings.ReplaceAll(string(code), protectedIssuer, issuer)), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	address := port.Address()
	_, port, _ := strings.Cut(address, ":")
	cmd := p.command(t, copied, port)
	cmd.Env = append(cmd.Env, environ...)
	var log logBuffer
	running, err := launch(cmd, &log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = running.cmd.Process.Kill()
		<-running.exited
		if t.Failed() {
			t.Logf("output:\n%s", log.String())
		}
	})
	waitFor(t, p.file+" answers", func() bool {
		if !running.running() {
			t.Fatalf("it has ended:\n%s", log.String())
		}
		a, err := http.Get("http://" + address + "/orders")
		if err == nil {
			a.Body.Close()
		}
		return err == nil
	})
	return "http://" + address + "/orders"
}

// checkProtected sends a request with a value of Authorization, and checks the status, the challenge and, if the
// request is accepted, whom it is for.
func checkProtected(t testing.TB, address, what, authorization string, status int, want string) {
	t.Helper()
	got, challenge, body := calls(t, address, authorization)
	said := body
	if status != http.StatusOK {
		said = challenge
	}
	if got != status || !strings.Contains(said, want) {
		t.Errorf("%s: %d %q %s, want %d and %q", what, got, challenge, body, status, want)
	}
}

// calls sends a request with a value of Authorization, and returns the status, the challenge and the content.
func calls(t testing.TB, address, authorization string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequest("GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, _ := io.ReadAll(a.Body)
	return a.StatusCode, a.Header.Get("WWW-Authenticate"), string(body)
}

// orders is the API of the programs, with a client of it.
type orders struct {
	*server
	api, caller application
	alice       person
	tokens      map[string]string // by what they are; none is an access token that the API accepts
	good, wide  string
}

// newOrders registers the API and its caller as the page says.
func newOrders(t testing.TB) *orders {
	t.Helper()
	o := &orders{server: startServer(t, options{provider: []string{"OIDC_ENABLED: true"}})}
	o.api = o.application(t, "--name", "Orders API", "--grant", "client_credentials")
	o.mustCLI(t, "", "resource", "add", protectedAPI, "--name", "Orders API", "--scope", "read", "--scope", "write",
		"--token-format", "jwt", "--algorithm", "RS256", "--introspector", o.api.ClientID)
	o.mustCLI(t, "", "resource", "add", "https://invoices.example.org", "--name", "Invoices API", "--token-format", "jwt",
		"--algorithm", "RS256")
	o.caller = o.application(t, "--name", "Report", "--grant", "client_credentials", "--grant", "authorization_code",
		"--redirect-uri", "http://127.0.0.1:8000/noexist/callback")
	o.alice = o.person(t, "alice")
	token := func(as auth, resource, scope string) string {
		form := params("grant_type", "client_credentials", "scope", scope)
		if resource != "" {
			form.Set("resource", resource)
		}
		return o.mustToken(t, as, form).AccessToken
	}
	o.good, o.wide = token(o.caller.auth(), protectedAPI, "read"), token(o.caller.auth(), protectedAPI, "write")
	revoked := token(o.caller.auth(), protectedAPI, "read")
	o.revoke(t, o.caller.auth(), revoked)
	person := o.browser(t).signsIn(t, o.caller, o.alice, "scope", "openid read", "resource", protectedAPI)
	header, rest, _ := strings.Cut(o.good, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	o.tokens = map[string]string{
		"a token for another API":        token(o.caller.auth(), "https://invoices.example.org", "read"),
		"a token for the server itself":  token(o.caller.auth(), "", "read"),
		"an ID token":                    person.IDToken,
		"a refresh token":                person.RefreshToken,
		"a token bound to a key":         token(newHolder(t).proving(t, o.caller.auth()), protectedAPI, "read"),
		"no signature":                   base64url([]byte(`{"alg":"none","typ":"at+jwt"}`)) + "." + payload + ".",
		"another signature":              header + "." + payload + "." + strings.Split(o.wide, ".")[2],
		"the payload of another token":   header + "." + strings.Split(o.wide, ".")[1] + "." + signature,
		"what was never a token":         "never",
		"revoked, where the server asks": revoked,
	}
	return o
}

// TestProtectAnAPI runs each program of docs/protect-an-api.md against this server.
func TestProtectAnAPI(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	o := newOrders(t)
	var asking []string // the addresses of those that introspect
	for _, p := range protectedPrograms {
		address := p.start(t, o.Issuer, "CLIENT_ID="+o.api.ClientID, "CLIENT_SECRET="+o.api.ClientSecret)
		if !p.jwt() {
			asking = append(asking, address)
		}
		t.Run(p.file, func(t *testing.T) {
			checkProtected(t, address, "a good token", "Bearer "+o.good, http.StatusOK, o.caller.ClientID)
			// RFC 9110 §11.1: the name of the scheme is case-insensitive.
			checkProtected(t, address, "a scheme in lower case", "bearer "+o.good, http.StatusOK, o.caller.ClientID)
			checkProtected(t, address, "no scheme", o.good, http.StatusUnauthorized, "Bearer")
			checkProtected(t, address, "the scheme DPoP", "DPoP "+o.good, http.StatusUnauthorized, "")
			checkProtected(t, address, "a token without the scope", "Bearer "+o.wide, http.StatusForbidden, "insufficient_scope")
			checkProtected(t, address, "no token", "", http.StatusUnauthorized, "Bearer")
			checkProtected(t, address, "an empty token", "Bearer ", http.StatusUnauthorized, "Bearer")
			checkProtected(t, address, "another scheme", "Basic "+o.good, http.StatusUnauthorized, "Bearer")
			for what, token := range o.tokens {
				if p.jwt() && strings.HasPrefix(what, "revoked") {
					continue // it is accepted until it expires, as the page says
				}
				checkProtected(t, address, what, "Bearer "+token, http.StatusUnauthorized, "invalid_token")
			}
		})
	}
	// A server that does not answer makes no token valid, and no valid token invalid.
	o.kill(t)
	for _, address := range asking {
		if got, challenge, _ := calls(t, address, "Bearer "+o.good); got < http.StatusInternalServerError {
			t.Errorf("%s, without the server: %d %s", address, got, challenge)
		}
	}
	o.start(t)
}

// keySet serves a key set at the address of an issuer, and signs tokens by it.
type keySet struct {
	*httptest.Server
	key  *rsa.PrivateKey
	down atomic.Bool
}

func newKeySet(t testing.TB) *keySet {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	k := &keySet{key: key}
	k.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/o/.well-known/jwks.json" || k.down.Load() {
			http.Error(w, "there is nothing", http.StatusServiceUnavailable)
			return
		}
		_ = json.NewEncoder(w).Encode(
			map[string]any{"keys": []member{{"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256",
				"n": base64url(key.N.Bytes()), "e": base64url(big.NewInt(int64(key.E)).Bytes())}}})
	}))
	t.Cleanup(k.Close)
	return k
}

// signed returns a good access token (RFC 9068 §2), but for these members of the header and claims; nil removes one.
func (k *keySet) signed(t testing.TB, header, claims member) string {
	t.Helper()
	first := member{"alg": "RS256", "typ": "at+jwt", "kid": "one"}
	all := member{"iss": k.URL + "/o", "aud": protectedAPI, "exp": time.Now().Add(time.Minute).Unix(),
		"iat": time.Now().Unix(),
		"sub": "subject", "client_id": "caller", "jti": "jti", "scope": "read"}
	for _, changed := range []struct{ of, by member }{{all, claims}, {first, header}} {
		maps.Copy(changed.of, changed.by)
		maps.DeleteFunc(changed.of, func(_ string, value any) bool { return value == nil })
	}
	if first["alg"] == "HS256" { // the key is what the API downloads
		public, err := x509.MarshalPKIXPublicKey(&k.key.PublicKey)
		if err != nil {
			t.Fatal(err)
		}
		return signHeader(t, first, all, pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
	}
	return signHeader(t, first, all, k.key)
}

// TestAttackProtectAnAPI forges tokens with the key of the server, which an attacker does not have: a program must
// check each claim by itself. RFC 9068 §4 lists the checks; RFC 8725 §3 names alg none, the confusion of HS256 with
// RS256, and the use of one kind of JWT in place of another.
func TestAttackProtectAnAPI(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	k := newKeySet(t)
	past, future := time.Now().Add(-time.Hour).Unix(), time.Now().Add(time.Hour).Unix()
	for _, p := range protectedPrograms {
		if !p.jwt() {
			continue
		}
		t.Run(p.file, func(t *testing.T) {
			good := k.signed(t, nil, nil)
			k.down.Store(true)
			address := p.start(t, k.URL+"/o")
			// Without the keys, no token is valid, and none is invalid: a program that is told 401 throws its token away.
			if got, challenge, _ := calls(t, address, "Bearer "+good); got < http.StatusInternalServerError {
				t.Errorf("the keys cannot be read: %d %s", got, challenge)
			}
			k.down.Store(false)
			waitFor(t, "the keys are read", func() bool {
				got, _, _ := calls(t, address, "Bearer "+good)
				return got == http.StatusOK
			})
			checkProtected(t, address, "a good token", "Bearer "+good, http.StatusOK, "subject")
			both := k.signed(t, nil, member{"aud": []string{"https://other.example", protectedAPI}})
			checkProtected(t, address, "two audiences", "Bearer "+both, http.StatusOK, "subject")
			for what, claims := range map[string]member{
				"no scope": {"scope": nil}, "another scope": {"scope": "reader write"}, "an empty scope": {"scope": ""},
			} {
				checkProtected(t, address, what, "Bearer "+k.signed(t, nil, claims), http.StatusForbidden, "insufficient_scope")
			}
			for what, claims := range map[string]member{
				"expired": {"exp": past}, "no exp": {"exp": nil}, "not yet": {"nbf": future},
				"another issuer": {"iss": "https://evil.example/o"}, "no issuer": {"iss": nil},
				"a longer issuer":  {"iss": k.URL + "/o/"},
				"another audience": {"aud": "https://other.example"}, "no audience": {"aud": nil},
				"a longer audience":      {"aud": protectedAPI + ".evil.example"},
				"other audiences":        {"aud": []string{"https://other.example", "https://third.example"}},
				"bound to a key":         {"cnf": member{"jkt": "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I"}},
				"bound to a certificate": {"cnf": member{"x5t#S256": "bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}},
			} {
				checkProtected(t, address, what, "Bearer "+k.signed(t, nil, claims), http.StatusUnauthorized, "invalid_token")
			}
			for what, header := range map[string]member{
				"an ID token": {"typ": "JWT"}, "a logout token": {"typ": "logout+jwt"}, "no type": {"typ": nil},
				"an unknown key": {"kid": "two"}, "HS256 with the public key": {"alg": "HS256"}, "PS256": {"alg": "PS256"},
			} {
				checkProtected(t, address, what, "Bearer "+k.signed(t, header, nil), http.StatusUnauthorized, "invalid_token")
			}
			_, rest, _ := strings.Cut(good, ".")
			payload, _, _ := strings.Cut(rest, ".")
			for _, alg := range []string{"none", "None"} {
				unsigned := base64url([]byte(`{"alg":"`+alg+`","typ":"at+jwt","kid":"one"}`)) + "." + payload + "."
				checkProtected(t, address, alg, "Bearer "+unsigned, http.StatusUnauthorized, "invalid_token")
			}
		})
	}
}

// TestAttackProtectAnAPIByIntrospection gives each program answers that the server could give, with one member changed.
// A token that is bound to a key or a certificate is no bearer token (RFC 9449 §7.1, RFC 8705 §3): whoever stole it
// would be let in.
func TestAttackProtectAnAPIByIntrospection(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	good := member{"active": true, "token_type": "Bearer", "scope": "read", "sub": "subject", "client_id": "caller"}
	answers := map[string]struct {
		changed member
		status  int
		says    string
	}{
		"good":             {nil, http.StatusOK, "subject"},
		"not-active":       {member{"active": false}, http.StatusUnauthorized, "invalid_token"},
		"of-the-type-DPoP": {member{"token_type": "DPoP"}, http.StatusUnauthorized, "invalid_token"},
		"of-the-type-N_A":  {member{"token_type": "N_A"}, http.StatusUnauthorized, "invalid_token"},
		"bound-to-a-key":   {member{"cnf": member{"jkt": "thumbprint"}}, http.StatusUnauthorized, "invalid_token"},
		"bound-to-a-certificate": {member{"cnf": member{"x5t#S256": "thumbprint"}}, http.StatusUnauthorized,
			"invalid_token"},
		"bound-to-what-nobody-knows": {member{"cnf": member{}}, http.StatusUnauthorized, "invalid_token"},
		"with-another-scope": {member{"scope": "reader write"}, http.StatusForbidden,
			"insufficient_scope"},
		"without-a-scope":                         {member{"scope": nil}, http.StatusForbidden, "insufficient_scope"},
		"which-the-server-cannot-say-as-it-fails": {nil, http.StatusInternalServerError, ""},
		"which-a-page-answers":                    {nil, http.StatusInternalServerError, ""},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token := r.PostFormValue("token")
		of, known := answers[token]
		body := maps.Clone(good)
		maps.Copy(body, of.changed)
		maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
		switch {
		case strings.HasSuffix(token, "fails"):
			http.Error(w, "later", http.StatusServiceUnavailable)
			return
		case strings.HasSuffix(token, "answers"):
			_, _ = io.WriteString(w, "<!doctype html>")
			return
		case !known:
			body = member{"active": false}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	for _, p := range protectedPrograms {
		if p.jwt() {
			continue
		}
		t.Run(p.file, func(t *testing.T) {
			address := p.start(t, server.URL+"/o", "CLIENT_ID=api", "CLIENT_SECRET=secret")
			for token, want := range answers {
				if want.status != http.StatusInternalServerError {
					checkProtected(t, address, token, "Bearer "+token, want.status, want.says)
				} else if got, challenge, _ := calls(t, address, "Bearer "+token); got < want.status {
					t.Errorf("%s: %d %s", token, got, challenge)
				}
			}
		})
	}
}
