package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// A third-party relying party: Debian's mod_auth_openidc first lets nobody in, and then
// the person that the server names. The tests use each algorithm and each way to send a
// request.
func TestOIDCCore3Apache(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice, bob := s.visitor(t, "alice"), s.visitor(t, "bob")
	for _, test := range []struct {
		name              string
		flags, directives []string
	}{
		{"RS256", nil, []string{"OIDCIDTokenSignedResponseAlg RS256"}},
		{"HS256", []string{"--algorithm", "HS256", "--no-hash-client-secret"},
			[]string{"OIDCIDTokenSignedResponseAlg HS256", "OIDCProviderTokenEndpointAuth client_secret_post"}},
		{"ES256", []string{"--algorithm", "ES256"}, []string{"OIDCIDTokenSignedResponseAlg ES256"}},
		{"PS256", []string{"--algorithm", "PS256"}, []string{"OIDCIDTokenSignedResponseAlg PS256"}},
		{"form_post", nil, []string{"OIDCResponseMode form_post"}},
		{"HS256 by form_post", []string{"--algorithm", "HS256", "--no-hash-client-secret"},
			[]string{"OIDCIDTokenSignedResponseAlg HS256", "OIDCResponseMode form_post"}},
		{"signed UserInfo", []string{"--userinfo-algorithm", "ES256"}, []string{"OIDCUserInfoSignedResponseAlg ES256"}},
		{"UserInfo by POST", nil, []string{"OIDCUserInfoTokenMethod post_param"}},
		{"the request by POST", nil, []string{"OIDCProviderAuthRequestMethod POST"}},
		{"every login anew", nil,
			[]string{
				`OIDCAuthRequestParams prompt=login&max_age=300&ui_locales=de-CH&acr_values=urn%3Amandate%3Aacr%3Apassword`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.apache(t, test.flags, test.directives...)
			b := s.browser(t)
			b.open(t, a.URL+"/")
			a.follow(t, b)
			if a.told(b) != nil || !b.shows("password") {
				t.Fatalf("nobody is shown %d %s: %s", b.Status, b.URL, b.Body)
			}
			a.visit(t, b, "/", alice.person, "deny")
			if a.told(b) != nil {
				t.Fatalf("a person who refused is let in: %s", b.Body)
			}
			a.visit(t, b, "/", alice.person, "approve")
			a.checkTold(t, b, alice)
			// Apache uses the claims to accept one person and refuse another.
			a.visit(t, b, "/alice", alice.person, "approve")
			a.checkTold(t, b, alice)
			other := s.browser(t)
			a.visit(t, other, "/alice", bob.person, "approve")
			if a.told(other) != nil || other.Status != http.StatusUnauthorized {
				t.Errorf("/alice answers bob with %d: %s", other.Status, other.Body)
			}
			a.visit(t, other, "/", bob.person, "approve")
			a.checkTold(t, other, bob)
		})
	}
}

// visitor is a person with the subject that public applications receive.
type visitor struct {
	person
	subject string
}

func (s *server) visitor(t testing.TB, name string) visitor {
	t.Helper()
	who, app := s.somebody(t, name), s.relyingParty(t)
	subject, _ := s.verified(t, app, "RS256", s.browser(t).signsIn(t, app, who).IDToken)["sub"].(string)
	return visitor{who, subject}
}

// checkTold checks that Apache let a person in, and the facts that it sends to the
// page.
func (a *apache) checkTold(t *testing.T, b *browser, who visitor) {
	t.Helper()
	told := a.told(b)
	if told == nil {
		t.Fatalf("%s is shown %d %s:\n%s", who.Name, b.Status, b.URL, b.Body)
	}
	b.server.secret(told.Get("OIDC_access_token"))
	for header, want := range map[string]string{
		"X-Remote-User": who.Name, "OIDC_CLAIM_preferred_username": who.Name, "OIDC_CLAIM_email": who.Name + "@example.org",
		"OIDC_CLAIM_given_name": "Alice",
		"OIDC_CLAIM_sub":        who.subject, "OIDC_CLAIM_iss": b.server.Issuer, "OIDC_CLAIM_aud": a.App.ClientID,
		"OIDC_CLAIM_acr": "urn:mandate:acr:password",
	} {
		if told.Get(header) != want {
			t.Errorf("%s is %q, want %q", header, told.Get(header), want)
		}
	}
}

