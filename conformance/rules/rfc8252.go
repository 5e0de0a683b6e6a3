package rules

import (
	"fmt"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// nativeNeeds returns what a check needs for a native application with a loopback redirect URI.
func nativeNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Loopback, need.User}, more...)
}

// rfc8252 returns the rules of OAuth 2.0 for Native Apps for the authorization server.
func rfc8252() []Rule {
	return slices.Concat(rfc8252Redirects(), rfc8252Security())
}

// rfc8252Redirects returns the rules about PKCE and the three kinds of redirect URIs (RFC 8252 §6, §7).
func rfc8252Redirects() []Rule {
	return []Rule{
		{
			ID: "RFC8252/6/pkce-supported", Level: Must,
			Text:  "The server supports PKCE for public native applications.",
			Needs: nativeNeeds(need.Token),
			Check: func(t *T) { wantPKCE(t, t.Client(need.Loopback)) },
		},
		{
			ID: "RFC8252/7/three-kinds", Level: Must,
			Text:     "A native application can register redirect URIs with private-use schemes, with https and with loopback addresses.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC8252/7/private-use-scheme", Level: Must,
			Text:  "The response is sent to a redirect URI with a private-use scheme.",
			Needs: authorizationNeeds(need.Scheme),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Code)))
				wantCodeAt(t, t.Request(t.Client(need.Scheme)))
			},
		},
		{
			ID: "RFC8252/7/claimed-https", Level: Must,
			Text:  "A public client can have a redirect URI with https, which an application on the device can claim.",
			Needs: authorizationNeeds(need.Public),
			Check: func(t *T) {
				c := t.Client(need.Public)
				if !strings.HasPrefix(c.RedirectURI(), "https://") {
					t.Skipf("the redirect URI of the client public is %s: the rule needs one with https", c.RedirectURI())
				}
				t.Code(t.Request(t.Client(need.Code)))
				wantCodeAt(t, t.Request(c))
			},
		},
		{
			ID: "RFC8252/7.3/any-port", Level: Must,
			Text:  "A loopback redirect URI can have any port.",
			Needs: nativeNeeds(),
			Check: func(t *T) { wantAnyPort(t) },
		},
		{
			ID: "RFC8252/7.3/both-versions", Level: Must,
			Text:     "Loopback addresses of IPv4 and of IPv6 can have any port.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIMatch",
		},
	}
}

