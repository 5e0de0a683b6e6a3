package metadata

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, test := range []struct {
		rule, document string
		members        string // of the result
	}{
		{"RFC7591/2 absent members have their defaults", `{}`,
			`{"token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code"],"response_types":["code"],"application_type":"web"}`},
		{"RFC7591/2.1 a client without the authorization endpoint has no response type",
			`{"grant_types":["client_credentials"]}`,
			`{"token_endpoint_auth_method":"client_secret_basic","grant_types":["client_credentials"],"application_type":"web"}`},
		{"RFC7591/2 unknown members are ignored",
			`{"code_challenge_method":"S256","example":{"a":[1]},"application_type":"native","token_endpoint_auth_method":"none"}`,
			`{"token_endpoint_auth_method":"none","grant_types":["authorization_code"],"response_types":["code"],"application_type":"native"}`},
		{"empty strings, null and empty lists are absent",
			`{"client_uri":"","logo_uri":"","tos_uri":"","scope":"","contacts":[],"jwks":null,"client_name":null,"token_endpoint_auth_method":"","redirect_uris":["",  "https://a.example/cb"]}`,
			`{"redirect_uris":["https://a.example/cb"],"token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code"],"response_types":["code"],"application_type":"web"}`},
		{"a repeated string of a list is kept once",
			`{"redirect_uris":["https://a.example/","https://a.example/"],"token_endpoint_auth_method":"none"}`,
			`{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"none","grant_types":["authorization_code"],"response_types":["code"],"application_type":"web"}`},
		{"RFC7591/2.2 language tags are kept",
			`{"client_name":"Names","client_name#de":"Namen","tos_uri#ja-Jpan-JP":"https://a.example/ja","scope#de":"x","client_name#":"x","client_name#a b":"x"}`,
			`{"client_name":"Names","client_name#de":"Namen","tos_uri#ja-Jpan-JP":"https://a.example/ja","token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code"],"response_types":["code"],"application_type":"web"}`},
		{"numbers, booleans and objects keep their values",
			`{"default_max_age":0,"require_auth_time":true,"jwks":{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b"}]}}`,
			`{"default_max_age":0,"require_auth_time":true,"jwks":{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b"}]},"token_endpoint_auth_method":"client_secret_basic","grant_types":["authorization_code"],"response_types":["code"],"application_type":"web"}`},
	} {
		t.Run(test.rule, func(t *testing.T) {
			c, err := Parse([]byte(test.document))
			if err != nil {
				t.Fatal(err)
			}
			var want, got map[string]any
			written, err := json.Marshal(c.Members())
			if err != nil || json.Unmarshal(written, &got) != nil || json.Unmarshal([]byte(test.members), &want) != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ rule, document, member string }{
		{"no JSON", `{`, ""},
		{"no object", `[]`, ""},
		{"null", `null`, ""},
		{"two documents", `{}{}`, ""},
		{"no UTF-8", "{\"client_name\":\"\xff\"}", ""},
		{"a member twice", `{"scope":"a","scope":"b"}`, ""},
		{"an inner member twice", `{"jwks":{"keys":[{"kty":"RSA","kty":"EC"}]}}`, ""},
		{"an unknown inner member twice", `{"x":[{"a":1,"a":2}]}`, ""},
		{"a member twice in another spelling", `{"scope":"a","\u0073cope":"b"}`, ""},
		{"too many levels", `{"x":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`, ""},
		{"too many bytes", `{"x":"` + strings.Repeat("a", MaxBytes) + `"}`, ""},
		{"a number for a string", `{"client_name":7}`, "client_name"},
		{"a string for a list", `{"redirect_uris":"https://a.example/"}`, "redirect_uris"},
		{"a number in a list", `{"redirect_uris":[7]}`, "redirect_uris"},
		{"null in a list", `{"redirect_uris":[null]}`, "redirect_uris"},
		{"a string for a flag", `{"require_auth_time":"true"}`, "require_auth_time"},
		{"a fraction for a number", `{"default_max_age":1.5}`, "default_max_age"},
		{"a negative age", `{"default_max_age":-1}`, "default_max_age"},
		{"an object for a translated name", `{"client_name#de":{}}`, "client_name#de"},
		{"a long string", `{"client_name":"` + strings.Repeat("a", 3000) + `"}`, "client_name"},
		{"a long list", `{"contacts":["a"` + strings.Repeat(`,"a"`, 200) + `]}`, "contacts"},
		{"RFC7591/2.1 a grant type without its response type",
			`{"grant_types":["authorization_code"],"response_types":["token"]}`, "grant_types"},
		{"RFC7591/2.1 a response type without its grant type",
			`{"grant_types":["client_credentials"],"response_types":["code"]}`, "response_types"},
		{"RFC7591/2 two sources of keys", `{"jwks_uri":"https://a.example/k","jwks":{"keys":[{"kty":"RSA"}]}}`, "jwks"},
		{"OIDC-REG/2 keys over http", `{"jwks_uri":"http://a.example/k"}`, "jwks_uri"},
		{"OIDC-REG/2 a sector over http", `{"sector_identifier_uri":"http://a.example/k"}`, "sector_identifier_uri"},
		{"a script for a page", `{"client_uri":"javascript:alert(1)"}`, "client_uri"},
		{"data for a logo", `{"logo_uri":"data:image/svg+xml,x"}`, "logo_uri"},
		{"a script for a translated page", `{"policy_uri#de":"javascript:alert(1)"}`, "policy_uri#de"},
		{"a user name in a page", `{"tos_uri":"https://bank.example@evil.example/"}`, "tos_uri"},
		{"an unknown kind of application", `{"application_type":"tv"}`, "application_type"},
		{"a list for a key set", `{"jwks":[]}`, "jwks"},
		{"a key set without keys", `{"jwks":{}}`, "jwks"},
		{"OIDC-REG/2 a private key", `{"jwks":{"keys":[{"kty":"EC","d":"x"}]}}`, "jwks"},
		{"OIDC-REG/2 a symmetric key", `{"jwks":{"keys":[{"kty":"oct","k":"x"}]}}`, "jwks"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			_, err := Parse([]byte(test.document))
			var wrong *Error
			if !errors.As(err, &wrong) || wrong.Member != test.member {
				t.Errorf("%v, want an error about %q", err, test.member)
			}
		})
	}
}

