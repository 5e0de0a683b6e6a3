package check

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// A client that a check has registered is deleted, also after an interrupt. One that stays is named.
func TestRegisterNamesWhatStays(t *testing.T) {
	for name, c := range map[string]struct {
		made  string // the answer to the registration, or "" for none
		wants string // of what is left behind
	}{
		"deleted": {
			`{"client_id": "one", "registration_client_uri": "HERE/register/one", "registration_access_token": "manage"}`, ""},
		"refused": {
			`{"client_id": "one", "registration_client_uri": "HERE/locked", "registration_access_token": "manage"}`,
			"stays registered: 403"},
		"without a URI": {`{"client_id": "one"}`, "the client one, which the rule TEST/1/register registered, stays " +
			"registered: the server returned no registration_client_uri"},
		"of another origin": {
			`{"client_id": "one", "registration_client_uri": "http://127.0.0.1:1/_all", "registration_access_token": "manage"}`,
			"stays registered: registration_client_uri is at http://127.0.0.1:1"},
		"without an answer": {"", `a client with the client_name "x" may stay registered`},
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		var server *site
		server = newSite(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.Method == http.MethodDelete && r.URL.Path == "/locked":
				w.WriteHeader(http.StatusForbidden)
			case r.Method == http.MethodDelete:
				w.WriteHeader(http.StatusNoContent)
			case c.made == "":
				panic(http.ErrAbortHandler)
			default:
				interrupt()
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusCreated)
				fmt.Fprint(w, strings.ReplaceAll(c.made, "HERE", server.URL))
			}
		})
		s := serverOf(server.URL, Metadata{"registration_endpoint": server.URL + "/register"})
		s.Check(ctx, Rule{ID: "TEST/1/register", Level: Must,
			Check: func(t *T) { t.Register(map[string]any{"client_name": "x"}) }})
		interrupt()
		left := strings.Join(s.LeftBehind(), "\n")
		if !strings.Contains(left, c.wants) || c.wants == "" && left != "" {
			t.Errorf("%s: %q, want %q", name, left, c.wants)
		}
		if got := server.requests(); name == "deleted" &&
			(len(got) != 2 || !strings.HasPrefix(got[1], "DELETE /register/one Bearer manage")) {
			t.Errorf("%q", got)
		}
	}
}
