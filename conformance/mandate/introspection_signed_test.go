package mandate

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// Signed introspection responses (RFC 9701).

const signedIntrospection = "application/token-introspection+jwt"

// wanting authenticates, and sends Accept.
func wanting(accept string, as auth) auth {
	return func(r *http.Request, form url.Values) {
		as(r, form)
		r.Header.Set("Accept", accept)
	}
}

// signedAbout introspects a token and returns the claims of the signed response, and the member
// token_introspection.
func (s *server) signedAbout(t *testing.T, asker application, as auth, algorithm, token string) (jwt.MapClaims,
	map[string]any) {
	t.Helper()
	a := s.post(t, "/o/introspect/", wanting(signedIntrospection, as), params("token", token))
	if a.Status != http.StatusOK || a.Header.Get("Content-Type") != signedIntrospection {
		t.Fatalf("%d %s: %s", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	checkUncached(t, a)
	claims := s.verified(t, asker, algorithm, a.Body)
	parsed, _, err := jwt.NewParser().ParseUnverified(a.Body, jwt.MapClaims{})
	if err != nil || parsed.Header["typ"] != "token-introspection+jwt" {
		t.Errorf("the header is %v, %v", parsed.Header, err)
	}
	about, _ := claims["token_introspection"].(map[string]any)
	for name := range claims {
		if name != "iss" && name != "aud" && name != "iat" && name != "token_introspection" {
			t.Errorf("the response has the claim %s at the top", name)
		}
	}
	return claims, about
}

func TestSignedIntrospection(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db, "ACCESS_TOKEN_EXPIRE_SECONDS: 600", "REGISTRATION_WITH_TOKEN: true")
		alice, asker, other := s.somebody(t, "alice"), s.introspector(t), s.introspector(t)
		app := s.relyingParty(t)
		token := s.browser(t).signsIn(t, app, alice, "scope", "openid read").AccessToken
		plain := s.introspect(t, asker.auth(), token)
		t.Run("an active token", func(t *testing.T) {
			claims, about := s.signedAbout(t, asker, asker.auth(), "RS256", token)
			if claims["aud"] != asker.ClientID || about["active"] != true || about["client_id"] != app.ClientID {
				t.Errorf("%v", claims)
			}
			for name, value := range plain {
				got, _ := json.Marshal(about[name])
				want, _ := json.Marshal(value)
				if string(got) != string(want) {
					t.Errorf("%s is %s in the signed response, and %s in JSON", name, got, want)
				}
			}
		})
		t.Run("inactive tokens", func(t *testing.T) {
			s.mustCLI(t, "", "resource", "add", "https://other.example/", "--name", "Other", "--scope", "read")
			elsewhere := s.application(t, "--name", "for others", "--grant", "client_credentials", "--resource",
				"https://other.example/")
			named := s.mustToken(t, elsewhere.auth(), params("grant_type", "client_credentials", "scope", "read"))
			for name, text := range map[string]string{"unknown": "mat_unknown", "for another resource": named.AccessToken} {
				_, about := s.signedAbout(t, asker, asker.auth(), "RS256", text)
				if len(about) != 1 || about["active"] != false {
					t.Errorf("%s: %v", name, about)
				}
			}
		})
		t.Run("each algorithm", func(t *testing.T) {
			for _, algorithm := range []string{"ES256", "EdDSA", "RS256", "PS256"} {
				one := s.application(t, "--name", "asker "+algorithm, "--grant", "client_credentials", "--may-introspect",
					"--introspection-algorithm", algorithm)
				_, about := s.signedAbout(t, one, one.auth(), algorithm, token)
				if about["active"] != true {
					t.Errorf("%s: %v", algorithm, about)
				}
			}
			for _, algorithm := range []string{"none", "HS256", "RS384"} {
				r := s.cli(t, "", "application", "add", "--name", "wrong", "--grant", "client_credentials",
					"--introspection-algorithm", algorithm)
				if r.code == 0 || !strings.Contains(r.stderr, "--introspection-algorithm") {
					t.Errorf("%s: %d %s", algorithm, r.code, r.stderr)
				}
			}
		})
		t.Run("a bearer token", func(t *testing.T) {
			key := s.mustToken(t, asker.auth(), params("grant_type", "client_credentials", "scope", "introspection"))
			_, about := s.signedAbout(t, asker, bearer(key.AccessToken), "RS256", token)
			if about["active"] != true {
				t.Errorf("%v", about)
			}
			people := s.application(t, "--name", "of people", "--grant", "password", "--may-introspect")
			of := s.mustToken(t, people.auth(),
				params("grant_type", "password", "username", alice.Name, "password", alice.Password, "scope", "introspection"))
			if a := s.post(t, "/o/introspect/", bearer(of.AccessToken), params("token", token)); a.Status != http.StatusOK {
				t.Errorf("the token of a person gets no JSON: %d %s", a.Status, a.Body)
			}
			if err := s.post(t, "/o/introspect/", wanting(signedIntrospection, bearer(of.AccessToken)),
				params("token", token)).refused(http.StatusForbidden, "unauthorized_client"); err != nil {
				t.Errorf("the token of a person: %v", err)
			}
		})
		t.Run("who is refused", func(t *testing.T) {
			known := func(_ *http.Request, form url.Values) { form.Set("client_id", asker.ClientID) }
			for name, test := range map[string]struct {
				as     auth
				status int
				code   string
			}{
				"nobody":              {nobody, http.StatusBadRequest, "invalid_client"},
				"only a client id":    {known, http.StatusBadRequest, "invalid_client"},
				"a wrong secret":      {basic(asker.ClientID, "wrong"), http.StatusUnauthorized, "invalid_client"},
				"a wrong token":       {bearer("mat_wrong"), http.StatusUnauthorized, "invalid_token"},
				"without the right":   {app.auth(), http.StatusForbidden, "unauthorized_client"},
				"nobody, in the text": {wanting("application/json", nobody), http.StatusUnauthorized, "invalid_client"},
			} {
				as := test.as
				if name != "nobody, in the text" {
					as = wanting(signedIntrospection, as)
				}
				if err := s.post(t, "/o/introspect/", as, params("token", token)).refused(test.status, test.code); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			if err := s.post(t, "/o/introspect/", wanting(signedIntrospection, asker.auth()),
				params("other", "x")).refused(http.StatusBadRequest, "invalid_request"); err != nil {
				t.Errorf("without a token: %v", err)
			}
		})
		t.Run("JSON stays JSON", func(t *testing.T) {
			for _, accept := range []string{"*/*", "application/json", "application/jwt", signedIntrospection + ";q=0"} {
				a := s.post(t, "/o/introspect/", wanting(accept, asker.auth()), params("token", token))
				if a.Status != http.StatusOK || !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") ||
					a.JSON(t)["active"] != true {
					t.Errorf("%s: %d %s", accept, a.Status, a.Body)
				}
			}
		})
		t.Run("registration", func(t *testing.T) {
			initial := s.initialToken(t, "--uses", "1", "--may", "client_credentials")
			wanted := member{"client_name": "API", "grant_types": []string{"client_credentials"}, "response_types": []string{},
				"introspection_signed_response_alg": "HS256"}
			for name, more := range map[string]member{"HS256": {}, "none": {"introspection_signed_response_alg": "none"},
				"encryption": {"introspection_signed_response_alg": "ES256",
					"introspection_encrypted_response_alg": "RSA-OAEP-256"}} {
				asked := member{}
				for _, from := range []member{wanted, more} {
					for member, value := range from {
						asked[member] = value
					}
				}
				if err := s.registration(t, bearer(initial), asked).refused(http.StatusBadRequest,
					"invalid_client_metadata"); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			wanted["introspection_signed_response_alg"] = "ES256"
			if told := s.registers(t, bearer(initial), wanted); textOf(told, "introspection_signed_response_alg") != "ES256" {
				t.Errorf("the answer is %v", told)
			}
		})
		t.Run("not an access token, nor an ID token", func(t *testing.T) {
			a := s.post(t, "/o/introspect/", wanting(signedIntrospection, asker.auth()), params("token", token))
			if got := s.introspect(t, other.auth(), a.Body); got["active"] != false {
				t.Errorf("introspection of a response: %v", got)
			}
			if got := s.get(t, "/o/userinfo/", bearer(a.Body)); got.Status != http.StatusUnauthorized {
				t.Errorf("UserInfo: %d", got.Status)
			}
		})
	})
}

// Without OpenID Connect there is a key only if something is signed.
func TestSignedIntrospectionWithoutKeys(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{openIDOff}})
	asker := s.introspector(t)
	metadata := func() any {
		return s.get(t, "/.well-known/oauth-authorization-server/o",
			nobody).JSON(t)["introspection_signing_alg_values_supported"]
	}
	ask := func(as auth) answer {
		return s.post(t, "/o/introspect/", wanting(signedIntrospection, as), params("token", "mat_unknown"))
	}
	if err := ask(asker.auth()).refused(http.StatusNotAcceptable, "invalid_request"); err != nil || metadata() != nil {
		t.Errorf("without a key: %v, %v", err, metadata())
	}
	signing := s.application(t, "--name", "asker", "--grant", "client_credentials", "--may-introspect",
		"--introspection-algorithm", "ES256")
	waitFor(t, "the key signs", func() bool { return ask(signing.auth()).Status == http.StatusOK })
	if list, _ := metadata().([]any); len(list) != 4 {
		t.Errorf("the metadata has %v", list)
	}
	_, about := s.signedAbout(t, signing, signing.auth(), "ES256", "mat_unknown")
	if len(about) != 1 || about["active"] != false {
		t.Errorf("%v", about)
	}
}

// The page of an application sets the algorithm.
func TestSignedIntrospectionPage(t *testing.T) {
	t.Parallel()
	s := openidServer(t, newSQLite(t))
	root := s.person(t, "root", "--admin")
	asker := s.application(t, "--name", "robot", "--client-id", "robot", "--grant", "client_credentials",
		"--may-introspect")
	b := s.signIn(t, root, "/o/applications/")
	b.click(t, "robot")
	at := b.URL.Path
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("introspection_algorithm", "HS256"))
	if b.Status == http.StatusOK || !strings.Contains(b.Body, `id="introspection_algorithm-error"`) {
		t.Errorf("HS256: %d", b.Status)
	}
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("introspection_algorithm", "PS256"))
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "PS256") {
		t.Errorf("PS256: %d", b.Status)
	}
	s.signedAbout(t, asker, asker.auth(), "PS256", "mat_unknown")
}
