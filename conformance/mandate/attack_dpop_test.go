package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// RFC 9449 §4.3: htu is compared with the address of this server, which no header of the request
// changes. Otherwise a proof that was made for another server works here.
func TestAttackDPoPForgedHost(t *testing.T) {
	t.Parallel()
	attack(t, "a DPoP proof for another server", "Keycloak #39332, bluesky pds #163: htu is compared with the header Host")
	v := newFixture(t, options{provider: []string{"OIDC_ENABLED: true"}})
	h, b := newHolder(t), v.signedIn(t, v.alice)
	access := v.mustToken(t, h.proving(t, v.web.auth()), b.issue(t, v.web, v.alice, "scope", "openid read")).AccessToken
	pushed, _ := v.requestFor(t, v.web)
	own, err := url.Parse(v.BaseURL)
	if err != nil {
		t.Fatal(err)
	}
	const evil = "attacker.example"
	presents := func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", "DPoP "+access) }
	for _, at := range []struct {
		method, path string
		as           auth
		form         url.Values
		good, bad    int
	}{
		{"POST", "/o/token/", v.web.auth(), forItself, http.StatusOK, http.StatusBadRequest},
		{"POST", "/o/par/", v.web.auth(), pushed, http.StatusCreated, http.StatusBadRequest},
		{"POST", "/o/userinfo/", presents, nil, http.StatusOK, http.StatusUnauthorized},
		{"GET", "/resource", presents, nil, http.StatusOK, http.StatusUnauthorized},
	} {
		claims := member{}
		if at.form == nil {
			claims["ath"] = digest(access)
		}
		for what, header := range map[string]http.Header{
			"Host":             {"Host": {evil}},
			"X-Forwarded-Host": {"X-Forwarded-Host": {evil}, "X-Forwarded-Proto": {"https"}},
			"Forwarded":        {"Forwarded": {"host=" + evil + ";proto=https"}},
		} {
			send := func(proof string) answer {
				t.Helper()
				as := sending(func(r *http.Request, form url.Values) {
					at.as(r, form)
					for name, values := range header {
						r.Header[name] = values
					}
					if host := header.Get("Host"); host != "" {
						r.Host = host
					}
				}, proof)
				if at.method == "GET" {
					return v.get(t, at.path, as)
				}
				return v.post(t, at.path, as, at.form)
			}
			for _, scheme := range []string{own.Scheme, "https"} {
				forged := send(h.proof(t, at.method, scheme+"://"+evil+at.path, claims, nil))
				if forged.Status != at.bad || !strings.Contains(forged.Body+forged.Header.Get("WWW-Authenticate"),
					"invalid_dpop_proof") {
					t.Errorf("%s with %s, and a proof for %s://%s: %d %s", at.path, what, scheme, evil, forged.Status, forged.Body)
				}
			}
			right := send(h.proof(t, at.method, v.BaseURL+at.path, claims, nil))
			if right.Status != at.good {
				t.Errorf("%s with %s, and the right proof: %d %s", at.path, what, right.Status, right.Body)
			}
		}
	}
}
