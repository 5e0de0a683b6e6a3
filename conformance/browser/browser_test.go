package browser

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/conformance/wire"
)

// A page of another site sends no cookies with SameSite=Lax or Strict by POST. If the server redirects, the next
// request is a navigation by GET, which has the cookies with Lax.
func TestSubmitFrom(t *testing.T) {
	type request struct{ Method, Origin, Site, Body, Cookies string }
	var got []request
	b := New(NewJar(), func(r *http.Request) *wire.Answer {
		var names []string
		for _, c := range r.Cookies() {
			names = append(names, c.Name)
		}
		slices.Sort(names)
		body := ""
		if r.Body != nil {
			text, _ := io.ReadAll(r.Body)
			body = string(text)
		}
		got = append(got, request{r.Method, r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site"), body,
			strings.Join(names, " ")})
		a := &wire.Answer{Status: http.StatusOK, Header: http.Header{}, URL: r.URL}
		switch r.URL.Path {
		case "/":
			a.Header["Set-Cookie"] = []string{"lax=1; SameSite=Lax", "strict=1; SameSite=Strict",
				"none=1; SameSite=None; Secure", "old=1"}
		case "/form":
			a.Status = http.StatusSeeOther
			a.Header.Set("Location", "/next")
		}
		return a
	}, func(u *url.URL) bool { return u.Host != "server.example" })
	form := &Form{Method: http.MethodPost, Action: "/form", Values: url.Values{"a": {"b"}}}
	for _, err := range []error{b.Open("https://server.example/"), b.SubmitFrom("https://attacker.example", form),
		b.Submit(form)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	all := "lax none old strict"
	want := []request{
		{"GET", "", "none", "", ""},
		{"POST", "https://attacker.example", "cross-site", "a=b", "none old"},
		{"GET", "", "cross-site", "", "lax none old"},
		{"POST", "https://server.example", "same-origin", "a=b", all},
		{"GET", "", "same-origin", "", all},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
