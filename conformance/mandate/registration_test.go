package mandate

import (
	"fmt"
	"strings"
	"testing"
)

// RFC 7591 and OIDC Registration, on a running server: what an application may say about
// itself, and what the server makes of it.

const toolURI = "https://tool.example/callback"

func TestRegistration(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{
		provider: append([]string{"SCOPES: {read: Read, write: Write, openid: Sign in, offline_access: Stay, " +
			"introspection: Introspect}", "OIDC_ENABLED: true",
			"DEFAULT_SCOPES: [read]"}, openClients...)})
	t.Run("answers", s.registrationAnswers)
	t.Run("refusals", s.registrationRefusals)
	t.Run("metadata", func(t *testing.T) {
		for _, path := range []string{"/.well-known/oauth-authorization-server/o", "/o/.well-known/openid-configuration"} {
			if got := textOf(s.get(t, path, nobody).JSON(t), "registration_endpoint"); got != s.Issuer+"/register/" {
				t.Errorf("%s: registration_endpoint %q", path, got)
			}
		}
	})
	plain := startServer(t, options{})
	t.Run("without a setting there is no endpoint", func(t *testing.T) {
		if a := plain.registration(t, nobody, member{"redirect_uris": []string{toolURI}}); a.Status != 404 {
			t.Errorf("status %d", a.Status)
		}
		if plain.get(t, "/.well-known/oauth-authorization-server/o", nobody).JSON(t)["registration_endpoint"] != nil {
			t.Error("the metadata names it")
		}
	})
}

func (s *server) registrationAnswers(t *testing.T) {
	for _, test := range []struct {
		name, metadata string
		want           map[string]string // "-": absent
	}{
		{"RFC7591/2 nothing but a redirect URI", `{"redirect_uris":["https://tool.example/1"]}`,
			map[string]string{"grant_types": "authorization_code refresh_token", "response_types": "code",
				"token_endpoint_auth_method": "none", "scope": "read openid offline_access",
				"client_name": "An application at tool.example", "id_token_signed_response_alg": "RS256", "subject_type": "public",
				"application_type": "web"}},
		{"RFC7591/2 scope does not limit a client that requests more later",
			`{"redirect_uris":["https://tool.example/2"],"scope":"read unknown"}`,
			map[string]string{"scope": "read openid offline_access"}},
		{"introspection is nobody's by registration",
			`{"redirect_uris":["https://tool.example/3"],"scope":"read introspection"}`,
			map[string]string{"scope": "read openid offline_access"}},
		{"a scope that is no default is left out", `{"redirect_uris":["https://tool.example/4"],"scope":"write openid"}`,
			map[string]string{"scope": "read openid offline_access"}},
		{"RFC7591/3.2.1 other grant types are left out",
			`{"redirect_uris":["https://tool.example/5"],"grant_types":["implicit","authorization_code","client_credentials","password"],"response_types":["code","token"]}`,
			map[string]string{"grant_types": "authorization_code refresh_token", "response_types": "code"}},
		{"RFC7591/2.2 names in other languages come back",
			`{"redirect_uris":["https://tool.example/6"],"client_name":"Tool","client_name#de":"Werkzeug","tos_uri":"https://tool.example/terms","contacts":["a@tool.example"],"software_id":"x","software_version":"1"}`,
			map[string]string{"client_name": "Tool", "client_name#de": "Werkzeug", "tos_uri": "https://tool.example/terms",
				"contacts": "a@tool.example", "software_id": "x", "software_version": "1"}},
		{"RFC7591/2 what the server does not support is no part of the answer",
			`{"redirect_uris":["https://tool.example/7"],"default_acr_values":["x"],"request_object_signing_alg":"RS256","request_uris":["https://tool.example/r"],"default_max_age":5,"skip_consent":true,"may_introspect":true,"owner":"root"}`,
			map[string]string{"default_acr_values": "-", "request_object_signing_alg": "RS256", "request_uris": "-",
				"default_max_age": "-", "skip_consent": "-", "may_introspect": "-", "owner": "-"}},
		{"OIDCRegistration/2 of the values of acr, the supported ones come back",
			`{"redirect_uris":["https://tool.example/11"],"default_acr_values":["urn:example:other","urn:mandate:acr:mfa","urn:mandate:acr:password","urn:mandate:acr:mfa"]}`,
			map[string]string{"default_acr_values": "urn:mandate:acr:mfa urn:mandate:acr:password"}},
		{"OIDCRegistration/2 native redirect URIs make a native client",
			`{"application_type":"web","redirect_uris":["http://127.0.0.1/native","com.example.tool:/native"]}`,
			map[string]string{"application_type": "native"}},
		{"OIDCRegistration/2 other redirect URIs make a web client",
			`{"application_type":"native","redirect_uris":["http://127.0.0.1/mixed","https://tool.example/mixed"]}`,
			map[string]string{"application_type": "web"}},
		{"OIDCRegistration/2 algorithms and pairwise subjects",
			`{"redirect_uris":["https://tool.example/8"],"id_token_signed_response_alg":"ES256","userinfo_signed_response_alg":"PS256","subject_type":"pairwise","post_logout_redirect_uris":["https://tool.example/out"],"require_auth_time":true}`,
			map[string]string{"id_token_signed_response_alg": "ES256", "userinfo_signed_response_alg": "PS256",
				"subject_type": "pairwise", "post_logout_redirect_uris": "https://tool.example/out"}},
		{"keys come back", `{"redirect_uris":["https://tool.example/9"],"jwks_uri":"https://tool.example/keys"}`,
			map[string]string{"jwks_uri": "https://tool.example/keys", "jwks": "-"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.registers(t, nobody, test.metadata)
			for name, want := range test.want {
				text := textOf(got, name) + listOf(got, name)
				if _, is := got[name]; want == "-" && is || want != "-" && text != want {
					t.Errorf("%s is %v, want %q", name, got[name], want)
				}
			}
		})
	}
}

