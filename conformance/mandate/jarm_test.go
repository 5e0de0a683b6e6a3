package mandate

import (
	"net/url"
	"testing"
	"time"

	"mandate/conformance/jose"
)

// Signed authorization responses (JARM), on both databases.

// response verifies the signed response in the parameters that a client received. It returns the
// claims, without those that each response has.
func (s *server) response(t testing.TB, app application, algorithm string, got url.Values) url.Values {
	t.Helper()
	if len(got) != 1 || len(got["response"]) != 1 {
		t.Errorf("the response is %v, want the parameter response alone", got)
		return url.Values{}
	}
	token, err := jose.Read(got.Get("response"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().Unix()
	if end := int64(token.Number("exp")); end < now+10 || end > now+600 {
		t.Errorf("exp is %d seconds ahead", end-now)
	}
	if token.Algorithm() != algorithm || token.Header["kid"] == nil {
		t.Errorf("the header is %v, want %s with a kid", token.Header, algorithm)
	}
	claims := s.verified(t, app, algorithm, got.Get("response"))
	if claims["iss"] != s.Issuer || claims["aud"] != app.ClientID {
		t.Errorf("iss is %v, and aud is %v", claims["iss"], claims["aud"])
	}
	inside := url.Values{}
	for name, value := range claims {
		if text, ok := value.(string); ok && name != "iss" && name != "aud" {
			inside.Set(name, text)
		}
	}
	s.secret(inside.Get("code"))
	return inside
}

func TestSignedResponses(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		b := v.signedIn(t, v.alice)
		for algorithm, flags := range map[string][]string{"RS256": nil, "ES256": {"--response-algorithm", "ES256"},
			"PS256": {"--response-algorithm", "PS256"}, "EdDSA": {"--response-algorithm", "EdDSA"}} {
			app := v.objectSigner(t, "jarm"+algorithm, flags...).application
			for _, mode := range []string{"jwt", "query.jwt"} {
				address, verifier := v.authorizeURL(app, "response_mode", mode, "state", "a & b", "scope", "read")
				b.open(t, address)
				got := v.response(t, app, algorithm, b.sent(t, app))
				if got.Get("state") != "a & b" || len(got) != 2 {
					t.Errorf("%s by %s: %v", mode, algorithm, got)
				}
				v.redeem(t, app, got.Get("code"), verifier)
			}
		}
		app := v.casual
		for what, c := range map[string]struct {
			more []string
			want string
		}{
			"wrong scope":   {[]string{"scope", "nonsense"}, "invalid_scope"},
			"silent":        {[]string{"prompt", "none"}, "consent_required"},
			"a wrong type":  {[]string{"response_type", "token"}, "unsupported_response_type"},
			"a wrong claim": {[]string{"scope", "openid", "claims", "x"}, "invalid_request"},
		} {
			address, _ := v.authorizeURL(app, append(c.more, "response_mode", "jwt", "state", "s")...)
			b.open(t, address)
			if got := v.response(t, app, "RS256", b.sent(t, app)); got.Get("error") != c.want || got.Get("state") != "s" ||
				got.Get("error_description") == "" || got.Has("code") {
				t.Errorf("%s: %v", what, got)
			}
		}
		address, _ := v.authorizeURL(app, "response_mode", "jwt", "scope", "read")
		b.open(t, address)
		b.decide(t, "deny")
		if got := v.response(t, app, "RS256", b.sent(t, app)); got.Get("error") != "access_denied" || got.Has("state") {
			t.Errorf("denied: %v", got)
		}
		// In a form, pushed, and with the mode in a request object.
		address, verifier := v.pushed(t, v.web, "response_mode", "form_post.jwt", "state", "s")
		b.open(t, address)
		f, _ := b.find(t, "", nil)
		checkEqual(t, "action", attribute(f.node, "action"), webURI)
		v.redeem(t, v.web, v.response(t, v.web, "RS256", f.values()).Get("code"), verifier)
		a := v.objectSigner(t, "both", "--response-mode", "jwt")
		form, verifier := v.requestFor(t, a.application, "response_mode", "jwt", "scope", "read")
		b.open(t, v.sending(a.application, v.object(t, a, form, nil, nil)))
		v.redeem(t, a.application, v.response(t, a.application, "RS256", b.sent(t, a.application)).Get("code"), verifier)
		// The object is wrong, and says that the response is signed.
		b.open(t, v.sending(a.application, v.object(t, a, form, member{"exp": 1}, nil), "redirect_uri", a.RedirectURI))
		if got := v.response(t, a.application, "RS256",
			b.sent(t, a.application)); got.Get("error") != "invalid_request_object" {
			t.Errorf("a wrong object: %v", got)
		}
		v.narrowModes(t, b, a.application)
	})
}

