package mandate

import (
	"encoding/pem"
	"net/http"
	"net/url"
	"testing"
)

// RFC 9440 §4: the proxy removes the header of a client. The lines of docs/deployment.md do so at
// both addresses of nginx.
func TestAttackCertificateHeaderThroughNginx(t *testing.T) {
	t.Parallel()
	attack(t, "a certificate in a header that the client sends", "keycloak-quickstarts PR 768")
	r := newRehearsalBehindNginx(t, newSQLite(t))
	victim := r.party(t, ownMTLS, "victim", "https://victim.example/back", "--grant", "client_credentials")
	stolen := url.PathEscape(
		string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: victim.certificate.Leaf.Raw})))
	others := selfSigned(t, "victim.example")
	for what, at := range map[string]*server{"the ordinary address": r.server, "no certificate": r.reached(r.mutual, nil),
		"another certificate": r.reached(r.mutual, &others)} {
		as := func(request *http.Request, form url.Values) {
			victim.auth()(request, form)
			request.Header.Set("X-Client-Cert", stolen)
		}
		err := at.post(t, "/o/token/", as, forItself).refused(http.StatusUnauthorized, "invalid_client")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	victim.usable(t, victim.tokens(t, forItself).AccessToken)
}
