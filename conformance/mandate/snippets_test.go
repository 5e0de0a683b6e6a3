package mandate

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"mandate/testkit"
	"mandate/testkit/port"
)

// The programs that the page of an application shows run as they are shown there.

// shown matches a program on the page of an application: its id and its text.
var shown = regexp.MustCompile(`(?s)<pre [^>]*aria-labelledby="([a-z]+-[a-z]+)" data-copy>(.*?)</pre>`)

// programs returns the programs on the page of an application, by id.
func (b *browser) programs(t testing.TB, app application) map[string]string {
	t.Helper()
	b.open(t, "/o/applications/"+app.ID+"/")
	found := map[string]string{}
	for _, m := range shown.FindAllStringSubmatch(b.Body, -1) {
		found[m[1]] = html.UnescapeString(m[2])
	}
	return found
}

// snippetServer is a server with an API that answers who a token is for.
type snippetServer struct {
	*server
	alice, bob, root person
	zoe              person // has a name
	asker            application
	api              string // the URI of the API, which is its address
}

func newSnippetServer(t testing.TB, provider ...string) *snippetServer {
	t.Helper()
	v := &snippetServer{
		server: startServer(t, options{provider: append([]string{"DEVICE_FLOW_INTERVAL: 1"}, provider...)})}
	v.alice, v.bob, v.root = v.person(t, "alice"), v.person(t, "bob"), v.person(t, "root", "--admin")
	v.asker = v.application(t, "--name", "Asker", "--grant", "client_credentials")
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Access-Control-Allow-Headers", "Authorization")
		if r.Method == http.MethodOptions {
			return
		}
		sent, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		v.secret(sent)
		token := v.introspect(t, v.asker.auth(), sent)
		if token["active"] != true {
			http.Error(w, "who is it?", http.StatusUnauthorized)
			return
		}
		if name := token["username"]; name != nil {
			fmt.Fprintf(w, "hello %v", name)
		} else {
			fmt.Fprintf(w, "hello %v", token["client_id"])
		}
	}))
	t.Cleanup(api.Close)
	v.api = api.URL + "/things"
	v.mustCLI(t, "", "resource", "add", v.api, "--name", "Things", "--introspector", v.asker.ClientID)
	return v
}

// register registers an application by the form of its kind, of which only the named
// fields are filled in, and returns the programs on its page.
func (v *snippetServer) register(t testing.TB, by person, kind string, fields ...string) (application,
	map[string]string) {
	t.Helper()
	b := v.signedIn(t, by)
	b.open(t, "/o/applications/register/?kind="+kind)
	app := b.registers(t, params(append([]string{"name", "Own " + kind}, fields...)...))
	found := b.programs(t, app)
	for id, code := range found {
		if app.ClientSecret != "" && strings.Contains(code, app.ClientSecret) {
			t.Errorf("%s contains the client secret", id)
		}
	}
	return app, found
}

// snippet is a program that was started.
type snippet struct {
	*exec.Cmd
	lines *bufio.Reader // its output
	said  logBuffer     // its output, once it listens
	log   logBuffer
}

