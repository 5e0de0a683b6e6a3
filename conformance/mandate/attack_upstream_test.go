package mandate

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"mandate/testkit"
	"mandate/testkit/port"
)

var (
	apiPython = sync.OnceValues(func() (string, error) { return installPython("apis") })
	apiNode   = sync.OnceValues(func() (string, error) { return installNode("apis") })
)

// foreignAPI is a server that people use, with its default settings. See testdata/apis.
type foreignAPI struct {
	name    string
	program func(host, port string) (*exec.Cmd, error)
	// control is a request that it reads as one for /admin without the proxy: the path, and a header. Empty: none is
	// known.
	control [2]string
}

var foreignAPIs = []foreignAPI{
	{"gunicorn", func(host, port string) (*exec.Cmd, error) {
		return pythonAPI("gunicorn", "--bind", host+":"+port, "app:application")
	}, [2]string{"/x/admin", "SCRIPT_NAME: /x"}},
	{"Daphne", func(host, port string) (*exec.Cmd, error) {
		return pythonAPI("daphne", "-b", host, "-p", port, "app:asgi")
	}, [2]string{"/x/admin", "Daphne-Root-Path: /x"}},
	{"uvicorn", func(host, port string) (*exec.Cmd, error) {
		return pythonAPI("uvicorn", "--host", host, "--port", port, "app:asgi")
	}, [2]string{}},
	{"PHP", func(host, port string) (*exec.Cmd, error) {
		return exec.Command("php", "-S", host+":"+port, "-t", filepath.Join("testdata", "apis", "php")), nil
	}, [2]string{"/index.php/admin", ""}},
	{"Express", func(_, port string) (*exec.Cmd, error) {
		dir, err := apiNode()
		if err != nil {
			return nil, err
		}
		cmd := exec.Command("node", "server.mjs", port)
		cmd.Dir = dir
		return cmd, nil
	}, [2]string{"/ADMIN", ""}},
}

func pythonAPI(module string, args ...string) (*exec.Cmd, error) {
	dir, err := apiPython()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(python, append([]string{"-m", module}, args...)...)
	cmd.Dir = filepath.Join("testdata", "apis")
	cmd.Env = append(environment(), "PYTHONPATH="+dir, "PYTHONDONTWRITEBYTECODE=1")
	return cmd, nil
}

// start runs the API until the end of the test.
func (f foreignAPI) start(t *testing.T) string {
	t.Helper()
	address := port.Address()
	host, number, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	cmd, err := f.program(host, number)
	if err != nil {
		testkit.Missing(t, err.Error())
	}
	return listens(t, f.name, cmd, address, syscall.SIGTERM)
}

// apiRead is a request as an API has read it.
type apiRead struct{ Path, Query, Method, Content string }

// asksAPI sends a request unchanged, and returns the status and what the API has read.
func asksAPI(t *testing.T, base, line, content string, headers ...string) (int, apiRead) {
	t.Helper()
	s := &server{URL: base}
	lines := append([]string{line + " HTTP/1.1", "Host: api.example", "Connection: close"}, headers...)
	response, err := http.ReadResponse(bufio.NewReader(s.dial(t, strings.Join(lines, "\r\n")+"\r\n\r\n"+content)), nil)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	var read apiRead
	if response.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, &read)
		if err != nil {
			t.Fatalf("%s: %v: %s", line, err, body)
		}
	}
	return response.StatusCode, read
}

