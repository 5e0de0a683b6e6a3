package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// Nobody overwrites what somebody else changed in an application after the page was opened, without
// having seen that it changed.

const (
	changedSince = "Somebody changed the application since you opened this page."
	asItIsNow    = "Open the application as it is now"
)

// wantChangedSince checks that the page says at its top that somebody changed the application, and
// still has the name that was typed.
func (b *browser) wantChangedSince(t testing.TB, what, name string) {
	t.Helper()
	note := b.element(func(n *html.Node) bool { return strings.Contains(attribute(n, "class"), "note care") })
	if b.Status != http.StatusUnprocessableEntity || note == nil || !strings.Contains(b.summary(), changedSince) ||
		b.value("name") != name {
		t.Fatalf("%s: %d, the name %q, the summary %q, want the name %q and the text %q\n%s", what, b.Status, b.value("name"),
			b.summary(), name, changedSince, b.Body)
	}
	if said := text(note); !strings.Contains(said, asItIsNow) ||
		!strings.Contains(said, "If you save this page, its values replace that change.") {
		t.Errorf("%s: the note says %q", what, said)
	}
}

// summary returns the text above the form that says what to correct.
func (b *browser) summary() string {
	found := b.element(func(n *html.Node) bool { return attribute(n, "id") == "problem" })
	if found == nil {
		return ""
	}
	return text(found)
}

// value returns the value of the first control of this name.
func (b *browser) value(name string) string {
	for _, f := range b.forms() {
		if f.has(name) {
			return f.values().Get(name)
		}
	}
	return ""
}

// wantShown compares values of an application with what the command shows.
func (s *server) wantShown(t testing.TB, what, clientID string, want member) {
	t.Helper()
	var shown member
	err := json.Unmarshal([]byte(s.mustCLI(t, "", "application", "show", clientID, "--json")), &shown)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range want {
		if fmt.Sprint(shown[name]) != fmt.Sprint(value) {
			t.Errorf("%s: %s is %v, want %v", what, name, shown[name], value)
		}
	}
}

func TestStalePageOfAnApplication(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db, provider: []string{"OIDC_ENABLED: true", openidScopes}})
		alice, keys := s.person(t, "alice"), newStatementIssuer(t, "bank")
		app := s.application(t, fapiClient(t, keys)...)
		page := "/o/applications/" + app.ID + "/update/"
		first, second := s.signIn(t, s.person(t, "root", "--admin"), page), s.signIn(t, s.person(t, "admin", "--admin"), page)
		secured := member{"name": "Bank", "profile": "fapi2", "sender_constraint": "dpop", "require_pushed_requests": true}
		second.submit(t, "Save changes", params("profile", "fapi2"))
		s.wantShown(t, "saved by the second administrator", app.ClientID, secured)

		first.submit(t, "Save changes", params("name", "Bank of Alice"))
		first.wantChangedSince(t, "an administrator's page from before", "Bank of Alice")
		s.wantShown(t, "refused", app.ClientID, secured)
		// A page without the version that the application has is no newer.
		for _, version := range [][]string{nil, {""}, {"-1"}, {"x"}, {"9223372036854775807"}} {
			now := *first
			now.open(t, page)
			now.submit(t, "Save changes", url.Values{"name": {"Other"}, "version": version})
			now.wantChangedSince(t, fmt.Sprintf("the version %q", version), "Other")
		}
		// Both are shown: what changed, and another mistake.
		wrong := *first
		wrong.open(t, page)
		wrong.submit(t, "Save changes", url.Values{"name": {"Other"}, "redirect_uris": {"here"}, "version": {"0"}})
		wrong.wantMistake(t, "redirect_uris", "here ")
		wrong.wantChangedSince(t, "with another mistake", "Other")
		now := *first
		now.click(t, asItIsNow)
		if now.Status != http.StatusOK || now.value("name") != "Bank" || now.value("profile") != "fapi2" {
			t.Errorf("the application as it is now: %d, the name %q, the profile %q", now.Status, now.value("name"),
				now.value("profile"))
		}
		s.wantShown(t, "refused again", app.ClientID, secured)
		// Whoever has read that replaces the change.
		first.submit(t, "Save changes", nil)
		if first.Status != http.StatusOK || !strings.Contains(first.Body, "Your changes are saved.") {
			t.Errorf("saving again: %d %s", first.Status, first.Body)
		}
		s.wantShown(t, "saved again", app.ClientID,
			member{"name": "Bank of Alice", "profile": nil, "require_pushed_requests": false})

		// The owner in two tabs, and a change by the command.
		b := s.signIn(t, alice, "/o/applications/register/")
		own := b.registers(t, params("name", "Own", "client_type", "confidential", "grant_type", "client_credentials"))
		page = "/o/applications/" + own.ID + "/update/"
		b.open(t, page)
		tab := *b
		tab.submit(t, "Save changes", params("access_token_lifetime", "60"))
		if tab.Status != http.StatusOK {
			t.Fatalf("the first tab: %d %s", tab.Status, tab.Body)
		}
		b.submit(t, "Save changes", params("name", "Mine"))
		b.wantChangedSince(t, "the other tab", "Mine")
		s.mustCLI(t, "", "application", "update", own.ClientID, "--refresh-rotation", "on")
		b.submit(t, "Save changes", nil)
		b.wantChangedSince(t, "after the command", "Mine")
		b.submit(t, "Save changes", params("access_token_lifetime", "60", "refresh_rotation", "on"))
		if b.Status != http.StatusOK {
			t.Errorf("the other tab again: %d %s", b.Status, b.Body)
		}
		s.wantShown(t, "the owner's", own.ClientID,
			member{"name": "Mine", "refresh_rotation": "on", "access_token_lifetime": 60})
	})
}

