package mandate

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// keyHolder is an application that authenticates by private_key_jwt.
type keyHolder struct {
	application
	keys *statementIssuer
}

// keyHolder registers an application with the keys of statementIssuer; args are more flags.
func (s *server) keyHolder(t testing.TB, name string, args ...string) keyHolder {
	t.Helper()
	keys := newStatementIssuer(t, name)
	a := s.application(t, append([]string{"--name", name, "--client-id", name, "--grant", "client_credentials",
		"--auth-method", "private_key_jwt", "--jwks", keysFile(t, keys.keySet(t))}, args...)...)
	if a.ClientSecret != "" {
		t.Errorf("%s got a client secret", name)
	}
	return keyHolder{a, keys}
}

// keysFile writes a key set to a file.
func keysFile(t testing.TB, text string) string {
	t.Helper()
	return writeText(t, text)
}

// claims returns the claims of a good assertion. more replaces some; nil removes one.
func (s *server) assertionClaims(id string, more member) member {
	now := time.Now().Unix()
	claims := member{"iss": id, "sub": id, "aud": s.Issuer, "exp": now + 60, "iat": now, "jti": rand.Text()}
	maps.Copy(claims, more)
	for name, value := range claims {
		if value == nil {
			delete(claims, name)
		}
	}
	return claims
}

// assert returns a good assertion, but for these claims and members of the header.
func (s *server) assert(t testing.TB, a keyHolder, claims, header member) string {
	t.Helper()
	return a.keys.sign(t, s.assertionClaims(a.ClientID, claims), header)
}

const assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"

// asserting authenticates by an assertion.
func asserting(assertion string) auth {
	return func(_ *http.Request, form url.Values) {
		form.Set("client_assertion_type", assertionType)
		form.Set("client_assertion", assertion)
	}
}

var forItself = params("grant_type", "client_credentials")

// refusedAssertion checks that a request is refused by invalid_client, and returns the text.
func (s *server) refusedAssertion(t *testing.T, what string, as auth) string {
	t.Helper()
	got, answer := s.token(t, as, forItself)
	if answer.Status != http.StatusUnauthorized || got.Error != "invalid_client" || got.AccessToken != "" {
		t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
	}
	return got.ErrorDescription
}

func TestAssertion(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		a, asker := s.keyHolder(t, "robot"), s.introspector(t)
		t.Run("each algorithm", func(t *testing.T) {
			for _, algorithm := range []string{"ES256", "PS256", "EdDSA", "Ed25519", "RS256"} {
				got := s.mustToken(t, asserting(s.assert(t, a, nil, member{"alg": algorithm, "kid": algorithm})), forItself)
				if s.introspect(t, asker.auth(), got.AccessToken)["active"] != true {
					t.Errorf("the token by %s is not active", algorithm)
				}
				revoked := s.post(t, "/o/revoke_token/", asserting(s.assert(t, a, nil, nil)), params("token", got.AccessToken))
				checkEqual(t, "revocation", revoked.Status, http.StatusOK)
				s.checkInactive(t, asker.auth(), got.AccessToken)
			}
		})
		t.Run("what is accepted", func(t *testing.T) {
			now := time.Now().Unix()
			for what, one := range map[string][2]member{
				"array of the issuer":       {{"aud": []string{s.Issuer}}, nil},
				"nbf and iat 8 s ahead":     {{"nbf": now + 8, "iat": now + 8}, nil},
				"nbf 50 s ahead":            {{"nbf": now + 50}, nil},
				"no iat":                    {{"iat": nil}, nil},
				"type of RFC 10070":         {nil, {"typ": "client-authentication+jwt"}},
				"no type":                   {nil, {"alg": "ES256", "kid": "ES256", "typ": ""}},
				"exp 9 minutes ahead":       {{"exp": now + 540}, nil},
				"unknown members":           {{"extra": member{"a": 1}}, {"unknown": "x"}},
				"keys in the header unused": {nil, {"jku": "https://attacker.example/keys", "x5u": "https://attacker.example/"}},
			} {
				_, answer := s.token(t, asserting(s.assert(t, a, one[0], one[1])), forItself)
				if answer.Status != http.StatusOK {
					t.Errorf("%s: %d %s", what, answer.Status, answer.Body)
				}
			}
			got, answer := s.token(t, asserting(s.assert(t, a, nil, nil)), with(forItself, "client_id", a.ClientID))
			checkEqual(t, "with client_id "+got.ErrorDescription, answer.Status, http.StatusOK)
		})
		t.Run("claims that are refused", func(t *testing.T) { s.badAssertions(t, a) })
		t.Run("two methods", func(t *testing.T) { s.twoMethods(t, a) })
		t.Run("keys change", func(t *testing.T) {
			old := s.assert(t, a, nil, nil)
			fresh := newStatementIssuer(t, "fresh")
			s.mustCLI(t, "", "application", "update", a.ClientID, "--jwks", keysFile(t, fresh.keySet(t)))
			waitFor(t, "the old key is refused", func() bool {
				_, answer := s.token(t, asserting(old), forItself)
				return answer.Status == http.StatusUnauthorized
			})
			s.mustToken(t, asserting(fresh.sign(t, s.assertionClaims(a.ClientID, nil), nil)), forItself)
		})
	})
}