// start starts a program in the language of its id. It ends with the test.
func (v *snippetServer) start(t testing.TB, id, code string, environ ...string) *snippet {
	t.Helper()
	if code == "" {
		t.Fatalf("the page has no program %s", id)
	}
	_, extension, _ := strings.Cut(id, "-")
	file := filepath.Join(t.TempDir(), "main."+extension)
	err := os.WriteFile(file, []byte(code), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	p := &snippet{}
	switch extension {
	case "go":
		program := filepath.Join(t.TempDir(), "main")
		out, err := exec.Command("go", "build", "-o", program, file).CombinedOutput()
		if err != nil {
			t.Fatalf("go build: %v\n%s\n%s", err, out, code)
		}
		p.Cmd = exec.Command(program)
	case "sh":
		testkit.Program(t, "curl", "curl")
		p.Cmd = exec.Command("sh", file)
	case "mjs":
		p.Cmd = exec.Command(testkit.Program(t, "node", "nodejs"), file)
	case "py":
		p.Cmd = exec.Command(testkit.Program(t, "python3", "python3"), file)
	}
	p.Env, p.Stderr = append(environment(), environ...), &p.log
	out, err := p.StdoutPipe()
	if err == nil {
		err = p.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.lines = bufio.NewReader(out)
	t.Cleanup(func() { // the next program may need the same port
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	return p
}

// line reads the output of a program until a line matches.
func (p *snippet) line(t testing.TB, pattern *regexp.Regexp) []string {
	t.Helper()
	for {
		line, err := p.lines.ReadString('\n')
		if m := pattern.FindStringSubmatch(line); m != nil {
			return m
		}
		if err != nil {
			t.Fatalf("the program has ended: %v\n%s", err, p.log.String())
		}
	}
}

// ends waits for the end of a program and checks its output.
func (p *snippet) ends(t testing.TB, want string) {
	t.Helper()
	text, _ := io.ReadAll(p.lines)
	err := p.Wait()
	if err != nil || !strings.Contains(string(text)+p.log.String(), want) {
		t.Errorf("%v: it says\n%s%s\nand not %q", err, text, p.log.String(), want)
	}
}

// fails waits for the end of a program, and checks that it says why it has failed.
func (p *snippet) fails(t testing.TB, want string) {
	t.Helper()
	text, _ := io.ReadAll(p.lines)
	err := p.Wait()
	if err == nil || !strings.Contains(string(text)+p.log.String(), want) || strings.Contains(string(text), "Hello") {
		t.Errorf("%v: it says\n%s%s\nand not %q", err, text, p.log.String(), want)
	}
}

// listens waits until a program accepts connections.
func (p *snippet) listens(t testing.TB, address string) {
	t.Helper()
	go io.Copy(&p.said, p.lines)
	waitFor(t, "the program listens at "+address, func() bool {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func languagesOf(kind string, extensions ...string) []string {
	for i, e := range extensions {
		extensions[i] = kind + "-" + e
	}
	return extensions
}

// each runs a test for each of these programs, and requires that the page has no others.
func (v *snippetServer) each(t *testing.T, found map[string]string, ids []string,
	run func(t *testing.T, id, code string)) {
	t.Helper()
	for id := range found {
		if !slices.Contains(ids, id) {
			t.Errorf("the page also has %s", id)
		}
	}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) { run(t, id, found[id]) })
	}
}

func TestSnippets(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	v := newSnippetServer(t, "OIDC_ENABLED: false")
	t.Run("service", v.service)
	t.Run("website", v.website)
	t.Run("native", v.native)
	t.Run("device", v.device)
	t.Run("api", v.guards)
	t.Run("hostile", v.hostile)
	t.Run("library", v.library)
}

// library checks that an application that must do more than the programs can gets none of them.
func (v *snippetServer) library(t *testing.T) {
	owner := []string{"--owner", v.alice.Name, "--name", "Own"}
	code := append(slices.Clone(owner), "--grant", "authorization_code", "--redirect-uri", "https://app.example/callback")
	keys := []string{"--auth-method", "private_key_jwt", "--jwks-uri", "https://app.example/keys"}
	for name, test := range map[string]struct {
		args  []string
		finds bool
	}{
		"secret in the body":   {append(slices.Clone(code), "--auth-method", "client_secret_post"), true},
		"secret in the header": {append(slices.Clone(code), "--auth-method", "client_secret_basic"), false},
		"secret as a key": {append(slices.Clone(code), "--auth-method", "client_secret_jwt",
			"--no-hash-client-secret"), false},
		"private key":          {append(slices.Clone(code), keys...), false},
		"private key, service": {append(append(slices.Clone(owner), "--grant", "client_credentials"), keys...), false},
		"bound tokens":         {append(slices.Clone(code), "--sender-constraint", "dpop"), false},
		"pushed requests":      {append(slices.Clone(code), "--require-pushed-requests"), false},
		"no query":             {append(slices.Clone(code), "--response-mode", "form_post"), false},
		"query":                {append(slices.Clone(code), "--response-mode", "query"), true},
		"pushed, but no request": {append(slices.Clone(owner), "--grant", "client_credentials", "--require-pushed-requests"),
			true},
	} {
		t.Run(name, func(t *testing.T) {
			app := v.application(t, test.args...)
			b := v.signedIn(t, v.alice)
			found := b.programs(t, app)
			if test.finds != (len(found) > 0) || test.finds == strings.Contains(b.Body, "use a library") {
				t.Errorf("%d programs on the page, and %v", len(found), strings.Contains(b.Body, "use a library"))
			}
		})
	}
}

func (v *snippetServer) service(t *testing.T) {
	app, found := v.register(t, v.alice, "service", "resources", v.api)
	v.each(t, found, languagesOf("service", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		v.start(t, id, code, "MANDATE_CLIENT_SECRET="+app.ClientSecret).ends(t, "hello "+app.ClientID)
	})
	// Without a resource there is no API to call. The server has no scope that it could leave out.
	app, found = v.register(t, v.alice, "service")
	v.each(t, found, languagesOf("service", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		v.start(t, id, code, "MANDATE_CLIENT_SECRET="+app.ClientSecret).ends(t,
			"Hello, "+app.ClientID+". The access token allows: read\n")
		// A wrong secret, or none, is said.
		for environ, want := range map[string]string{"MANDATE_CLIENT_SECRET=wrong": "invalid_client",
			"MANDATE_CLIENT_SECRET=": ""} {
			v.start(t, id, code, environ).fails(t, want)
		}
	})
}

// website runs a website on the port of its redirect URI, and one behind a proxy, which listens where PORT says. The
// last one is for no API, and learns no name, because the server has no OpenID Connect.
func (v *snippetServer) website(t *testing.T) {
	for _, test := range []struct{ path, resource, want string }{
		{"/oauth/callback", v.api, "The API answers 200"}, {"", v.api, "hello alice"},
		{"/callback", "", "Hello. The access token allows: read"},
	} {
		address := port.Address()
		_, port, _ := strings.Cut(address, ":")
		registered, environ := "http://"+address+test.path, []string{}
		if test.path == "" {
			registered, environ = "https://website.example", []string{"PORT=" + port}
		}
		app, found := v.register(t, v.alice, "website", "resources", test.resource, "redirect_uris", registered)
		v.each(t, found, languagesOf("website", "go", "mjs", "py"), func(t *testing.T, id, code string) {
			p := v.start(t, id, code, append(environ, "MANDATE_CLIENT_SECRET="+app.ClientSecret)...)
			p.listens(t, address)
			jar, err := cookiejar.New(nil)
			if err != nil {
				t.Fatal(err)
			}
			client := &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
				return http.ErrUseLastResponse
			}}
			start := "http://" + address + map[bool]string{true: "/", false: "/sign-in/"}[test.path != ""]
			// answer sends what the server has answered, and compares the status and the text.
			answer := func(back *url.URL, status int, want string) {
				t.Helper()
				back.Scheme, back.Host = "http", address
				a := visit(t, client, back.String())
				text, _ := io.ReadAll(a.Body)
				if a.StatusCode != status || !strings.Contains(string(text), want) ||
					a.Header.Get("Content-Type") != "text/plain; charset=utf-8" {
					t.Errorf("%d %q %s, want %d %q", a.StatusCode, text, a.Header.Get("Content-Type"), status, want)
				}
			}
			back := v.signedIn(t, v.alice).authorize(t, visit(t, client, start).Header.Get("Location"), v.alice, "approve")
			// An answer that this browser did not ask for is refused, and does not use the code.
			for _, forged := range []string{"state", "iss"} {
				query := back.Query()
				query.Set(forged, "forged")
				answer(&url.URL{Path: back.Path, RawQuery: query.Encode()}, http.StatusBadRequest, "does not belong")
			}
			answer(back, http.StatusOK, test.want)
			// A reload does not send the code again: that would end the tokens.
			answer(back, http.StatusBadRequest, "does not belong")
			answer(v.signedIn(t, v.bob).authorize(t, visit(t, client, start).Header.Get("Location"), v.bob, "deny"),
				http.StatusForbidden, "access_denied")
			// RFC 6749 §5.2: the server says in the output what was wrong with the code.
			back = v.signedIn(t, v.alice).authorize(t, visit(t, client, start).Header.Get("Location"), v.alice, "approve")
			query := back.Query()
			query.Set("code", "mac_other")
			answer(&url.URL{Path: back.Path, RawQuery: query.Encode()}, http.StatusBadGateway,
				"The output of this program says why")
			waitFor(t, "the program says why",
				func() bool { return strings.Contains(p.said.String()+p.log.String(), "invalid_grant") })
		})
	}
}

// visit opens an address. The body is closed with the test.
func visit(t testing.TB, client *http.Client, address string) *http.Response {
	t.Helper()
	a, err := client.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Body.Close() })
	return a
}

