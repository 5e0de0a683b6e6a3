package mandate

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// OIDC Discovery §3, RFC 8414 §2: each listed value is used once, and an unlisted one
// is refused. A new list in the document, or a new value in a list, needs a line here.
func TestOIDCDiscovery3EveryValue(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := openidServer(t, db)
		d := &discovered{server: s, alice: s.somebody(t, "alice")}
		d.app = s.relyingParty(t, "--grant", "password", "--may-introspect")
		d.open = s.relyingParty(t, "--client-type", "public")
		d.asker = s.application(t, "--name", "asker", "--grant", "client_credentials", "--may-introspect")
		d.page = s.browser(t)
		d.given = d.page.signsIn(t, d.app, d.alice)
		document := s.get(t, discoveryPaths[0], nobody).JSON(t)
		uses := d.uses()
		for name, value := range document {
			list, ok := value.([]any)
			if !ok || name == "claims_supported" { // which are compared in TestOIDCDiscovery3Metadata, and below
				continue
			}
			use := uses[name]
			if use == nil {
				t.Errorf("nothing here uses the values of %s", name)
				continue
			}
			for _, value := range list {
				if !use(t, value.(string)) {
					t.Errorf("%s lists %v, which is not taken", name, value)
				}
			}
			for _, other := range unlisted[name] {
				if slices.Contains(list, any(other)) {
					t.Errorf("%s lists %s", name, other)
				} else if use(t, other) {
					t.Errorf("%s does not list %s, which is taken", name, other)
				}
			}
		}
		for name := range uses {
			if document[name] == nil {
				t.Errorf("the document has no %s", name)
			}
		}
		d.checkFlags(t, document)
	})
}

// discovered is what the uses of all values share.
type discovered struct {
	*server
	alice            person
	app, open, asker application // confidential, public, and one that may introspect
	page             *browser    // in which alice is signed in and has approved the application
	given            tokens      // the tokens of the application
}

// unlisted holds values that other servers support.
var unlisted = map[string][]string{
	"scopes_supported": {"admin", "OpenID"},
	"response_types_supported": {"token", "id_token", "code token", "code id_token",
		"code id_token token", "none"},
	"response_modes_supported": {"fragment", "fragment.jwt", "web_message"},
	"grant_types_supported": {"implicit", "urn:ietf:params:oauth:grant-type:jwt-bearer",
		"urn:ietf:params:oauth:grant-type:token-exchange"},
	"token_endpoint_auth_methods_supported":         {"self_signed_tls_client_auth", "tls_client_auth"},
	"introspection_endpoint_auth_methods_supported": {"none", "tls_client_auth"},
	"revocation_endpoint_auth_methods_supported":    {"tls_client_auth"},

	"token_endpoint_auth_signing_alg_values_supported":         {"none", "HS512", "ES384"},
	"introspection_endpoint_auth_signing_alg_values_supported": {"none", "HS512", "ES384"},
	"revocation_endpoint_auth_signing_alg_values_supported":    {"none", "HS512", "ES384"},
	"introspection_signing_alg_values_supported":               {"none", "HS256", "RS384", "es256"},
	"code_challenge_methods_supported":                         {"plain", "s256", "S512"},
	"subject_types_supported":                                  {"ephemeral"},
	"id_token_signing_alg_values_supported":                    {"none", "RS384", "HS512", "ES256K", "rs256"},
	"userinfo_signing_alg_values_supported":                    {"none", "RS384", "HS512", "ES256K", "rs256"},
	"authorization_signing_alg_values_supported":               {"none", "HS256", "ES384"},
	"request_object_signing_alg_values_supported":              {"none", "HS256", "ES384"},
	"dpop_signing_alg_values_supported":                        {"RS256", "ES384", "none"},
	"acr_values_supported":                                     {"urn:mandate:acr:passkey", "0"},
	"display_values_supported":                                 {"hologram", "Page"},
	"prompt_values_supported":                                  {"create", "None"},
	"claim_types_supported":                                    {"aggregated", "distributed"},
	"ui_locales_supported":                                     {"it", "DE", "x"},
}

