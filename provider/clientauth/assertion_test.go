package clientauth

import (
	"log/slog"
	"testing"

	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/storage"
)

// RFC 10070 §4: aud is the issuer, as a string or as an array of that string. A profile can require
// the string.
func TestAssertionAudience(t *testing.T) {
	const issuer, mutual = "https://id.example/o", "https://mutual.example/o"
	p := &Checks{config: Config{Issuer: issuer, Bases: []string{issuer, mutual}}, log: slog.New(slog.DiscardHandler)}
	for name, test := range map[string]struct {
		aud              any
		list, textAlone  bool // accepted
		endpoints, older bool // the application may name the address of an endpoint; accepted then
	}{
		"the issuer":                     {aud: issuer, list: true, textAlone: true},
		"an array of the issuer":         {aud: []any{issuer}, list: true},
		"an empty array":                 {aud: []any{}},
		"the issuer twice":               {aud: []any{issuer, issuer}},
		"the issuer and another":         {aud: []any{issuer, "https://other.example"}},
		"an array in an array":           {aud: []any{[]any{issuer}}},
		"an array of a number":           {aud: []any{7.0}},
		"a slash at the end":             {aud: issuer + "/"},
		"the token endpoint":             {aud: issuer + "/token/"},
		"the token endpoint, allowed":    {aud: issuer + "/token/", endpoints: true, older: true},
		"that for certificates, allowed": {aud: mutual + "/token/", endpoints: true, older: true},
		"that for certificates":          {aud: mutual + "/token/"},
		"the URL for certificates":       {aud: mutual, endpoints: true},
		"none":                           {},
	} {
		a := storage.Application{ID: name, EndpointAudience: test.endpoints}
		if err := p.checkAudience(a, jose.Claims{"aud": test.aud}, "token"); (err == nil) != (test.list || test.older) {
			t.Errorf("%s: %v", name, err)
		}
		a.Profile = policy.ProfileFAPI
		if err := p.checkAudience(a, jose.Claims{"aud": test.aud}, "token"); (err == nil) != (test.textAlone || test.older) {
			t.Errorf("%s, the string alone: %v", name, err)
		}
	}
}

// The table of methods is not made for each assertion.
func TestMethodsAreMadeOnce(t *testing.T) {
	a := storage.Application{ClientType: "confidential", AuthMethod: "private_key_jwt"}
	older := storage.Application{ClientType: "confidential"}
	if n := testing.AllocsPerRun(100, func() {
		_, _ = MethodOf(a.AuthMethod)
		_, _ = HasSecret(a), HasSecret(older)
		_ = AlgorithmsOf(a)
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
	AssertionAlgorithms()[0], Methods()[0].Name = "changed", "changed"
	if AssertionAlgorithms()[0] == "changed" || Methods()[0].Name == "changed" {
		t.Error("the table can be changed")
	}
}

// RFC 9101 §10.8: what a client signs for a browser is no credential of the client.
func TestRequestObjectIsNoAssertion(t *testing.T) {
	for name, test := range map[string]struct {
		kind string
		more string
		good bool
	}{
		"an assertion":                      {"JWT", "", true},
		"without a typ":                     {"", "", true},
		"an object without a typ":           {"", "response_type", false},
		"an object of any JWT's type":       {"JWT", "client_id", false},
		"an object by its redirect URI":     {"application/jwt", "redirect_uri", false},
		"an object by its scope":            {"", "scope", false},
		"an object by its state":            {"", "state", false},
		"an object by its challenge":        {"", "code_challenge", false},
		"an assertion that says what it is": {"Client-Authentication+JWT", "client_id", true},
		"the same as a media type":          {"application/client-authentication+jwt", "client_id", true},
	} {
		one := &assertion{kind: test.kind, claims: jose.Claims{"iss": "c", "sub": "c", "jti": "1"}}
		if test.more != "" {
			one.claims[test.more] = nil
		}
		if err := one.checkPurpose(); (err == nil) != test.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
