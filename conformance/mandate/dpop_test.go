package mandate

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// DPoP at the server (RFC 9449), on both databases.
func TestDPoP(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		t.Run("each grant", v.dpopGrants)
		t.Run("proofs that are refused", v.dpopBadProofs)
		t.Run("a failed proof uses nothing", v.dpopUsesNothing)
		t.Run("code", v.dpopCode)
		t.Run("pushed", v.dpopPushed)
		t.Run("refresh", v.dpopRefresh)
		t.Run("bound token", v.dpopToken)
		t.Run("always", v.dpopAlways)
	})
}

// signedCNF returns the claim cnf of a signed token.
func signedCNF(t testing.TB, token string) any {
	t.Helper()
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	var claims map[string]any
	if err == nil {
		err = json.Unmarshal(raw, &claims)
	}
	if err != nil {
		t.Fatal(err)
	}
	return claims["cnf"]
}

// checkBound checks what introspection says of a token that is bound to a key.
func (v *fixture) checkBound(t testing.TB, token string, h *holder) {
	t.Helper()
	got := v.introspect(t, v.asker.auth(), token)
	cnf, _ := got["cnf"].(map[string]any)
	// RFC 9449 §6.2
	if got["active"] != true || got["token_type"] != "DPoP" || len(cnf) != 1 || cnf["jkt"] != h.jkt {
		t.Errorf("introspection of a bound token: %v", got)
	}
}

func (v *fixture) dpopGrants(t *testing.T) {
	h := newHolder(t)
	b := v.signedIn(t, v.alice)
	signed := v.application(t, "--name", "Signed", "--grant", "client_credentials", "--access-token-format", "jwt")
	for what, one := range map[string]struct {
		app  application
		form url.Values
	}{
		"authorization_code":         {v.web, b.issue(t, v.web, v.alice)},
		"authorization_code, public": {v.phone, b.issue(t, v.phone, v.alice)},
		"client_credentials":         {v.web, forItself},
		"client_credentials, signed": {signed, forItself},
		"device":                     {v.web, pollForm(b.approvedDevice(t, v.web).DeviceCode)},
		"device, public":             {v.tv, pollForm(b.approvedDevice(t, v.tv).DeviceCode)},
		"password": {v.web,
			params("grant_type", "password", "username", v.alice.Name, "password", v.alice.Password)},
	} {
		got := v.mustToken(t, h.proving(t, one.app.auth()), one.form)
		if got.TokenType != "DPoP" {
			t.Errorf("%s: token_type %q", what, got.TokenType)
		}
		v.checkBound(t, got.AccessToken, h)
		if got.RefreshToken != "" {
			next := v.mustToken(t, h.proving(t, one.app.auth()), refreshForm(got.RefreshToken))
			if next.TokenType != "DPoP" {
				t.Errorf("%s, refreshed: token_type %q", what, next.TokenType)
			}
			v.checkBound(t, next.AccessToken, h)
		}
		if strings.Contains(got.AccessToken, ".") {
			cnf, _ := signedCNF(t, got.AccessToken).(map[string]any)
			checkEqual(t, what+": cnf", cnf["jkt"], any(h.jkt))
		}
	}
	// Without a proof, everything is as before.
	got := v.mustToken(t, v.web.auth(), forItself)
	checkEqual(t, "token_type without a proof", got.TokenType, "Bearer")
	if said := v.introspect(t, v.asker.auth(), got.AccessToken); said["cnf"] != nil || said["token_type"] != "Bearer" {
		t.Errorf("without a proof: %v", said)
	}
}

