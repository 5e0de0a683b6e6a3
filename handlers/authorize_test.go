package handlers

import (
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"mandate/provider/clients"
	"mandate/provider/policy"
)

// The log line of a refused authorization request gives the reason, and nothing that the request sent: the operator
// helps a developer who does not see the redirect.
func TestLogOfRefusedAuthorizations(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{Name: "Shop",
		ClientType: policy.Public, GrantTypes: []string{policy.GrantCode},
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
		{
			"redirect_uri",
			"https://shop.example/sentsecret",
			"is not registered for the application.\" cause=\"the client is " + app.Application.ClientID,
		},
	} {
		query := url.Values{"client_id": {app.Application.ClientID}, "response_type": {"code"},
			"redirect_uri": {"https://shop.example/back"}, "scope": {"read"}, "state": {"sentsecret"},
			"code_challenge": {"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"}, "code_challenge_method": {"S256"}}
		query.Set(test.name, test.value)
		before := len(s.log.String())
		alice.get(t, "/o/authorize/?"+query.Encode())
		// A line is written after the answer.
		line := ""
		for end := time.Now().Add(10 * time.Second); !strings.Contains(
			line, "route=/o/authorize/",
		) && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
			line = s.log.String()[before:]
		}
		if !strings.Contains(line, test.want) || strings.Contains(line, "sentsecret") {
			t.Errorf("%s: the line is %s, want %q", test.name, line, test.want)
		}
	}
}

// Like CVE-2025-4144 and other ways to speak in the name of a consent page: a link of a stranger to an application
// that the person knows has any words as scopes, and the page would show them as its own.
func TestAttackWordsOfAStrangerOnTheConsentPage(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop",
		ClientType:   policy.Public,
		GrantTypes:   []string{policy.GrantCode},
		RedirectURIs: []string{"https://shop.example/back"},
	})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	ask := func(scope string) answer {
		return alice.get(
			t,
			"/o/authorize/?"+url.Values{
				"client_id":     {app.Application.ClientID},
				"response_type": {"code"},
				"redirect_uri":  {"https://shop.example/back"},
				"code_challenge": {
					"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
				},
				"code_challenge_method": {"S256"},
				"scope":                 {scope},
			}.Encode(),
		)
	}
	page := ask("read call_0900-123456_before_you_go_on")
	page.wants(t, 200, "It also asked for 1 permission that this server does not know.")
	many := ask("read a b c d e f g_0900 introspection")
	many.wants(
		t,
		200,
		"It also asked for 7 permissions that this server does not know.",
		"introspection</code>, which it cannot get here.",
	)
	for _, of := range []answer{page, many} {
		if text := regexp.MustCompile(`<[^>]*>`).ReplaceAllString(of.body, " "); strings.Contains(
			text,
			"0900",
		) { // links have the request
			t.Errorf("the page says what the stranger says:\n%s", text)
		}
	}
}

// A person who runs the server sees in the log which scopes an application did not get, and a person who decides about
// it sees it on the page.
func TestLogAndPageOfScopesLeftOut(t *testing.T) {
	s := newSite(t, "")
	app, err := s.provider.Clients.Register(t.Context(), policy.Operator(), clients.Registration{
		Name:         "Shop",
		ClientType:   policy.Public,
		GrantTypes:   []string{policy.GrantCode, policy.GrantDevice},
		RedirectURIs: []string{"https://shop.example/back"},
	})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	form := []string{
		"client_id",
		app.Application.ClientID,
		"response_type",
		"code",
		"redirect_uri",
		"https://shop.example/back",
		"code_challenge",
		"E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
		"code_challenge_method",
		"S256",
		"scope",
		"read <b>roles introspection " + strings.Repeat("x", 100),
	}
	query := url.Values{}
	for i := 0; i < len(form); i += 2 {
		query.Set(form[i], form[i+1])
	}
	page := alice.get(t, "/o/authorize/?"+query.Encode())
	page.wants(
		t,
		200,
		"It also asked for <code class=\"key\" dir=\"ltr\">introspection</code>, which it cannot get here.",
		"It also asked for 2 permissions that this server does not know.",
	)
	pushed := s.visitor(t).post(t, "/o/par/", form...)
	pushed.wants(t, 201)
	codes := s.visitor(t).post(
		t, "/o/device-authorization/", "client_id", app.Application.ClientID, "scope", query.Get("scope"),
	)
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
