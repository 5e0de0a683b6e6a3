package browser

import (
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
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
