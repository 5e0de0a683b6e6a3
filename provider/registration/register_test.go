package registration

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"mandate/provider/oauth/oauthtest"
	"mandate/testkit"
)

// RFC 6750 §2: one token, in the header. A request without one is open registration.
func TestRegistrationBearer(t *testing.T) {
	for name, test := range map[string]struct {
		target     string
		header     []string
		want, kind string
	}{
		"none":              {"/register", nil, "", "no error"},
		"a token":           {"/register", []string{"Bearer token"}, "token", "no error"},
		"another case":      {"/register", []string{"bearer  token"}, "token", "no error"},
		"another scheme":    {"/register", []string{"Basic token"}, "", "401 invalid_token"},
		"no token":          {"/register", []string{"Bearer "}, "", "401 invalid_token"},
		"two headers":       {"/register", []string{"Bearer one", "Bearer two"}, "", "400 invalid_request"},
		"in the query":      {"/register?access_token=token", nil, "", "400 invalid_request"},
		"in the query, too": {"/register?access_token=", []string{"Bearer token"}, "", "400 invalid_request"},
	} {
		r := httptest.NewRequest(http.MethodPost, test.target, nil)
		r.Header["Authorization"] = test.header
		got, err := registrationBearer(r)
		if got != test.want || oauthtest.Kind(err) != test.kind {
			t.Errorf("%s: %q, %s", name, got, oauthtest.Kind(err))
		}
	}
}

// RFC 8252 §7: a native application gets its response by a scheme of its own, or on the person's computer.
func TestIsNative(t *testing.T) {
	for uri, want := range map[string]bool{
		"https://app.example/callback": false, "http://app.example/callback": false, "http://192.0.2.1/": false,
		"https://localhost/": false, "http://localhost:8080/": true, "http://127.0.0.1/": true, "http://[::1]:1/": true,
		"com.example.app:/callback": true, "://": false,
	} {
		if got := isNative(uri); got != want {
			t.Errorf("%s: %t", uri, got)
		}
	}
}

// Every place for reading a list is given back.
func TestSectorsAtOnce(t *testing.T) {
	s := newSectors()
	read := func() {
		leave, err := s.enter("https://client.example/sectors", "somebody")
		if err == nil {
			leave(true)
		}
	}
	testkit.AtOnce(read, read, read)
	if taken := s.places.TakenBy("somebody"); taken != 0 {
		t.Errorf("%d places are taken", taken)
	}
}
