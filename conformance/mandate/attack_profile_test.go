package mandate

import (
	"encoding/json"
	"net/http"
	"testing"

	"mandate/conformance/jose"
)

// FAPI 2.0 Security Profile §5.4.1: RS256, which is the usual algorithm of this server, signs
// nothing for an application with a profile. It does not come back if a later update leaves the
// algorithm open, and a server without OpenID Connect has profiles too.
func TestProfileNeverSignsByRS256(t *testing.T) {
	for what, settings := range map[string][]string{"OpenID": {"OIDC_ENABLED: true", openidScopes},
		"no OpenID": {openIDOff}} {
		t.Run(what, func(t *testing.T) {
			onADatabase(t, func(t *testing.T, db database) {
				s := startServer(t, options{database: db, provider: append([]string{"REGISTRATION_WITH_TOKEN: true"}, settings...)})
				const api = "https://signed.example/"
				s.mustCLI(t, "", "resource", "add", api, "--name", "Signed", "--token-format", "jwt")
				keys, h := newStatementIssuer(t, "bank"), newHolder(t)
				access := func(app application) {
					t.Helper()
					got := tokens{}
					waitFor(t, "the server knows the resource", func() bool {
						as := h.proving(t, asserting(s.assert(t, keyHolder{app, keys}, nil, nil)))
						got, _ = s.token(t, as, with(forItself, "resource", api))
						return got.Error != "invalid_target"
					})
					token, err := jose.Read(got.AccessToken)
					if err != nil {
						t.Fatal(err, got.Error)
					}
					checkEqual(t, "the algorithm of the access token", token.Algorithm(), "PS256")
				}
				access(s.application(t, fapiClient(t, keys, "--profile", "fapi2")...))
				initial := s.initialToken(t, "--may", "authorization_code", "--may", "client_credentials", "--uses", "2")
				for _, profile := range []string{"fapi2", "fapi2-message-signing"} {
					metadata := member{"redirect_uris": []string{"https://bank.example/back"}, "profile": profile,
						"grant_types":                []string{"authorization_code", "client_credentials"},
						"token_endpoint_auth_method": "private_key_jwt", "jwks": json.RawMessage(keys.keySet(t))}
					made := s.registers(t, bearer(initial), metadata)
					access(asApplication(made, "https://bank.example/back"))
					// RFC 7592 §2.2: an update replaces all metadata.
					metadata["client_id"] = made["client_id"]
					a := s.send(t, http.MethodPut, textOf(made, "registration_client_uri"),
						bearer(textOf(made, "registration_access_token")), metadata)
					if a.Status != http.StatusOK {
						t.Fatalf("update: %d %s", a.Status, a.Body)
					}
					access(asApplication(made, "https://bank.example/back"))
					// What signs the responses of both kinds is registered, and the client reads it.
					for _, name := range []string{"authorization_signed_response_alg", "introspection_signed_response_alg"} {
						checkEqual(t, profile+" "+name, a.JSON(t)[name], any("PS256"))
					}
				}
			})
		})
	}
}