// uses returns a function for each list. The function uses one value of the list and
// reports whether the server accepted it.
func (d *discovered) uses() map[string]func(t *testing.T, value string) bool {
	asked := func(name string) func(*testing.T, string) bool {
		return func(t *testing.T, value string) bool { return d.asked(t, name, value).Has("code") }
	}
	mode := asked("response_mode")
	return map[string]func(*testing.T, string) bool{
		"scopes_supported": func(t *testing.T, value string) bool {
			b := d.browser(t)
			asked := []string{"scope", value}
			if value == "offline_access" { // OIDC Core §11: beside openid, and with a consent that is asked for
				value = "openid offline_access"
				asked = []string{"scope", value, "prompt", "consent"}
			}
			address, verifier := d.authorizeURL(d.app, asked...)
			code := b.authorize(t, address, d.alice, "approve").Query().Get("code")
			return code != "" && d.redeem(t, d.app, code, verifier).Scope == value
		},
		"response_types_supported": asked("response_type"),
		"response_modes_supported": func(t *testing.T, value string) bool {
			b := d.browser(t)
			b.open(t, d.mustAuthorize(d.app, "response_mode", value))
			// OIDC Core §3.1.2.6: the error for an unknown response mode is shown on a
			// page.
			if b.Status != http.StatusBadRequest && strings.HasSuffix(value, "jwt") {
				return d.asked(t, "response_mode", value).Has("response")
			}
			return b.Status != http.StatusBadRequest && mode(t, value)
		},
		"grant_types_supported": func(t *testing.T, value string) bool {
			app := d.app
			switch value {
			case "client_credentials":
				app = d.asker
			case deviceGrant:
				app = d.application(t, "--name", "television", "--grant", value)
			}
			return d.granted(t, app, app.auth(), value)
		},
		"token_endpoint_auth_methods_supported": func(t *testing.T, value string) bool {
			app := d.app
			if value == "none" {
				app = d.open
			}
			if sign := d.signer(t, value, ""); sign != nil {
				return d.getsToken(t, sign)
			}
			return d.granted(t, app, d.as(app, value), "authorization_code")
		},
		"introspection_endpoint_auth_methods_supported": func(t *testing.T, value string) bool {
			if sign := d.signer(t, value, ""); sign != nil {
				return d.introspects(t, sign)
			}
			a := d.post(t, "/o/introspect/", d.as(d.asker, value), params("token", d.given.AccessToken))
			return a.Status == http.StatusOK && a.JSON(t)["active"] == true
		},
		"revocation_endpoint_auth_methods_supported": func(t *testing.T, value string) bool {
			app := d.app
			if value == "none" {
				app = d.open
			}
			if sign := d.signer(t, value, ""); sign != nil {
				return d.revokes(t, sign)
			}
			got := d.browser(t).signsIn(t, app, d.alice)
			a := d.post(t, "/o/revoke_token/", d.as(app, value), params("token", got.AccessToken))
			return a.Status == http.StatusOK && !d.active(t, d.asker.auth(), got.AccessToken)
		},
		"token_endpoint_auth_signing_alg_values_supported": func(t *testing.T, value string) bool {
			sign := d.signer(t, "", value)
			return sign != nil && d.getsToken(t, sign)
		},
		"introspection_endpoint_auth_signing_alg_values_supported": func(t *testing.T, value string) bool {
			sign := d.signer(t, "", value)
			return sign != nil && d.introspects(t, sign)
		},
		"revocation_endpoint_auth_signing_alg_values_supported": func(t *testing.T, value string) bool {
			sign := d.signer(t, "", value)
			return sign != nil && d.revokes(t, sign)
		},
		"authorization_signing_alg_values_supported": func(t *testing.T, value string) bool {
			app, ok := d.registered(t, "--response-algorithm", value)
			if !ok {
				return false
			}
			address, _ := d.authorizeURL(app, "response_mode", "jwt")
			return d.response(t, app, value, d.browser(t).authorize(t, address, d.alice, "approve").Query()).Has("code")
		},
		"request_object_signing_alg_values_supported": func(t *testing.T, value string) bool {
			return d.sendsObject(t, value)
		},
		"introspection_signing_alg_values_supported": func(t *testing.T, value string) bool {
			app, ok := d.registered(t, "--introspection-algorithm", value)
			if !ok {
				return false
			}
			d.mustCLI(t, "", "resource", "add", "https://"+strings.ToLower(value)+".example/", "--name", value, "--introspector",
				app.ClientID)
			var a answer
			waitFor(t, "the server knows the introspector", func() bool {
				a = d.post(t, "/o/introspect/", wanting(signedIntrospection, app.auth()), params("token", d.given.AccessToken))
				return a.Status == http.StatusOK
			})
			return d.verified(t, app, value, a.Body)["token_introspection"] != nil
		},
		"code_challenge_methods_supported": asked("code_challenge_method"),
		"subject_types_supported": func(t *testing.T, value string) bool {
			flag, known := map[string]string{"public": "--pairwise=false", "pairwise": "--pairwise"}[value]
			if !known {
				return false // no request parameter asks for this value
			}
			app := d.relyingParty(t, flag)
			public := d.verified(t, d.app, "RS256", d.given.IDToken)["sub"]
			return (d.verified(t, app, "RS256", d.browser(t).signsIn(t, app, d.alice).IDToken)["sub"] == public) == (value == "public")
		},
		"id_token_signing_alg_values_supported": func(t *testing.T, value string) bool {
			app, ok := d.registered(t, "--algorithm", value)
			return ok && d.verified(t, app, value, d.browser(t).signsIn(t, app, d.alice).IDToken)["iss"] == d.Issuer
		},
		"userinfo_signing_alg_values_supported": func(t *testing.T, value string) bool {
			app, ok := d.registered(t, "--userinfo-algorithm", value)
			if !ok {
				return false
			}
			a := d.get(t, "/o/userinfo/", bearer(d.browser(t).signsIn(t, app, d.alice).AccessToken))
			return d.verified(t, app, value, a.Body)["sub"] != nil
		},
		"dpop_signing_alg_values_supported": d.proves,
		"acr_values_supported": func(t *testing.T, value string) bool {
			return d.reaches(t, value)
		},
		"display_values_supported": asked("display"),
		"prompt_values_supported":  asked("prompt"),
		"ui_locales_supported": func(t *testing.T, value string) bool {
			b := d.browser(t)
			b.open(t, d.mustAuthorize(d.app, "ui_locales", value))
			return strings.Contains(b.Body, `<html lang="`+value+`">`)
		},
		"claim_types_supported": func(t *testing.T, value string) bool {
			info := d.userInfo(t, d.given.AccessToken)
			// OIDC Core §5.6.2: the other claim types have members with these names.
			return value == "normal" && info["sub"] != nil && info["_claim_names"] == nil && info["_claim_sources"] == nil
		},
	}
}

