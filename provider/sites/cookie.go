package sites

import (
	"net/http"
	"strings"
)

// The cookies of a site. With the prefix __Host-, no other host can set one, and a browser sends them to no other one
// (RFC 6265bis §4.1.3.2).
const (
	sessionCookie = "__Host-mandate"
	browserCookie = "__Host-mandate-browser"
)

// suffix distinguishes the cookies of two ports of a host, which share their cookies (RFC 6265 §8.5).
func suffix(host string) string {
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	if port == "" {
		return ""
	}
	return "-" + port
}

// Cookie makes the cookie of a site, or deletes it if the value is empty. It ends with the browser, and is worth
// nothing without the session of the person.
func Cookie(host, value string) *http.Cookie { return cookie(sessionCookie+suffix(host), value, 0) }

// BrowserCookie makes the cookie that binds a sign-in to the browser.
func BrowserCookie(host, value string) *http.Cookie {
	return cookie(browserCookie+suffix(host), value, stateLifetime)
}

func cookie(name, value string, seconds int) *http.Cookie {
	c := &http.Cookie{Name: name, Value: value, Path: "/", MaxAge: seconds, Secure: true, HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if value == "" {
		c.MaxAge = -1
	}
	return c
}

// CookieOf returns the value of the cookie of a site, or "". A name that is there twice has no value: it is not clear
// which one is meant.
func CookieOf(host string, h http.Header) string { return single(h, sessionCookie+suffix(host)) }

// Browser returns the one spelling of a host, and the value of the cookie that binds a sign-in to the browser, or "".
func Browser(host string, h http.Header) (shown, browser string, ok bool) {
	shown, ok = hostOf(host)
	if !ok {
		return "", "", false
	}
	return shown, single(h, browserCookie+suffix(shown)), true
}

func single(h http.Header, name string) string {
	found := (&http.Request{Header: h}).CookiesNamed(name)
	if len(found) != 1 {
		return ""
	}
	return found[0].Value
}
