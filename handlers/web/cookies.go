package web

import (
	"net/http"
	"time"
)

// cookies are those of this server.
type cookies struct {
	secure bool // browsers use https
}

// cookieName adds the prefix. With the prefix __Host-, no other host and no page
// over http can set the cookie (RFC 6265bis §4.1.3.2). Browsers accept this prefix
// over https only.
func (s cookies) cookieName(name string) string {
	if s.secure {
		return "__Host-mandate_" + name
	}
	return "mandate_" + name
}

func (s cookies) Cookie(r *http.Request, name string) string { return s.LongCookie(r, name, 1024) }

// LongCookie returns a cookie of at most most bytes.
func (s cookies) LongCookie(r *http.Request, name string, most int) string {
	c, err := r.Cookie(s.cookieName(name))
	if err != nil || len(c.Value) > most {
		return ""
	}
	return c.Value
}

// SetCookie sets a cookie. A lifetime of zero deletes it.
func (s cookies) SetCookie(w http.ResponseWriter, name, value string, life time.Duration) {
	s.keep(w, http.Cookie{Name: s.cookieName(name), Value: value, Path: "/"}, life)
}

func (s cookies) keep(w http.ResponseWriter, c http.Cookie, life time.Duration) {
	c.MaxAge, c.Secure, c.HttpOnly, c.SameSite = int(life/time.Second), s.secure, true, http.SameSiteLaxMode
	if life <= 0 {
		c.MaxAge = -1
	}
	http.SetCookie(w, &c)
}

// SetNotice selects the notice at the top of the next page.
func (s cookies) SetNotice(w http.ResponseWriter, name string) {
	s.SetCookie(w, "notice", name, 2*time.Minute)
}
