package sites

import (
	"net/http"
	"net/url"
	"path"
	"strings"
	"testing"
)

// A path is public by whole segments, and not if an application could read it in another way.
func TestPublicPaths(t *testing.T) {
	prefixes := []string{"/static/", "/health"}
	for target, want := range map[string]bool{
		"/static/a.css": true, "/static/": true, "/static/a?x=/../": true, "/health": true, "/health/live": true,
		"/health?x": true, "/static": false, "/": false, "/healthy": false, "/a/static/": false, "/STATIC/a": false,
		"/static/../admin": false, "/static/..": false, "/static/./a": false, "/static//a": false,
		"/static/%2e%2e/admin": false, "/static/..%2fadmin": false, "/static/%252e%252e/a": false,
		"/static/..;/admin": false, `/static/..\admin`: false, "/static/;x=/../../admin": false, "/?/static/": false,
	} {
		if isPublic(target, prefixes) != want {
			t.Errorf("%s: public: %v", target, !want)
		}
	}
}

// The host of a request is read as a browser reads it, or not at all.
func TestHostOfARequest(t *testing.T) {
	for host, want := range map[string]string{
		"Wiki.Example.ORG": "wiki.example.org", "wiki.example.org:443": "wiki.example.org", "wiki:8443": "wiki:8443",
		"[::1]:8443": "[::1]:8443", "wiki.example.org.": "wiki.example.org", "": "", "a b": "", "a,b": "", "a@b": "",
		"a/b": "",
		"a?b": "", "a#b": "", `a\b`: "", "a:": "", "a:x": "", "a:99999": "", "%61": "", "a\x00": "", "bücher.example": "",
	} {
		if got, _ := hostOf(host); got != want {
			t.Errorf("%q is read as %q, expected %q", host, got, want)
		}
	}
}

// Two ports of a host share their cookies (RFC 6265 §8.5), so the cookies have different names.
func TestCookiesOfTwoPorts(t *testing.T) {
	h := http.Header{"Cookie": {Cookie("wiki:8443", "a").String() + "; " + Cookie("wiki", "b").String()}}
	for host, want := range map[string]string{"wiki:8443": "a", "wiki": "b", "wiki:9443": "", "[::1]": "b"} {
		if got := CookieOf(host, h); got != want {
			t.Errorf("%s: %q, expected %q", host, got, want)
		}
	}
}

// A browser returns to a path of the same host.
func FuzzReturnTarget(f *testing.F) {
	for _, seed := range []string{"/", "//evil.example", `/\evil.example`, "/a?b=c", "/.mandate/sign-out", "/\t/x", "x:"} {
		f.Add(seed)
	}
	base := &url.URL{Scheme: "https", Host: "wiki.example.org", Path: "/.mandate/callback"}
	f.Fuzz(func(t *testing.T, target string) {
		to := returnTo(target)
		// A browser drops tabs and line feeds, and reads a backslash as a slash (WHATWG URL).
		read := strings.ReplaceAll(strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(to), `\`, "/")
		at, err := base.Parse(read)
		if err != nil || at.Scheme != "https" || at.Host != base.Host || strings.HasPrefix(to, Folder) {
			t.Errorf("%q leads to %v (%v)", target, at, err)
		}
	})
}

// Whatever the headers are, a request that is accepted has one reading, and a public path stays below its prefix
// however often an application decodes and cleans it.
func FuzzForwarded(f *testing.F) {
	f.Add("GET", "https", "wiki.example.org", "/static/../admin")
	f.Add("GET", "https", "wiki.example.org:443", "/static/%2e%2e/admin?x=y")
	f.Add("POST", "http", "a@b", "//x")
	f.Add("get", "", "", "*")
	f.Fuzz(func(t *testing.T, method, scheme, host, target string) {
		got, err := readForward(http.Header{forwardedMethod: {method}, forwardedScheme: {scheme}, forwardedHost: {host},
			forwardedTarget: {target}})
		original, failed := readOriginal(
			http.Header{originalMethod: {method}, originalURL: {scheme + "://" + host + target}})
		if err == nil && (failed != nil || original != got) {
			t.Errorf("%v by one family, and %v (%v) by the other", got, original, failed)
		}
		if err != nil {
			if got != (Forwarded{}) {
				t.Errorf("refused, and yet %v", got)
			}
			return
		}
		u, err := url.Parse("https://" + got.Host + got.Target)
		if err != nil || u.Host != got.Host || got.Host != strings.ToLower(got.Host) || u.User != nil {
			t.Errorf("%v is read as %v (%v)", got, u, err)
		}
		if !isPublic(got.Target, []string{"/static/"}) {
			return
		}
		at, _, _ := strings.Cut(got.Target, "?")
		for range 3 {
			at, err = url.PathUnescape(at)
			if err != nil || !strings.HasPrefix(path.Clean(strings.ReplaceAll(at, `\`, "/"))+"/", "/static/") {
				t.Errorf("%q is public, and %q is not", got.Target, at)
			}
		}
	})
}
