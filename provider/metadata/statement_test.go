package metadata

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// signed verifies a statement whose text is its claims.
func signed(statement string) ([]byte, error) { return []byte(statement), nil }

// withStatement returns a document with the given members and a statement with the claims.
func withStatement(t *testing.T, document, claims string) []byte {
	t.Helper()
	var values map[string]any
	if err := json.Unmarshal([]byte(document), &values); err != nil {
		t.Fatal(err)
	}
	values["software_statement"] = claims
	text, err := json.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestStatementReplacesMembers(t *testing.T) {
	for rule, test := range map[string]struct{ document, claims, want string }{
		"RFC7591/3.1.1 values of the statement take precedence": {`{"client_name":"Mine","scope":"a","software_id":"x"}`,
			`{"client_name":"Signed","software_id":"y"}`,
			`{"client_name":"Signed","scope":"a","software_id":"y"}`},
		"a list is replaced as a whole": {`{"redirect_uris":["https://a.example/"],"contacts":["a"]}`,
			`{"redirect_uris":["https://b.example/"]}`, `{"redirect_uris":["https://b.example/"],"contacts":["a"]}`},
		"a translation of a signed name is not kept": {
			`{"client_name":"Mine","client_name#de":"Meins","tos_uri#de":"https://a.example/de"}`, `{"client_name":"Signed"}`,
			`{"client_name":"Signed","tos_uri#de":"https://a.example/de"}`},
		"a signed translation replaces that one alone": {`{"client_name":"Mine","client_name#de":"Meins"}`,
			`{"client_name#de":"Signiert"}`, `{"client_name":"Mine","client_name#de":"Signiert"}`},
		"claims that are no metadata are ignored": {`{"client_name":"Mine"}`,
			`{"iss":"https://i.example","sub":1,"exp":2,"owner":"root","Client_Name":"x","scope#de":"x"}`,
			`{"client_name":"Mine"}`},
		"absent claims replace nothing": {`{"client_name":"Mine","scope":"a"}`,
			`{"client_name":"","scope":null,"client_id":"","client_secret":null}`, `{"client_name":"Mine","scope":"a"}`},
		"a plain value that is replaced may be anything": {`{"client_name":7}`, `{"client_name":"Signed"}`,
			`{"client_name":"Signed"}`},
		"the halves of a pair may come from both": {`{"response_types":["code"]}`,
			`{"grant_types":["authorization_code"]}`, `{}`},
	} {
		t.Run(rule, func(t *testing.T) {
			document := withStatement(t, test.document, test.claims)
			c, err := ParseSigned(document, signed)
			if err != nil {
				t.Fatal(err)
			}
			if c.SoftwareStatement != test.claims {
				t.Error(c.SoftwareStatement)
			}
			want, err := Parse([]byte(test.want))
			if err != nil {
				t.Fatal(err)
			}
			want.SoftwareStatement = test.claims
			if d := cmp.Diff(want.Members(), c.Members()); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestStatementRefused(t *testing.T) {
	for rule, test := range map[string]struct {
		claims, member string
		signed         bool
	}{
		"no object":                              {`[]`, "", true},
		"a claim twice":                          {`{"scope":"a","scope":"b"}`, "", true},
		"a claim of another kind twice":          {`{"iss":"a","iss":"b"}`, "", true},
		"a number for a name":                    {`{"client_name":7}`, "client_name", true},
		"a secret":                               {`{"client_secret":"x"}`, "client_secret", true},
		"a client id":                            {`{"client_id":"x"}`, "client_id", true},
		"a registration access token":            {`{"registration_access_token":"x"}`, "registration_access_token", true},
		"a statement in a statement":             {`{"software_statement":"x"}`, "software_statement", true},
		"a private key":                          {`{"jwks":{"keys":[{"kty":"RSA","d":"x"}]}}`, "jwks", true},
		"a script as a page":                     {`{"client_uri":"javascript:alert(1)"}`, "client_uri", false},
		"keys in the statement and in plain":     {`{"jwks_uri":"https://a.example/keys"}`, "jwks", false},
		"a type that contradicts the plain type": {`{"grant_types":["client_credentials"]}`, "response_types", false},
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := ParseSigned(withStatement(t, `{"response_types":["code"],"jwks":{"keys":[{"kty":"RSA"}]}}`, test.claims),
				signed)
			wrong, is := errors.AsType[*Error](err)
			if !is || wrong.Member != test.member || wrong.Signed != test.signed {
				t.Errorf("%+v", err)
			}
		})
	}
	refusal := errors.New("not signed")
	_, err := ParseSigned(withStatement(t, `{}`, `{}`), func(string) ([]byte, error) { return nil, refusal })
	if !errors.Is(err, refusal) {
		t.Error(err)
	}
	for _, document := range []string{`{}`, `{"software_statement":null}`, `{"software_statement":""}`} {
		_, err = ParseSigned([]byte(document), func(string) ([]byte, error) { return nil, refusal })
		if err != nil {
			t.Error(document, err)
		}
	}
	_, err = ParseSigned([]byte(`{"software_statement":7}`), signed)
	if wrong, is := errors.AsType[*Error](err); !is || wrong.Member != "software_statement" || wrong.Signed {
		t.Error(err)
	}
}

// A plain member is a text as any other, and one that the issuer has signed counts before what the client sends.
func TestPlainMember(t *testing.T) {
	claims := func(string) ([]byte, error) { return []byte(`{"note":"signed"}`), nil }
	for _, test := range []struct{ document, want string }{
		{`{"note":"sent"}`, "sent"},
		{`{"note":null}`, ""},
		{`{"note":"sent","software_statement":"a.b.c"}`, "signed"},
	} {
		c, err := ParseSigned([]byte(test.document), claims, "note")
		if err != nil || c.Text("note") != test.want {
			t.Errorf("%s: %v, want %q", test.document, err, test.want)
		}
	}
	_, err := ParseSigned([]byte(`{"note":7}`), claims, "note")
	var wrong *Error
	if !errors.As(err, &wrong) || wrong.Member != "note" {
		t.Errorf("a number for a plain member: %v", err)
	}
}
