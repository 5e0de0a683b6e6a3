package browser

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// RFC 6265 §6.1: a browser keeps at least 50 cookies of a host, each of at least 4096 bytes. This one keeps no more,
// because a server could otherwise keep it busy.
const (
	maxCookies = 50
	maxCookie  = 4096
)

// Jar is a cookie jar that also remembers each cookie that it was given.
type Jar struct {
	mu   sync.Mutex
	jar  *cookiejar.Jar
	told []told
}

// told is a cookie with the address that set it.
type told struct {
	from   *url.URL
	cookie *http.Cookie
}

// replaces reports whether a cookie takes the place of another (RFC 6265 §5.3, item 11).
func (t told) replaces(o told) bool {
	return t.cookie.Name == o.cookie.Name && t.cookie.Domain == o.cookie.Domain && t.cookie.Path == o.cookie.Path &&
		t.from.Host == o.from.Host &&
		(t.cookie.Path != "" || t.from.Path == o.from.Path)
}

// NewJar returns an empty jar.
func NewJar() *Jar {
	inner, _ := cookiejar.New(nil) // New fails for no nil options
	return &Jar{jar: inner}
}

func (j *Jar) set(u *url.URL, cookies []*http.Cookie) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range cookies {
		if len(c.Name)+len(c.Value) > maxCookie {
			continue
		}
		one := told{u, c}
		j.told = append(slices.DeleteFunc(j.told, one.replaces), one)
		j.jar.SetCookies(u, []*http.Cookie{c})
		j.evict(u)
	}
}

// evict removes the oldest cookies of a host with too many.
func (j *Jar) evict(u *url.URL) {
	ofHost := func(t told) bool { return t.from.Host == u.Host }
	n := 0
	for _, t := range j.told {
		if ofHost(t) {
			n++
		}
	}
	for ; n > maxCookies; n-- {
		i := slices.IndexFunc(j.told, ofHost)
		gone := *j.told[i].cookie
		gone.MaxAge = -1
		j.jar.SetCookies(j.told[i].from, []*http.Cookie{&gone})
		j.told = slices.Delete(j.told, i, i+1)
	}
}

// all returns the cookies with the addresses that set them.
func (j *Jar) all() []told {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.told)
}

// Clone returns a jar with the same cookies.
func (j *Jar) Clone() *Jar {
	clone := NewJar()
	for _, told := range j.all() {
		clone.set(told.from, []*http.Cookie{told.cookie})
	}
	return clone
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
