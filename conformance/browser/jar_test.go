package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"testing"
	"time"

	"mandate/conformance/wire"
	"mandate/testkit"
)

// A server that sets many cookies does not keep the browser busy: the browser keeps the newest 50 of a host, and the
// last redirects cost it what the first ones do.
func TestManyCookies(t *testing.T) {
	sent := ""
	n := 0
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var used []time.Duration
	b := New(NewJar(), func(r *http.Request) *wire.Answer {
		sent = r.Header.Get("Cookie")
		used = append(used, testkit.ThreadTime(t))
		a := &wire.Answer{Status: http.StatusFound, Header: http.Header{"Location": {"/"}}, URL: r.URL}
		for range 600 {
			n++
			a.Header.Add("Set-Cookie", fmt.Sprintf("c%d=%d; SameSite=Lax", n, n))
		}
		return a
	}, func(*url.URL) bool { return false })
	err := b.Open("https://server.example/")
	if err == nil || !strings.Contains(err.Error(), "in circles") {
		t.Errorf("%v", err)
	}
	last := len(used) - 1
	if first, second := used[last/2]-used[0], used[last]-used[last/2]; second > 2*first {
		t.Errorf("%d redirects with 600 cookies each: the first half took %s, the second %s", last, first, second)
	}
	if got := strings.Split(sent, "; "); len(got) != maxCookies || !strings.Contains(sent, fmt.Sprintf("c%d=", n-600)) ||
		len(b.Cookies()) != maxCookies {
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