// badAssertions sends assertions of which one thing is wrong.
func (s *server) badAssertions(t *testing.T, a keyHolder) {
	now := time.Now().Unix()
	for what, one := range map[string][2]member{
		"exp in the past":      {{"exp": now - 1}, nil},
		"exp 5 minutes ago":    {{"exp": now - 300}, nil},
		"exp an hour ahead":    {{"exp": now + 3600}, nil},
		"no exp":               {{"exp": nil}, nil},
		"exp as text":          {{"exp": "1999999999"}, nil},
		"nbf 70 s ahead":       {{"nbf": now + 70}, nil},
		"iat 70 s ahead":       {{"iat": now + 70}, nil},
		"nbf as text":          {{"nbf": "soon"}, nil},
		"no jti":               {{"jti": nil}, nil},
		"jti a number":         {{"jti": 7}, nil},
		"no aud":               {{"aud": nil}, nil},
		"token endpoint":       {{"aud": s.Issuer + "/token/"}, nil},
		"PAR endpoint":         {{"aud": s.Issuer + "/par/"}, nil},
		"issuer with a slash":  {{"aud": s.Issuer + "/"}, nil},
		"two audiences":        {{"aud": []string{s.Issuer, "https://other.example/"}}, nil},
		"issuer twice":         {{"aud": []string{s.Issuer, s.Issuer}}, nil},
		"no sub":               {{"sub": nil}, nil},
		"empty iss":            {{"iss": ""}, nil},
		"iss is another":       {{"iss": "other"}, nil},
		"typ at+jwt":           {nil, {"typ": "at+jwt"}},
		"typ dpop+jwt":         {nil, {"typ": "dpop+jwt"}},
		"typ request object":   {nil, {"typ": "oauth-authz-req+jwt"}},
		"typ logout token":     {nil, {"typ": "logout+jwt"}},
		"crit":                 {nil, {"crit": []string{"exp"}}},
		"unknown kid":          {nil, {"kid": "unknown"}},
		"kid of another key":   {nil, {"kid": "EdDSA"}},
		"no kid, two RSA keys": {nil, {"alg": "RS256", "kid": ""}},
	} {
		s.refusedAssertion(t, what, asserting(s.assert(t, a, one[0], one[1])))
	}
	s.refusedAssertion(t, "no assertion",
		func(_ *http.Request, form url.Values) { form.Set("client_assertion_type", assertionType) })
	s.refusedAssertion(t, "only a client id", func(_ *http.Request, form url.Values) { form.Set("client_id", a.ClientID) })
	// OIDC Core §9: an assertion is used once, and a request that is refused for another reason uses it.
	for what, other := range map[string]url.Values{
		"another type":      params("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:saml2-bearer"),
		"no type":           params("client_assertion_type", ""),
		"another client_id": params("client_id", "other"),
	} {
		assertion := s.assert(t, a, nil, nil)
		s.refusedAssertion(t, what, func(r *http.Request, form url.Values) {
			asserting(assertion)(r, form)
			maps.Copy(form, other)
		})
		if text := s.refusedAssertion(t, what+", and again", asserting(assertion)); !strings.Contains(text, "used already") {
			t.Errorf("%s, and then a right request with its assertion: %q", what, text)
		}
	}
	// RFC 7523 §3: only an assertion that is valid uses its jti.
	jti := rand.Text()
	for what, one := range map[string][2]member{
		"another audience":          {{"aud": "https://other.example/"}, nil},
		"expired":                   {{"exp": now - 300}, nil},
		"typ of a DPoP proof":       {nil, {"typ": "dpop+jwt"}},
		"a kid of another key":      {nil, {"kid": "EdDSA"}},
		"another iss":               {{"iss": "other"}, nil},
		"not valid for a long time": {{"nbf": now + 300}, nil},
	} {
		claims := member{"jti": jti}
		maps.Copy(claims, one[0])
		s.refusedAssertion(t, what+", with a jti that comes again", asserting(s.assert(t, a, claims, one[1])))
	}
	s.mustToken(t, asserting(s.assert(t, a, member{"jti": jti}, nil)), forItself)
}

