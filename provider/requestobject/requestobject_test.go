package requestobject

import (
	"encoding/json"
	"maps"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const now = 1_800_000_000

var rules = Rules{ClientID: "client", Issuer: "https://auth.example/o"}

// object returns the claims of a good object with changes. A nil value removes a claim.
func object(t testing.TB, changes map[string]any) []byte {
	t.Helper()
	claims := map[string]any{"iss": "client", "aud": "https://auth.example/o", "client_id": "client", "exp": now + 60,
		"nbf": now, "response_type": "code"}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	text, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type claim = map[string]any

func TestParameters(t *testing.T) {
	common := url.Values{"client_id": {"client"}, "response_type": {"code"}}
	for name, test := range map[string]struct {
		changes claim
		adds    url.Values
	}{
		"a small object":                  {nil, nil},
		"RFC9101/4 aud is an array":       {claim{"aud": []string{"x", "https://auth.example/o"}}, nil},
		"times are optional":              {claim{"exp": nil, "nbf": nil}, nil},
		"nbf is a little ahead":           {claim{"nbf": now + 60}, nil},
		"a fraction of a second":          {claim{"exp": now + 1.5}, nil},
		"another subject":                 {claim{"sub": "somebody"}, nil},
		"claims of JWT are no parameters": {claim{"jti": "x", "iat": now}, nil},
		"text": {claim{"state": "a & b", "scope": "openid read"},
			url.Values{"state": {"a & b"}, "scope": {"openid read"}}},
		"OIDCCore/6.1 max_age is a number": {claim{"max_age": 3600}, url.Values{"max_age": {"3600"}}},
		"max_age is text":                  {claim{"max_age": "3600"}, url.Values{"max_age": {"3600"}}},
		"OIDCCore/6.1 claims is an object": {claim{"claims": claim{"id_token": nil}},
			url.Values{"claims": {`{"id_token":null}`}}},
		"RFC8707/2 resource is an array": {claim{"resource": []string{"https://a", "https://b"}},
			url.Values{"resource": {"https://a", "https://b"}}},
		"resource is text":                       {claim{"resource": "https://a"}, url.Values{"resource": {"https://a"}}},
		"resource is empty":                      {claim{"resource": []string{}}, nil},
		"an unknown parameter":                   {claim{"x": "y"}, url.Values{"x": {"y"}}},
		"the object cannot hide a second client": {claim{"client_ID": "other"}, url.Values{"client_ID": {"other"}}},
	} {
		want := maps.Clone(common)
		maps.Copy(want, test.adds)
		got, err := Parameters(object(t, test.changes), rules, now)
		if d := cmp.Diff(want, got); d != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, d)
		}
	}
}