func (v *snippetServer) native(t *testing.T) {
	for resource, want := range map[string]string{v.api: "hello alice", "": "Hello. The access token allows: read"} {
		_, found := v.register(t, v.alice, "native", "resources", resource, "redirect_uris",
			"com.example.app:/callback\nhttp://127.0.0.1/done")
		v.runNative(t, found, want)
	}
}

func (v *snippetServer) runNative(t *testing.T, found map[string]string, want string) {
	v.each(t, found, languagesOf("native", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		p := v.start(t, id, code)
		address := p.line(t, regexp.MustCompile(`^(http\S+)`))[1]
		back := v.signedIn(t, v.alice).authorize(t, address, v.alice, "approve")
		query := back.Query()
		query.Set("state", "forged")
		if a := visit(t, http.DefaultClient, "http://"+back.Host+back.Path+"?"+
			query.Encode()); a.StatusCode != http.StatusBadRequest {
			t.Errorf("a forged answer leads to %d", a.StatusCode)
		}
		if a := visit(t, http.DefaultClient, back.String()); a.StatusCode != http.StatusOK {
			t.Errorf("the answer leads to %d", a.StatusCode)
		}
		p.ends(t, want)
	})
}

// told matches what a program of a device says.
var told = regexp.MustCompile(`^Open (\S+) in a browser and type the code (\S+)\s*$`)

