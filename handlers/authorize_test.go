package handlers

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"mandate/provider"
)

// The log line of a refused authorization request gives the reason, and nothing that the request sent: the operator
// helps a developer who does not see the redirect.
func TestLogOfRefusedAuthorizations(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), provider.Operator(), provider.Registration{Name: "Shop",
		ClientType: provider.Public, GrantTypes: []string{provider.GrantCode},
		RedirectURIs: []string{"https://shop.example/back"}})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	for _, test := range []struct{ name, value, want string }{
		{"response_type", "sentsecret", "response_type must be code"},
		{"code_challenge_method", "plain", "code_challenge_method must be S256"},
		{"code_challenge", "", "is sent without code_challenge"},
		{"scope", "sentsecret", "error=invalid_scope description="},
		{"redirect_uri", "https://shop.example/sentsecret", "is not registered for the application.\" cause=\"the client is " + app.Application.ClientID},
	} {
		query := url.Values{"client_id": {app.Application.ClientID}, "response_type": {"code"},
			"redirect_uri": {"https://shop.example/back"}, "scope": {"read"}, "state": {"sentsecret"},
			"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}
		query.Set(test.name, test.value)
		before := len(s.log.String())
		alice.get(t, "/o/authorize/?"+query.Encode())
		// A line is written after the answer.
		line := ""
		for end := time.Now().Add(10 * time.Second); !strings.Contains(line, "route=/o/authorize/") && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
			line = s.log.String()[before:]
		}
		if !strings.Contains(line, test.want) || strings.Contains(line, "sentsecret") {
			t.Errorf("%s: the line is %s, want %q", test.name, line, test.want)
		}
	}
}

// A person who runs the server sees in the log which scopes an application did not get, and a person who decides about it
// sees it on the page.
func TestLogAndPageOfScopesLeftOut(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), provider.Operator(), provider.Registration{Name: "Shop",
		ClientType: provider.Public, GrantTypes: []string{provider.GrantCode, provider.GrantDevice}, RedirectURIs: []string{"https://shop.example/back"}})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	form := []string{"client_id", app.Application.ClientID, "response_type", "code", "redirect_uri", "https://shop.example/back",
		"code_challenge", "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", "code_challenge_method", "S256",
		"scope", "read <b>roles introspection " + strings.Repeat("x", 100)}
	query := url.Values{}
	for i := 0; i < len(form); i += 2 {
		query.Set(form[i], form[i+1])
	}
	page := alice.get(t, "/o/authorize/?"+query.Encode())
	page.wants(t, 200, "It also asked for ", "&lt;b&gt;roles, introspection, "+strings.Repeat("x", 80)+"<", "which it cannot get here.")
	pushed := s.visitor(t).post(t, "/o/par/", form...)
	pushed.wants(t, 201)
	codes := s.visitor(t).post(t, "/o/device-authorization/", "client_id", app.Application.ClientID, "scope", query.Get("scope"))
	codes.wants(t, 200)
	query.Set("scope", "read")
	if plain := alice.get(t, "/o/authorize/?"+query.Encode()); strings.Contains(plain.body, "It also asked") {
		t.Error("the page says that something is left out, and nothing is")
	}
	want := `scopes_left_out="<b>roles (unknown), introspection (not allowed), ` + strings.Repeat("x", 80) + ` (unknown)"`
	for end := time.Now().Add(10 * time.Second); strings.Count(s.log.String(), want) < 3 && time.Now().Before(end); {
		time.Sleep(time.Millisecond) // a line is written after the answer
	}
	if n := strings.Count(s.log.String(), want); n != 3 || strings.Count(s.log.String(), "scopes_left_out") != 3 {
		t.Errorf("%d lines have %s:\n%s", n, want, s.log.String())
	}
}
