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

// Whoever clears a checkbox of a profile, or chooses a value that contradicts it, sees the mistake
// at the field. What nobody has chosen is set by the profile.
func TestProfilePageContradictions(t *testing.T) {
	s := startServer(t, options{provider: []string{"OIDC_ENABLED: true", openidScopes}})
	root, keys := s.person(t, "root", "--admin"), newStatementIssuer(t, "bank")
	s.application(t, fapiClient(t, keys)...)
	b := s.signIn(t, root, "/o/applications/")
	b.click(t, "Bank")
	at := b.URL.Path
	refused := func(field, value string, more ...string) {
		t.Helper()
		b.open(t, at+"update/")
		chosen := params(append([]string{field, value}, more...)...)
		if strings.HasPrefix(field, "require_") { // a browser sends no field for a cleared checkbox
			chosen[field] = nil
		}
		b.submit(t, "Save changes", chosen)
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.Body, `id="`+field+`-error"`) {
			t.Errorf("%s %q: %d %.300s", field, value, b.Status, b.Body)
		}
	}
	refused("algorithm", "HS256", "profile", "fapi2")
	b.open(t, at+"update/")
	b.submit(t, "Save changes", params("profile", "fapi2-message-signing"))
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "PS256") {
		t.Fatalf("the profile: %d %s", b.Status, b.Body)
	}
	for field, value := range map[string]string{"require_pushed": "", "require_signed": "", "sender_constraint": "", "algorithm": "RS256", "response_algorithm": "", "introspection_algorithm": ""} {
		refused(field, value)
	}
}