// signer registers a client that signs assertions, with this method or with this algorithm
// alone. It returns a function that makes an assertion, or nil if there is no such client.
func (d *discovered) signer(t *testing.T, method, algorithm string) func() auth {
	t.Helper()
	if method != "" && method != "client_secret_jwt" && method != "private_key_jwt" {
		return nil
	}
	secret := method == "client_secret_jwt" || strings.HasPrefix(algorithm, "HS")
	keys := newStatementIssuer(t, "signer")
	args := []string{"--name", "signer", "--grant", "client_credentials", "--may-introspect"}
	if secret {
		args = append(args, "--auth-method", "client_secret_jwt", "--no-hash-client-secret")
	} else {
		args = append(args, "--auth-method", "private_key_jwt", "--jwks", keysFile(t, keys.keySet(t)))
	}
	if algorithm != "" {
		args = append(args, "--auth-algorithm", algorithm)
	}
	if r := d.cli(t, "", append([]string{"application", "add"}, args...)...); r.code != 0 {
		return nil
	}
	app := d.application(t, args...)
	return func() auth {
		if secret {
			return d.as(app, "client_secret_jwt")
		}
		alg := cmp.Or(algorithm, "ES256")
		return asserting(keys.sign(t, d.assertionClaims(app.ClientID, nil), member{"alg": alg, "kid": alg}))
	}
}

