package engine

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// echoing is a server that registers as many clients as it is told to, and repeats the credentials of a request in its
// error responses.
func echoing(t *testing.T, most int) *target.Target {
	t.Helper()
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	registered := 0
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		registered++
		if r.Method == http.MethodPost && registered <= most {
			answer := map[string]any{}
			_ = json.NewDecoder(r.Body).Decode(&answer)
			answer["client_id"], answer["client_secret"] = "first\n\x1b[2Jid", "a-secret-of-the-server"
			answer["registration_access_token"], answer["registration_client_uri"] = "the-token-that-deletes",
				server.URL+"/register"
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(answer)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": "invalid_token",
			"error_description": "refused: " + r.Header.Get("Authorization")})
	})
	return &target.Target{Issuer: server.URL, Register: target.Once, InitialAccessToken: "the-initial-access-token",
		Endpoints: map[string]string{"registration_endpoint": server.URL + "/register",
			"token_endpoint": server.URL + "/token"}}
}

// The reasons for skipped rules, and the errors on the way, do not repeat the tokens of the registration.
func TestRegisterHidesTokens(t *testing.T) {
	runner, err := NewRunner(t.Context(), echoing(t, 1), nil, wire.Options{})
	if err != nil {
		t.Fatal(err)
	}
	skipped := runner.Check(t.Context(), check.Rule{ID: "TEST/1/one", Level: check.Must, Needs: []need.Need{need.Second},
		Check: func(*check.T) {}})
	if skipped.Status != check.Skip ||
		!strings.Contains(skipped.Reason, "invalid_token (refused: Bearer $INITIAL_ACCESS_TOKEN)") {
		t.Errorf("%s: %s", skipped.Status, skipped.Reason)
	}
	err = runner.Close(context.WithoutCancel(t.Context()))
	if err == nil || !strings.Contains(err.Error(), "the client first ?[2Jid (") ||
		!strings.Contains(err.Error(), "$REGISTRATION_ACCESS_TOKEN") ||
		strings.Contains(err.Error(), "the-token-that-deletes") {
		t.Errorf("the error is %v", err)
	}
	_, err = NewRunner(t.Context(), echoing(t, 0), nil, wire.Options{})
	if err == nil || strings.Contains(err.Error(), "the-initial-access-token") ||
		!strings.Contains(err.Error(), "$INITIAL_ACCESS_TOKEN") {
		t.Errorf("the error is %v", err)
	}
}

// A client that the server registered otherwise than requested is deleted. If that fails, its token is not shown.
func TestRegisterHidesTokenOfDroppedClient(t *testing.T) {
	of := echoing(t, 1)
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.WriteString(w,
				`{"client_id":"one","grant_types":["implicit"],"registration_access_token":"the-token-that-deletes","registration_client_uri":"`+server.URL+`/register"}`)
			return
		}
		w.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(w, `{"error":"invalid_token","error_description":"refused: `+r.Header.Get("Authorization")+`"}`)
	})
	of.Issuer, of.Endpoints["registration_endpoint"] = server.URL, server.URL+"/register"
	_, err := NewRunner(t.Context(), of, nil, wire.Options{})
	if err == nil || strings.Contains(err.Error(), "the-token-that-deletes") ||
		!strings.Contains(err.Error(), "invalid_token") {
		t.Errorf("the error is %v", err)
	}
}
