package resource

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// panics is a verifier, and a transport, with a mistake.
type panics struct{}

func (panics) Verify(context.Context, string) (*Token, error)  { panic("a mistake") }
func (panics) RoundTrip(*http.Request) (*http.Response, error) { panic("a mistake") }

// A mistake in a library does not end the server where no HTTP server recovers the panic: in the goroutine that reads
// keys, and in that which checks the token of an open connection.
//
// Resembles CVE-2020-29652 in its class: what a stranger sends makes a parser panic.
func TestAttackPanicInAGoroutine(t *testing.T) {
	keys, err := newKeySet(SignedConfig{KeysURL: "https://issuer.example/keys", Transport: panics{}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = keys.find(t.Context(), "k", "EC")
	if err == nil || !strings.Contains(err.Error(), "a mistake") {
		t.Errorf("the keys are read: %v", err)
	}
	var logged strings.Builder
	p := &Proxy{log: slog.New(slog.NewTextHandler(&logged, nil)), recheck: time.Minute}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer x")
	r = r.WithContext(context.WithValue(r.Context(), contextKey{}, &Token{}))
	no := p.lease(r, &Guard{verifier: panics{}}, Rule{}).check(t.Context())
	if no == nil || no.status != http.StatusServiceUnavailable || !strings.Contains(logged.String(), "a mistake") {
		t.Errorf("an open connection: %+v; the log: %s", no, logged.String())
	}
}