func TestWrongObjects(t *testing.T) {
	for name, test := range map[string]struct {
		changes claim
		want    string
	}{
		"RFC9101/5 another client":           {claim{"client_id": "other"}, "client_id"},
		"RFC9101/5 no client":                {claim{"client_id": nil}, "client_id"},
		"client_id is a list":                {claim{"client_id": []string{"client"}}, "client_id"},
		"RFC9101/4 another issuer":           {claim{"iss": "other"}, "iss"},
		"no issuer":                          {claim{"iss": nil}, "iss"},
		"RFC9101/4 another audience":         {claim{"aud": "https://other.example"}, "aud"},
		"no audience":                        {claim{"aud": nil}, "aud"},
		"an empty audience":                  {claim{"aud": []string{}}, "aud"},
		"an audience that begins like ours":  {claim{"aud": "https://auth.example/o/token"}, "aud"},
		"RFC9101/10.8 sub is the client":     {claim{"sub": "client"}, "sub"},
		"RFC9101/4 an object in the object":  {claim{"request": "x"}, "claim \"request\" "},
		"RFC9101/4 a reference inside":       {claim{"request_uri": "https://x"}, "request_uri"},
		"RFC7519/4.1.4 expired":              {claim{"exp": now}, "expired"},
		"exp is text":                        {claim{"exp": "1900000000"}, "exp"},
		"exp is huge":                        {claim{"exp": 1e300}, "exp"},
		"RFC7519/4.1.5 nbf is ahead":         {claim{"nbf": now + 61}, "nbf"},
		"iat is ahead":                       {claim{"iat": now + 61}, "iat"},
		"iat is text":                        {claim{"iat": "x"}, "iat"},
		"a parameter is a number":            {claim{"state": 7}, "state"},
		"a parameter is true":                {claim{"prompt": true}, "prompt"},
		"a parameter is a list":              {claim{"scope": []string{"openid"}}, "scope"},
		"a parameter is an object":           {claim{"redirect_uri": claim{"x": "y"}}, "redirect_uri"},
		"max_age is a list":                  {claim{"max_age": []int{1}}, "max_age"},
		"claims is text":                     {claim{"claims": `{"id_token":null}`}, "claims"},
		"resource has a number":              {claim{"resource": []any{"https://a", 7}}, "resource"},
		"resource has null":                  {claim{"resource": []any{nil}}, "resource"},
		"resource is an object":              {claim{"resource": claim{}}, "resource"},
		"the name of a parameter is hostile": {claim{"a\n\"b": 1}, `a\n\"b`},
	} {
		got, err := Parameters(object(t, test.changes), rules, now)
		if err == nil || got != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
	for _, text := range []string{"", "null", "[]", `"x"`, "{", `{"a":}`, `{"a" "b"}`, "\xff"} {
		if got, err := Parameters([]byte(text), rules, now); err == nil {
			t.Errorf("%q is read: %v", text, got)
		}
	}
	twice := strings.Replace(string(object(t, claim{"scope": "read"})), "{", `{"scope":"write",`, 1)
	if _, err := Parameters([]byte(twice), rules, now); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Error("RFC7519/4 a claim twice:", err)
	}
	null := strings.Replace(string(object(t, nil)), "{", `{"state":null,`, 1)
	if _, err := Parameters([]byte(null), rules, now); err == nil {
		t.Error("a parameter is null")
	}
}

// The limits of FAPI 2.0 Message Signing.
func TestBoundedObjects(t *testing.T) {
	bounded := rules
	bounded.Bounded = true
	for name, test := range map[string]struct {
		changes claim
		good    bool
	}{
		"both times":                {nil, true},
		"the longest":               {claim{"nbf": now - 3600, "exp": now + 0.0}, false},
		"nbf is as old as it may":   {claim{"nbf": now - 3599, "exp": now + 1}, true},
		"nbf is too old":            {claim{"nbf": now - 3601, "exp": now + 1}, false},
		"nbf is 8 seconds ahead":    {claim{"nbf": now + 8}, true},
		"exp is too late":           {claim{"exp": now + 3601}, false},
		"exp is as late as it may":  {claim{"exp": now + 3600}, true},
		"no exp":                    {claim{"exp": nil}, false},
		"no nbf":                    {claim{"nbf": nil}, false},
		"no nbf, but a recent iat":  {claim{"nbf": nil, "iat": now}, false},
		"nbf ahead, exp after that": {claim{"nbf": now + 60, "exp": now + 3660}, true},
	} {
		_, err := Parameters(object(t, test.changes), bounded, now)
		if (err == nil) != test.good {
			t.Errorf("FAPI-MS/5.3.1 %s: %v", name, err)
		}
	}
}

// Whatever the claims are, a parameter is text of the object, and the client is the right one.
func FuzzParameters(f *testing.F) {
	for _, changes := range []claim{nil, {"resource": []string{"https://a"}}, {"claims": claim{"userinfo": nil}},
		{"max_age": 1}, {"request": "x"}, {"aud": []any{1}}, {"exp": -1e9}} {
		f.Add(object(f, changes))
	}
	f.Add([]byte(`{"a":1,"a":2}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := Parameters(raw, rules, now)
		if err != nil {
			if got != nil || err.Error() == "" {
				t.Errorf("%q: %v %v", raw, got, err)
			}
			return
		}
		if !json.Valid(raw) || got.Get("client_id") != "client" || got.Has("request") || got.Has("request_uri") ||
			got.Has("exp") {
			t.Errorf("%q is read as %v", raw, got)
		}
		for name, values := range got {
			if len(values) == 0 || len(values) > 1 && name != "resource" {
				t.Errorf("%q: %s is %q", raw, name, values)
			}
		}
	})
}
