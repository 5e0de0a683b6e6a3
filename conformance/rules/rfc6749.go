package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

func rfc6749() []Rule {
	return slices.Concat(rfc6749Clients(), rfc6749Authorization(), rfc6749TokenEndpoint(), rfc6749Code(), rfc6749CodeErrors(), rfc6749Redemption(),
		rfc6749Grants(), rfc6749Answers(), rfc6749Errors(), rfc6749Refresh(), rfc6749Security())
}

// codeFlowNeeds returns what a check of the authorization code grant needs.
func codeFlowNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Token, need.Code, need.User}, more...)
}

// authorizationNeeds returns what a check needs that sends an authorization request, but does not redeem the code.
func authorizationNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Code, need.User}, more...)
}

var machine = []Need{need.Token, need.Machine}

// badScopes are an unknown scope, and one with characters that RFC 6749 §3.3 does not allow.
var badScopes = []string{"conformance-unknown", "\"\\"}

// OnLoopback is the reason for which rules about TLS are skipped on this machine.
const OnLoopback = "on loopback nobody is on the way"

// wantTLS asserts that addresses use https. If some use http on this machine, and the others are correct, the check
// is skipped.
func wantTLS(t *T, addresses ...string) {
	local := false
	for _, address := range addresses {
		u, err := url.Parse(address)
		switch {
		case err != nil || u.Host == "":
			t.Errorf("%q is no absolute URL", address)
		case u.Scheme == "http" && slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname()):
			local = true
		case u.Scheme != "https":
			t.Errorf("%s does not use TLS", u)
		}
	}
	if local {
		t.Skipf("%s", OnLoopback)
	}
}

// wantNoFragment asserts that the address of an endpoint has no fragment.
func wantNoFragment(t *T, endpoint Need) {
	if strings.Contains(t.Endpoint(endpoint), "#") {
		t.Failf("%s is %s, which has a fragment", endpoint, t.Endpoint(endpoint))
	}
}

// wantNoRedirect asserts that the browser was not redirected.
func wantNoRedirect(t *T, r *check.Response) {
	if r.Location != "" {
		t.At(r.Answer)
		t.Failf("the browser was sent to %s", wire.Clip(r.Location, 200))
	}
}

// wantASCII asserts that the text of an error contains only characters that RFC 6749 allows.
func wantASCII(t *T, name, text string) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' || r == '"' || r == '\\' }) {
		t.Errorf("%s is %q, which contains a character that is not allowed", name, text)
	}
}

// wantScheme asserts that WWW-Authenticate contains a scheme.
func wantScheme(t *T, a *wire.Answer, scheme string) {
	for _, challenge := range a.Header.Values("WWW-Authenticate") {
		for part := range strings.SplitSeq(challenge, ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(part), " ")
			if strings.EqualFold(name, scheme) {
				return
			}
		}
	}
	t.At(a)
	t.Errorf("WWW-Authenticate is %q, want the scheme %s", strings.Join(a.Header.Values("WWW-Authenticate"), ", "), scheme)
}

// wantHeader asserts that a header contains a word.
func wantHeader(t *T, a *wire.Answer, name, word string) {
	value := strings.Join(a.Header.Values(name), ", ")
	if !strings.Contains(strings.ToLower(value), word) {
		t.At(a)
		t.Errorf("%s is %q, want %s", http.CanonicalHeaderKey(name), value, word)
	}
}
