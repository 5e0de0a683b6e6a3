package resource

import (
	"strings"
	"testing"
	"time"
)

func TestNewProxy(t *testing.T) {
	guard := newGuard(t, GuardConfig{Verifier: &counter{}})
	fine := []Rule{{Path: "/"}}
	tests := []struct {
		name     string
		upstream string
		guard    *Guard
		rules    []Rule
		mentions string // "": no error
	}{
		{"fine", "http://api:8080/v1", guard, fine, ""},
		{"a path without a scheme", "/v1", guard, fine, "upstream"},
		{"no host", "http://:80/", guard, fine, "upstream"},
		{"another scheme", "unix:///run/api", guard, fine, "upstream"},
		{"a query", "http://api/?a", guard, fine, "upstream"},
		{"a password", "http://a:b@api/", guard, fine, "upstream"},
		{"no guard", "http://api/", nil, fine, "guard"},
		{"no rules", "http://api/", guard, nil, "rules"},
		{"no slash", "http://api/", guard, []Rule{{Path: "users"}}, "slash"},
		{"no path", "http://api/", guard, []Rule{{}}, "slash"},
		{"dots", "http://api/", guard, []Rule{{Path: "/a/../b"}}, "dot"},
		{"a small method", "http://api/", guard, []Rule{{Path: "/", Methods: []string{"get"}}}, "capital"},
		{"TRACE", "http://api/", guard, []Rule{{Path: "/", Methods: []string{"TRACE"}}}, "never forwarded"},
		{"a WebSocket by POST", "http://api/", guard, []Rule{{Path: "/", Methods: []string{"POST"}, WebSocket: true}}, "GET"},
		{"a WebSocket", "http://api/", guard, []Rule{{Path: "/", Methods: []string{"POST", "GET"}, WebSocket: true}}, ""},
		{"an empty scope", "http://api/", guard, []Rule{{Path: "/", Scopes: []string{""}}}, "scopes"},
		{"two scopes in one", "http://api/", guard, []Rule{{Path: "/", Scopes: []string{"read write"}}}, "scopes"},
		{"public with a login", "http://api/", guard, []Rule{{Path: "/", Public: true, Login: Login{MaxAge: time.Minute}}},
			"public"},
		{"a login of half a second", "http://api/", guard, []Rule{{Path: "/", Login: Login{MaxAge: time.Second / 2}}},
			"max_age"},
		{"a kind of login with a space", "http://api/", guard, []Rule{{Path: "/", Login: Login{ACRValues: []string{"a b"}}}},
			"acr_values"},
		{"public with a scope", "http://api/", guard, []Rule{{Path: "/", Public: true, Scopes: []string{"read"}}}, "public"},
		{"the same twice", "http://api/", guard,
			[]Rule{{Path: "/a", Methods: []string{"GET"}}, {Path: "/a/", Methods: []string{"PUT", "GET"}}}, "second"},
		{"any method twice", "http://api/", guard, []Rule{{Path: "/a"}, {Path: "/a"}}, "second"},
		{"another case", "http://api/", guard,
			[]Rule{{Path: "/a", Methods: []string{"GET"}}, {Path: "/A", Methods: []string{"PUT"}}}, "case"},
		{"an invisible character", "http://api/", guard,
			[]Rule{{Path: "/a", Methods: []string{"GET"}}, {Path: "/a\u200d", Methods: []string{"PUT"}}}, "invisible"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewProxy(ProxyConfig{Upstream: parseURL(t, test.upstream), Guard: test.guard, Rules: test.rules})
			if (err == nil) != (test.mentions == "") || err != nil && !strings.Contains(err.Error(), test.mentions) {
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := NewProxy(ProxyConfig{Guard: guard, Rules: fine}); err == nil {
		t.Error("no error without an upstream")
	}
}
