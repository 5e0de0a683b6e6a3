package browser

import (
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"

	"mandate/conformance/wire"
)

// Jar is a cookie jar that remembers what it was told.
type Jar struct {
	mu   sync.Mutex
	jar  *cookiejar.Jar
	told []told
}

type told struct {
	from    *url.URL
	cookies []*http.Cookie
}

func NewJar() *Jar {
	inner, _ := cookiejar.New(nil) // it cannot fail
	return &Jar{jar: inner}
}

func (j *Jar) set(u *url.URL, cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(cookies) > 0 {
		j.told = append(j.told, told{u, cookies})
		j.jar.SetCookies(u, cookies)
	}
}

// Browser is a person's browser without scripts. It keeps cookies, follows redirects from page to page of
// the server, and stops where the server sends it elsewhere.
type Browser struct {
	send   func(*http.Request) *wire.Answer
	leaves func(*url.URL) bool // whether an address is elsewhere, and not at the server
	jar    *Jar
	framed bool // it is a frame on a page of another site

	Page *wire.Answer   // what it shows, or the redirect that led away
	Away string         // where the server sent it last, if that is not a page of the server
	Hops []*wire.Answer // the redirects since the last Open or submit, with the one that led away
}

// New is one with the cookies of a jar. It sends its requests by send, and stops where leaves says that an address
// is not the server's.
func New(cookies *Jar, send func(*http.Request) *wire.Answer, leaves func(*url.URL) bool) *Browser {
	return &Browser{send: send, leaves: leaves, jar: cookies}
}

// With says whether the browser has the cookies of a jar.
func (b *Browser) With(cookies *Jar) bool { return b.jar == cookies }

// Open goes to an address as if it had been typed.
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

const maxHops = 20

// Follow sends a request and goes where the answers lead, within the server.
func (b *Browser) Follow(r *http.Request) error {
	b.Away, b.Hops = "", nil
	for range maxHops {
		r.Header.Set("Accept", "text/html,*/*;q=0.8")
		for _, cookie := range b.jar.jar.Cookies(r.URL) {
			r.AddCookie(cookie)
		}
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

// next is the request that a browser sends after a redirect: by 307 and 308 the form is sent again.
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

// Cookies are all that the browser was given.
func (b *Browser) Cookies() []*http.Cookie {
	b.jar.mu.Lock()
	defer b.jar.mu.Unlock()
	var all []*http.Cookie
	for _, told := range b.jar.told {
		all = append(all, told.cookies...)
	}
	return all
}

// kept are the cookies that a browser takes: in a frame on a page of another site none that is SameSite=Lax or
// Strict, nor does it send them there.
func (b *Browser) kept(cookies []*http.Cookie) []*http.Cookie {
	if !b.framed {
		return cookies
	}
	return slices.DeleteFunc(cookies, func(c *http.Cookie) bool {
		return c.SameSite == http.SameSiteLaxMode || c.SameSite == http.SameSiteStrictMode
	})
}

// Frame is one on a page of another site in this browser.
func (b *Browser) Frame() *Browser {
	f := New(NewJar(), b.send, b.leaves)
	f.framed = true
	b.jar.mu.Lock()
	defer b.jar.mu.Unlock()
	for _, told := range b.jar.told {
		f.jar.set(told.from, f.kept(slices.Clone(told.cookies)))
	}
	return f
}
