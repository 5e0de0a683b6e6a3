package rules

import (
	"fmt"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc8252Redirects has the checks of the rules about PKCE and the three kinds of redirect URIs (RFC 8252 §6, §7).
var rfc8252Redirects = checks{
	"RFC8252/6/pkce-supported": func(t *T) { wantPKCE(t, t.Client(need.Loopback)) },
	"RFC8252/7/private-use-scheme": func(t *T) {
		t.Code(t.Request(t.Client(need.Code)))
		wantCodeAt(t, t.Request(t.Client(need.Scheme)))
	},
	"RFC8252/7/claimed-https": func(t *T) {
		c := t.Client(need.Public)
		if !strings.HasPrefix(c.RedirectURI(), "https://") {
			t.Skipf("the redirect URI of the client public is %s: the rule needs one with https", c.RedirectURI())
		}
		t.Code(t.Request(t.Client(need.Code)))
		wantCodeAt(t, t.Request(c))
	},
	"RFC8252/7.3/any-port": func(t *T) { wantAnyPort(t) },
}

// rfc8252Security returns the security rules (RFC 8252 §8).
var rfc8252Security = checks{
	"RFC8252/8.1/without-pkce-rejected": func(t *T) {
		c := t.Client(need.Loopback)
		t.Code(t.Request(c))
		r := t.Authorize(t.Request(c).Del("code_challenge", "code_challenge_method"))
		t.WantNoCode(r, "the request of a native application has no challenge")
		t.WantRedirectError(r, "invalid_request")
	},
	"RFC8252/8.4/loopback-exact-but-for-port": rfc8252LoopbackExactButForPort,
	"RFC8252/8.4/https-exact": func(t *T) {
		c := t.Client(need.Public)
		wantRefusedURIs(t, c, almost(c.RedirectURI()))
	},
	"RFC8252/8.4/private-use-exact": func(t *T) {
		c := t.Client(need.Scheme)
		scheme, _, _ := strings.Cut(c.RedirectURI(), ":")
		wantRefusedURIs(t, c, []string{c.RedirectURI() + "/more", c.RedirectURI() + "?more=1", scheme + ":/conformance-other",
			scheme + ".attacker:/callback"})
	},
	"RFC8252/8.5/no-shared-secret": func(t *T) {
		c := t.Client(need.Loopback)
		code := t.Code(t.Request(c))
		t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.InBody(c.ID, "")))
	},
	"RFC8252/8.6/not-automatic": func(t *T) { wantAskedAgain(t, t.Client(need.Loopback)) },
}

func rfc8252LoopbackExactButForPort(t *T) {
	c := t.Client(need.Loopback)
	_, path, ok := splitLoopback(c.RedirectURI())
	if !ok {
		t.Skipf(noLoopback, c.RedirectURI())
	}
	t.Code(t.Request(c))
	for _, uri := range []string{
		"http://127.0.0.1:49321" + path + "/more", "http://127.0.0.1:49321/conformance", "http://127.0.0.1:49321" +
			path + "?more=1",
		"http://localhost:49321" + path, "http://127.0.0.2:49321" + path, "http://127.0.0.1.attacker.example:49321" + path,
		"http://127.0.0.1:49321@attacker.example" + path, "https://127.0.0.1:49321" + path,
	} {
		r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
		t.WantNoCode(r, fmt.Sprintf("%s differs from the registered %s in more than the port", uri, c.RedirectURI()))
		wantNoRedirect(t, r)
	}
}

// splitLoopback separates the port from a redirect URI at 127.0.0.1.
func splitLoopback(uri string) (port, rest string, ok bool) {
	rest, ok = strings.CutPrefix(uri, "http://127.0.0.1")
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], ":/?") {
		return "", "", false
	}
	if after, found := strings.CutPrefix(rest, ":"); found {
		rest = strings.TrimLeft(after, "0123456789")
		port = after[:len(after)-len(rest)]
	}
	return port, rest, true
}

const noLoopback = "the redirect URI of the client loopback is %s: the rule needs one at http://127.0.0.1"

// wantAnyPort asserts that a loopback client receives its response at any port.
func wantAnyPort(t *T) {
	c := t.Client(need.Loopback)
	_, rest, ok := splitLoopback(c.RedirectURI())
	if !ok {
		t.Skipf(noLoopback, c.RedirectURI())
	}
	t.Code(t.Request(c))
	for _, port := range []string{"49321", "65535", "1024"} {
		wantCodeAt(t, t.Request(c).Set("redirect_uri", "http://127.0.0.1:"+port+rest))
	}
}
