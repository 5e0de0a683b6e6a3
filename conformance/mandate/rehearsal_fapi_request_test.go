package mandate

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// The modules of the authorization request, on SQLite: each changes one thing of the flow.

func TestRehearsalFAPIRequest(t *testing.T) {
	t.Parallel()
	db := newSQLite(t)
	r := newRehearsal(t, db)
	for _, v := range []variant{keyDPoP, ownMTLS, messageDPoP, messageMTLS} {
		t.Run(v.name, func(t *testing.T) {
			one, two := r.pair(t, v)
			one.acceptsRequests(t)
			one.refusesRequests(t)
			one.refusesPushAssertions(t)
			t.Run("the response to a push", func(t *testing.T) { one.checksPushes(t) })
			one.requestURIs(t, two, db)
		})
	}
}

// acceptsRequests gets a code by each request that must work.
func (p *party) acceptsRequests(t *testing.T) {
	order := strings.Split(p.scope, " ")
	order = append(order[1:], order[0])
	for name, more := range map[string][]string{
		"ensure-authorization-request-without-state-success":      {"state", ""},
		"ensure-authorization-request-without-nonce-success":      {"nonce", ""},
		"ensure-authorization-request-with-64-char-nonce-success": {"nonce", strings.Repeat("n", 64)},
		"ensure-authorization-request-with-long-nonce":            {"nonce", strings.Repeat("n", 384)},
		"ensure-authorization-request-with-long-state":            {"state", strings.Repeat("s", 384)},
		"ensure-other-scope-order-succeeds":                       {"scope", strings.Join(order, " ")},
		"test-claims-parameter-identity-claims": {"claims",
			`{"id_token":{"email":null,"given_name":{"essential":true},"unknown":null}}`},
		"a request for a person who has approved this scope already": nil,
	} {
		if !p.openid && strings.Contains(name, "nonce") || p.signed && strings.Contains(name, "claims") {
			continue // in a request object, claims is an object: see TestRequestObjects
		}
		t.Run(name, func(t *testing.T) {
			form, verifier := p.asks(t, more...)
			got := p.tokens(t, p.codeOf(t, p.authenticates(t, nil, nil), form, verifier))
			if !p.openid {
				return
			}
			claims := p.rehearsal.verified(t, p.application, "PS256", got.IDToken)
			nonce, _ := claims["nonce"].(string)
			checkEqual(t, "nonce", nonce, form.Get("nonce"))
			if form.Get("claims") != "" && (claims["email"] != "alice@example.org" || claims["given_name"] != "Alice") {
				t.Errorf("the ID token is %v", claims)
			}
		})
	}
	for name, c := range map[string]struct{ inside, outside []string }{
		"par-without-duplicate-parameters": {nil, nil},
		"the same parameters outside": {nil,
			[]string{"state", "the state", "response_type", "code", "scope", p.scope, "redirect_uri", p.RedirectURI}},
		"ensure-different-state-inside-and-outside":  {nil, []string{"state", "another state"}},
		"ensure-different-nonce-inside-and-outside":  {nil, []string{"nonce", "another nonce"}},
		"state-only-outside-request-object-not-used": {[]string{"state", ""}, []string{"state", "another state"}},
		"another redirect URI outside, and another scope": {nil,
			[]string{"redirect_uri", "https://evil.example/", "scope", "write"}},
		"a response type and a response mode that are bad": {nil,
			[]string{"response_type", "token", "response_mode", "fragment"}},
	} {
		t.Run(name, func(t *testing.T) {
			form, verifier := p.asks(t, c.inside...)
			address := p.pushed(t, p.authenticates(t, nil, nil), form)
			got := p.answered(t, address+"&"+params(c.outside...).Encode(), "approve")
			if got.Get("code") == "" || got.Get("state") != form.Get("state") {
				t.Fatalf("the response is %v", got)
			}
			// RFC 9126 §4: the pushed parameters alone count for the tokens too.
			given := p.tokens(t, grantForm(p.application, got.Get("code"), verifier))
			checkEqual(t, "scope", given.Scope, p.scope)
			if p.openid {
				checkEqual(t, "nonce", p.rehearsal.verified(t, p.application, "PS256", given.IDToken)["nonce"], any("the nonce"))
			}
		})
	}
}