// OIDC Core §3.1.3.7: Apache accepts no ID token with another algorithm than the
// expected one.
func TestOIDCCore3ApacheAlgorithm(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	for _, test := range []struct {
		name, expected string
		flags          []string
	}{
		{"RS256 for HS256", "HS256", nil},
		{"HS256 for RS256", "RS256", []string{"--algorithm", "HS256", "--no-hash-client-secret"}},
		{"ES256 for RS256", "RS256", []string{"--algorithm", "ES256"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			a := s.apache(t, test.flags, "OIDCIDTokenSignedResponseAlg "+test.expected)
			b := s.browser(t)
			for range 2 { // the second time without a consent page
				a.visit(t, b, "/", alice, "approve")
				if a.told(b) != nil || !a.serves(b.URL.String()) {
					t.Errorf("Apache answers %d %s: %s", b.Status, b.URL, b.Body)
				}
			}
			waitFor(t, "Apache's log says that it was for the algorithm",
				func() bool { return strings.Contains(a.log.String(), "algorithm") })
		})
	}
}

// OIDC Core §3.1.3.7, RFC 6749 §4.1.3: a code or token of one application is not
// accepted at another application.
func TestOIDCCore3ApacheOtherClient(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.visitor(t, "alice")
	one, other := s.apache(t, nil), s.apache(t, nil)
	b := s.browser(t)
	one.visit(t, b, "/", alice.person, "approve")
	one.checkTold(t, b, alice)
	// Both are on one host, so the browser sends the cookie of one to the other.
	b.open(t, other.URL+"/")
	other.follow(t, b)
	if !b.shows("decision") {
		t.Fatalf("the other application answers %d %s:\n%s", b.Status, b.URL, b.Body)
	}
	b.decide(t, "approve")
	response := b.Away.Query() // a code for the other application, not used yet
	fresh := s.browser(t)
	fresh.open(t, one.URL+"/")
	fresh.logIn(t, alice.person)
	stolen := fresh.Away.Query() // for the first application
	for _, test := range []struct {
		what  string
		query url.Values
	}{
		// This comes first, while the module still waits for an answer with that state.
		{"the one's code in the other's response",
			params("code", stolen.Get("code"), "state", response.Get("state"), "iss", s.Issuer)},
		{"the one's response", stolen},
	} {
		what := test.what
		b.open(t, other.URL+"/callback?"+test.query.Encode())
		other.follow(t, b)
		if other.told(b) != nil {
			t.Errorf("%s lets somebody in: %s", what, b.Body)
		}
	}
	waitFor(t, "the server refuses the code", func() bool { return strings.Contains(other.log.String(), "invalid_grant") })
	// The answer had no other error.
	other.visit(t, b, "/", alice.person, "approve")
	other.checkTold(t, b, alice)
}

// OIDC Core §12, RFC 7009 §2.1: Apache gets new tokens with the refresh token, and
// revokes all tokens when the person logs out.
func TestOIDCCore12Apache(t *testing.T) {
	ownProcesses(t)
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	alice := s.visitor(t, "alice")
	a := s.apache(t, nil)
	b := s.browser(t)
	a.visit(t, b, "/", alice.person, "approve")
	a.checkTold(t, b, alice)
	before := a.told(b).Get("OIDC_access_token")
	b.open(t, a.URL+"/callback?"+params("refresh", a.URL+"/", "access_token", before).Encode())
	a.follow(t, b)
	a.checkTold(t, b, alice)
	after := a.told(b).Get("OIDC_access_token")
	if after == before {
		t.Errorf("the access token is still the first: %s", b.URL)
	}
	s.userInfo(t, after)
	b.open(t, a.URL+"/callback?"+params("logout", a.URL+"/").Encode())
	for _, token := range []string{before, after} {
		if info := s.get(t, "/o/userinfo/", bearer(token)); info.Status != http.StatusUnauthorized {
			t.Errorf("after the logout UserInfo answers %d", info.Status)
		}
	}
}
