// Package browser is a browser without scripts, and reads the pages and forms that it is shown.
package browser

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/wire"
)

// Browser is a person's browser without scripts. It keeps cookies, follows redirects between the pages of the server,
// and stops at a redirect that leads away from the server.
type Browser struct {
	send   func(*http.Request) *wire.Answer
	leaves func(*url.URL) bool // reports whether an address is not the server's
	jar    *Jar
	framed bool // the browser is a frame in a page of another site
	lured  bool // the request comes from a page of another site

	Page *wire.Answer   // the page that is shown, or the redirect that led away
	Away string         // where the last redirect led, if not to the server
	Hops []*wire.Answer // the redirects since the last request that a person made, including the one that led away
}

// New returns a browser with the cookies of a jar. It sends requests with send, and stops where leaves says that an
// address is not the server's.
func New(cookies *Jar, send func(*http.Request) *wire.Answer, leaves func(*url.URL) bool) *Browser {
	return &Browser{send: send, leaves: leaves, jar: cookies}
}

// Jar returns the jar.
func (b *Browser) Jar() *Jar { return b.jar }

// Open requests an address as if a person had typed it.
func (b *Browser) Open(address string) error {
	r, err := http.NewRequest(http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Sec-Fetch-Site", "none")
	return b.Follow(r)
}

// Submit sends a form of the page that is shown.
func (b *Browser) Submit(f *Form) error {
	target, err := b.Page.URL.Parse(f.Action)
	if err != nil {
		return fmt.Errorf("the form at %s leads to %q, which is not an address", wire.Bare(b.Page.URL), f.Action)
	}
	if f.Method != http.MethodPost {
		target.RawQuery = f.Values.Encode()
		return b.Open(target.String())
	}
	r, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(f.Values.Encode()))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", wire.FormEncoded)
	r.Header.Set("Origin", wire.Origin(b.Page.URL.String()))
	r.Header.Set("Referer", b.Page.URL.String())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return b.Follow(r)
}

// SubmitFrom sends a form as a page of another site can. The server sees the origin of that page, and does not receive
// the cookies that a browser withholds because of SameSite.
func (b *Browser) SubmitFrom(origin string, f *Form) error {
	target, err := b.Page.URL.Parse(f.Action)
	if err != nil {
		return fmt.Errorf("the form leads to %q, which is not an address", f.Action)
	}
	body := f.Values.Encode()
	if f.Method != http.MethodPost {
		target.RawQuery, body = body, ""
	}
	r, err := http.NewRequest(f.Method, target.String(), strings.NewReader(body))
	if err != nil {
		return err
	}
	if f.Method == http.MethodPost {
		r.Header.Set("Content-Type", wire.FormEncoded)
		r.Header.Set("Origin", origin)
	}
	r.Header.Set("Referer", origin+"/")
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	b.lured = true
	defer func() { b.lured = false }()
	return b.Follow(r)
}

const maxHops = 20

// Follow sends a request, and follows redirects within the server.
func (b *Browser) Follow(r *http.Request) error {
	b.Away, b.Hops = "", nil
	for range maxHops {
		r.Header.Set("Accept", "text/html,*/*;q=0.8")
		b.addCookies(r)
		b.Page = b.send(r)
		b.jar.set(r.URL, b.kept((&http.Response{Header: b.Page.Header}).Cookies()))
		location := b.Page.Header.Get("Location")
		if b.Page.Status < 300 || b.Page.Status > 399 || location == "" {
			return nil
		}
		b.Hops = append(b.Hops, b.Page)
		target, err := r.URL.Parse(location)
		if err != nil {
			return fmt.Errorf("the server redirects to %q, which is not an address", location)
		}
		if b.leaves(target) {
			b.Away = target.String()
			return nil
		}
		r, err = next(r, b.Page.Status, target)
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("the server redirects in circles: %d times, last from %s", maxHops, wire.Bare(b.Page.URL))
}

// Cookies returns the cookies that servers have set in this browser. Of cookies that replace each other, it returns the
// last.
func (b *Browser) Cookies() []*http.Cookie {
	var all []*http.Cookie
	for _, told := range b.jar.all() {
		all = append(all, told.cookie)
	}
	return all
}

// addCookies adds the cookies that a browser sends with a request.
func (b *Browser) addCookies(r *http.Request) {
	sites := map[string]http.SameSite{}
	for _, told := range b.jar.all() {
		sites[told.cookie.Name] = told.cookie.SameSite
	}
	all := r.Header.Values("Cookie")
	for _, c := range b.jar.jar.Cookies(r.URL) {
		if text := c.String(); text != "" && !b.withheld(sites[c.Name], r.Method) {
			all = append(all, text)
		}
	}
	if len(all) > 0 {
		r.Header.Set("Cookie", strings.Join(all, "; "))
	}
}

// withheld reports whether a browser leaves a cookie out of a request that a page of another site causes: Strict
// always, and Lax unless the request is a navigation by GET.
func (b *Browser) withheld(site http.SameSite, method string) bool {
	return b.lured && (site == http.SameSiteStrictMode || site == http.SameSiteLaxMode && method != http.MethodGet)
}

// kept returns the cookies that a browser accepts. A frame in a page of another site neither accepts nor sends
// cookies with SameSite=Lax or Strict.
func (b *Browser) kept(cookies []*http.Cookie) []*http.Cookie {
	if !b.framed {
		return cookies
	}
	return slices.DeleteFunc(cookies, func(c *http.Cookie) bool {
		return c.SameSite == http.SameSiteLaxMode || c.SameSite == http.SameSiteStrictMode
	})
}

// Frame returns a frame in a page of another site, shown by this browser.
func (b *Browser) Frame() *Browser {
	f := New(NewJar(), b.send, b.leaves)
	f.framed = true
	for _, told := range b.jar.all() {
		f.jar.set(told.from, f.kept([]*http.Cookie{told.cookie}))
	}
	return f
}

// next returns the request that a browser sends after a redirect. After 307 and 308 it sends the form again.
func next(r *http.Request, status int, target *url.URL) (*http.Request, error) {
	again := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if !again || r.GetBody == nil {
		n, err := http.NewRequest(http.MethodGet, target.String(), nil)
		if err == nil && r.Header.Get("Sec-Fetch-Site") != "" {
			n.Header.Set("Sec-Fetch-Site", r.Header.Get("Sec-Fetch-Site"))
		}
		return n, err
	}
	body, err := r.GetBody()
	if err != nil {
		return nil, err
	}
	n, err := http.NewRequest(r.Method, target.String(), body)
	if err != nil {
		return nil, err
	}
	n.Header, n.GetBody = r.Header.Clone(), r.GetBody
	n.Header.Del("Cookie")
	return n, nil
}
