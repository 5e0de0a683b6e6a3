package mandate

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An application that authenticates with a key or a certificate is registered on the page in one
// step. It never has a secret.
func TestRegistrationPageWithoutASecret(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		ours := newIssuer(t)
		// The form has no field for the algorithm without OpenID Connect, and the profile sets it.
		s, mutual := withCertificates(t, db, ours, "OAUTH2_PROVIDER: {"+openIDOff+"}")
		keys := newStatementIssuer(t, "bank")
		b := s.signIn(t, s.person(t, "root", "--admin"), "/o/applications/")
		register := func(name, kind string, fields url.Values) keyHolder {
			t.Helper()
			b.open(t, "/o/applications/register/?kind="+kind)
			fields.Set("name", name)
			b.submit(t, "Register application", fields)
			if b.Status != http.StatusOK || strings.Contains(b.Body, "Copy it now") ||
				strings.Contains(b.Body, "Replace the secret") {
				t.Fatalf("%s: %d %s", name, b.Status, b.Body)
			}
			var secret string
			err := db.open(t).QueryRow(`SELECT secret FROM applications WHERE name = $1`, name).Scan(&secret)
			if err != nil || secret != "" {
				t.Errorf("%s: %v, it has a secret", name, err)
			}
			return keyHolder{application{ClientID: b.fact(t, "Client ID"), RedirectURI: fields.Get("redirect_uris")}, keys}
		}
		robot := register("Robot", "service", params("auth_method", "private_key_jwt", "jwks", keys.keySet(t)))
		s.mustToken(t, asserting(s.assert(t, robot, nil, nil)), forItself)
		s.refusedAssertion(t, "no secret", basic(robot.ClientID, ""))

		bank := register("Bank", "website",
			params("redirect_uris", "https://bank.example/back", "auth_method", "private_key_jwt", "jwks", keys.keySet(t),
				"profile", "fapi2"))
		if got := b.fact(t, "Profile"); got != "FAPI 2.0 Security Profile" ||
			!strings.Contains(b.Body, "The application must push them") {
			t.Errorf("the profile is %q", got)
		}
		form, _ := s.requestFor(t, bank.application, "scope", "read")
		h := newHolder(t)
		pushed := s.post(t, "/o/par/", h.proving(t, asserting(s.assert(t, bank, nil, nil))), form)
		checkEqual(t, "a pushed request", pushed.Status, http.StatusCreated)
		// FAPI 2.0 Security Profile §5.4.1
		s.refusedAssertion(t, "RS256", asserting(s.assert(t, bank, nil, member{"alg": "RS256", "kid": "RS256"})))

		client := register("Certificate", "service",
			params("auth_method", "tls_client_auth", "certificate_subject", "san_dns=client.example"))
		own := ours.client(t, "client.example")
		got := s.by(t, &own, mutual+"/o/token/", with(forItself, "client_id", client.ClientID), nil)
		checkEqual(t, "a token for the certificate", got.Status, http.StatusOK)
	})
}

// Each mistake stands at its field and in the summary, the advanced fields are unfolded, and nothing
// that was typed is lost. A private key is not shown again.
func TestRegistrationPageMistakes(t *testing.T) {
	t.Parallel()
	s, _ := withCertificates(t, newSQLite(t), newIssuer(t), "OAUTH2_PROVIDER: {OIDC_ENABLED: true, "+openidScopes+"}")
	keys := newStatementIssuer(t, "bank")
	set, other := keys.keySet(t), `{"keys":[{"kty":"oct","kid":"AAAA"}]}`
	b := s.signIn(t, s.person(t, "root", "--admin"), "/o/applications/")
	for _, one := range []struct {
		field, kind string
		typed       url.Values
	}{
		{"jwks", "website", params("auth_method", "private_key_jwt")},
		{"jwks", "website", params("auth_method", "private_key_jwt", "jwks", other)},
		{"jwks_uri", "website",
			params("auth_method", "private_key_jwt", "jwks", set, "jwks_uri", "https://bank.example/keys")},
		{"jwks_uri", "website", params("auth_method", "private_key_jwt", "jwks_uri", "http://bank.example/keys")},
		{"auth_method", "browser", params("auth_method", "private_key_jwt", "jwks", set)},
		{"auth_method", "website", params("profile", "fapi2")},
		{"auth_method", "website", params("auth_method", "password")},
		{"hash_client_secret", "website", params("auth_method", "client_secret_jwt")},
		{"auth_algorithm", "website", params("auth_method", "private_key_jwt", "auth_algorithm", "HS256", "jwks", set)},
		{"certificate_subject", "service", params("auth_method", "tls_client_auth")},
		{"certificate_subject", "service", params("auth_method", "tls_client_auth", "certificate_subject", "client.example")},
		{"profile", "website", params("profile", "fapi3", "jwks", set)},
		{"client_type", "browser", params("profile", "fapi2", "auth_method", "private_key_jwt", "jwks", set)},
		{"grant_type", "device", params("client_type", "confidential", "profile", "fapi2", "auth_method", "private_key_jwt",
			"jwks", set)},
		{"algorithm", "website",
			params("profile", "fapi2", "auth_method", "private_key_jwt", "jwks", set, "algorithm", "HS256")},
		{"refresh_rotation", "website",
			params("profile", "fapi2", "auth_method", "private_key_jwt", "jwks", set, "refresh_rotation", "on")},
		{"assertion_audience_endpoints", "website",
			params("profile", "fapi2", "auth_method", "private_key_jwt", "jwks", set, "assertion_audience_endpoints", "on")},
		{"require_signed", "website", params("require_signed", "on")},
		{"required_acr", "service", params("required_acr", "strong")},
	} {
		b.open(t, "/o/applications/register/?kind="+one.kind)
		one.typed.Set("name", "Bank")
		if one.kind != "service" && one.kind != "device" {
			one.typed.Set("redirect_uris", "https://bank.example/back")
		}
		b.submit(t, "Register application", one.typed)
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, `id="`+one.field+`-error"`) ||
			!strings.Contains(b.Body, `href="#`+one.field+`"`) ||
			!strings.Contains(b.Body, `<details class="more" aria-labelledby="advanced" open>`) {
			t.Errorf("%s of %v: %d %s", one.field, one.typed, b.Status, b.Body)
			continue
		}
		f, _ := b.find(t, "Register application", nil)
		for name, values := range one.typed {
			// A value that no choice has cannot be chosen again.
			if got := f.values().Get(name); got != values[0] && !strings.Contains(b.Body, "is not supported") {
				t.Errorf("%s of %v: the form has %s %q", one.field, one.typed, name, got)
			}
		}
	}
	const private = `{"kty":"EC","crv":"P-256","d":"870MB6gfuTJ4HtUnUvYMyJpr5eUZNP4Bk43bVdj3eAE"}`
	b.open(t, "/o/applications/register/?kind=service")
	b.submit(t, "Register application", params("name", "Bank", "auth_method", "private_key_jwt", "jwks", private))
	if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, `id="jwks-error"`) ||
		strings.Contains(html.UnescapeString(b.Body), "870MB6gfuTJ4") {
		t.Errorf("a private key: %d %s", b.Status, b.Body)
	}
}