// dpopBadProofs sends each kind of wrong proof to the token endpoint (RFC 9449 §4.3).
func (v *fixture) dpopBadProofs(t *testing.T) {
	resembles(t, "CVE-2026-54431 (liboauth2): a private key in the member jwk")
	h, now := newHolder(t), time.Now().Unix()
	at := v.Issuer + "/token/"
	private := member{"d": "AAAA"}
	for name, value := range h.jwk {
		private[name] = value
	}
	one := h.proof(t, "POST", at, nil, nil)
	for what, proofs := range map[string][]string{
		"two headers":       {h.proof(t, "POST", at, nil, nil), h.proof(t, "POST", at, nil, nil)},
		"two in one header": {one + ", " + one},
		"empty":             {""},
		"no JWT":            {"proof"},
		"no typ":            {h.proof(t, "POST", at, nil, member{"typ": nil})},
		"typ of a JWT":      {h.proof(t, "POST", at, nil, member{"typ": "JWT"})},
		"no jwk":            {h.proof(t, "POST", at, nil, member{"jwk": nil})},
		"private jwk":       {h.proof(t, "POST", at, nil, member{"jwk": private})},
		"jwk of another":    {h.proof(t, "POST", at, nil, member{"jwk": newHolder(t).jwk})},
		"jku":               {h.proof(t, "POST", at, nil, member{"jwk": nil, "jku": "https://attacker.example/"})},
		"GET":               {h.proof(t, "GET", at, nil, nil)},
		"another URL":       {h.proof(t, "POST", v.Issuer+"/par/", nil, nil)},
		"another host":      {h.proof(t, "POST", "https://attacker.example/o/token/", nil, nil)},
		"no htm":            {h.proof(t, "POST", at, member{"htm": nil}, nil)},
		"no htu":            {h.proof(t, "POST", at, member{"htu": nil}, nil)},
		"no jti":            {h.proof(t, "POST", at, member{"jti": nil}, nil)},
		"no iat":            {h.proof(t, "POST", at, member{"iat": nil}, nil)},
		"an hour old":       {h.proof(t, "POST", at, member{"iat": now - 3600}, nil)},
		"an hour ahead":     {h.proof(t, "POST", at, member{"iat": now + 3600}, nil)},
		"altered":           {one[:len(one)-4] + "AAAA"},
	} {
		_, answer := v.token(t, sending(v.web.auth(), proofs...), forItself)
		if err := answer.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	for what, claims := range map[string]member{
		"htu with query and fragment": {"htu": at + "?a=b#c"},
		"htu without the last slash":  {"htu": strings.TrimSuffix(at, "/")},
		"iat 8 s ahead":               {"iat": now + 8},
		"unknown claims":              {"nbf": now - 5, "exp": now + 50, "extra": true},
	} {
		_, answer := v.token(t, sending(v.web.auth(), h.proof(t, "POST", at, claims, nil)), forItself)
		if answer.Status != http.StatusOK {
			t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
		}
	}
	// RFC 9449 §11.1: once.
	v.mustToken(t, sending(v.web.auth(), one), forItself)
	_, answer := v.token(t, sending(v.web.auth(), one), forItself)
	if err := answer.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
		t.Errorf("the same proof again: %v", err)
	}
	// Client authentication comes first: a stranger learns nothing about proofs.
	_, answer = v.token(t, sending(basic(v.web.ClientID, "wrong"), "proof"), forItself)
	if err := answer.refused(http.StatusUnauthorized, "invalid_client"); err != nil {
		t.Errorf("a wrong secret with a wrong proof: %v", err)
	}
}

// dpopUsesNothing checks that codes and refresh tokens outlive a request whose proof fails.
func (v *fixture) dpopUsesNothing(t *testing.T) {
	h, b := newHolder(t), v.signedIn(t, v.alice)
	form := b.issue(t, v.phone, v.alice)
	bad := sending(v.phone.auth(), "proof")
	_, answer := v.token(t, bad, form)
	checkEqual(t, "code with a wrong proof", answer.Status, http.StatusBadRequest)
	got := v.mustToken(t, h.proving(t, v.phone.auth()), form)
	_, answer = v.token(t, bad, refreshForm(got.RefreshToken))
	checkEqual(t, "refresh with a wrong proof", answer.Status, http.StatusBadRequest)
	v.mustToken(t, h.proving(t, v.phone.auth()), refreshForm(got.RefreshToken))
}

