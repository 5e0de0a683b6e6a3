package mandate

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// The page of an application with a profile can be saved, with all the response modes that the
// profile has set.
func TestProfilePage(t *testing.T) {
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	app := s.application(t, fapiClient(t, keys, "--profile", "fapi2-message-signing")...)
	b := s.signIn(t, root, "/o/applications/")
	b.click(t, "Bank")
	at := b.URL.Path
	modes := func() string {
		t.Helper()
		var shown member
		err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", app.ClientID, "--json")), &shown)
		if err != nil {
			t.Fatal(err)
		}
		return listOf(shown, "response_modes")
	}
	before := modes()
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("name", "Bank 2"))
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "Bank 2") {
		t.Fatalf("another name: %d %s", b.Status, b.Body)
	}
	if after := modes(); after != before {
		t.Errorf("the response modes were %s, and are %s", before, after)
	}
}
