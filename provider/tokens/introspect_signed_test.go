package tokens

import (
	"net/http"
	"testing"
)

// RFC 9701 §4: only a caller that names the media type gets a JWT.
func TestWantsSigned(t *testing.T) {
	for accept, want := range map[string]bool{
		"":                                    false,
		"*/*":                                 false,
		"application/*":                       false,
		"application/json":                    false,
		"application/jwt":                     false,
		SignedIntrospection:                   true,
		"Application/Token-Introspection+JWT": true,
		SignedIntrospection + ";q=0":          false,
		SignedIntrospection + "; q=0.5":       true,
		SignedIntrospection + ";q=x":          false,
		SignedIntrospection + ", application/json":       true,
		SignedIntrospection + ";q=0.5, application/json": false,
		"application/json;q=0.5, " + SignedIntrospection: true,
		"text/plain, */*;q=0.1, " + SignedIntrospection:  true,
		"application/x-token-introspection+jwt":          false,
		"application/json, x/" + signedIntrospectionType: false,
		SignedIntrospection + "x":                        false,
		";;;, " + SignedIntrospection:                    true,
	} {
		h := http.Header{}
		if accept != "" {
			h.Set("Accept", accept)
		}
		if wantsSigned(h) != want {
			t.Errorf("%q: %v", accept, !want)
		}
	}
	two := http.Header{"Accept": {"application/json;q=0.1", SignedIntrospection}}
	if !wantsSigned(two) {
		t.Error("in the second of two headers it is not found")
	}
	if n := testing.AllocsPerRun(100, func() { wantsSigned(http.Header(nil)) }); n > 0 {
		t.Errorf("without Accept: %v allocations", n)
	}
}