// dpopCode checks dpop_jkt (RFC 9449 §10).
func (v *fixture) dpopCode(t *testing.T) {
	h, thief, b := newHolder(t), newHolder(t), v.signedIn(t, v.alice)
	for _, app := range []application{v.web, v.phone} {
		form := b.issue(t, app, v.alice, "dpop_jkt", h.jkt)
		for what, as := range map[string]auth{"no proof": app.auth(), "another key": thief.proving(t, app.auth())} {
			_, answer := v.token(t, as, form)
			if err := answer.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
				t.Errorf("%s, %s: %v", app.ClientID, what, err)
			}
		}
		v.checkBound(t, v.mustToken(t, h.proving(t, app.auth()), form).AccessToken, h)
	}
	for _, wrong := range []string{"short", h.jkt + "A", h.jkt[:42] + "!", strings.Repeat("=", 43)} {
		address, _ := v.authorizeURL(v.web, "dpop_jkt", wrong)
		b.open(t, address)
		if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" {
			t.Errorf("dpop_jkt=%s: %d, sent to %v", wrong, b.Status, b.Away)
		}
	}
}

// dpopPushed checks the proof of a pushed request (RFC 9449 §10.1).
func (v *fixture) dpopPushed(t *testing.T) {
	h, thief, b := newHolder(t), newHolder(t), v.signedIn(t, v.alice)
	push := func(as auth, more ...string) (answer, string) {
		form, verifier := v.requestFor(t, v.web, more...)
		return v.post(t, "/o/par/", as, form), verifier
	}
	for what, one := range map[string]struct {
		as   auth
		more []string
	}{
		"header":   {h.proving(t, v.web.auth()), nil},
		"dpop_jkt": {v.web.auth(), []string{"dpop_jkt", h.jkt}},
		"both":     {h.proving(t, v.web.auth()), []string{"dpop_jkt", h.jkt}},
	} {
		a, verifier := push(one.as, one.more...)
		if a.Status != http.StatusCreated {
			t.Errorf("%s: %d %s", what, a.Status, a.Body)
			continue
		}
		form := grantForm(v.web, b.code(t, v.opening(v.web, a.JSON(t)["request_uri"].(string)), v.alice), verifier)
		for whose, as := range map[string]auth{"no proof": v.web.auth(), "another key": thief.proving(t, v.web.auth())} {
			_, answer := v.token(t, as, form)
			if err := answer.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
				t.Errorf("%s, %s: %v", what, whose, err)
			}
		}
		v.checkBound(t, v.mustToken(t, h.proving(t, v.web.auth()), form).AccessToken, h)
	}
	for what, as := range map[string]auth{
		"two keys":                   h.proving(t, v.web.auth()),
		"proof for another endpoint": sending(v.web.auth(), thief.proof(t, "POST", v.Issuer+"/token/", nil, nil)),
	} {
		a, _ := push(as, "dpop_jkt", thief.jkt)
		if err := a.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// dpopRefresh checks what refresh tokens are bound to (RFC 9449 §5).
func (v *fixture) dpopRefresh(t *testing.T) {
	h, other, b := newHolder(t), newHolder(t), v.signedIn(t, v.alice)
	// That of a public client, to the key. It is not rotated, because it is bound.
	got := v.mustToken(t, h.proving(t, v.phone.auth()), b.issue(t, v.phone, v.alice))
	for what, as := range map[string]auth{"no proof": v.phone.auth(), "another key": other.proving(t, v.phone.auth())} {
		_, answer := v.token(t, as, refreshForm(got.RefreshToken))
		if err := answer.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
			t.Errorf("public, %s: %v", what, err)
		}
	}
	for range 2 {
		next := v.mustToken(t, h.proving(t, v.phone.auth()), refreshForm(got.RefreshToken))
		checkEqual(t, "the refresh token of a public client is kept", next.RefreshToken, got.RefreshToken)
		v.checkBound(t, next.AccessToken, h)
	}
	// One that was not bound becomes bound, and is rotated by that.
	free := b.family(t, v.phone, v.alice)
	next := v.mustToken(t, h.proving(t, v.phone.auth()), refreshForm(free.RefreshToken))
	if next.RefreshToken == free.RefreshToken {
		t.Error("an unbound refresh token of a public client is not rotated")
	}
	_, answer := v.token(t, v.phone.auth(), refreshForm(next.RefreshToken))
	checkEqual(t, "without a proof, after it was bound", answer.Status, http.StatusBadRequest)

	// That of a client that authenticates, to the client: by any key, but by one.
	got = v.mustToken(t, h.proving(t, v.web.auth()), b.issue(t, v.web, v.alice))
	_, answer = v.token(t, v.web.auth(), refreshForm(got.RefreshToken))
	if err := answer.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
		t.Errorf("confidential, no proof: %v", err)
	}
	next = v.mustToken(t, other.proving(t, v.web.auth()), refreshForm(got.RefreshToken))
	v.checkBound(t, next.AccessToken, other)
	// Whoever has a used refresh token and no proof revokes nothing with it.
	_, answer = v.token(t, v.web.auth(), refreshForm(got.RefreshToken))
	checkEqual(t, "a used refresh token without a proof", answer.Status, http.StatusBadRequest)
	v.checkBound(t, next.AccessToken, other)
}

