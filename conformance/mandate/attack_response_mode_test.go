package mandate

import "testing"

// JARM §2.3: an application that limits itself to signed responses gets no other one, also if the
// request has the mode twice.
func TestAttackResponseModeTwice(t *testing.T) {
	attack(t, "downgrade", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		limited := v.objectSigner(t, "signed", "--response-mode", "form_post.jwt").application
		b := v.signedIn(t, v.alice)
		address, _ := v.authorizeURL(limited, "scope", "read", "response_mode", "form_post.jwt")
		for _, again := range []string{"query", "form_post.jwt", ""} {
			b.open(t, address+"&response_mode="+again)
			b.wantPage(t, "and again "+again, "response_mode")
		}
		// The usual mode is allowed to all others, and so they get the error.
		address, _ = v.authorizeURL(v.web, "response_mode", "query", "state", "s&1")
		b.open(t, address+"&response_mode=query")
		b.sentBack(t, "an application without a list", "invalid_request")
	})
}
