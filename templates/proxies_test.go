package templates

import (
	"strings"
	"testing"

	"mandate/testkit"
)

// The page of a site and the documentation have the same configurations.
func TestProxiesDocs(t *testing.T) {
	pages, err := New("", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := pages.Proxies([]string{"wiki.example.org"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range found {
		kind := strings.TrimPrefix(s.ID, "proxy-")
		testkit.DocsBlock(t, "forward-auth.md", kind, "```"+strings.TrimPrefix(kind, "haproxy-")+"\n"+s.Code+"\n```\n")
	}
}

// A site has hosts with ports, and the server has a path.
func TestProxiesOfSeveralHosts(t *testing.T) {
	pages, err := New("/auth", Brand{})
	if err != nil {
		t.Fatal(err)
	}
	found, err := pages.Proxies([]string{"notes.example.org:8443", "wiki.example.org", "[::1]:8443"})
	if err != nil || len(found) < 2 {
		t.Fatal(found, err)
	}
	for _, want := range [][]string{
		{"listen 443 ssl;\n  listen 8443 ssl;", "server_name ::1 notes.example.org wiki.example.org;",
			"proxy_set_header Host $host:$server_port;", "X-Original-URL $scheme://$host:$server_port$request_uri;",
			"proxy_pass http://127.0.0.1:8000/auth/authz/request;", "proxy_pass http://127.0.0.1:9000;"},
		{"notes.example.org:8443, wiki.example.org, [::1]:8443 {", "uri /auth/authz/forward"},
	} {
		code := found[0].Code
		found = found[1:]
		for _, line := range want {
			if !strings.Contains(code, line) {
				t.Errorf("%q is not in\n%s", line, code)
			}
		}
	}
}