// Of those who save at the same moment, one wins. The others see it, and can save again.
func TestPagesOfAnApplicationAtTheSameMoment(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		s := startServer(t, options{database: db})
		nodes := []*server{s, s.node(t)}
		app := s.application(t, "--name", "Robot", "--grant", "client_credentials")
		page := "/o/applications/" + app.ID + "/update/"
		b := s.signIn(t, s.person(t, "root", "--admin"), page)
		session := withCookie("mandate_session", b.cookie(t, "/", "mandate_session"))
		as := func(r *http.Request, form url.Values) { sameSite(r, form); session(r, form) }
		for round := range 5 {
			b.open(t, page)
			f, _ := b.find(t, "Save changes", nil)
			sent := f.values()
			name := func(i int) string { return fmt.Sprintf("Robot %d of round %d", i, round) }
			answers := parallel(t, 8, func(i int) (answer, error) {
				return nodes[i%2].tryPost(page, as, with(sent, "name", name(i)))
			})
			var won []int
			for i, a := range answers {
				switch a.Status {
				case http.StatusSeeOther:
					won = append(won, i)
				default:
					lost := *b
					lost.Status, lost.Body = a.Status, string(a.Body)
					lost.wantChangedSince(t, "at the same moment", name(i))
				}
			}
			if len(won) != 1 {
				t.Fatalf("%v are saved, want one", won)
			}
			s.wantShown(t, "at the same moment", app.ClientID, member{"name": name(won[0])})
			lost := *b
			loser := answers[(won[0]+1)%8]
			lost.Status, lost.Body = loser.Status, string(loser.Body)
			lost.submit(t, "Save changes", nil)
			if lost.Status != http.StatusOK || !strings.Contains(lost.Body, name((won[0]+1)%8)) {
				t.Errorf("saving again: %d %s", lost.Status, lost.Body)
			}
		}
	})
}

// A mistake in a field that the page does not have is in the summary with its name, and leads
// nowhere.
func TestMistakesWithoutAField(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{})
	alice := s.person(t, "alice")
	app := s.application(t, "--name", "Bank", "--owner", alice.Name, "--grant", "client_credentials",
		"--assertion-audience-endpoints", "--may-introspect")
	b := s.signIn(t, alice, "/o/applications/"+app.ID+"/update/")
	b.submit(t, "Save changes", params("client_type", "public"))
	for _, said := range []string{"Accept assertions for an endpoint: Only an administrator may change this.",
		"May introspect tokens: A public application has no secret to authenticate with, so it cannot introspect tokens."} {
		if b.Status != http.StatusUnprocessableEntity || !strings.Contains(b.summary(), said) {
			t.Errorf("%d, the summary %q, want %q", b.Status, b.summary(), said)
		}
	}
	b.wantLinksWithin(t)
}

// wantLinksWithin checks that each link of the summary leads to something on the page.
func (b *browser) wantLinksWithin(t testing.TB) {
	t.Helper()
	links := 0
	b.element(func(n *html.Node) bool {
		id, within := strings.CutPrefix(attribute(n, "href"), "#")
		if !within || n.Data != "a" {
			return false
		}
		links++
		if b.element(func(n *html.Node) bool { return attribute(n, "id") == id }) == nil {
			t.Errorf("the link %q leads to #%s, which the page does not have", text(n), id)
		}
		return false
	})
	if links == 0 {
		t.Error("the page has no link to a mistake")
	}
}
