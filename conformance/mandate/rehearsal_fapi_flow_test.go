package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestRehearsalFAPIFlows performs the complete flow of each kind of client, on both databases.
func TestRehearsalFAPIFlows(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		r := newRehearsal(t, db)
		for _, v := range variants {
			t.Run(v.name, func(t *testing.T) {
				one, two := r.pair(t, v)
				t.Run("happy-flow", func(t *testing.T) { happyFlow(t, one, two) })
				t.Run("user-rejects-authentication", func(t *testing.T) { personRejects(t, one) })
				t.Run("refresh-token", func(t *testing.T) { refreshes(t, one, two) })
			})
		}
		for _, v := range []variant{keyDPoP, ownMTLS, {"tls_client_auth and DPoP", "tls_client_auth", "dpop", false, false}} {
			t.Run("client credentials, "+v.name, func(t *testing.T) { r.credentials(t, v) })
		}
	})
}

// happyFlow gets tokens for both clients and uses them.
func happyFlow(t *testing.T, one, two *party) {
	more := []string{"state", strings.Repeat("s", 128)}
	if two.openid {
		more = append(more, "nonce", strings.Repeat("n", 43))
	}
	if two.proves != nil {
		more = append(more, "dpop_jkt", two.proves.jkt)
	}
	for p, more := range map[*party][]string{one: nil, two: more} {
		form, verifier := p.asks(t, more...)
		got := p.tokens(t, p.codeOf(t, p.authenticates(t, nil, nil), form, verifier))
		checkEqual(t, "scope", got.Scope, p.scope)
		p.usable(t, got.AccessToken)
		for _, accept := range []string{"application/json;charset=utf-8", "application/json, */*"} {
			a := p.at.get(t, "/resource", wanting(accept, p.presents(t, got.AccessToken)))
			checkEqual(t, "the API with Accept "+accept, a.Status, http.StatusOK)
		}
		// FAPI 2.0 Security Profile §5.3.4: a token in the query does not count.
		a := p.at.get(t, "/resource?access_token="+url.QueryEscape(got.AccessToken), nobody)
		checkEqual(t, "a token in the query", a.Status, http.StatusUnauthorized)
		t.Run("access-token-type-header-case-sensitivity", func(t *testing.T) { schemes(t, p, got.AccessToken) })
		if p.openid {
			claims := p.rehearsal.verified(t, p.application, "PS256", got.IDToken)
			checkEqual(t, "nonce", claims["nonce"], any(form.Get("nonce")))
			a := p.at.get(t, "/o/userinfo/", p.presents(t, got.AccessToken))
			if a.Status != http.StatusOK || a.JSON(t)["sub"] != claims["sub"] || a.JSON(t)["email"] != "alice@example.org" {
				t.Errorf("UserInfo: %d %s", a.Status, a.Body)
			}
		}
	}
}

// schemes writes the scheme of the token in other cases.
func schemes(t *testing.T, p *party, token string) {
	for _, write := range []func(string) string{strings.ToLower, strings.ToUpper} {
		a := p.at.get(t, "/resource", func(r *http.Request, form url.Values) {
			p.presents(t, token)(r, form)
			scheme, rest, _ := strings.Cut(r.Header.Get("Authorization"), " ")
			r.Header.Set("Authorization", write(scheme)+" "+rest)
		})
		if a.Status != http.StatusOK {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
}

// personRejects does not allow the access.
func personRejects(t *testing.T, p *party) {
	other := *p
	other.person = p.rehearsal.signedIn(t, p.rehearsal.alice)
	form, _ := p.asks(t, "prompt", "consent")
	got := other.answered(t, p.pushed(t, p.authenticates(t, nil, nil), form), "deny")
	if got.Get("error") != "access_denied" || got.Get("state") != "the state" || got.Get("error_description") == "" ||
		got.Get("error_uri") == "" || len(got) != 4 {
		t.Errorf("the response is %v", got)
	}
}

// refreshes uses the refresh tokens of both clients, and each of them wrongly.
func refreshes(t *testing.T, one, two *party) {
	for _, p := range []*party{one, two} {
		got := p.tokens(t, p.code(t))
		form := refreshForm(got.RefreshToken)
		// FAPI 2.0 Security Profile §5.3.2.1: the refresh token is not rotated.
		next := p.tokens(t, form)
		checkEqual(t, "the refresh token", next.RefreshToken, got.RefreshToken)
		p.usable(t, next.AccessToken)
		p.usable(t, got.AccessToken)

		other := two
		if p == two {
			other = one
		}
		p.refusesUnauthenticated(t, form)
		other.refuses(t, "another client", other.as(t), form, http.StatusBadRequest, "invalid_grant")
		p.refusesUnproven(t, form)
		p.usable(t, p.tokens(t, form).AccessToken)
	}
}

// credentials rehearses the plans with fapi_profile=fapi_client_credentials_grant.
func (r *rehearsal) credentials(t *testing.T, v variant) {
	p := r.party(t, v, "itself", "https://suite.example/test/a/mandate/callback", "--grant", "client_credentials")
	got := p.tokens(t, with(forItself, "scope", "read"))
	checkEqual(t, "scope", got.Scope, "read")
	// RFC 6749 §4.4.3
	checkEqual(t, "refresh token", got.RefreshToken, "")
	p.usable(t, got.AccessToken)
	p.refusesUnauthenticated(t, forItself)
	p.refusesUnproven(t, forItself)
	p.refusesAssertions(t, forItself)
}