func (s *server) registrationRefusals(t *testing.T) {
	const uris = `"redirect_uris":["https://tool.example/refused"]`
	for name, test := range map[string]struct {
		metadata, code, says string
		status               int
	}{
		"no JSON":        {`redirect_uris=x`, "invalid_client_metadata", "JSON object", 400},
		"an array":       {`[]`, "invalid_client_metadata", "JSON object", 400},
		"a member twice": {`{` + uris + `,"scope":"a","scope":"b"}`, "invalid_client_metadata", "twice", 400},
		"a number for a name": {`{` + uris + `,"client_name":7}`, "invalid_client_metadata",
			"client_name must be a string", 400},
		"no redirect URI": {`{}`, "invalid_redirect_uri", "redirect_uris is missing", 400},
		"only bad redirect URIs": {`{"redirect_uris":["http://evil.example/","javascript:alert(1)"]}`,
			"invalid_redirect_uri", "must use https", 400},
		"a fragment": {`{"redirect_uris":["https://tool.example/#a"]}`, "invalid_redirect_uri",
			"fragment", 400},
		"a wildcard": {`{"redirect_uris":["https://*.example/"]}`, "invalid_redirect_uri", "wildcard", 400},
		"only another grant type": {`{` + uris + `,"grant_types":["client_credentials"]}`, "invalid_client_metadata",
			"grant_types", 400},
		"an inconsistent client": {`{` + uris + `,"response_types":["token"]}`, "invalid_client_metadata",
			"grant_types", 400},
		"another method": {`{` + uris + `,"token_endpoint_auth_method":"tls_client_auth"}`,
			"invalid_client_metadata", "token_endpoint_auth_method", 400},
		"two sources of keys": {`{` + uris + `,"jwks_uri":"https://a.example/","jwks":{"keys":[{"kty":"RSA"}]}}`,
			"invalid_client_metadata", "jwks", 400},
		"a script as a page": {`{` + uris + `,"client_uri":"javascript:alert(1)"}`, "invalid_client_metadata",
			"client_uri", 400},
		"data as a logo": {`{` + uris + `,"logo_uri":"data:image/png;base64,x"}`, "invalid_client_metadata",
			"logo_uri", 400},
		"unsigned ID tokens": {`{` + uris + `,"id_token_signed_response_alg":"none"}`, "invalid_client_metadata",
			"id_token_signed_response_alg", 400},
		"HS256 without a secret": {`{` + uris + `,"id_token_signed_response_alg":"HS256"}`, "invalid_client_metadata",
			"HS256", 400},
		"encrypted ID tokens": {`{` + uris + `,"id_token_encrypted_response_alg":"RSA-OAEP"}`,
			"invalid_client_metadata", "encrypt", 400},
		"encrypted responses": {`{` + uris + `,"authorization_encrypted_response_alg":"RSA-OAEP-256"}`,
			"invalid_client_metadata", "authorization_encrypted_response_alg cannot be registered", 400},
		"another subject type": {`{` + uris + `,"subject_type":"secret"}`, "invalid_client_metadata",
			"subject_type", 400},
		"a hidden character": {`{` + uris + `,"client_name":"Bank\u202e"}`, "invalid_client_metadata",
			"client_name", 400},
		"a statement that is no JWT": {`{` + uris + `,"software_statement":"x"}`, "invalid_software_statement",
			"signed JWT", 400},
		"a statement of anybody": {`{` + uris + `,"software_statement":"a.b.c"}`, "unapproved_software_statement",
			"trusts no issuer", 400},
		"a logout address of others": {`{` + uris + `,"backchannel_logout_uri":"https://victim.example/x"}`,
			"invalid_client_metadata", "backchannel_logout_uri", 400},
		"a large client": {`{` + uris + `,"contacts":["` + strings.Repeat("a", 2000) + `1","` +
			strings.Repeat("a", 2000) + `2","` + strings.Repeat("a", 2000) + `3","` + strings.Repeat("a", 2000) + `4","` +
			strings.Repeat("a", 2000) + `5"]}`, "invalid_client_metadata", "too large", 400},
		"a large body": {`{` + uris + `,"x":"` + strings.Repeat("a", 70_000) + `"}`, "invalid_request",
			"larger", 413},
		"a sector on this computer": {`{` + uris + `,"sector_identifier_uri":"https://127.0.0.1:1/sector"}`,
			"invalid_client_metadata", "sector_identifier_uri", 400},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.registration(t, nobody, test.metadata)
			if err := a.refused(test.status, test.code); err != nil {
				t.Error(err)
			}
			if said := textOf(a.JSON(t), "error_description"); !strings.Contains(said, test.says) {
				t.Errorf("%q does not say %q", said, test.says)
			}
		})
	}
	t.Run("RFC7591/3.1 a form", func(t *testing.T) {
		if err := s.post(t, "/o/register/", nobody, params("client_name", "x")).refused(400,
			"invalid_client_metadata"); err != nil {
			t.Error(err)
		}
	})
	t.Run("RFC6750/2 a token elsewhere or of another kind", func(t *testing.T) {
		valid := member{"redirect_uris": []string{toolURI}}
		if err := s.send(t, "POST", "/o/register/?access_token=x", nobody, valid).refused(400,
			"invalid_request"); err != nil {
			t.Error(err)
		}
		for _, as := range []auth{bearer("mit_unknown"), bearer("unknown"), bearer(""), basic("a", "b")} {
			// A wrong token is refused, although no token would do.
			if err := s.registration(t, as, valid).refused(401, "invalid_token"); err != nil {
				t.Error(err)
			}
		}
	})
}