// twoMethods sends an assertion together with another method (RFC 6749 §2.3).
func (s *server) twoMethods(t *testing.T, a keyHolder) {
	resembles(t, "CVE-2022-36087, CVE-2026-118669 (oauthlib): authentication as one client, and the id of another")
	for what, other := range map[string]auth{
		"basic":         basic(a.ClientID, "secret"),
		"client_secret": func(_ *http.Request, form url.Values) { form.Set("client_secret", "secret") },
		"bearer":        bearer("mat_x"),
	} {
		for _, path := range []string{"/o/token/", "/o/introspect/", "/o/revoke_token/", "/o/device_authorization/"} {
			answer := s.post(t, path, func(r *http.Request, form url.Values) {
				asserting(s.assert(t, a, nil, nil))(r, form)
				other(r, form)
			}, with(forItself, "token", "mat_x"))
			if got := s.tokens(t, answer); got.Error != "invalid_request" {
				t.Errorf("%s at %s: %d %s", what, path, answer.Status, answer.Body)
			}
		}
	}
}

// An assertion is used once, even if two nodes get it at the same moment.
func TestAttackReplayedAssertion(t *testing.T) {
	ownProcesses(t)
	attack(t, "replay", "CVE-2020-15222 (fosite), CVE-2020-5300 (Hydra): an assertion works again")
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		nodes := []*server{s, s.node(t)}
		// An opaque token is stored with the use of the assertion, a signed one is not stored.
		opaque, signed := s.keyHolder(t, "robot"), s.keyHolder(t, "signed", "--access-token-format", "jwt")
		for i := range 6 {
			a := []keyHolder{opaque, signed}[i%2]
			s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself)
			assertion := s.assert(t, a, nil, nil)
			var won, refused int
			var mu sync.Mutex
			var all sync.WaitGroup
			for i := range 12 {
				all.Go(func() {
					got, err := nodes[i%2].tryPost("/o/token/", asserting(assertion), forItself)
					mu.Lock()
					defer mu.Unlock()
					switch {
					case err != nil:
						t.Error(err)
					case got.Status == http.StatusOK:
						won++
					case got.Status == http.StatusUnauthorized && strings.Contains(got.Body, "jti"):
						refused++
					default:
						t.Errorf("%d %s", got.Status, got.Body)
					}
				})
			}
			all.Wait()
			if won != 1 || refused != 11 {
				t.Errorf("%d requests got a token, %d were refused", won, refused)
			}
			if got := s.post(t, "/o/revoke_token/", asserting(assertion),
				url.Values{"token": {"mat_x"}}); got.Status != http.StatusUnauthorized {
				t.Errorf("the same assertion at another endpoint: %d %s", got.Status, got.Body)
			}
		}
		// A pushed request uses the assertion too, also one that is refused.
		pusher := s.keyHolder(t, "pusher", "--grant", "authorization_code", "--redirect-uri", "https://pusher.example/back")
		request := url.Values{"response_type": {"code"}, "client_id": {pusher.ClientID},
			"redirect_uri":   {"https://pusher.example/back"},
			"code_challenge": {digest("verifier")}, "code_challenge_method": {"S256"}}
		wrong := maps.Clone(request)
		wrong.Set("redirect_uri", "https://other.example/back")
		var assertion string
		for i, try := range []struct {
			request url.Values
			want    int
		}{{wrong, http.StatusBadRequest}, {request, http.StatusCreated}} {
			assertion = s.assert(t, pusher, nil, nil)
			if got := nodes[i%2].post(t, "/o/par/", asserting(assertion), try.request); got.Status != try.want {
				t.Errorf("push %d: %d %s, want %d", i, got.Status, got.Body, try.want)
			}
			if got := nodes[(i+1)%2].post(t, "/o/par/", asserting(assertion), request); got.Status != http.StatusUnauthorized {
				t.Errorf("push %d again: %d %s", i, got.Status, got.Body)
			}
		}
		if got := s.post(t, "/o/token/", asserting(assertion), forItself); got.Status != http.StatusUnauthorized {
			t.Errorf("the assertion of a push at the token endpoint: %d %s", got.Status, got.Body)
		}
	})
}