// dpopToken presents bound tokens to the server itself (RFC 9449 §7.1).
func (v *fixture) dpopToken(t *testing.T) {
	resembles(t, "CVE-2024-49755 (Duende): the key of the proof is not compared with cnf")
	h, thief, b := newHolder(t), newHolder(t), v.signedIn(t, v.alice)
	got := v.mustToken(t, h.proving(t, v.web.auth()), b.issue(t, v.web, v.alice, "scope", "openid read"))
	free := b.family(t, v.web, v.alice, "scope", "openid read")
	asker := v.mustToken(t, h.proving(t, v.asker.auth()), with(forItself, "scope", "introspection"))
	scheme := func(as auth, name, token string) auth {
		return func(r *http.Request, form url.Values) {
			as(r, form)
			r.Header.Set("Authorization", name+" "+token)
		}
	}
	for place, token := range map[string]string{"userinfo": got.AccessToken, "introspection": asker.AccessToken} {
		path, form := "/o/"+place+"/", url.Values{}
		if place == "introspection" {
			path, form = "/o/introspect/", params("token", got.AccessToken)
		}
		good := v.post(t, path, h.dpop(t, token), form)
		checkEqual(t, place+" with its proof", good.Status, http.StatusOK)
		good = v.post(t, path, scheme(h.dpop(t, token), "dpop", token), form)
		checkEqual(t, place+" with the scheme in lower case", good.Status, http.StatusOK)
		for what, one := range map[string]struct {
			as   auth
			code string
		}{
			"as a bearer token":         {bearer(token), "invalid_token"},
			"as a bearer token, proven": {scheme(h.dpop(t, token), "Bearer", token), "invalid_token"},
			"without a proof":           {scheme(nobody, "DPoP", token), "invalid_dpop_proof"},
			"another key":               {thief.dpop(t, token), "invalid_dpop_proof"},
			"no ath":                    {scheme(h.proving(t, nobody), "DPoP", token), "invalid_dpop_proof"},
			"ath of another token":      {scheme(h.dpop(t, free.AccessToken), "DPoP", token), "invalid_dpop_proof"},
			"two proofs":                {scheme(h.proving(t, h.dpop(t, token)), "DPoP", token), "invalid_dpop_proof"},
		} {
			a := v.post(t, path, one.as, form)
			challenge := a.Header.Get("WWW-Authenticate")
			if a.Status != http.StatusUnauthorized || !strings.HasPrefix(challenge, "DPoP ") ||
				!strings.Contains(challenge, `error="`+one.code+`"`) || !strings.Contains(challenge, `algs="ES256 `) {
				t.Errorf("%s %s: %d %s", place, what, a.Status, challenge)
			}
		}
	}
	a := v.get(t, "/o/userinfo/", scheme(h.dpop(t, free.AccessToken), "DPoP", free.AccessToken))
	checkEqual(t, "an unbound token with the scheme DPoP", a.Status, http.StatusUnauthorized)
	a = v.get(t, "/o/userinfo/", bearer(free.AccessToken))
	checkEqual(t, "an unbound token", a.Status, http.StatusOK)
	a = v.get(t, "/o/userinfo/", nobody)
	if challenge := a.Header.Get("WWW-Authenticate"); !strings.Contains(challenge, "Bearer ") ||
		!strings.Contains(challenge, "DPoP ") {
		t.Errorf("no token: %s", challenge)
	}
	a = v.post(t, "/o/userinfo/", nobody, params("access_token", got.AccessToken))
	checkEqual(t, "a bound token in the form", a.Status, http.StatusUnauthorized)
}

