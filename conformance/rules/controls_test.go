package rules

import (
	"fmt"
	"net/http"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// RFC 9110 §11.6.1: one field can have several challenges, and a parameter belongs to the scheme before it.
func TestChallengesOf(t *testing.T) {
	for header, want := range map[string]string{
		`Bearer`:                               "[{Bearer map[]}]",
		`Bearer realm="a, b", error=x`:         "[{Bearer map[error:[x] realm:[a, b]]}]",
		`Basic realm="x", Bearer realm="y"`:    "[{Basic map[realm:[x]]} {Bearer map[realm:[y]]}]",
		`Bearer realm="x", realm="y"`:          "[{Bearer map[realm:[x y]]}]",
		`DPoP algs="ES256", Bearer error="é"`:  "[{DPoP map[algs:[ES256]]} {Bearer map[error:[é]]}]",
		`Basic realm="Bearer error=\"x\""`:     `[{Basic map[realm:[Bearer error=\"x\]]}]`,
		`Bearer ,, error = "x" , scope="a b" `: "[{Bearer map[error:[x] scope:[a b]]}]",
		``:                                     "[]",
	} {
		a := &wire.Answer{Header: http.Header{"Www-Authenticate": {header}}}
		if got := fmt.Sprint(challengesOf(a)); got != want {
			t.Errorf("%s: %s, want %s", header, got, want)
		}
	}
}

// A value of a request does harm only as an element of a page, not as text or in a script.
func TestHasInjected(t *testing.T) {
	for page, want := range map[string]bool{
		`<p>"'><svg onload=alert(1)>x`:                             true,
		`<input value=""'><svg onload=alert(1)>x">`:                true,
		`<p>&lt;svg onload=alert(1)&gt;`:                           false,
		`<script>var state = "\"'><svg onload=alert(1)>"</script>`: false,
	} {
		a := &wire.Answer{Header: http.Header{"Content-Type": {"text/html; charset=utf-8"}},
			Body: []byte("<!DOCTYPE html>" + page)}
		if got := hasInjected(a); got != want {
			t.Errorf("%s: %t, want %t", page, got, want)
		}
	}
}

// RFC 6749 §3.1.2.4: only a redirect to the invalid redirect URI violates the rule. The registered URI and a page of
// the server do not.
func TestLedTo(t *testing.T) {
	const registered = "https://client.example/code"
	for _, c := range []struct {
		asked, sent string
		want        bool
	}{
		{"https://attacker.example/", "https://attacker.example/?error=x", true},
		{"//attacker.example/", "https://attacker.example/", true},
		{"javascript:alert(1)", "javascript:alert(1)?error=x", true},
		{registered + "?more=1", registered + "?error=x", false},
		{registered + "?more=1", registered + "?more=1&error=x", true},
		{registered + "/../other", "https://client.example/other", true},
		{"HTTPS://CLIENT.EXAMPLE/CODE", "https://client.example/CODE?error=x", true},
		{"HTTPS://CLIENT.EXAMPLE/CODE", registered + "?error=x", false},
		{"https://attacker.example/", registered + "?error=x", false},
		{"https://attacker.example/", "https://errors.example/", false},
	} {
		request := &check.Request{Client: &target.Client{RedirectURIs: []string{registered}},
			Endpoint: "https://server.example/authorize", Params: wire.Params("redirect_uri", c.asked)}
		if got := ledTo(&check.Response{Request: request, Location: c.sent}, c.asked); got != c.want {
			t.Errorf("asked for %s, sent to %s: %t, want %t", c.asked, c.sent, got, c.want)
		}
	}
}