// Who does not have the private key cannot make the server verify with another one, and does not
// learn which clients exist.
func TestAttackForgedAssertion(t *testing.T) {
	t.Parallel()
	attack(t, "algorithm confusion", "")
	s := startServer(t, options{})
	a, web := s.keyHolder(t, "robot"), s.introspector(t)
	keyed := s.application(t, "--name", "keyed", "--grant", "client_credentials", "--auth-method", "client_secret_jwt",
		"--no-hash-client-secret")
	mine := newStatementIssuer(t, "attacker")
	rsa := a.keys.keys["RS256"].Public()
	der, err := x509.MarshalPKIXPublicKey(rsa)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	public := signHeader
	var jwk member
	err = json.Unmarshal([]byte(mine.keySet(t)), &jwk)
	if err != nil {
		t.Fatal(err)
	}
	unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone,
		jwt.MapClaims(s.assertionClaims(a.ClientID, nil))).SignedString(jwt.UnsafeAllowNoneSignatureType)
	if err != nil {
		t.Fatal(err)
	}
	claims := func(id string) member { return s.assertionClaims(id, nil) }
	texts := map[string]bool{}
	for what, forged := range map[string]string{
		"HS256 by the public key in PEM": public(t, member{"alg": "HS256", "kid": "RS256"}, claims(a.ClientID), text),
		"HS256 by the public key in DER": public(t, member{"alg": "HS256", "kid": "RS256"}, claims(a.ClientID), der),
		"HS256 by the set":               public(t, member{"alg": "HS256"}, claims(a.ClientID), []byte(a.keys.keySet(t))),
		"HS256 by nothing":               public(t, member{"alg": "HS256"}, claims(a.ClientID), []byte{}),
		"another key":                    mine.sign(t, claims(a.ClientID), nil),
		"its own jwk":                    mine.sign(t, claims(a.ClientID), member{"jwk": jwk["keys"].([]any)[0]}),
		"jku":                            mine.sign(t, claims(a.ClientID), member{"jku": "https://attacker.example/keys"}),
		"x5c":                            mine.sign(t, claims(a.ClientID), member{"x5c": []string{"MIIB"}}),
		"kid as a path":                  mine.sign(t, claims(a.ClientID), member{"kid": "../../../dev/null"}),
		"RS256 for client_secret_jwt":    mine.sign(t, claims(keyed.ClientID), member{"alg": "RS256", "kid": "RS256"}),
		"HS256 by another secret": public(t, member{"alg": "HS256"}, claims(keyed.ClientID),
			[]byte(strings.Repeat("x", 43))),
		"an application with a secret": public(t, member{"alg": "HS256"}, claims(web.ClientID), []byte(web.ClientSecret)),
		"an unknown client":            mine.sign(t, claims("unknown"), nil),
	} {
		texts[s.refusedAssertion(t, what, asserting(forged))] = true
	}
	if len(texts) != 1 {
		t.Errorf("the texts tell clients apart: %v", texts)
	}
	s.refusedAssertion(t, "no signature", asserting(unsigned))
	s.mustToken(t, asserting(public(t, member{"alg": "HS256"}, claims(keyed.ClientID), []byte(keyed.ClientSecret))),
		forItself)
	s.refusedAssertion(t, "the secret itself", keyed.auth())
	s.mustToken(t, asserting(s.assert(t, a, nil, nil)), forItself)
}