// dpopAlways checks applications and resources that accept bound tokens only.
func (v *fixture) dpopAlways(t *testing.T) {
	h := newHolder(t)
	app := v.application(t, "--name", "Always", "--grant", "client_credentials", "--sender-constraint", "dpop")
	_, answer := v.token(t, app.auth(), forItself)
	if err := answer.refused(http.StatusBadRequest, "invalid_dpop_proof"); err != nil {
		t.Errorf("no proof: %v", err)
	}
	v.checkBound(t, v.mustToken(t, h.proving(t, app.auth()), forItself).AccessToken, h)

	const api = "https://bound.example/"
	v.mustCLI(t, "", "resource", "add", api, "--name", "Bound", "--sender-constrained", "--introspector", v.asker.ClientID)
	waitFor(t, "the server knows the resource", func() bool {
		got, _ := v.token(t, v.web.auth(), with(forItself, "resource", api))
		return got.Error != "invalid_target"
	})
	b := v.signedIn(t, v.alice)
	for what, form := range map[string]url.Values{
		"client credentials": with(forItself, "resource", api),
		"a password": params("grant_type", "password", "username", v.alice.Name, "password", v.alice.Password,
			"resource", api),
		"a code": b.issue(t, v.web, v.alice, "resource", api),
	} {
		_, answer := v.token(t, v.web.auth(), form)
		if err := answer.refused(http.StatusBadRequest, "invalid_request"); err != nil {
			t.Errorf("%s for a resource that needs a proof: %v", what, err)
		}
		got := v.mustToken(t, h.proving(t, v.web.auth()), form)
		v.checkBound(t, got.AccessToken, h)
	}
}

// Within the grace period, a repeated refresh gets the same tokens again, with the same key only.
func TestDPoPGrace(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
		h, b := newHolder(t), v.signedIn(t, v.alice)
		got := v.mustToken(t, h.proving(t, v.web.auth()), b.issue(t, v.web, v.alice))
		next := v.mustToken(t, h.proving(t, v.web.auth()), refreshForm(got.RefreshToken))
		_, answer := v.token(t, newHolder(t).proving(t, v.web.auth()), refreshForm(got.RefreshToken))
		if err := answer.refused(http.StatusBadRequest, "invalid_grant"); err != nil {
			t.Errorf("another key: %v", err)
		}
		again := v.mustToken(t, h.proving(t, v.web.auth()), refreshForm(got.RefreshToken))
		if past := next.ExpiresIn - again.ExpiresIn; past >= 0 && past < 10 {
			again.ExpiresIn = next.ExpiresIn // it counts down
		}
		checkEqual(t, "the repeated answer", again, next)
	})
}
