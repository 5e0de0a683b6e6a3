package mandate

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// An attacker who knew a password has given an application of their own access to the
// account. When the person changes the password, all of the attacker's access ends on
// every node.

// theft holds what an attacker has obtained with a person's password, and what that
// person has.
type theft struct {
	*fixture
	owner  *browser
	mine   tokens     // of the current session
	thief  tokens     // of a session that has ended
	kept   tokens     // of a session that has not ended
	code   url.Values // exchanges a code of that session that is not used yet
	ticket string     // of a consent page that is open in that session
	other  *browser
	who    person
}

func (v *fixture) stolen(t *testing.T, name string) *theft {
	t.Helper()
	s := &theft{fixture: v, who: v.person(t, name)}
	s.owner = v.signedIn(t, s.who)
	s.mine = s.owner.family(t, v.web, s.who, "scope", "read")
	gone := v.signedIn(t, s.who)
	s.thief = gone.family(t, v.casual, s.who, "scope", "read write")
	gone.send(t, "/logout/", nil)
	s.other = v.signedIn(t, s.who)
	s.kept = s.other.family(t, v.phone, s.who, "scope", "read write")
	s.code = s.other.issue(t, v.casual, s.who, "scope", "read write")
	s.ticket = s.other.ticket(t, v.casual, "scope", "read write groups")
	return s
}

// changes sends the password form of the account page; choice is the state of its
// checkbox.
func (s *theft) changes(t *testing.T, choice url.Values) {
	t.Helper()
	next := s.secret(s.who.Password + "!")
	s.owner.open(t, "/account/")
	fields := params("current_password", s.who.Password, "new_password", next)
	for name, values := range choice {
		fields[name] = values
	}
	s.owner.submit(t, "Change password", fields)
	if s.owner.Status != http.StatusOK || len(s.owner.Hops) == 0 {
		t.Fatalf("the password is not changed: %d\n%s", s.owner.Status, s.owner.Body)
	}
	s.who.Password = next
}

// want compares what still works, as seen by another node.
func (s *theft) want(t *testing.T, node *server, survives bool) {
	t.Helper()
	for _, c := range []struct {
		name  string
		given tokens
		app   application
		live  bool
	}{
		{"of the session at hand, whose cookie the thief may have", s.mine, s.web, survives},
		{"of a session that had ended", s.thief, s.casual, survives},
		{"of another session", s.kept, s.phone, survives},
	} {
		for kind, token := range map[string]string{"access": c.given.AccessToken, "refresh": c.given.RefreshToken} {
			if got := node.active(t, s.asker.auth(), token); got != c.live {
				t.Errorf("%s token %s: active %t, want %t", kind, c.name, got, c.live)
			}
		}
		a := node.post(t, "/o/token/", c.app.auth(), refreshForm(c.given.RefreshToken))
		if got := a.Status == http.StatusOK; got != c.live {
			t.Errorf("refresh %s: %d %s", c.name, a.Status, a.Body)
		}
	}
	a := node.post(t, "/o/token/", s.casual.auth(), s.code)
	if got := a.Status == http.StatusOK; got != survives {
		t.Errorf("code of another session: %d %s", a.Status, a.Body)
	}
	s.other.send(t, "/o/consent/", params("ticket", s.ticket, "decision", "approve"))
	s.other.wantPlace(t, "the thief's consent page", "page")
	// A stored consent would give the application access again without a question.
	address, _ := s.authorizeURL(s.casual, "scope", "read write")
	s.owner.open(t, address)
	again := "consent"
	if survives {
		again = "code"
	}
	s.owner.wantPlace(t, "a new request of the thief's application", again)
}

func TestAttackApprovalsSurviveAPasswordChange(t *testing.T) {
	ownProcesses(t)
	attack(t, "persistence after account recovery (CWE-613)", "")
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		node := v.node(t)
		t.Run("the form as it stands", func(t *testing.T) {
			s := v.stolen(t, "carol")
			for _, token := range []string{s.thief.AccessToken, s.kept.AccessToken} {
				if !node.active(t, v.asker.auth(), token) { // the node caches the token
					t.Fatal("a token is dead before anything happened")
				}
			}
			s.changes(t, nil)
			waitFor(t, "the other node hears of it", func() bool { return !node.active(t, v.asker.auth(), s.kept.AccessToken) })
			s.want(t, node, false)
		})
		t.Run("without the fields of the page", func(t *testing.T) {
			s := v.stolen(t, "dave")
			next := s.who.Password + "!"
			s.owner.send(t, "/account/password/", params("current_password", s.who.Password, "new_password", next))
			s.want(t, node, false)
		})
		t.Run("the checkbox cleared", func(t *testing.T) {
			s := v.stolen(t, "erin")
			s.changes(t, url.Values{"end_approvals": nil})
			s.want(t, node, true)
		})
		t.Run("a reset by an administrator", func(t *testing.T) {
			s := v.stolen(t, "frank")
			s.who.Password = s.secret(s.who.Password + "!")
			v.mustCLI(t, s.who.Password+"\n", "user", "passwd", s.who.Name, "--password-stdin")
			for name, token := range map[string]string{"ended": s.thief.AccessToken, "other": s.kept.AccessToken,
				"at hand": s.mine.AccessToken} {
				if node.active(t, v.asker.auth(), token) {
					t.Errorf("the token of the session that is %s lives", name)
				}
			}
			address, _ := v.authorizeURL(v.casual, "scope", "read write")
			b := v.signedIn(t, s.who)
			b.open(t, address)
			b.wantPlace(t, "a new request of the thief's application", "consent")
		})
		t.Run("a reset by a link", func(t *testing.T) {
			s := v.stolen(t, "grace")
			s.who.Password = s.secret(s.who.Password + "!")
			link := strings.TrimPrefix(strings.TrimSpace(v.mustCLI(t, "", "user", "reset-password-link", s.who.Name)), v.BaseURL)
			s.secret(strings.Split(link, "/")[3])
			if got := node.post(t, link, ownForm, params("new_password", s.who.Password)); got.Status != http.StatusSeeOther {
				t.Fatalf("the link: %d\n%s", got.Status, got.Body)
			}
			for name, c := range map[string]struct {
				given tokens
				app   application
			}{"ended": {s.thief, s.casual}, "other": {s.kept, s.phone}, "at hand": {s.mine, s.web}} {
				waitFor(t, "the other node hears of it", func() bool { return !v.active(t, v.asker.auth(), c.given.AccessToken) })
				for _, at := range []*server{v.server, node} {
					if at.active(t, v.asker.auth(), c.given.AccessToken) || at.active(t, v.asker.auth(), c.given.RefreshToken) {
						t.Errorf("a token of the session that is %s lives", name)
					}
					if a := at.post(t, "/o/token/", c.app.auth(),
						refreshForm(c.given.RefreshToken)); a.Status != http.StatusBadRequest {
						t.Errorf("a refresh in the session that is %s: %d %s", name, a.Status, a.Body)
					}
				}
			}
			if a := v.post(t, "/o/token/", s.casual.auth(), s.code); a.Status != http.StatusBadRequest {
				t.Errorf("a code of before: %d %s", a.Status, a.Body)
			}
			for name, b := range map[string]*browser{"own": s.owner, "other": s.other} {
				b.open(t, "/account/")
				b.awaitsLogin(t, name+" session")
			}
			address, _ := v.authorizeURL(v.casual, "scope", "read write")
			b := v.signedIn(t, s.who)
			b.open(t, address)
			b.wantPlace(t, "a new request of the thief's application", "consent")
		})
	})
}