// refusesRequests pushes each request that must not work.
func (p *party) refusesRequests(t *testing.T) {
	verifier, _ := newPKCE()
	for name, c := range map[string]struct {
		more []string
		code string
	}{
		"par-ensure-pkce-required": {[]string{"code_challenge", ""}, "invalid_request"},
		"par-plain-pkce-rejected": {[]string{"code_challenge", verifier, "code_challenge_method",
			"plain"}, "invalid_request"},
		"ensure-response-type-code-idtoken-fails": {[]string{"response_type", "code id_token"},
			"unsupported_response_type"},
		"ensure-response-type-token-fails": {[]string{"response_type", "token"},
			"unsupported_response_type"},
		"ensure-registered-redirect-uri": {[]string{"redirect_uri", p.RedirectURI + "/other"},
			"invalid_request"},
		"plain-fapi-tolerate-unregistered-redirect-uri": {[]string{"redirect_uri", "https://unregistered.example/"},
			"invalid_request"},
		"ensure-redirect-uri-in-authorization-request":      {[]string{"redirect_uri", ""}, "invalid_request"},
		"ensure-request-object-without-redirect-uri-fails":  {[]string{"redirect_uri", "", "state", ""}, "invalid_request"},
		"an unsigned response, where signed ones are asked": {[]string{"response_mode", "fragment"}, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			form, _ := p.asks(t, c.more...)
			err := p.pushes(t, p.authenticates(t, nil, nil), form).refused(http.StatusBadRequest, c.code)
			if err != nil {
				t.Error(err)
			}
		})
	}
	form, _ := p.asks(t)
	t.Run("par-authorization-request-containing-request_uri-form-param", func(t *testing.T) {
		more := params("request_uri", "urn:ietf:params:oauth:request_uri:other")
		err := p.pushes(t, beside(p.authenticates(t, nil, nil), more), form).refused(http.StatusBadRequest, "invalid_request")
		if err != nil {
			t.Error(err)
		}
	})
	t.Run("par-attempt-invalid-http-method", func(t *testing.T) {
		for _, query := range []string{"", "?" + form.Encode()} {
			a := p.at.get(t, "/o/par/"+query, nobody)
			checkEqual(t, "GET", a.Status, http.StatusMethodNotAllowed)
		}
	})
	t.Run("ensure-unsigned-authorization-request-without-using-par-fails", func(t *testing.T) {
		p.person.open(t, "/o/authorize/?"+form.Encode())
		if p.person.Away == nil {
			t.Fatalf("the browser shows %d %s", p.person.Status, p.person.Body)
		}
		got := p.responds(t, p.person.Away)
		if got.Get("error") != "invalid_request" || got.Get("state") != "the state" {
			t.Errorf("the response is %v", got)
		}
	})
}

// refusesPushAssertions pushes with assertions of which one thing is wrong, and with one whose
// clock is a little ahead.
func (p *party) refusesPushAssertions(t *testing.T) {
	if p.method != "private_key_jwt" {
		return
	}
	form, _ := p.asks(t)
	now := time.Now().Unix()
	for name, claims := range map[string]member{
		"par-test-array-as-audience-fails": {"aud": []string{p.at.Issuer,
			"https://other.example/"}},
		"par-test-array-as-audience-fails, only issuer": {"aud": []string{p.at.Issuer}},
		"par-test-par-endpoint-url-as-audience-fails":   {"aud": p.at.Issuer + "/par/"},
		"par-test-token-endpoint-url-as-audience-fails": {"aud": p.at.Issuer + "/token/"},
		"par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails": {"nbf": now + 70, "iat": now + 70,
			"exp": now + 130},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.pushes(t, p.authenticates(t, claims, nil), form).refused(http.StatusUnauthorized, "invalid_client")
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted", func(t *testing.T) {
		p.pushed(t, p.authenticates(t, member{"nbf": now + 8, "iat": now + 8}, nil), form)
	})
}

// checksPushes checks the responses to two pushes of the same request.
func (p *party) checksPushes(t *testing.T) {
	form, _ := p.asks(t)
	seen := map[string]bool{}
	for range 2 {
		a := p.pushes(t, p.authenticates(t, nil, nil), form)
		got := a.JSON(t)
		checkEqual(t, "status", a.Status, http.StatusCreated)
		// FAPI 2.0 Security Profile §5.3.2.2: less than 600 seconds. RFC 9126 §2.2: a positive integer.
		life, _ := got["expires_in"].(float64)
		if life != pushLife || life < 1 || life > 599 {
			t.Errorf("expires_in is %v", got["expires_in"])
		}
		// FAPI 2.0 Security Profile §5.4.1: at least 128 bits, which are 16 bytes.
		random, found := strings.CutPrefix(textOf(got, "request_uri"), "urn:ietf:params:oauth:request_uri:")
		bytes, err := base64.RawURLEncoding.Strict().DecodeString(random)
		if !found || err != nil || len(bytes) < 16 || seen[random] || len(got) != 2 {
			t.Errorf("the response is %v, %v", got, err)
		}
		seen[random] = true
	}
}

// requestURIs opens request URIs: twice before the person signs in, again after the response, by
// another client, and late.
func (p *party) requestURIs(t *testing.T, other *party, db database) {
	push := func(more ...string) (string, string) {
		form, verifier := p.asks(t, more...)
		return p.pushed(t, p.authenticates(t, nil, nil), form), verifier
	}
	t.Run("par-ensure-reused-request-uri-prior-to-auth-completion-succeeds", func(t *testing.T) {
		address, verifier := push()
		person := *p
		person.person = p.rehearsal.browser(t)
		for range 2 {
			person.person.open(t, address)
			if !person.person.shows("password") {
				t.Fatalf("the browser shows %d %s", person.person.Status, person.person.URL)
			}
		}
		got := person.answered(t, address, "approve")
		p.tokens(t, grantForm(p.application, got.Get("code"), verifier))
	})
	t.Run("par-attempt-reuse-request_uri", func(t *testing.T) {
		address, _ := push()
		p.answered(t, address, "approve")
		p.person.open(t, address)
		p.person.wantPage(t, "after the response", "invalid_request_uri")
	})
	t.Run("par-attempt-to-use-expired-request_uri", func(t *testing.T) {
		address, _ := push()
		behind(t, db, `UPDATE requests SET opens_until = opens_until - 100`)
		p.person.open(t, address)
		p.person.wantPage(t, "late", "invalid_request_uri")
	})
	t.Run("par-attempt-to-use-request_uri-for-different-client", func(t *testing.T) {
		address, _ := push()
		opened, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		other.person.open(t, other.rehearsal.opening(other.application, opened.Query().Get("request_uri")))
		other.person.wantPage(t, "by another client", "invalid_request_uri")
	})
}