// proves gets a token with a DPoP proof that is signed with this algorithm.
func (d *discovered) proves(t *testing.T, algorithm string) bool {
	keys := newStatementIssuer(t, "holder")
	var set struct{ Keys []member }
	err := json.Unmarshal([]byte(keys.keySet(t)), &set)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(set.Keys, func(k member) bool { return k["kid"] == algorithm })
	if i < 0 {
		return false
	}
	claims := member{"jti": rand.Text(), "htm": "POST", "htu": d.Issuer + "/token/", "iat": time.Now().Unix()}
	proof := keys.sign(t, claims, member{"alg": algorithm, "kid": nil, "typ": "dpop+jwt", "jwk": set.Keys[i]})
	got, _ := d.token(t, sending(d.asker.auth(), proof), forItself)
	return got.TokenType == "DPoP"
}

func (d *discovered) getsToken(t *testing.T, sign func() auth) bool {
	got, _ := d.token(t, sign(), forItself)
	return got.AccessToken != ""
}

func (d *discovered) introspects(t *testing.T, sign func() auth) bool {
	a := d.post(t, "/o/introspect/", sign(), params("token", d.given.AccessToken))
	return a.Status == http.StatusOK && a.JSON(t)["active"] == true
}

func (d *discovered) revokes(t *testing.T, sign func() auth) bool {
	got := d.mustToken(t, sign(), forItself)
	a := d.post(t, "/o/revoke_token/", sign(), params("token", got.AccessToken))
	return a.Status == http.StatusOK && !d.active(t, d.asker.auth(), got.AccessToken)
}

// asked sends an authorization request with this value of one parameter, handles the
// pages, and returns what the client receives.
func (d *discovered) asked(t *testing.T, name, value string) url.Values {
	t.Helper()
	b := d.page
	address, _ := d.authorizeURL(d.app, "scope", "openid", name, value)
	b.open(t, address)
	if b.shows("password") {
		b.logIn(t, d.alice)
	}
	if b.shows("decision") {
		b.decide(t, "approve")
	}
	switch {
	case b.Away != nil:
		return b.Away.Query()
	case strings.Contains(b.Body, d.app.RedirectURI):
		f, _ := b.find(t, "", nil)
		d.secret(f.values().Get("code"))
		return f.values()
	}
	t.Errorf("%s=%s: the browser shows %d %s:\n%s", name, value, b.Status, b.URL, b.Body)
	return nil
}

// registered tries to register an application.
func (d *discovered) registered(t *testing.T, flag, value string) (application, bool) {
	t.Helper()
	args := []string{"--name", "shop", "--grant", "authorization_code", "--redirect-uri", "https://shop.example/cb",
		"--no-hash-client-secret", flag, value}
	if r := d.cli(t, "", append([]string{"application", "add"}, args...)...); r.code != 0 {
		return application{}, false
	}
	return d.application(t, args...), true
}

