package rules

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc9700Pages has the checks of the rules about the server's pages: referrers, third parties, clickjacking (RFC 9700
// §4.2.4, §4.16, §4.17.2).
var rfc9700Pages = checks{
	"RFC9700/4.2.4/a40-no-third-parties": func(t *T) {
		wantPagesWithout(t, func(a *wire.Answer) []string {
			var all []string
			for _, address := range addressesIn(a) {
				if foreign := address.Scheme == "http" || address.Scheme == "https"; foreign && !t.AtServer(address.String()) {
					all = append(all, "contains "+wire.Bare(address))
				}
			}
			return all
		})
	},
	"RFC9700/4.2.4/a41-referrer-policy": func(t *T) {
		wantPagesWithout(t, func(a *wire.Answer) []string {
			if policy := referrerPolicy(a); !slices.Contains(discreet, policy) {
				return []string{fmt.Sprintf("has the referrer policy %q", policy)}
			}
			return nil
		})
	},
	"RFC9700/4.16/a48-no-clickjacking": rfc9700A48NoClickjacking,
	"RFC9700/4.16/a47-frame-ancestors": func(t *T) {
		wantPagesWithout(t, func(a *wire.Answer) []string {
			if why := framed(a); why != "" {
				return []string{"has no content security policy against framing: " + why}
			}
			return nil
		})
	},
	"RFC9700/4.16/a48-older-browsers": func(t *T) {
		wantPagesWithout(t, func(a *wire.Answer) []string {
			if !oldFraming(a) {
				if value := a.Header.Get("X-Frame-Options"); value != "" {
					return []string{fmt.Sprintf("has the header X-Frame-Options with %q; DENY or SAMEORIGIN is needed", value)}
				}
				return []string{"has no header X-Frame-Options; DENY or SAMEORIGIN is needed"}
			}
			return nil
		})
	},
}

func rfc9700A48NoClickjacking(t *T) {
	// On a page without a form a person can be led to nothing.
	open := slices.DeleteFunc(visitedPages(t), func(a *wire.Answer) bool {
		p := browser.Parse(a)
		return framed(a) == "" || oldFraming(a) || len(p.Forms) == 0 && !p.Scripted
	})
	if len(open) == 0 || framesAreHarmless(t) {
		return
	}
	for _, a := range open {
		t.At(a)
		if browser.Parse(a).Scripted {
			t.Skipf("the page at %s has no header against framing, and the checks run no script that could prevent it",
				wire.Bare(a.URL))
		}
		t.Failf("any site can frame the page at %s: %s, and there is no X-Frame-Options", wire.Bare(a.URL), framed(a))
	}
}

// wantPagesWithout asserts that wrong finds nothing on the pages that a person sees. It returns sentences, of which
// equal ones are reported once.
func wantPagesWithout(t *T, wrong func(a *wire.Answer) []string) {
	told := map[string]bool{}
	for _, a := range visitedPages(t) {
		for _, sentence := range wrong(a) {
			if !told[sentence] {
				told[sentence] = true
				t.At(a)
				t.Errorf("the page at %s %s", wire.Bare(a.URL), sentence)
			}
		}
	}
}

// visitedPages returns the pages that a person sees: login, consent and an error.
func visitedPages(t *T) []*wire.Answer {
	c := t.Client(need.Code)
	way := t.Walk(t.NewBrowser(), t.Request(c).Set("prompt", "consent"), true)
	wrong := t.OpenAnonymously(t.Request(c).Set("client_id", "conformance-"+t.Random()))
	var pages []*wire.Answer
	for _, a := range slices.Concat(way.Seen, wrong.Seen) {
		if a.Status/100 != 3 && (a.MediaType() == "text/html" || a.MediaType() == "application/xhtml+xml") {
			pages = append(pages, a)
		}
	}
	if len(pages) == 0 {
		t.Blockedf("the server showed no page: %s", way)
	}
	return pages
}

// leading are the attributes by which a page loads something or links somewhere.
var leading = map[string]string{"a": "href", "area": "href", "link": "href", "base": "href", "script": "src",
	"img": "src", "iframe": "src", "frame": "src",
	"embed": "src", "source": "src", "audio": "src", "video": "src", "track": "src", "object": "data"}

func addressesIn(a *wire.Answer) []*url.URL {
	root, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return nil
	}
	var all []*url.URL
	for n := range root.Descendants() {
		name := leading[n.Data]
		if n.Type != html.ElementNode || name == "" || browser.Attribute(n, name) == "" {
			continue
		}
		address, err := a.URL.Parse(browser.Attribute(n, name))
		if err == nil {
			all = append(all, address)
		}
	}
	return all
}

// discreet are the referrer policies that disclose no more than the host to other sites.
var discreet = []string{"no-referrer", "same-origin", "origin", "strict-origin", "origin-when-cross-origin",
	"strict-origin-when-cross-origin"}

// referrerPolicy returns the last value of the header, or the policy of the page.
func referrerPolicy(a *wire.Answer) string {
	if header := strings.Join(a.Header.Values("Referrer-Policy"), ","); header != "" {
		words := strings.Split(header, ",")
		return strings.ToLower(strings.TrimSpace(words[len(words)-1]))
	}
	root, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return ""
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "meta" && strings.EqualFold(browser.Attribute(n, "name"), "referrer") {
			return strings.ToLower(browser.Attribute(n, "content"))
		}
	}
	return ""
}

// framed says why a page's content security policy allows any site to frame it, or "". If there are several policies,
// each of them must allow it.
func framed(a *wire.Answer) string {
	why := "there is no frame-ancestors"
	for _, header := range a.Header.Values("Content-Security-Policy") {
		for _, policy := range strings.Split(header, ",") {
			for directive := range strings.SplitSeq(policy, ";") {
				words := strings.Fields(strings.ToLower(directive))
				if len(words) == 0 || words[0] != "frame-ancestors" {
					continue
				}
				if !slices.ContainsFunc(words[1:], func(w string) bool { return w == "*" || w == "http:" || w == "https:" }) {
					return ""
				}
				why = "it has " + strings.Join(words, " ")
			}
		}
	}
	return why
}

// framesAreHarmless reports whether a page in a frame of another site shows nothing to act on, because its cookies are
// not sent there.
func framesAreHarmless(t *T) bool {
	request := func() *check.Request { return t.Request(t.Client(need.Code)).Set("prompt", "consent") }
	signedIn := t.NewBrowser()
	t.Walk(signedIn, request(), true)
	for _, b := range []*browser.Browser{t.NewBrowser(), signedIn} {
		f := b.Frame()
		err := f.Open(request().URL())
		if err != nil {
			continue
		}
		p := browser.Parse(f.Page)
		if f.Page.Status < http.StatusBadRequest && (len(p.Forms) > 0 || p.Scripted) {
			return false
		}
	}
	return true
}

// oldFraming reports whether X-Frame-Options prevents other sites from framing a page.
func oldFraming(a *wire.Answer) bool {
	value := strings.ToUpper(strings.TrimSpace(a.Header.Get("X-Frame-Options")))
	return value == "DENY" || value == "SAMEORIGIN"
}

// formOf returns the form of a request.
func formOf(a *wire.Answer) url.Values {
	form, _ := url.ParseQuery(a.SentForm)
	return form
}
