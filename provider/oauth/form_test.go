package oauth_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
)

// post returns a request with this form in its body.
func post(body string) *http.Request {
	r := httptest.NewRequest(http.MethodPost, "https://auth.example/o/token/", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestForm(t *testing.T) {
	t.Run("RFC6749/3.2 an empty value counts as left out", func(t *testing.T) {
		r := post("a=1&b=&c&d=x+y%20%C3%BC")
		form, err := oauth.ReadForm(r)
		if err != nil {
			t.Fatal(err)
		}
		want := url.Values{"a": {"1"}, "d": {"x y ü"}}
		if d := cmp.Diff(want, form); d != "" {
			t.Error(d)
		}
		if d := cmp.Diff(want, r.PostForm); d != "" {
			t.Error("fosite reads", d)
		}
	})
	for rule, body := range map[string]string{
		"RFC6749/3.2 a name twice":                         "a=1&a=2",
		"RFC6749/3.2 a name twice with the same value":     "a=1&a=1",
		"RFC6749/3.2 a name twice, the first empty":        "a=&a=1",
		"RFC6749/3.2 a name twice, the second empty":       "a=1&a=",
		"RFC6749/3.2 a name twice, both empty":             "a&a",
		"RFC6749/3.2 a name twice, once encoded":           "a=1&%61=2",
		"RFC6749/B a value that is not UTF-8":              "a=%ff",
		"RFC6749/B an overlong encoding":                   "a=%c0%af",
		"RFC6749/B a surrogate":                            "a=%ed%a0%80",
		"RFC6749/B a name that is not UTF-8":               "%ff=a",
		"a NUL in a value":                                 "a=b%00",
		"a NUL in a name":                                  "a%00=b",
		"percent-encoding that breaks off":                 "a=%",
		"percent-encoding that is none":                    "a=%zz",
		"a semicolon, which other readers take for an and": "a=1;b=2",
	} {
		t.Run(rule, func(t *testing.T) {
			_, err := oauth.ReadForm(post(body))
			oauthtest.Want(t, err, "400 invalid_request")
		})
	}
	for _, kind := range []string{"", "application/json", "multipart/form-data; boundary=x", "text/plain",
		"application/x-www-form-urlencoded2", "application/x-www-form-urlencoded; ="} {
		t.Run("RFC6749/3.2 the body is not a form but "+kind, func(t *testing.T) {
			r := post("grant_type=client_credentials")
			r.Header.Set("Content-Type", kind)
			_, err := oauth.ReadForm(r)
			oauthtest.Want(t, err, "400 invalid_request")
		})
	}
	for _, kind := range []string{"application/x-www-form-urlencoded", "application/x-www-form-urlencoded; charset=utf-8",
		"Application/X-WWW-Form-Urlencoded"} {
		t.Run("RFC6749/3.2 the body is a form by "+kind, func(t *testing.T) {
			r := post("a=b")
			r.Header.Set("Content-Type", kind)
			_, err := oauth.ReadForm(r)
			oauthtest.Want(t, err, "no error")
		})
	}
	t.Run("RFC6749/2.3.1 nothing is taken from the query", func(t *testing.T) {
		r := httptest.NewRequest(http.MethodPost, "https://auth.example/o/token/?client_secret=x",
			strings.NewReader("grant_type=client_credentials"))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		_, err := oauth.ReadForm(r)
		oauthtest.Want(t, err, "400 invalid_request")
	})
	t.Run("a body beyond the limit is 413", func(t *testing.T) {
		r := post("a=" + strings.Repeat("x", 100))
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), r.Body, 50)
		_, err := oauth.ReadForm(r)
		oauthtest.Want(t, err, "413 invalid_request")
		if e, ok := errors.AsType[*oauth.Error](err); !ok || !strings.Contains(e.Description, "50 bytes") {
			t.Error(err)
		}
	})
	t.Run("the reader's own error is not lost", func(t *testing.T) {
		r := post("")
		r.Body = http.MaxBytesReader(httptest.NewRecorder(), errReader{}, 10)
		_, err := oauth.ReadForm(r)
		if oauthtest.Kind(err) != "400 invalid_request" {
			t.Error(err)
		}
	})
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("cut off") }
func (errReader) Close() error             { return nil }