// sent returns the parameters that the client received in the query of its redirect URI.
func (b *browser) sent(t testing.TB, app application) url.Values {
	t.Helper()
	if b.Away == nil || b.Away.Fragment != "" {
		t.Errorf("the client got no response, the browser shows %d %s, sent to %v\n%.600s", b.Status, b.URL, b.Away, b.Body)
		return url.Values{}
	}
	return b.Away.Query()
}

// narrowModes checks that an application gets no response by a mode that it has not registered,
// and nobody by a mode that does not exist.
func (v *fixture) narrowModes(t *testing.T, b *browser, limited application) {
	for _, mode := range []string{"", "query", "form_post", "form_post.jwt"} {
		address, _ := v.authorizeURL(limited, "response_mode", mode, "scope", "read")
		b.open(t, address)
		b.wantPage(t, "the mode "+mode+" of a limited application", "response_mode must be jwt")
	}
	address, _ := v.authorizeURL(limited, "response_mode", "query.jwt", "scope", "read")
	b.open(t, address)
	v.response(t, limited, "RS256", b.sent(t, limited))
	for _, mode := range []string{"fragment.jwt", "fragment", "JWT", ".jwt", "x.jwt"} {
		address, _ := v.authorizeURL(v.web, "response_mode", mode)
		b.open(t, address)
		b.wantPage(t, mode, "response_mode must be")
	}
	meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t)
	if modes := listOf(meta, "response_modes_supported"); modes != "query form_post jwt query.jwt form_post.jwt" ||
		listOf(meta, "authorization_signing_alg_values_supported") != "ES256 EdDSA RS256 PS256" {
		t.Errorf("the metadata has %s, %v", modes, meta["authorization_signing_alg_values_supported"])
	}
}

// Without OpenID Connect, the server signs responses once it has keys.
func TestSignedResponsesWithoutOpenID(t *testing.T) {
	t.Parallel()
	v := newFixture(t, options{provider: []string{openIDOff}})
	b := v.signedIn(t, v.alice)
	address, _ := v.authorizeURL(v.web, "response_mode", "jwt")
	b.open(t, address)
	b.wantPage(t, "no keys", "response_mode must be query")
	if meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t); listOf(meta,
		"response_modes_supported") != "query" || meta["authorization_signing_alg_values_supported"] != nil {
		t.Errorf("the metadata has %v", meta["response_modes_supported"])
	}
	app := v.objectSigner(t, "signed", "--response-algorithm", "ES256").application
	address, verifier := v.authorizeURL(app, "response_mode", "jwt", "state", "s")
	waitFor(t, "the keys are known", func() bool {
		b.open(t, address)
		return b.Away != nil
	})
	v.redeem(t, app, v.response(t, app, "ES256", b.sent(t, app)).Get("code"), verifier)
	if meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t); listOf(meta,
		"response_modes_supported") != "query jwt query.jwt form_post.jwt" {
		t.Errorf("the metadata has %v", meta["response_modes_supported"])
	}
}

// A signed response is for one client, and is no ID token and no hint.
func TestAttackSignedResponseOfAnotherClient(t *testing.T) {
	t.Parallel()
	attack(t, "token confusion", "")
	v := newFixture(t, options{provider: []string{"OIDC_ENABLED: true"}})
	b := v.signedIn(t, v.alice)
	address, _ := v.authorizeURL(v.rival, "response_mode", "jwt", "scope", "openid")
	b.open(t, address)
	text := b.Away.Query().Get("response")
	v.response(t, v.rival, "RS256", b.sent(t, v.rival)) // its aud is the rival alone
	address, _ = v.authorizeURL(v.rival, "scope", "openid", "state", "s&1", "prompt", "none", "id_token_hint", text)
	b.open(t, address)
	b.sentBack(t, "as a hint", "invalid_request")
	if a := v.get(t, "/o/userinfo/", bearer(text)); a.Status != 401 {
		t.Errorf("as an access token: %d", a.Status)
	}
}
