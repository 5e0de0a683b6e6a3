package authorize

import (
	"encoding/base64"
	"maps"
	"net/url"
	"testing"
)

// values returns a form with these names and values.
func values(pairs ...string) url.Values {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Set(pairs[i], pairs[i+1])
	}
	return form
}

// OIDC Core §3.1.2.6: two parameters of a refused request object are used, if the request does not have them itself.
// The rest of the object is ignored, whatever it is.
func FuzzRefusedObject(f *testing.F) {
	for _, claims := range []string{`{"state":"s","response_mode":"form_post","client_id":"x","prompt":"none"}`,
		`{"state":1}`, `{"state":""}`, "[]", "null", "{", "{}{}"} {
		f.Add("." + base64.RawURLEncoding.EncodeToString([]byte(claims)) + ".")
	}
	f.Add("..")
	f.Add("a.b.c.d.e")
	f.Fuzz(func(t *testing.T, object string) {
		for _, outside := range []url.Values{values("client_id", "c"), values("client_id", "c", "state", "o"),
			values("client_id", "c", "state", "o", "response_mode", "query")} {
			a := &Authorization{parameters: maps.Clone(outside)}
			a.parameters.Set("request", object)
			a.readRefusedObject()
			for name, values := range a.parameters {
				switch {
				case len(values) != 1, outside.Has(name) && values[0] != outside.Get(name):
					t.Errorf("%s was %q, and is %q", name, outside[name], values)
				case !outside.Has(name) && name != "request" && (name != "state" && name != "response_mode" || values[0] == ""):
					t.Errorf("%s is %q", name, values)
				}
			}
		}
		twice := &Authorization{parameters: url.Values{"request": {object, object}}}
		twice.readRefusedObject()
		if len(twice.parameters) != 1 {
			t.Errorf("of two objects: %v", twice.parameters)
		}
	})
}
