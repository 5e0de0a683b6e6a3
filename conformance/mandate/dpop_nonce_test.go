package mandate

import (
	"net/http"
	"net/url"
	"testing"
)

// RFC 9449 §8: nonces that the server demands. Two nodes accept the same ones.
func TestDPoPNonce(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		o := options{database: db, provider: []string{"OIDC_ENABLED: true", "DPOP_NONCE_REQUIRED: true"}}
		v := newFixture(t, o)
		h, b := newHolder(t), v.signedIn(t, v.alice)
		// challenged sends a proof without a nonce, and returns the nonce of the response.
		challenged := func(what string, status int, a answer) string {
			t.Helper()
			nonces := a.Header.Values("DPoP-Nonce")
			if a.Status != status || len(nonces) != 1 || a.Header.Get("Cache-Control") != "no-store" {
				t.Fatalf("%s without a nonce: %d, nonces %q: %s", what, a.Status, nonces, a.Body)
			}
			return nonces[0]
		}
		form := b.issue(t, v.phone, v.alice)
		a := v.post(t, "/o/token/", h.proving(t, v.phone.auth()), form)
		if err := a.refused(http.StatusBadRequest, "use_dpop_nonce"); err != nil {
			t.Error(err)
		}
		nonce := member{"nonce": challenged("token", http.StatusBadRequest, a)}
		for what, wrong := range map[string]any{"another nonce": "AAAAAAAAAAAAAAAAAAAAAAAA", "an empty nonce": "",
			"a number": 7} {
			a := v.post(t, "/o/token/", h.provingWith(t, v.phone.auth(), member{"nonce": wrong}), form)
			if err := a.refused(http.StatusBadRequest, "use_dpop_nonce"); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		// The challenge has used nothing: the code still works, and so does the refresh token.
		got := v.mustToken(t, h.provingWith(t, v.phone.auth(), nonce), form)
		a = v.post(t, "/o/token/", h.proving(t, v.phone.auth()), refreshForm(got.RefreshToken))
		challenged("refresh", http.StatusBadRequest, a)
		// The nonce comes with each response, also that of a refresh after a challenge.
		for range 3 {
			a = v.post(t, "/o/token/", h.provingWith(t, v.phone.auth(), nonce), refreshForm(got.RefreshToken))
			if a.Status != http.StatusOK || a.Header.Get("DPoP-Nonce") == "" {
				t.Fatalf("refresh with the nonce: %d, DPoP-Nonce %q: %s", a.Status, a.Header.Get("DPoP-Nonce"), a.Body)
			}
			got, nonce = v.tokens(t, a), member{"nonce": a.Header.Get("DPoP-Nonce")}
		}

		pushed, _ := v.requestFor(t, v.web)
		challenged("PAR", http.StatusBadRequest, v.post(t, "/o/par/", h.proving(t, v.web.auth()), pushed))
		a = v.post(t, "/o/par/", h.provingWith(t, v.web.auth(), nonce), pushed)
		if a.Status != http.StatusCreated || a.Header.Get("DPoP-Nonce") == "" {
			t.Errorf("PAR with the nonce: %d %v %s", a.Status, a.Header, a.Body)
		}
		bound := v.mustToken(t, h.provingWith(t, v.web.auth(), nonce),
			b.issue(t, v.web, v.alice, "scope", "openid")).AccessToken
		present := func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", "DPoP "+bound) }
		a = v.get(t, "/o/userinfo/", h.provingWith(t, present, member{"ath": digest(bound)}))
		challenged("UserInfo", http.StatusUnauthorized, a)
		wantChallenge(t, a, "DPoP", "use_dpop_nonce")
		a = v.get(t, "/o/userinfo/", h.provingWith(t, present, member{"ath": digest(bound), "nonce": nonce["nonce"]}))
		checkEqual(t, "UserInfo with the nonce", a.Status, http.StatusOK)

		second := v.node(t)
		a = second.post(t, "/o/token/", sending(v.web.auth(), h.proof(t, "POST", v.Issuer+"/token/", nonce, nil)), forItself)
		checkEqual(t, "the nonce at another node", a.Status, http.StatusOK)
	})
}

// RFC 9449 §11.1: of the same proofs that reach two nodes at once, each is used once.
func TestAttackDPoPReplay(t *testing.T) {
	ownProcesses(t)
	attack(t, "a DPoP proof that is sent to two nodes at the same time", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		h, second := newHolder(t), v.node(t)
		for range 5 {
			proof := h.proof(t, "POST", v.Issuer+"/token/", nil, nil)
			given := 0
			for _, a := range parallel(t, 8, func(i int) (answer, error) {
				at := v.server
				if i%2 == 1 {
					at = second
				}
				return at.tryPost("/o/token/", sending(v.web.auth(), proof), forItself)
			}) {
				if a.Status == http.StatusOK {
					given++
				} else if err := a.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
					t.Error(err)
				}
			}
			checkEqual(t, "token responses for one proof", given, 1)
		}
	})
}

// RFC 9449 §8: the client repeats the request with a nonce. Its assertion (RFC 7523 §3) is not used
// by the first one, and is used by the second one.
func TestDPoPNonceUsesNoAssertion(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"DPOP_NONCE_REQUIRED: true"}})
		a := v.keyHolder(t, "robot", "--grant", "authorization_code", "--grant", deviceGrant, "--redirect-uri", phoneURI)
		h, b := newHolder(t), v.signedIn(t, v.alice)
		var refresh string
		for _, one := range []struct {
			what, path string
			form       func() url.Values
			status     int
		}{
			{"code", "/o/token/", func() url.Values { return b.issue(t, a.application, v.alice) }, http.StatusOK},
			{"refresh", "/o/token/", func() url.Values { return refreshForm(refresh) }, http.StatusOK},
			{"client credentials", "/o/token/", func() url.Values { return forItself }, http.StatusOK},
			{"PAR", "/o/par/", func() url.Values { form, _ := v.requestFor(t, a.application); return form }, http.StatusCreated},
			{"device, which waits", "/o/token/", func() url.Values {
				began := v.post(t, "/o/device_authorization/", asserting(v.assert(t, a, nil, nil)), nil)
				return params("grant_type", deviceGrant, "device_code", textOf(began.JSON(t), "device_code"))
			}, http.StatusBadRequest},
		} {
			as, form := asserting(v.assert(t, a, nil, nil)), one.form()
			challenge := v.post(t, one.path, h.proving(t, as), form)
			if err := challenge.refused(http.StatusBadRequest, "use_dpop_nonce"); err != nil {
				t.Errorf("%s: %v", one.what, err)
			}
			nonce := member{"nonce": challenge.Header.Get("DPoP-Nonce")}
			got := v.post(t, one.path, h.provingWith(t, as, nonce), form)
			if got.Status != one.status || got.Status == http.StatusBadRequest &&
				textOf(got.JSON(t), "error") != "authorization_pending" {
				t.Errorf("%s with the nonce: %d %s", one.what, got.Status, got.Body)
			}
			if one.what == "code" {
				refresh = v.tokens(t, got).RefreshToken
			}
			if one.what == "refresh" {
				form = refreshForm(v.tokens(t, got).RefreshToken)
			}
			if one.what == "code" { // a used code revokes its tokens
				form = b.issue(t, a.application, v.alice)
			}
			if err := v.post(t, one.path, h.provingWith(t, as, nonce), form).refused(http.StatusUnauthorized,
				"invalid_client"); err != nil {
				t.Errorf("%s, the assertion again: %v", one.what, err)
			}
		}
	})
}
