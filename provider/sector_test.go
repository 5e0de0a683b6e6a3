package provider

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/places"
)

// Strangers do not make this server open any number of connections to one host, which may not even be theirs.
//
// CWE-406 and CWE-770: one request causes one to somebody else, and holds it for seconds.
func TestAttackSectorsAtOneHost(t *testing.T) {
	began, release := make(chan struct{}, 100), make(chan struct{})
	f := begin(t, openID, func(c *Config) {
		c.Open.Clients = []string{clients.OpenRegistration}
		c.TraceOutbound = func(http.RoundTripper) http.RoundTripper {
			return roundTrip(func(r *http.Request) (*http.Response, error) {
				began <- struct{}{}
				select {
				case <-release:
				case <-r.Context().Done():
				}
				return nil, errors.New("no answer")
			})
		}
	})
	var n atomic.Int64
	registers := func(address, host string) string {
		r := httptest.NewRequest("POST", "https://auth.example/o/register/", strings.NewReader(fmt.Sprintf(
			`{"redirect_uris":["https://client%d.example/cb"],"token_endpoint_auth_method":"none","subject_type":"pairwise","sector_identifier_uri":"https://%s/list"}`, n.Add(1), host)))
		r.Header.Set("Content-Type", "application/json")
		_, _, err := f.Registrations.Register(t.Context(), r, address)
		return kind(err)
	}
	answers := make(chan string, 100)
	open := func(many int, address, host string) {
		t.Helper()
		for range many {
			go func() { answers <- registers(address, host) }()
		}
		for range many {
			select {
			case <-began:
			case got := <-answers:
				t.Fatalf("%s may not read from %s: %s", address, host, got)
			}
		}
	}
	const host, other = "93.184.216.34", "93.184.217.34"
	open(places.PerBoth, "192.0.2.1", host)
	wantText(t, "a site at one host", registers("192.0.2.2", host), "429 temporarily_unavailable")
	open(places.PerHost-places.PerBoth, "198.51.100.1", host)
	wantText(t, "another site at the same host", registers("203.0.113.1", host), "429 temporarily_unavailable")
	open(1, "203.0.113.1", other)
	close(release)
	for range places.PerHost + 1 {
		wantText(t, "a host that does not answer", <-answers, "400 invalid_client_metadata")
	}
	wantText(t, "later", registers("192.0.2.1", host), "400 invalid_client_metadata")
}

func wantText(t *testing.T, rule, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", rule, got, want)
	}
}