func TestRegistrationHosts(t *testing.T) {
	s := startServer(t, options{provider: append([]string{"OPEN_HOSTS: [good.example, '*.team.example']"},
		openClients...)})
	got := s.registers(t, nobody,
		`{"redirect_uris":["https://good.example/","https://evil.example/","https://a.team.example/","https://team.example/","http://localhost/"]}`)
	if list := listOf(got, "redirect_uris"); list != "https://good.example/ https://a.team.example/ http://localhost/" {
		t.Error(list)
	}
	if err := s.registration(t, nobody, `{"redirect_uris":["https://evil.example/"]}`).refused(400,
		"invalid_redirect_uri"); err != nil {
		t.Error(err)
	}
}

// One network registers many different clients, and is stopped. Identical ones do not count.
func TestRegistrationRate(t *testing.T) {
	s := startServer(t, options{provider: openClients, settings: []string{"TRUSTED_PROXIES: [127.0.0.1]"}})
	register := func(address string, n int) answer {
		return s.registration(t, fromAddress(address), fmt.Sprintf(`{"redirect_uris":["https://tool.example/%d"]}`, n))
	}
	stopped := -1
	for n := range 100 {
		a := register("203.0.113.7", n)
		if a.Status != 201 {
			if err := a.refused(429, "temporarily_unavailable"); err != nil || a.Header.Get("Retry-After") == "" {
				t.Error(err, a.Header)
			}
			stopped = n
			break
		}
	}
	if stopped < 30 {
		t.Fatalf("stopped after %d", stopped)
	}
	if a := register("203.0.113.7", 0); a.Status != 201 {
		t.Errorf("an identical registration: %d %s", a.Status, a.Body)
	}
	if a := register("198.51.100.7", stopped); a.Status != 201 {
		t.Errorf("another network: %d %s", a.Status, a.Body)
	}
}

func TestRegistrationQuota(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: append([]string{"OPEN_MAX_APPLICATIONS: 3"}, openClients...)})
		answers := parallel(t, 16, func(i int) (answer, error) {
			return s.trySend("POST", "/o/register/", nobody, fmt.Sprintf(`{"redirect_uris":["https://tool.example/%d"]}`, i))
		})
		registered := 0
		for _, a := range answers {
			if a.Status == 201 {
				registered++
			} else if err := a.refused(503, "temporarily_unavailable"); err != nil {
				t.Error(err)
			}
		}
		if registered != 3 {
			t.Errorf("%d clients were registered, want 3", registered)
		}
	})
}