// rfc8252Security returns the security rules (RFC 8252 §8).
func rfc8252Security() []Rule {
	return []Rule{
		{
			ID: "RFC8252/8.1/without-pkce-rejected", Level: Should,
			Text:  "A native application without PKCE is refused with invalid_request.",
			Needs: nativeNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Loopback)
				t.Code(t.Request(c))
				r := t.Authorize(t.Request(c).Del("code_challenge", "code_challenge_method"))
				t.WantNoCode(r, "the request of a native application has no challenge")
				t.WantRedirectError(r, "invalid_request")
			},
		},
		{
			ID: "RFC8252/8.2/no-implicit", Level: Should,
			Text:         "Native applications do not use the implicit flow.",
			Inapplicable: noImplicit,
		},
		{
			ID: "RFC8252/8.3/localhost-is-a-name", Level: May,
			Text:     "The port of localhost, which can be another address, is compared exactly, unless a setting allows more.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIMatch",
		},
		{
			ID: "RFC8252/8.4/registered-as-public", Level: Must,
			Text:     "A native application is registered as a public client.",
			TestedBy: "conformance/mandate/spec_application_test.go:TestSpecApplicationKinds",
		},
		{
			ID: "RFC8252/8.4/complete-uri-registered", Level: Must,
			Text:     "The complete redirect URI, with its path, is registered.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC8252/8.4/loopback-exact-but-for-port", Level: Must,
			Text:  "Only the port of a loopback redirect URI may differ from the registered one.",
			Needs: nativeNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Loopback)
				_, path, ok := splitLoopback(c.RedirectURI())
				if !ok {
					t.Skipf(noLoopback, c.RedirectURI())
				}
				t.Code(t.Request(c))
				for _, uri := range []string{
					"http://127.0.0.1:49321" + path + "/more", "http://127.0.0.1:49321/conformance", "http://127.0.0.1:49321" + path + "?more=1",
					"http://localhost:49321" + path, "http://127.0.0.2:49321" + path, "http://127.0.0.1.attacker.example:49321" + path,
					"http://127.0.0.1:49321@attacker.example" + path, "https://127.0.0.1:49321" + path,
				} {
					r := t.Authorize(t.Request(c).Set("redirect_uri", uri))
					t.WantNoCode(r, fmt.Sprintf("%s differs from the registered %s in more than the port", uri, c.RedirectURI()))
					wantNoRedirect(t, r)
				}
			},
		},
		{
			ID: "RFC8252/8.4/https-exact", Level: Must,
			Text:  "A public client's redirect URI with https equals the registered one.",
			Needs: publicNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Public)
				wantRefusedURIs(t, c, almost(c.RedirectURI()))
			},
		},
		{
			ID: "RFC8252/8.4/private-use-exact", Level: Must,
			Text:  "A redirect URI with a private-use scheme equals the registered one.",
			Needs: []Need{need.Authorization, need.Scheme, need.User},
			Check: func(t *T) {
				c := t.Client(need.Scheme)
				scheme, _, _ := strings.Cut(c.RedirectURI(), ":")
				wantRefusedURIs(t, c, []string{c.RedirectURI() + "/more", c.RedirectURI() + "?more=1", scheme + ":/conformance-other", scheme + ".attacker:/callback"})
			},
		},
		{
			ID: "RFC8252/8.4/scheme-is-a-domain", Level: Should,
			Text:     "A private-use scheme is a reversed domain name: one without a dot is refused, unless an administrator registers it.",
			TestedBy: "provider/redirect/redirect_test.go:TestRedirectURIAtRegistration",
		},
		{
			ID: "RFC8252/8.4/platform-facts", Level: May,
			Text:         "The registration asks for more data that identifies the application, such as its package name.",
			Inapplicable: "Mandate asks only for the redirect URIs.",
		},
		{
			ID: "RFC8252/8.5/no-shared-secret", Level: Should,
			Text:  "A native application needs no secret, since every copy of it would contain it.",
			Needs: nativeNeeds(need.Token),
			Check: func(t *T) {
				c := t.Client(need.Loopback)
				code := t.Code(t.Request(c))
				t.WantGranted(t.Post(t.Endpoint(need.Token), code.Form(), wire.InBody(c.ID, "")))
			},
		},
		{
			ID: "RFC8252/8.5/secret-is-no-proof", Level: Must,
			Text:         "A secret of a native application is no proof of its identity.",
			Inapplicable: "Mandate issues no secret to public applications.",
		},
		{
			ID: "RFC8252/8.6/not-automatic", Level: Should,
			Text:  "The server does not grant a native application's request without the person, even if they approved it before.",
			Needs: nativeNeeds(),
			Check: func(t *T) { wantAskedAgain(t, t.Client(need.Loopback)) },
		},
		{
			ID: "RFC8252/8.6/https-is-no-proof", Level: May,
			Text:         "A redirect URI with https is no proof of the application's identity either: the server asks the person again.",
			Inapplicable: "Mandate takes an https redirect URI on a host as this proof, as the section allows: only the host's owner receives the response.",
		},
		{
			ID: "RFC8252/8.10/mix-up", Level: Must,
			Text:         "A request with another redirect URI than the registered one is refused, which prevents mix-up attacks.",
			Inapplicable: "It repeats §8.4, whose rules are checked.",
		},
		{
			ID: "RFC8252/8.12/embedded-user-agents", Level: May,
			Text:         "The server detects and refuses requests from an embedded browser.",
			Inapplicable: "Mandate answers every browser, because an embedded one can pretend to be any other.",
		},
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
