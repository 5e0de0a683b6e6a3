package handlers

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"testing"

	"mandate/provider/sites"
)

// notPublic are targets that begin with a public path, or seem to, and that a program could read as another one.
var notPublic = []string{
	"/public", "/publicity", "/PUBLIC/x", "/public/../secret", "/public/./x", "/public/..", "/public/.",
	"/public/x/../../secret", "/public//secret", "/public/x//", "/public/%2e%2e/secret", "/public/%2E%2E/secret",
	"/public/.%2e/secret",
	"/public/..%2fsecret", "/public/..%5csecret", "/public%2f..%2fsecret", "/public/%252e%252e/secret", "/public/x%00",
	"/public/%c0%ae%c0%ae/secret", "/public/..;/secret", "/public/..;x=y/secret",
	"/public;/../secret", "/public/;/secret",
	"/public/x;y", `/public/..\secret`, `/public\..\secret`, "/./public/x", "/x/../public/x", "//public/x", "///public/x",
	"/%70ublic/x",
	"/secret?/public/x", "/secret?x=/public/", "/secret;/public/x", "/secret#/public/x",
	"/public/x#/../secret",
	"public/x", "*", "", "https://" + guardedHost + "/public/x", "http://" + guardedHost + "/public/x",
	"https://other.example/public/x", "//" + guardedHost + "/public/x", guardedHost + ":443", "/\t/public/x",
}

// Whatever a target looks like, a stranger gets in only at what every program reads as a public path.
func TestAttackPublicPath(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}, PublicPaths: []string{"/public/"}})
	out := s.visitor(t).at(guardedHost)
	forward := func(target string) int { return out.ask(t, target).StatusCode }
	original := func(address string) int {
		return out.asked(t, "/authz/request", []string{"X-Original-Method", "GET", "X-Original-URL", address}).StatusCode
	}
	if got := []int{forward("/public/x?y=/../z"), original("https://" + guardedHost + "/public/x")}; got[0] != 200 ||
		got[1] != 200 {
		t.Fatalf("the public path itself: %d", got)
	}
	for _, target := range notPublic {
		for family, status := range map[string]int{
			"forward": forward(target), "request": original("https://" + guardedHost + target),
			"envoy": s.line(t, "GET /authz/envoy"+target+" HTTP/1.1", "Host: "+guardedHost, "X-Forwarded-Proto: https"),
		} {
			if status < 300 || status > 404 {
				t.Errorf("%s: %q: status %d", family, target, status)
			}
		}
	}
	for _, address := range []string{
		"", "/public/x", "//" + guardedHost + "/public/x", "https:/" + guardedHost + "/public/x", "https:///public/x",
		"https://" + guardedHost + ";/public/x", "https://" + guardedHost + "?/public/x",
		"https://" + guardedHost + "#/public/x",
		"https://" + guardedHost + "@other.example/public/x",
		"https://other.example/public/x", "https://" + guardedHost,
		`https:\\` + guardedHost + "/public/x",
		"https://" + guardedHost + "/public/x https://" + guardedHost + "/public/x",
		"https://" + guardedHost + "/public/x, https://other.example/public/x#",
		"http://" + guardedHost + "/public/x", "HTTPS://" + guardedHost + "/secret", "://" + guardedHost + "/public/x",
	} {
		if status := original(address); status < 300 || status > 404 {
			t.Errorf("X-Original-URL: %q: status %d", address, status)
		}
	}
}

// The request itself is the description for Envoy. Forms of the request line (RFC 9112 §3.2) and of the header Host
// that name another host, or none, let nobody in.
func TestAttackStartLine(t *testing.T) {
	s := newSite(t, "", trusting)
	s.guarded(t, sites.Registration{Hosts: []string{guardedHost}, PublicPaths: []string{"/public/"}})
	const https = "X-Forwarded-Proto: https"
	if got := s.line(t, "GET /authz/envoy/public/x HTTP/1.1", "Host: "+guardedHost, https); got != http.StatusOK {
		t.Fatalf("the public path itself: %d", got)
	}
	for _, lines := range [][]string{
		{"GET http://other.example/authz/envoy/public/x HTTP/1.1", "Host: " + guardedHost, https},
		{"GET https://" + guardedHost + "/authz/envoy/public/x HTTP/1.1", "Host: other.example", https},
		{"GET //authz/envoy/public/x HTTP/1.1", "Host: " + guardedHost, https},
		{"GET /authz/envoy HTTP/1.1", "Host: " + guardedHost, https},
		{"GET /authz//envoy/public/x HTTP/1.1", "Host: " + guardedHost, https},
		{"GET /authz/./envoy/public/x HTTP/1.1", "Host: " + guardedHost, https},
		{"GET /authz/env%6fy/public/x HTTP/1.1", "Host: " + guardedHost, https},
		{"OPTIONS /authz/envoy* HTTP/1.1", "Host: " + guardedHost, https},
		{"CONNECT " + guardedHost + ":443 HTTP/1.1", "Host: " + guardedHost, https},
		{"GET /authz/envoy/public/x HTTP/1.1", "Host: " + guardedHost, "Host: other.example", https},
		{"GET /authz/envoy/public/x HTTP/1.1", "Host:", https},
		{"GET /authz/envoy/public/x HTTP/1.1", https},
		{"GET /authz/envoy/public/x HTTP/1.0", https},
		{"GET /authz/envoy/public/x HTTP/1.1", "Host: " + guardedHost},
		{"GET /authz/envoy/public/x HTTP/1.1", "Host: " + guardedHost, https, https},
		{"GET /authz/envoy/secret HTTP/1.1", "Host: " + guardedHost, https, "X-Envoy-Original-Path: /public/x"},
		{"GET /authz/envoy/secret HTTP/1.1", "Host: " + guardedHost, https, "X-Forwarded-Uri: /public/x"},
		{"GET /authz/envoy/secret HTTP/1.1", "Host: " + guardedHost, https, ":path: /public/x"},
		{"GET /authz/envoy/secret HTTP/1.1", "Host: " + guardedHost, https, "X-Original-URL: /public/x"},
	} {
		if got := s.line(t, lines...); got < 300 || got > 499 {
			t.Errorf("%q: status %d", lines, got)
		}
	}
}

// line sends a request as it is, byte for byte, and returns the status of the answer.
func (s *site) line(t *testing.T, lines ...string) int {
	t.Helper()
	u, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for _, line := range append(lines, "Accept: text/html", "Connection: close", "") {
		fmt.Fprint(c, line+"\r\n")
	}
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", lines, err)
	}
	defer got.Body.Close()
	return got.StatusCode
}
