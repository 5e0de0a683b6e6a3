package mandate

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// The modules of the token endpoint, on SQLite: each changes one thing of the flow.

func TestRehearsalFAPITokenEndpoint(t *testing.T) {
	t.Parallel()
	db := newSQLite(t)
	r := newRehearsal(t, db)
	for _, v := range []variant{keyDPoP, ownMTLS, messageDPoP,
		{"private_key_jwt and mTLS", "private_key_jwt", "certificate", true, false}} {
		t.Run(v.name, func(t *testing.T) {
			one, two := r.pair(t, v)
			form := one.code(t)
			t.Run("ensure-client-id-in-token-endpoint", func(t *testing.T) {
				one.refuses(t, "the client_id of the other", both(one.as(t), "client_id", two.ClientID), form,
					http.StatusUnauthorized, "invalid_client")
			})
			t.Run("ensure-authorization-code-is-bound-to-client", func(t *testing.T) {
				two.refuses(t, "the other client", two.as(t), form, http.StatusBadRequest, "invalid_grant")
			})
			t.Run("ensure-holder-of-key-required", func(t *testing.T) { one.refusesUnproven(t, form) })
			t.Run("ensure-client-assertion-in-token-endpoint", func(t *testing.T) { one.refusesUnauthenticated(t, form) })
			one.refusesAssertions(t, form)
			for name, verifier := range map[string]string{"ensure-pkce-code-verifier-required": "",
				"incorrect-pkce-code-verifier-rejected": form.Get("code_verifier")[1:] + "x"} {
				t.Run(name, func(t *testing.T) {
					one.refuses(t, name, one.as(t), with(form, "code_verifier", verifier), http.StatusBadRequest, "invalid_grant")
				})
			}
			t.Run("attempt-reuse-authorization-code-after-one-second", func(t *testing.T) { one.reuses(t, form) })
			t.Run("ensure-token-endpoint-fails-with-expired-auth-code", func(t *testing.T) { one.isLate(t, db) })
		})
	}
}

// refusesUnauthenticated sends a request without client authentication.
func (p *party) refusesUnauthenticated(t *testing.T, form url.Values) {
	t.Helper()
	anybody := *p
	as := p.proving(t, nobody)
	if p.method != "private_key_jwt" {
		anybody.at, as = p.rehearsal.reached(p.at.URL, nil), p.proving(t, p.auth())
	}
	anybody.refuses(t, "no client authentication", as, form, http.StatusUnauthorized, "invalid_client")
}

// refusesUnproven sends a request of the client without that which its tokens are bound to.
func (p *party) refusesUnproven(t *testing.T, form url.Values) {
	t.Helper()
	thief, status, code := *p, http.StatusBadRequest, "invalid_dpop_proof"
	if p.bound == "certificate" {
		thief.at, code = p.rehearsal.reached(p.at.URL, nil), "invalid_request"
		if p.method != "private_key_jwt" {
			status, code = http.StatusUnauthorized, "invalid_client"
		}
	}
	thief.refuses(t, "no proof", p.authenticates(t, nil, nil), form, status, code)
}

// refusesAssertions sends a request with assertions of which one thing is wrong.
func (p *party) refusesAssertions(t *testing.T, form url.Values) {
	if p.method != "private_key_jwt" {
		return
	}
	for name, one := range map[string][2]member{
		"ensure-signed-client-assertion-with-RS256-fails":             {nil, {"alg": "RS256", "kid": "RS256"}},
		"ensure-client-assertion-with-exp-is-5-minutes-in-past-fails": {{"exp": time.Now().Unix() - 300}, nil},
		"ensure-client-assertion-with-wrong-aud-fails":                {{"aud": "https://other.example/"}, nil},
		"ensure-client-assertion-with-no-sub-fails":                   {{"sub": nil}, nil},
		"par-test-array-as-audience-fails, at the token endpoint": {
			{"aud": []string{p.at.Issuer, "https://other.example/"}}, nil},
		"par-test-token-endpoint-url-as-audience-fails, at the endpoint": {{"aud": p.at.Issuer + "/token/"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p.refuses(t, name, p.proving(t, p.authenticates(t, one[0], one[1])), form, http.StatusUnauthorized, "invalid_client")
		})
	}
}

// reuses exchanges a code, and sends it again: the code is refused, and its token dies.
func (p *party) reuses(t *testing.T, form url.Values) {
	got := p.tokens(t, form)
	p.usable(t, got.AccessToken)
	p.refuses(t, "the code again", p.as(t), form, http.StatusBadRequest, "invalid_grant")
	a := p.at.get(t, "/resource", p.presents(t, got.AccessToken))
	checkEqual(t, "the API, after the code came again", a.Status, http.StatusUnauthorized)
	p.refuses(t, "the refresh token", p.as(t), refreshForm(got.RefreshToken), http.StatusBadRequest, "invalid_grant")
}

// isLate sends a code 62 seconds after it was issued.
func (p *party) isLate(t *testing.T, db database) {
	form := p.code(t)
	behind(t, db, `UPDATE grants SET code_expires_at = code_expires_at - 62, created_at = created_at - 62`)
	p.refuses(t, "a late code", p.as(t), form, http.StatusBadRequest, "invalid_grant")
}