// device approves the code that each program prints, in the browser of a person.
func (v *snippetServer) device(t *testing.T) {
	_, found := v.register(t, v.alice, "device", "resources", v.api)
	v.each(t, found, languagesOf("device", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		for decision, want := range map[string]string{"approve": "hello alice", "deny": "access_denied"} {
			p := v.start(t, id, code)
			m := p.line(t, told)
			b := v.signedIn(t, v.alice)
			b.open(t, strings.TrimPrefix(m[1], v.URL))
			b.submit(t, "Continue", params("user_code", m[2]))
			b.decide(t, decision)
			if decision == "approve" {
				p.ends(t, want)
				continue
			}
			p.fails(t, want)
		}
	})
}

// guards runs the programs of an API with tokens for the server itself.
func (v *snippetServer) guards(t *testing.T) {
	app, found := v.register(t, v.root, "api")
	caller := v.application(t, "--name", "Caller", "--client-id", "caller", "--grant", "client_credentials",
		"--scope", "read")
	live := v.mustToken(t, caller.auth(), params("grant_type", "client_credentials")).AccessToken
	writer := v.application(t, "--name", "Writer", "--grant", "client_credentials", "--scope", "write")
	other := v.mustToken(t, writer.auth(), params("grant_type", "client_credentials")).AccessToken
	refresh := v.pair(t, v.whole(t, "whole"), v.alice, "scope", "read").RefreshToken
	bound := v.mustToken(t, newHolder(t).proving(t, caller.auth()), params("grant_type", "client_credentials")).AccessToken
	secret := "MANDATE_CLIENT_SECRET=" + app.ClientSecret
	v.each(t, found, languagesOf("api", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		if id == "api-sh" {
			v.start(t, id, code, secret, "TOKEN="+live).ends(t, `"active":true`)
			v.start(t, id, code, secret, "TOKEN=other").ends(t, `{"active":false}`)
			return
		}
		address := port.Address()
		_, port, _ := strings.Cut(address, ":")
		v.start(t, id, code, secret, "PORT="+port).listens(t, address)
		for token, want := range map[string]int{"Bearer " + live: 200, "Bearer " + other: 403, "Bearer " + refresh: 401,
			"Bearer " + bound: 401, "": 401, "Bearer other": 401, "Basic " + live: 401} {
			r, err := http.NewRequest("GET", "http://"+address+"/", nil)
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				r.Header.Set("Authorization", token)
			}
			a, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(a.Body)
			a.Body.Close()
			if a.StatusCode != want || want == 200 && !strings.Contains(string(text), "Hello, caller") ||
				want != 200 && !strings.HasPrefix(a.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Errorf("%.12s: %d %s %v", token, a.StatusCode, text, a.Header)
			}
		}
	})
	// For anybody else the page says what to ask an administrator for.
	b := v.signedIn(t, v.alice)
	b.open(t, "/o/applications/register/?kind=api")
	if b.Status != http.StatusOK || strings.Contains(b.Body, `name="client_type"`) ||
		!strings.Contains(b.Body, "Only an administrator can let an application ask about tokens") {
		t.Errorf("a person gets %d and a form", b.Status)
	}
}

// hostile: what was registered stays a value in every language.
func (v *snippetServer) hostile(t *testing.T) {
	const evil = "a'b\"$(exit_9)${x}`id`\\n</script>{{.}}%41+&=#"
	app := v.application(t, "--name", "Evil", "--client-id", evil, "--grant", "client_credentials", "--resource", v.api)
	found := v.signedIn(t, v.root).programs(t, app)
	v.each(t, found, languagesOf("service", "sh", "go", "mjs", "py"), func(t *testing.T, id, code string) {
		v.start(t, id, code, "MANDATE_CLIENT_SECRET="+app.ClientSecret).ends(t, "hello "+evil)
	})
}
