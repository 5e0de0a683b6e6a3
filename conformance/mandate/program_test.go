package mandate

import (
	"slices"
	"strings"
	"testing"

	"mandate/testkit/port"
)

// The printed settings are the whole of what a person copies: with a word of them wrong, nobody gets in. Apache reads
// them as they are.
func TestSettingsOfApacheSignPeopleIn(t *testing.T) {
	t.Parallel()
	apacheIsInstalled(t)
	s := openidServer(t, newSQLite(t))
	alice := s.somebody(t, "alice")
	listen := port.Address()
	a := &apache{URL: "http://" + listen}
	a.App = s.application(t, "--for", "apache", "--url", a.URL+"/")
	dir := t.TempDir()
	lines := slices.Concat(apacheService(dir, listen), strings.Split(a.App.Settings.Text, "\n"), []string{
		"OIDCPassUserInfoAs claims json", "RequestHeader set X-Remote-User expr=%{REMOTE_USER}",
		"ProxyPass /redirect_uri !", "ProxyPass / " + echo(t) + "/"})
	a.start(t, writeApache(t, dir, lines))
	b := s.browser(t)
	b.open(t, a.URL+"/")
	a.follow(t, b)
	if a.told(b) != nil || !b.shows("password") {
		t.Fatalf("nobody is shown %d %s: %s", b.Status, b.URL, b.Body)
	}
	a.visit(t, b, "/", alice, "approve")
	told := a.told(b)
	if told == nil || told.Get("X-Remote-User") != "alice" || told.Get("OIDC_CLAIM_email") != "alice@example.org" {
		t.Fatalf("alice is shown %d %s: %s", b.Status, b.URL, b.Body)
	}
}
