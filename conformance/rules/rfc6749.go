package rules

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// badScopes are an unknown scope, and one with characters that RFC 6749 §3.3 does not allow.
var badScopes = []string{"conformance-unknown", "\"\\"}

// OnLoopback is the reason for which rules about TLS are skipped on this machine.
const OnLoopback = "the server is on this machine, so that nobody can read its connections without TLS: to check " +
	"this rule, use a server with https addresses"

// wantTLS asserts that addresses use https. If some use http where only this machine or a private network can listen,
// and the others are correct, the check is skipped.
func wantTLS(t *T, addresses ...string) {
	near := ""
	for _, address := range addresses {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "":
			t.Errorf("%q is no absolute URL", address)
		case u.Scheme == "https":
		case u.Scheme == "http" && t.Reach(u.Hostname()) == wire.ThisMachine:
			near = cmp.Or(near, OnLoopback)
		case u.Scheme == "http" && hasIssuersHost(t, u) && t.Reach(u.Hostname()) == wire.PrivateNetwork:
			near = inPrivateNetwork
		default:
			t.Errorf("%s does not use TLS", u)
		}
	}
	if near != "" {
		t.Skipf("%s", near)
	}
}

const inPrivateNetwork = "the issuer of the target has http and is in a private network, as a container in a build " +
	"is, and only machines in that network can listen: use a target whose addresses have https"

// hasIssuersHost reports whether the target names an issuer with http at the host of an address. Another http address
// in a private network can be a mistake of the server, for example behind a proxy that terminates TLS.
func hasIssuersHost(t *T, u *url.URL) bool {
	issuer := wire.ParseURL(t.Issuer())
	return issuer.Scheme == "http" && issuer.Hostname() == u.Hostname()
}

// wantNoFragment asserts that the address of an endpoint has no fragment.
func wantNoFragment(t *T, endpoint Need) {
	if strings.Contains(t.Endpoint(endpoint), "#") {
		t.Failf("%s is %s, which has a fragment", endpoint, t.Endpoint(endpoint))
	}
}

// wantNoRedirect asserts that the browser was not sent to the redirect URI of the request, which is invalid. If the
// request has none, the browser must not be sent to a registered one. If the browser was sent elsewhere, the check is
// blocked, because that address can be a page of the server.
func wantNoRedirect(t *T, r *check.Response) {
	if r.Location == "" {
		return
	}
	t.At(r.Answer)
	asked := r.Request.Params.Get("redirect_uri")
	switch {
	case asked != "" && ledTo(r, asked) || asked == "" && ledToClient(r):
		t.Failf("the browser was sent to %s", place(r.Location))
	case !ledToClient(r):
		ledElsewhere(t, r)
	}
}

// place returns an address without query and fragment, which have values that a check chose at random.
func place(address string) string {
	if i := strings.IndexAny(address, "?#"); i >= 0 {
		address = address[:i]
	}
	return address
}

// ledElsewhere blocks the check, because the browser was sent to an address that is no redirect URI.
func ledElsewhere(t *T, r *check.Response) {
	t.Blockedf("the browser was sent to %s, which is no redirect URI: if it is a page of the server, name its origin in "+
		"the target under origins", wire.Origin(r.Location))
}

// ledToClient reports whether the browser was sent to a registered redirect URI of the client.
func ledToClient(r *check.Response) bool {
	return slices.ContainsFunc(r.Request.Client.RedirectURIs,
		func(uri string) bool { return wire.SamePlace(r.Location, uri) })
}

// ledTo reports whether the browser was sent to a redirect URI, with the query of that URI.
func ledTo(r *check.Response, uri string) bool {
	target, err := wire.ParseURL(r.Request.Endpoint).Parse(uri)
	if err != nil {
		return strings.HasPrefix(r.Location, uri)
	}
	sent := wire.ParseURL(r.Location)
	for name := range target.Query() {
		if sent.Query().Get(name) != target.Query().Get(name) {
			return false
		}
	}
	sent.Host, target.Host = strings.ToLower(sent.Host), strings.ToLower(target.Host) // the case of a host has no meaning
	return wire.SamePlace(sent.String(), target.String())
}

// wantASCII asserts that the text of an error contains only characters that RFC 6749 allows.
func wantASCII(t *T, name, text string) {
	wrong := func(r rune) bool {
		return r < ' ' || r > '~' || r == '"' || r == '\\' || r == ' ' && name == "error_uri"
	}
	if strings.ContainsFunc(text, wrong) {
		t.Errorf("%s is %q, which contains a character that is not allowed", name, text)
	}
}

// wantScheme asserts that WWW-Authenticate has a challenge of a scheme.
func wantScheme(t *T, a *wire.Answer, scheme string) {
	if !slices.ContainsFunc(challengesOf(a), func(c challenge) bool { return strings.EqualFold(c.scheme, scheme) }) {
		t.At(a)
		t.Errorf("WWW-Authenticate is %q, want the scheme %s", strings.Join(a.Header.Values("WWW-Authenticate"), ", "),
			scheme)
	}
}

// wantHeader asserts that a header contains a word.
func wantHeader(t *T, a *wire.Answer, name, word string) {
	value := strings.Join(a.Header.Values(name), ", ")
	if !strings.Contains(strings.ToLower(value), word) {
		t.At(a)
		if value == "" {
			t.Errorf("the answer has no header %s: %s", http.CanonicalHeaderKey(name), word)
			return
		}
		t.Errorf("the header %s is %q, and lacks %s", http.CanonicalHeaderKey(name), value, word)
	}
}