func TestSent(t *testing.T) {
	c, err := Parse([]byte(`{"client_secret_expires_at":0,"client_id":"","registration_access_token":null,"scope":"a"}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]bool{"client_secret_expires_at": true, "scope": true, "client_id": false,
		"registration_access_token": false, "client_name": false} {
		if c.Sent(name) != want {
			t.Errorf("%s: sent %v", name, !want)
		}
	}
}

// A member that was valid when it was stored, and is not any more, must not take the others with it.
func TestKept(t *testing.T) {
	for _, test := range []struct{ stored, want, wrong string }{
		{`{"client_uri":"https://tool.example/","contacts":["a@tool.example"]}`,
			`{"client_uri":"https://tool.example/","contacts":["a@tool.example"]}`, ""},
		{`{"client_uri":"https://\u0430pple.com/","tos_uri":"https://tool.example/terms","software_id":"x"}`,
			`{"software_id":"x","tos_uri":"https://tool.example/terms"}`, "client_uri"},
		{
			`{"client_uri":"https://\u0430pple.com/","logo_uri":"https://%D0%B0pple.com/","policy_uri#de":"https://\u0430pple.com/","client_name#de":"Planer"}`,
			`{"client_name#de":"Planer"}`, "client_uri logo_uri policy_uri#de"},
		{`{"initiate_login_uri":"https://\u0430pple.com/","require_auth_time":true}`,
			`{"require_auth_time":true}`, "initiate_login_uri"},
		{`{"contacts":"a@tool.example","software_statement":"a.b.c"}`, `{"software_statement":"a.b.c"}`, "contacts"},
		// Subjects are derived from its host.
		{`{"sector_identifier_uri":"https://\u0430pple.com/uris","client_uri":"https://tool.example/"}`,
			`{"client_uri":"https://tool.example/","sector_identifier_uri":"https://\u0430pple.com/uris"}`,
			"sector_identifier_uri"},
		{`{"sector_identifier_uri":7,"client_uri":"https://tool.example/"}`,
			`{"client_uri":"https://tool.example/"}`, "sector_identifier_uri"},
		// Each of these two is right alone.
		{`{"grant_types":["client_credentials"],"response_types":["code"]}`, `{}`, "response_types"},
		{`{`, `{}`, "the document"},
	} {
		c, dropped := Kept([]byte(test.stored))
		got := c.Members()
		for _, name := range []string{"application_type", "token_endpoint_auth_method", "grant_types", "response_types"} {
			delete(got, name)
		}
		var want map[string]any
		if err := json.Unmarshal([]byte(test.want), &want); err != nil {
			t.Fatal(err)
		}
		written, _ := json.Marshal(got)
		expected, _ := json.Marshal(want)
		if string(written) != string(expected) {
			t.Errorf("%s: %s, want %s", test.stored, written, expected)
		}
		var names []string
		for _, wrong := range dropped {
			if wrong.Member == "" {
				wrong.Member = "the document"
			}
			names = append(names, wrong.Member)
		}
		if strings.Join(names, " ") != test.wrong {
			t.Errorf("%s: dropped %q, want %q", test.stored, names, test.wrong)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, document := range []string{`{}`,
		`{"redirect_uris":["https://a.example/"],"jwks":{"keys":[{"kty":"RSA","n":"a","e":"AQAB"}]},"client_name#de":"x","default_max_age":3}`, `{"a":1,"a":2}`, `[`, `{"x":[[[]]]}`} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		c, err := Parse(document)
		if err != nil {
			var wrong *Error
			if !errors.As(err, &wrong) {
				t.Fatalf("%T", err)
			}
			return
		}
		written, err := json.Marshal(c.Members())
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(written)
		if err != nil {
			t.Fatalf("%s: %v", written, err)
		}
		if d := cmp.Diff(c.Members(), again.Members()); d != "" {
			t.Error(d)
		}
	})
}