// as authenticates with a method of the IANA registry of OAuth parameters.
func (d *discovered) as(app application, method string) auth {
	switch method {
	case "client_secret_basic":
		return basic(app.ClientID, app.ClientSecret)
	case "client_secret_post":
		return body(app.ClientID, app.ClientSecret)
	case "none":
		return func(_ *http.Request, form url.Values) { form.Set("client_id", app.ClientID) }
	case "Bearer":
		return func(r *http.Request, form url.Values) {
			got, _ := d.tryPost("/o/token/", d.asker.auth(),
				params("grant_type", "client_credentials", "scope", "introspection"))
			token, _ := got.JSONOrNil()["access_token"].(string)
			bearer(d.secret(token))(r, form)
		}
	}
	// RFC 7523 §2.2, §3: a complete assertion, signed with the secret.
	at := time.Now().Unix()
	assertion, _ := jwt.NewWithClaims(jwt.SigningMethodHS256,
		jwt.MapClaims{"iss": app.ClientID, "sub": app.ClientID, "aud": d.Issuer,
			// a key of this type always signs
			"iat": at, "exp": at + 60, "jti": rand.Text()}).SignedString([]byte(app.ClientSecret))
	return func(_ *http.Request, form url.Values) {
		form.Set("client_id", app.ClientID)
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion", assertion)
	}
}

// granted requests tokens with a grant type.
func (d *discovered) granted(t *testing.T, app application, as auth, grant string) bool {
	t.Helper()
	form := params("grant_type", grant)
	switch grant {
	case "authorization_code":
		address, verifier := d.authorizeURL(app, "scope", "openid")
		form = params("grant_type", grant, "code", d.browser(t).code(t, address, d.alice), "redirect_uri", app.RedirectURI,
			"code_verifier", verifier)
	case "password":
		form = params("grant_type", grant, "username", d.alice.Name, "password", d.alice.Password)
	case deviceGrant:
		form = pollForm(d.page.approvedDevice(t, app, "scope", "openid").DeviceCode)
	case "refresh_token":
		form.Set("refresh_token", d.browser(t).signsIn(t, app, d.alice).RefreshToken)
	}
	got, a := d.token(t, as, form)
	if a.Status != http.StatusOK && got.Error != "unsupported_grant_type" && got.Error != "invalid_client" {
		t.Errorf("%s: %d %s", grant, a.Status, a.Body)
	}
	return got.AccessToken != ""
}

// checkFlags checks the Boolean values and the claims of the document against the
// server's behaviour.
func (d *discovered) checkFlags(t *testing.T, document map[string]any) {
	t.Helper()
	got := d.asked(t, "state", "s")
	if (document["authorization_response_iss_parameter_supported"] == true) != (got.Get("iss") == document["issuer"]) {
		t.Errorf("RFC 9207 §3: %v, with iss %q", document["authorization_response_iss_parameter_supported"], got.Get("iss"))
	}
	if got := d.asked(t, "request", "x"); document["request_parameter_supported"] != true ||
		got.Get("error") != "invalid_request_object" {
		t.Errorf("request_parameter_supported is %v, and the answer %v", document["request_parameter_supported"], got)
	}
	if got := d.asked(t, "request_uri", "https://shop.example/r"); document["request_uri_parameter_supported"] != false ||
		got.Get("error") != "request_uri_not_supported" {
		t.Errorf("request_uri_parameter_supported is %v, and the answer %v", document["request_uri_parameter_supported"], got)
	}
	// OIDC Core §5.5: each claim is requested by name in both places, and so is an
	// unknown one.
	wanted := map[string]any{"shoe_size": nil}
	for _, name := range document["claims_supported"].([]any) {
		wanted[name.(string)] = nil
	}
	claims, _ := json.Marshal(map[string]any{"id_token": wanted, "userinfo": wanted}) // it cannot fail
	tokens := d.browser(t).signsIn(t, d.app, d.alice, "claims", string(claims), "nonce", "n")
	told := slices.Collect(maps.Keys(d.verified(t, d.app, "RS256", tokens.IDToken)))
	told = append(told, slices.Collect(maps.Keys(d.userInfo(t, tokens.AccessToken)))...)
	for name := range wanted {
		if slices.Contains(told, name) != (name != "shoe_size") {
			t.Errorf("the claim %s is told: %v", name, slices.Contains(told, name))
		}
	}
	if document["claims_parameter_supported"] != true {
		t.Error("claims_parameter_supported is not true")
	}
}
