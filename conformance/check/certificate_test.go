package check

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// A request with a certificate goes to the alias of its endpoint. A server that ends the TLS connection refuses it too.
func TestCertificates(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	_, err := target.WriteCertificate(file("own.pem"), file("own-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	own, err := tls.LoadX509KeyPair(file("own.pem"), file("own-key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []tls.ClientAuthType{tls.RequestClientCert, tls.RequireAnyClientCert} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if len(r.TLS.PeerCertificates) == 1 && r.TLS.PeerCertificates[0].Equal(own.Leaf) &&
				r.FormValue("client_id") == "robot" && r.Header.Get(wire.CertificateOf) == "" {
				fmt.Fprint(w, `{"access_token":"a","token_type":"Bearer"}`)
				return
			}
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"error":"invalid_client"}`)
		}))
		server.TLS = &tls.Config{ClientAuth: mode}
		server.StartTLS()
		defer server.Close()
		trusted := x509.NewCertPool()
		trusted.AddCert(server.Certificate())
		const issuer = "https://127.0.0.1:1"
		c := &target.Client{ID: "robot", Auth: need.CertificateAuth, Role: need.Certificate, Certificate: &own}
		s := NewServer(&target.Target{Issuer: issuer, Origins: []string{server.URL},
			Clients: map[need.Need]*target.Client{need.Certificate: c}}, wire.NewNetwork(wire.Options{CA: trusted}))
		s.Metadata = Metadata{"token_endpoint": issuer + "/token",
			"mtls_endpoint_aliases": map[string]any{"token_endpoint": server.URL + "/token"}}
		form := wire.Params("grant_type", "client_credentials")
		result := s.Check(t.Context(), Rule{ID: "TEST/1/certificate", Needs: []need.Need{need.Token, need.Certificate},
			Check: func(t *T) {
				t.WantGranted(t.Token(t.Client(need.Certificate), form))
				t.WantUncertified(form, wire.InBody("robot", ""), "there is no certificate")
				t.WantUncertified(form, wire.Certificate("robot", t.ForgedCertificate(c)), "the certificate is forged")
			}})
		if result.Status != Pass {
			t.Errorf("%s: %s: %s", mode, result.Status, result.Reason)
		}
		forgotten := s.Check(t.Context(), Rule{ID: "TEST/1/certificate", Needs: []need.Need{need.Token, need.Certificate},
			Check: func(t *T) {
				t.WantUncertified(form, c.Credentials(), "it is the right one")
			}})
		if forgotten.Status != Fail || forgotten.Exchange == nil ||
			!strings.Contains(forgotten.Exchange.Repeat, `--cert "$CERTIFICATE_CERTIFICATE" --key "$CERTIFICATE_KEY"`) {
			t.Errorf("%s: %s: %+v", mode, forgotten.Status, forgotten.Exchange)
		}
		// A token request goes to no alias that the target does not know.
		s.Target.Origins = nil
		foreign := s.Check(t.Context(), Rule{ID: "TEST/1/certificate", Needs: []need.Need{need.Token, need.Certificate},
			Check: func(t *T) {
				t.Token(t.Client(need.Certificate), form)
			}})
		if foreign.Status != Blocked || !strings.Contains(foreign.Reason, "add "+server.URL+" to the target under origins") {
			t.Errorf("%s: %s", foreign.Status, foreign.Reason)
		}
	}
}

// An assertion goes to no origin that the target does not name, and a report does not show it.
func TestAssertionsStayAtTheServer(t *testing.T) {
	elsewhere, own := newSite(t, silentPage),
		newSite(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) })
	s := serverOf(own.URL,
		Metadata{"introspection_endpoint": elsewhere.URL + "/introspect", "token_endpoint": own.URL + "/token"})
	role, _ := need.RoleOf(need.Key)
	c := target.NewClient(role, "robot", "")
	s.Target.Clients[need.Key] = c
	result := s.Check(t.Context(), Rule{ID: "TEST/1/assertion", Needs: []need.Need{need.Introspection, need.Key},
		Check: func(t *T) {
			t.Post(t.Endpoint(need.Introspection), wire.Params("token", "x"), t.Client(need.Key).Credentials())
		}})
	if result.Status != Blocked || len(elsewhere.requests()) != 0 {
		t.Errorf("%s: %s: %v", result.Status, result.Reason, elsewhere.requests())
	}
	result = s.Check(t.Context(),
		Rule{ID: "TEST/1/assertion", Needs: []need.Need{need.Token, need.Key}, Check: func(t *T) {
			a := t.Token(t.Client(need.Key), wire.Params("grant_type", "client_credentials"))
			t.WantStatus(a, http.StatusOK)
		}})
	sent := strings.Join(own.requests(), "")
	if result.Exchange == nil || !strings.Contains(result.Exchange.Sent, "client_assertion=$CLIENT_ASSERTION") ||
		!strings.Contains(sent, "client_assertion") ||
		!strings.Contains(result.Exchange.Repeat, "CLIENT_ASSERTION= # a new assertion of this client") {
		t.Errorf("%+v", result.Exchange)
	}
}