// An algorithm that is registered is the only one.
func TestAssertionAlgorithm(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	a := s.keyHolder(t, "robot", "--auth-algorithm", "PS256")
	s.mustToken(t, asserting(s.assert(t, a, nil, member{"alg": "PS256", "kid": "PS256"})), forItself)
	s.refusedAssertion(t, "ES256", asserting(s.assert(t, a, nil, nil)))
	// The same key would do.
	s.refusedAssertion(t, "RS256 with the key for PS256",
		asserting(signHeader(t, member{"alg": "RS256", "kid": "PS256"}, s.assertionClaims(a.ClientID, nil),
			a.keys.keys["PS256"])))
}

// An older library makes assertions for the address of an endpoint.
func TestAssertionForAnEndpoint(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	a := s.keyHolder(t, "old", "--assertion-audience-endpoints")
	for _, aud := range []string{s.Issuer, s.Issuer + "/token/", s.Issuer + "/token"} {
		s.mustToken(t, asserting(s.assert(t, a, member{"aud": aud}, nil)), forItself)
	}
	for _, aud := range []any{s.Issuer + "/introspect/", s.Issuer + "/token//", []string{s.Issuer, s.Issuer + "/token/"}} {
		s.refusedAssertion(t, "another audience", asserting(s.assert(t, a, member{"aud": aud}, nil)))
	}
	revoked := s.post(t, "/o/revoke_token/", asserting(s.assert(t, a, member{"aud": s.Issuer + "/revoke_token/"}, nil)),
		params("token", "mat_x"))
	checkEqual(t, "revocation", revoked.Status, http.StatusOK)
	s.stop(t) // then the log is complete
	checkEqual(t, "warnings", strings.Count(s.log.String(), "the address of an endpoint"), 1)
}

// An ID token of this server is no assertion, even if the client has registered the keys of the
// server as its own.
func TestAttackIDTokenAsAssertion(t *testing.T) {
	t.Parallel()
	attack(t, "token confusion", "")
	s := logoutServer(t, newSQLite(t))
	alice, web := s.person(t, "alice"), s.whole(t, "web")
	id := s.browser(t).signsIn(t, web, alice).IDToken
	keys := s.get(t, "/o/.well-known/jwks.json", nobody)
	s.mustCLI(t, "", "application", "update", web.ClientID, "--auth-method", "private_key_jwt", "--jwks",
		keysFile(t, keys.Body))
	s.refusedAssertion(t, "an ID token", asserting(id))
}
