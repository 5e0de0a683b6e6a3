package conformance

import (
	"strings"
	"testing"
)

// RFC 6749 §3.1.2.2: whoever uses the authorization endpoint registers a redirect URI, and the whole of it.
// Registration is no part of the protocol, so that no check can see it.
func TestRedirectURIIsRequired(t *testing.T) {
	s := onDatabase(t, "sqlite")
	for _, kind := range []string{"public", "confidential"} {
		for flags, want := range map[string]string{
			"":                                    "needs at least one redirect URI",
			"--redirect-uri https://*.example/":   "must not have a wildcard",
			"--redirect-uri /callback":            "must be absolute",
			"--redirect-uri https://a.example/#x": "must not have a fragment",
		} {
			args := append([]string{"application", "add", "--name", "x", "--client-type", kind, "--grant", "authorization_code"}, strings.Fields(flags)...)
			_, err := s.cli("", args...)
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s %s: %v, want %q", kind, flags, err, want)
			}
		}
	}
}
