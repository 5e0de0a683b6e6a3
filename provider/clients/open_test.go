package clients

import (
	"net/url"
	"slices"
	"testing"

	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

func TestHostsOfOpenClients(t *testing.T) {
	listed := OpenConfig{Hosts: []string{"claude.ai", "*.example.com", "127.0.0.1"}}
	for raw, want := range map[string]bool{
		"https://claude.ai/x":           true,
		"https://CLAUDE.ai:8443/x":      true,
		"https://a.example.com/":        true,
		"https://a.b.example.com/":      true,
		"http://127.0.0.1:5000/":        true,
		"https://example.com/":          false,
		"https://.example.com/":         false,
		"https://notexample.com/":       false,
		"https://claude.ai.evil.test/":  false,
		"https://xclaude.ai/":           false,
		"https://claude.ai@evil.test/":  false,
		"https://evil.test/claude.ai":   false,
		"https://evil.test/#.claude.ai": false,
		"https:///claude.ai":            false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := listed.AllowsHost(u); got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
		if !(OpenConfig{}).AllowsHost(u) {
			t.Errorf("%s is refused without a list", raw)
		}
	}
}

// RFC 8252 §7.1, §8.3: what common native applications need holds for those that come by
// themselves, and for no other.
func TestRedirectURIsOfOpenClients(t *testing.T) {
	usual := Config{Open: OpenConfig{Schemes: []string{"cursor"}, LocalhostLoopback: true}}
	fixed, strict := usual, usual
	fixed.Open.LocalhostLoopback = false
	strict.Redirects.Schemes = []string{"https"}
	for _, test := range []struct {
		config                  Config
		origin                  string
		localhostVaries, cursor bool
	}{
		{usual, storage.FromRegistration, true, true},
		{usual, storage.FromDocument, true, true},
		{usual, storage.FromPage, false, false},
		{usual, storage.FromCommand, false, false},
		{usual, "", false, false},
		{fixed, storage.FromDocument, false, true},
		{strict, storage.FromDocument, true, false},
	} {
		var rules redirect.Policy = (&Clients{config: test.config}).Redirects(storage.Application{Origin: test.origin,
			Responsible: storage.ByNobody})
		if got := rules.Match("http://localhost:51000/callback",
			[]string{"http://localhost/callback"}); got != test.localhostVaries {
			t.Errorf("%+v: the port of localhost varies: %v", test, got)
		}
		if wrong := rules.Check("cursor://anysphere.cursor-mcp/oauth/callback"); (wrong == "") != test.cursor {
			t.Errorf("%+v: %s", test, wrong)
		}
		// A stranger must not register a command for an application on the device of a person.
		for _, command := range []string{"cursor://anysphere.cursor-deeplink/mcp/install?name=x",
			"com.example.app:/do?what=x", "com.example.app:/do?"} {
			if open := policy.CameByItself(storage.Application{Origin: test.origin}); open && rules.Check(command) == "" {
				t.Errorf("%+v: %s is accepted", test, command)
			}
		}
		if rules.Check("https://client.example/cb?a=b") != "" || !slices.Contains(rules.Schemes, "https") &&
			rules.Check("http://127.0.0.1/cb?a=b") != "" {
			t.Errorf("%+v: a query is refused elsewhere", test)
		}
		if rules.Check("javascript:alert(1)") == "" || rules.Check("other://name/path") == "" {
			t.Errorf("%+v: another scheme is accepted", test)
		}
	}
}

// Whoever takes an application over decides about its redirect URIs.
func TestCommandsOfApplicationsThatSomebodyAnswersFor(t *testing.T) {
	p := &Clients{config: Config{Open: OpenConfig{Schemes: []string{"cursor"}, LocalhostLoopback: true}}}
	for _, responsible := range []string{storage.ByOperator, storage.ByOwner} {
		taken := storage.Application{Origin: storage.FromRegistration, Responsible: responsible}
		if wrong := p.Redirects(taken).Check("cursor://name/path?a=b"); wrong != "" {
			t.Errorf("responsible %s: %s", responsible, wrong)
		}
	}
}