// Real servers behind the proxy read no request in another way than its rules: none for / as one for /admin, and
// no other query, method or content.
func TestAttackAPIReadsAnotherRequest(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	attack(t, "the proxy decides by one reading of a request, and the API serves another one",
		"CVE-2025-64484 (oauth2-proxy, headers with underscores); CVE-2022-2880 (Go, unreadable parameters)")
	for program, packages := range map[string]string{"php": "php-cli", "node": "nodejs npm", "npm": "nodejs npm"} {
		testkit.Program(t, program, packages)
	}
	s := startServer(t, options{})
	app := s.whole(t, "service")
	token := "Authorization: Bearer " +
		s.mustToken(t, app.auth(), params("grant_type", "client_credentials", "scope", "read")).AccessToken
	for _, f := range foreignAPIs {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			api := f.start(t)
			if f.control[0] != "" {
				status, read := asksAPI(t, api, "GET "+f.control[0], "", withoutEmpty(f.control[1])...)
				if status != http.StatusOK || !strings.HasPrefix(read.Path, "/admin") {
					t.Errorf("without the proxy, %q: %d %+v: the attack is none, try another one", f.control, status, read)
				}
			}
			g := s.protects(t, api, "{PATH: /, SCOPES: [read]}", "{PATH: /admin, SCOPES: [write]}",
				"{PATH: /raw, SCOPES: [read], PATH_AS_WRITTEN: true}")
			for _, line := range []string{"GET", "POST"} {
				for _, path := range pathsOfAdmin {
					for _, header := range append([]string{f.control[1]}, headersOfAdmin...) {
						if header != "" && path != "/x" && path != "/x/admin" {
							continue
						}
						status, read := asksAPI(t, g.URL, line+" "+path, "", withoutEmpty(header, token, "Content-Length: 0")...)
						if strings.Contains(strings.ToLower(read.Path), "/admin") && !strings.HasPrefix(read.Path, "/x") {
							t.Errorf("%s %q with %q: %d, and the API has read %+v", line, path, header, status, read)
						}
						if status == http.StatusOK && read.Method != line {
							t.Errorf("%s %q with %q: the API has read the method %s", line, path, header, read.Method)
						}
					}
				}
			}
			for _, query := range queriesOfAPIs {
				status, read := asksAPI(t, g.URL, "DELETE /items?"+query, "", token)
				if want := (apiRead{"/items", query, "DELETE", ""}); status != http.StatusOK || read != want {
					t.Errorf("%s: %d %+v, want %+v", query, status, read, want)
				}
			}
			for path, want := range map[string]string{"/a%3Ab:c": "/a:b:c", "/raw/a%2Fb": "/raw/a/b", "/raw/a;b": "/raw/a;b",
				"/raw/gr%C3%B6%C3%9Fe": "/raw/größe"} {
				status, read := asksAPI(t, g.URL, "PUT "+path, "content", token, "Content-Length: 7")
				decoded, err := url.PathUnescape(read.Path)
				if status != http.StatusOK || err != nil || decoded != want || read.Content != "content" {
					t.Errorf("%s: %d %+v %v, want %s", path, status, read, err, want)
				}
			}
		})
	}
}

var (
	// pathsOfAdmin are paths that some server reads as /admin, alone or with one of headersOfAdmin.
	pathsOfAdmin = []string{
		"/x", "/x/admin", "/index.php/admin", "/INDEX.PHP/admin", "/x/index.php/admin", "//admin", "///admin", "/./admin",
		"/x/../admin", "/x/%2e%2e/admin", "/x/..%2fadmin",
		"/x%2f..%2fadmin", "/%61dmin", "/Admin", "/ADMIN/", "/admin%2f", "/admin;x", "/;/admin", "/x/..;/admin", "/admin%00",
		"/admin%20", "/admin.", "/admin.json", "/admin~", "/admin,x",
		"/%2561dmin", "/x%3f/../admin", "/(S(a))/admin", "/raw//admin/../../admin", "/raw/..%2fadmin", "/raw%2f../admin",
		"http://api.example/admin",
	}
	headersOfAdmin = []string{
		"", "SCRIPT_NAME: /x", "Script-Name: /x", "script_name: /x", "Daphne-Root-Path: /x", "Daphne_Root_Path: /x",
		"Root-Path: /x", "X-Script-Name: /x", "X-Forwarded-Prefix: /x",
		"PATH_INFO: /admin", "X-Original-URL: /admin", "X-Rewrite-URL: /admin", "X-HTTP-Method-Override: DELETE",
		"X_HTTP_Method_Override: DELETE",
	}
	queriesOfAPIs = []string{"keep=1&ids=1;2;3", "q=100%", "a=%zz", "a=1&a=2", "a+b=c%20d", "&&", "a=/../admin",
		"a[]=1&a[x]=2", "=", "%61=%2B"}
)

func withoutEmpty(headers ...string) []string {
	var kept []string
	for _, h := range headers {
		if h != "" {
			kept = append(kept, h)
		}
	}
	return kept
}
