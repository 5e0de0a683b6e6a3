package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"mandate/conformance/wire"
)

// A server that sets many cookies does not keep the browser busy. The browser keeps the newest 50 of a host.
func TestManyCookies(t *testing.T) {
	sent := ""
	n := 0
	b := New(NewJar(), func(r *http.Request) *wire.Answer {
		sent = r.Header.Get("Cookie")
		a := &wire.Answer{Status: http.StatusFound, Header: http.Header{"Location": {"/"}}, URL: r.URL}
		for range 600 {
			n++
			a.Header.Add("Set-Cookie", fmt.Sprintf("c%d=%d; SameSite=Lax", n, n))
		}
		return a
	}, func(*url.URL) bool { return false })
	began := time.Now()
	err := b.Open("https://server.example/")
	if err == nil || !strings.Contains(err.Error(), "in circles") {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("20 redirects with 600 cookies each took %s", took)
	}
	if got := strings.Split(sent, "; "); len(got) != maxCookies || !strings.Contains(sent, fmt.Sprintf("c%d=", n-600)) || len(b.Cookies()) != maxCookies {
		t.Errorf("%d cookies were sent, and %d are known: %s", len(got), len(b.Cookies()), sent)
	}
}

// A cookie replaces that of the same name, domain and path. One that is too large is not kept.
func TestCookieReplaced(t *testing.T) {
	j := NewJar()
	at := wire.ParseURL("https://server.example/a")
	set := func(text string) { j.set(at, (&http.Response{Header: http.Header{"Set-Cookie": {text}}}).Cookies()) }
	set("a=1; Path=/")
	set("a=2; Path=/")
	set("a=3; Path=/a")
	set("big=" + strings.Repeat("x", maxCookie))
	for name, one := range map[string]*Jar{"the jar": j, "its clone": j.Clone()} {
		r, _ := http.NewRequest(http.MethodGet, "https://server.example/a", nil)
		New(one, nil, nil).addCookies(r)
		if got := r.Header.Get("Cookie"); got != "a=3; a=2" || len(one.all()) != 2 {
			t.Errorf("%s: %q, %d cookies", name, got, len(one.all()))
		}
	}
	set("a=; Path=/; Max-Age=0")
	if got := j.jar.Cookies(at); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
