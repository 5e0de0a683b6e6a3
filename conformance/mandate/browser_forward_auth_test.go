package mandate

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mandate/testkit"
	"mandate/testkit/port"
)

// guardingProxy starts a reverse proxy with the configuration of docs/forward-auth.md, for https at an address of this
// machine.
type guardingProxy struct {
	kind    string // of the block in the page
	program string
	beside  string                                             // the kind of a second file
	replace func(c *certificate, address, dir string) []string // what differs from the page
	around  string                                             // with %s for the blocks
	args    func(dir, file string) []string
}

var guardingProxies = []guardingProxy{
	{
		kind: "nginx", program: "nginx",
		replace: func(c *certificate, address, _ string) []string {
			_, at, _ := net.SplitHostPort(address)
			return []string{"$host", "$host:" + at, "listen 443 ssl;", "listen " + address + " ssl; ssl_certificate " + c.file +
				"; ssl_certificate_key " + c.key + ";", "server_name wiki.example.org;",
				"server_name wiki.example notes.example;"}
		},
		around: "daemon off; master_process off; pid DIR/pid; error_log stderr; events {} http { access_log off;\n" +
			"client_body_temp_path DIR/b; proxy_temp_path DIR/p; fastcgi_temp_path DIR/f; uwsgi_temp_path DIR/u; " +
			"scgi_temp_path DIR/s;\n%s}\n",
		args: func(dir, file string) []string { return []string{"-p", dir, "-c", file} },
	},
	{
		kind: "caddy", program: "caddy",
		replace: func(c *certificate, address, _ string) []string {
			_, at, _ := net.SplitHostPort(address)
			return []string{"wiki.example.org {", "https://wiki.example:" + at + ", https://notes.example:" + at +
				" {\n  tls " + c.file + " " + c.key}
		},
		around: "{\n  admin off\n  auto_https disable_redirects\n  storage file_system DIR/storage\n}\n%s",
		args:   func(_, file string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
	},
	{
		kind: "haproxy", program: "haproxy", beside: "lua",
		replace: func(c *certificate, address, dir string) []string {
			return []string{"/etc/haproxy/mandate.lua", dir + "/lua", "bind :443 ssl crt /etc/haproxy/site.pem",
				"bind " + address + " ssl crt " + dir + "/pem", "-i wiki.example.org", "-i wiki.example notes.example"}
		},
		around: "%s",
		args:   func(_, file string) []string { return []string{"-db", "-f", file} },
	},
}

// blocks returns the blocks of a kind in docs/forward-auth.md.
func blocks(t *testing.T, kind string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "forward-auth.md"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, part := range strings.Split(string(page), "```") {
		if text, is := strings.CutPrefix(part, kind+"\n"); is && i%2 == 1 {
			all = append(all, text)
		}
	}
	if len(all) == 0 {
		t.Fatalf("docs/forward-auth.md has no block of %s", kind)
	}
	return strings.Join(all, "\n")
}

// start runs the proxy in front of a server and a program.
func (b guardingProxy) start(t *testing.T, s *server, program string, c *certificate, address string) {
	t.Helper()
	dir := t.TempDir()
	pairs := append(b.replace(c, address, dir), "127.0.0.1:8000", strings.TrimPrefix(s.URL, "http://"), "127.0.0.1:9000",
		strings.TrimPrefix(program, "http://"))
	text := blocks(t, b.kind)
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(text, pairs[i]) {
			t.Fatalf("the configuration does not have %q", pairs[i])
		}
	}
	text = strings.ReplaceAll(fmt.Sprintf(b.around, strings.NewReplacer(pairs...).Replace(text)), "DIR", dir)
	pem := slices.Concat(read(t, c.file), read(t, c.key))
	err := os.WriteFile(filepath.Join(dir, "pem"), pem, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config")
	err = os.WriteFile(file, []byte(text), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if b.beside != "" {
		text = strings.ReplaceAll(blocks(t, b.beside), "127.0.0.1:8000", strings.TrimPrefix(s.URL, "http://"))
		err = os.WriteFile(filepath.Join(dir, b.beside), []byte(text), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(testkit.Program(t, b.program, b.program), b.args(dir, file)...)
	cmd.Env = append(environment(), "HOME="+dir)
	listens(t, b.program, cmd, address, syscall.SIGTERM)
}

// A person signs in once through each proxy, and is known at two hosts. The program never gets a name that the client
// has sent, and what is no page gets no redirect.
func TestBrowserForwardAuth(t *testing.T) {
	for _, proxy := range guardingProxies {
		t.Run(proxy.kind, func(t *testing.T) {
			testkit.Program(t, proxy.program, proxy.program)
			browser := chromium(t)
			s := startServer(t, options{settings: []string{"TRUSTED_PROXIES: [127.0.0.1]"}})
			alice := s.person(t, "alice")
			program := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				// Many programs read an underscore as a hyphen.
				var users []string
				for name, values := range r.Header {
					if strings.EqualFold(strings.ReplaceAll(name, "_", "-"), "Remote-User") {
						users = append(users, values...)
					}
				}
				fmt.Fprintf(w, `<!doctype html><html lang="en"><title>Wiki</title><link rel="icon" href="data:,"><p>%s is %q
					of %q at %s</p></html>`, r.Method, users, r.Header.Values("Remote-Groups"), r.URL)
			}))
			t.Cleanup(program.Close)
			address, c := port.Address(), newCertificate(t)
			_, at, _ := net.SplitHostPort(address)
			s.mustCLI(t, "", "site", "add", "Wiki", "--host", "wiki.example:"+at, "--public-path", "/public/")
			s.mustCLI(t, "", "site", "add", "Notes", "--host", "notes.example:"+at)
			proxy.start(t, s, program.URL, c, address)
			wiki, notes := "https://wiki.example:"+at, "https://notes.example:"+at

			b := s.window(t, browser, "wiki.example:"+at, "notes.example:"+at)
			b.open(wiki + "/page?x=1")
			b.logIn(alice)
			b.until(`location.pathname == "/page"`)
			b.says(`GET is ["alice"]`, "at /page?x=1")
			b.open(notes + "/")
			b.says(`GET is ["alice"]`)

			ask := func(method, path string, headers ...string) (int, string, string) {
				r, err := http.NewRequestWithContext(t.Context(), method, "https://"+address+path, nil)
				if err != nil {
					t.Fatal(err)
				}
				r.Host = "wiki.example:" + at
				for i := 0; i < len(headers); i += 2 {
					r.Header[headers[i]] = append(r.Header[headers[i]], headers[i+1])
				}
				transport := &http.Transport{
					TLSClientConfig: &tls.Config{ServerName: "wiki.example", InsecureSkipVerify: true}}
				defer transport.CloseIdleConnections()
				got, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				defer got.Body.Close()
				text := make([]byte, 1000)
				n, _ := got.Body.Read(text)
				return got.StatusCode, got.Header.Get("Location"), string(text[:n])
			}
			for _, forged := range [][]string{
				{"Remote-User", "root"}, {"remote-user", "root"}, {"Remote_User", "root"}, {"REMOTE_USER", "root"},
				{"remote_User", "root"}, {"REMOTE-USER", "root", "Remote-User", "root"},
				{"Remote-User", "root", "Connection", "Remote-User"},
				{"Remote-User", "root", "Connection", "close, Remote-User"},
			} {
				status, _, text := ask(http.MethodGet, "/public/x", forged...)
				if status != http.StatusOK || strings.Contains(text, "root") {
					t.Errorf("%v: %d %s", forged, status, text)
				}
			}
			for _, moved := range [][]string{
				{"X-Forwarded-Uri", "/public/x"}, {"X-Original-URL", wiki + "/public/x"},
				{"X-Forwarded-Prefix", "/public"},
				{"Forwarded", "host=notes.example"}, {"X-Forwarded-Host", "notes.example:" + at},
				{"Connection", "X-Forwarded-Uri, X-Original-Url, X-Forwarded-Host"},
			} {
				status, _, text := ask(http.MethodGet, "/secret", moved...)
				if status == http.StatusOK {
					t.Errorf("%v: let in: %s", moved, text)
				}
			}
			if status, to, _ := ask(http.MethodGet, "/", "Accept", "text/html"); status != http.StatusFound ||
				!strings.HasPrefix(to, wiki+"/.mandate/sign-in?") {
				t.Errorf("a page: %d to %q", status, to)
			}
			for _, method := range []string{http.MethodGet, http.MethodPost} {
				status, to, _ := ask(method, "/", "Accept", "application/json")
				if status != http.StatusUnauthorized || to != "" {
					t.Errorf("%s without a page: %d to %q", method, status, to)
				}
			}
			// RFC 9112 §3.2.2: the host of the request line counts, and not that of the header. The proxy has to ask about
			// the host by which it chooses the program.
			for _, line := range []string{
				"GET " + notes + "/public/x HTTP/1.1", "GET /public/../secret HTTP/1.1", "GET /public/%2e%2e/secret HTTP/1.1",
				"GET //public/x HTTP/1.1", "GET /public//x HTTP/1.1", "GET /.mandate/../secret HTTP/1.1",
				"GET /public/..;/secret HTTP/1.1", "GET /public%2f..%2fsecret HTTP/1.1", "GET /.mandate/..%2fsecret HTTP/1.1",
			} {
				if got := statusOfLine(t, address, line, "wiki.example:"+at); got == http.StatusOK {
					t.Errorf("%s: let in", line)
				}
			}
			s.mustCLI(t, "", "user", "disable", "alice")
			b.open(notes + "/")
			if b.URL().Host == "notes.example:"+at {
				t.Error("a disabled person is still let in")
			}
		})
	}
}

// statusOfLine sends a request line over TLS as it is, and returns the status of the answer.
func statusOfLine(t *testing.T, address, line, host string) int {
	t.Helper()
	c, err := tls.Dial("tcp", address, &tls.Config{ServerName: "wiki.example", InsecureSkipVerify: true})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "%s\r\nHost: %s\r\nAccept: text/html\r\nConnection: close\r\n\r\n", line, host)
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer got.Body.Close()
	return got.StatusCode
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return text
}
