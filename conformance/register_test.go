package conformance

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// Who interrupts a run while clients are registered leaves none behind.
func TestRegistrationInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	registered := map[string]bool{}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	defer server.Close()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"issuer": %q, "registration_endpoint": %q}`, server.URL, server.URL+"/register")
	})
	mux.HandleFunc("POST /register", func(w http.ResponseWriter, _ *http.Request) {
		if len(registered) == 1 {
			interrupt()
		}
		id := fmt.Sprint("client", len(registered))
		registered[id] = true
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, `{"client_id": %q, "registration_client_uri": %q, "registration_access_token": "manage"}`, id, server.URL+"/register/"+id)
	})
	removed := 0
	mux.HandleFunc("DELETE /register/{id}", func(w http.ResponseWriter, r *http.Request) {
		delete(registered, r.PathValue("id"))
		removed++
		w.WriteHeader(http.StatusNoContent)
	})
	target := &Target{Issuer: server.URL, Endpoints: map[string]string{"token_endpoint": server.URL + "/token"}, Register: true}
	_, err := NewRunner(ctx, target, Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the run goes on: %v", err)
	}
	if len(registered) != 0 || removed != 2 {
		t.Errorf("%d clients were removed, and %v are left", removed, registered)
	}
}
