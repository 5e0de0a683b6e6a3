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
		{"scope", "sentsecret", "invalid_scope: "},
		{"redirect_uri", "https://shop.example/sentsecret", "is not registered for the application: the client is " + app.Application.ClientID},
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
