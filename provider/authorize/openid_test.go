package authorize

import (
	"net/url"
	"strings"
	"testing"

	"mandate/provider/acr"
	"mandate/provider/oauth/oauthtest"
)

// OIDC Core §3.1.2.1: prompt, display and max_age.
func TestReadPrompt(t *testing.T) {
	for _, test := range []struct {
		sent   url.Values
		prompt string
		maxAge int64
		err    string
	}{
		{values(), "", -1, "no error"},
		{values("prompt", "none"), "none", -1, "no error"},
		{values("prompt", "login consent select_account"), "login consent select_account", -1, "no error"},
		{values("prompt", "none login"), "none login", -1, "400 invalid_request"},
		{values("prompt", "consent none"), "consent none", -1, "400 invalid_request"},
		{values("prompt", "none none"), "none none", -1, "400 invalid_request"},
		{values("prompt", "Login"), "Login", -1, "400 invalid_request"},
		{values("prompt", "create"), "create", -1, "400 invalid_request"},
		{values("display", "page"), "", -1, "no error"},
		{values("display", "wap"), "", -1, "no error"},
		{values("display", "wall"), "", -1, "400 invalid_request"},
		{values("max_age", "0"), "", 0, "no error"},
		{values("max_age", "2147483647"), "", 2147483647, "no error"},
		{values("max_age", "2147483648"), "", -1, "400 invalid_request"},
		{values("max_age", "-1"), "", -1, "400 invalid_request"},
		{values("max_age", "1.5"), "", -1, "400 invalid_request"},
		{values("max_age", "soon"), "", -1, "400 invalid_request"},
	} {
		o := OpenIDRequest{maxAge: -1}
		err := o.readPrompt(test.sent)
		if err == nil {
			err = o.readMaxAge(test.sent)
		}
		if oauthtest.Kind(err) != test.err || strings.Join(o.prompt, " ") != test.prompt || o.maxAge != test.maxAge {
			t.Errorf("%v: %q %d %v", test.sent, o.prompt, o.maxAge, err)
		}
	}
}

// OIDC Core §5.5: the claims parameter.
func TestReadClaims(t *testing.T) {
	allowed := []string{"openid", "email", "profile"}
	for _, test := range []struct{ sent, kept, told, subjects, err string }{
		{"", "", "", "", "no error"},
		{"{}", "{}", "", "", "no error"},
		{"null", "{}", "", "", "no error"},
		{"[]", "", "", "", "400 invalid_request"},
		{"email", "", "", "", "400 invalid_request"},
		{`{"id_token":1}`, "", "", "", "400 invalid_request"},
		{`{"id_token":{"email":true}}`, "", "", "", "400 invalid_request"},
		{`{"userinfo":{"a":"` + strings.Repeat("x", maxClaims) + `"}}`, "", "", "", "400 invalid_request"},
		{`{"userinfo":{"email":null},"id_token":{"name":{"essential":true}}}`,
			`{"userinfo":{"email":null},"id_token":{"name":{"essential":true}}}`, "email profile", "", "no error"},
		{`{"userinfo":{"email":null,"phone_number":null},"id_token":{"address":null}}`, `{"userinfo":{"email":null}}`,
			"email", "", "no error"},
		{`{"userinfo":{"nationality":null,"email":null}}`, `{"userinfo":{"email":null}}`, "email", "", "no error"},
		{`{"verified_claims":{"x":null}}`, "{}", "", "", "no error"},
		{`{"id_token":{"acr":{"essential":true,"values":["urn:x","` + acr.Password + `"]}}}`, "{}", "", "", "no error"},
		{`{"id_token":{"acr":{"value":"urn:x"}}}`, "{}", "", "", "no error"},
		{`{"id_token":{"acr":{"essential":true,"value":"urn:x"}}}`, "{}", "", "", "400 unmet_authentication_requirements"},
		{`{"userinfo":{"sub":{"value":"a"}}}`, "{}", "", "", "no error"},
		{`{"id_token":{"sub":null}}`, "{}", "", "", "no error"},
		{`{"id_token":{"sub":{"value":"a"}}}`, "{}", "", "a", "no error"},
		{`{"id_token":{"sub":{"values":["a","b"]}}}`, "{}", "", "a b", "no error"},
		{`{"id_token":{"sub":{"value":"c","values":["a","b"]}}}`, "{}", "", "a b c", "no error"},
		{`{"id_token":{"sub":{"value":""}}}`, "{}", "", "", "400 invalid_request"},
		{`{"id_token":{"sub":{"value":1}}}`, "{}", "", "", "400 invalid_request"},
		{`{"id_token":{"sub":{"values":["a",null]}}}`, "{}", "", "a", "400 invalid_request"},
	} {
		var o OpenIDRequest
		err := o.readClaims(values("claims", test.sent), allowed, acr.Values())
		if oauthtest.Kind(err) != test.err || o.claims != test.kept || strings.Join(o.claimScopes, " ") != test.told ||
			strings.Join(o.Subjects, " ") != test.subjects {
			t.Errorf("%.80s: kept %q, told %q, subjects %q, %v", test.sent, o.claims, o.claimScopes, o.Subjects, err)
		}
	}
}
