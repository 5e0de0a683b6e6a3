package mandate

import (
	"net/http"
	"testing"

	"mandate/conformance/jose"
)

// FAPI 2.0 Security Profile §5.4.1: a resource whose access tokens are signed by RS256 brings no
// such token to an application with a profile.
func TestProfileAndTheAlgorithmOfAResource(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		const older, newer, opaque = "https://older.example/", "https://newer.example/", "https://opaque.example/"
		s.mustCLI(t, "", "resource", "add", older, "--name", "Older", "--token-format", "jwt", "--algorithm", "RS256")
		s.mustCLI(t, "", "resource", "add", newer, "--name", "Newer", "--token-format", "jwt", "--algorithm", "EdDSA")
		s.mustCLI(t, "", "resource", "add", opaque, "--name", "Opaque", "--token-format", "opaque")
		plain, keys, h := s.application(t, "--name", "Plain", "--grant", "client_credentials"), newStatementIssuer(t, "bank"),
			newHolder(t)
		bank := keyHolder{s.application(t, fapiClient(t, keys, "--profile", "fapi2")...), keys}
		for _, api := range []string{older, newer, opaque} {
			waitFor(t, "the server knows the resource", func() bool {
				_, a := s.token(t, plain.auth(), with(forItself, "resource", api))
				return a.Status == http.StatusOK
			})
		}
		ask := func(api string) (tokens, answer) {
			t.Helper()
			return s.token(t, h.proving(t, asserting(s.assert(t, bank, nil, nil))), with(forItself, "resource", api))
		}
		_, a := ask(older)
		if err := a.refused(http.StatusBadRequest, "invalid_target"); err != nil {
			t.Errorf("RS256: %v", err)
		}
		got, a := ask(newer)
		token, err := jose.Read(got.AccessToken)
		if err != nil || token.Algorithm() != "EdDSA" {
			t.Errorf("EdDSA: %d %s %v", a.Status, a.Body, err)
		}
		if _, a := ask(opaque); a.Status != http.StatusOK {
			t.Errorf("opaque: %d %s", a.Status, a.Body)
		}
	})
}
