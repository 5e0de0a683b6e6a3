package storage

import (
	"crypto/rand"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newMail(u User) NewMail {
	return NewMail{Mail{ID: rand.Text(), Kind: "notice", UserID: &u.ID, Body: "sealed", CreatedAt: at, DueAt: at,
		ExpiresAt: later},
		MailLimit{Recipient: "digest of " + u.ID, PerHour: 100, Most: 100}}
}

// due returns the ids of the messages that are due.
func (w world) due(t *testing.T, now int64) []string {
	t.Helper()
	ids := []string{}
	found, err := w.DueMails(t.Context(), "", now, 100)
	must(t, err)
	for _, m := range found {
		ids = append(ids, m.ID)
	}
	return ids
}

func TestMailIsReservedByOneNode(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, stores := w.person(t, "alice"), w.pair(t)
		m := newMail(alice)
		must(t, w.AddMail(t.Context(), m))
		found, err := w.DueMails(t.Context(), "", at, 10)
		must(t, err)
		if diff := cmp.Diff([]Mail{m.Mail}, found); diff != "" {
			t.Fatal(diff)
		}
		leases := make([]Mail, 8)
		i := oneWins(t, race(8, func(i int) error {
			var err error
			leases[i], err = stores[i%2].LeaseMail(t.Context(), m.Mail, at+60)
			return err
		}))
		if leases[i].Attempts != 1 || leases[i].DueAt != at+60 {
			t.Errorf("%+v", leases[i])
		}
		if left := w.due(t, at+59); len(left) != 0 {
			t.Errorf("a reserved message is due: %v", left)
		}
		// The node has died: another one gets the message when the lease ends.
		found, err = w.DueMails(t.Context(), "", at+60, 10)
		must(t, err)
		if len(found) != 1 || found[0].Attempts != 1 {
			t.Fatalf("%+v", found)
		}
		again, err := w.LeaseMail(t.Context(), found[0], at+120)
		must(t, err)
		// What the first node says now is too late.
		must(t, w.PostponeMail(t.Context(), leases[i], at))
		if left := w.due(t, at+119); len(left) != 0 {
			t.Errorf("the first node gave back what another one has reserved: %v", left)
		}
		must(t, w.PostponeMail(t.Context(), again, at+90))
		if left := w.due(t, at+90); len(left) != 1 {
			t.Errorf("a message that was given back is not due: %v", left)
		}
		must(t, w.ForgetMail(t.Context(), m.Mail))
		is(t, "LeaseMail of a message that was sent", second(w.LeaseMail(t.Context(), again, later)), ErrSpent)
	})
}

func TestMailEndsWithItsPerson(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob := w.person(t, "alice"), w.person(t, "bob")
		to, other := newMail(alice), newMail(bob)
		must(t, w.AddMail(t.Context(), to))
		must(t, w.AddMail(t.Context(), other))
		must(t, w.DeleteUser(t.Context(), alice.ID, at, Handover{Delete: true}))
		if diff := cmp.Diff([]string{other.ID}, w.due(t, at)); diff != "" {
			t.Error(diff)
		}
		is(t, "LeaseMail", second(w.LeaseMail(t.Context(), to.Mail, later)), ErrSpent)
	})
}

func TestMailIsLimited(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, stores := w.person(t, "alice"), w.pair(t)
		stored := 0
		for i, err := range race(8, func(i int) error {
			m := newMail(alice)
			m.Limit.PerHour = 3
			return stores[i%2].AddMail(t.Context(), m)
		}) {
			if err == nil {
				stored++
				continue
			}
			is(t, fmt.Sprint(i), err, ErrFull)
		}
		if stored != 3 {
			t.Errorf("%d messages within an hour, want 3", stored)
		}
		next := newMail(alice)
		next.Limit.PerHour, next.CreatedAt = 3, at+anHour
		must(t, w.AddMail(t.Context(), next))
		for _, test := range []struct {
			kind string
			want error
		}{{"notice", ErrFull}, {"another kind", nil}} {
			m := newMail(w.person(t, test.kind))
			m.Kind, m.Limit.Most = test.kind, 4
			is(t, test.kind, w.AddMail(t.Context(), m), test.want)
		}
		// A change of the password does not depend on its notice.
		m := newMail(alice)
		m.Limit.Most = 1
		must(t, w.SetPassword(t.Context(), alice.ID, "new", at, m))
		if got := proof(w.Store, alice.ID); got != "new" {
			t.Errorf("the password is %q", got)
		}
	})
}

func TestMailIsSweptWhenItExpires(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		must(t, w.AddLink(t.Context(), newLink(alice, LinkReset)))
		must(t, w.AddMail(t.Context(), newMail(alice)))
		if left := w.due(t, later); len(left) != 0 {
			t.Errorf("an expired message is due: %v", left)
		}
		for _, test := range []struct{ now, want int64 }{{later - 1, 0}, {later, 2}, {(at/anHour + 1) * anHour, 1}} {
			n, err := w.Sweep(t.Context(), test.now, 10)
			must(t, err)
			if n != test.want {
				t.Errorf("at %d, %d rows were deleted, want %d", test.now, n, test.want)
			}
		}
	})
}

// A request is answered once, and with all of its links or with none.
func TestMailIsAnsweredOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, bob, carol, stores := w.person(t, "alice"), w.person(t, "bob"), w.person(t, "carol"), w.pair(t)
		asked := newMail(alice)
		asked.UserID, asked.Kind = nil, "asked"
		must(t, w.AddMail(t.Context(), asked))
		m, err := w.LeaseMail(t.Context(), asked.Mail, at+60)
		must(t, err)
		must(t, w.DisableUser(t.Context(), carol.ID, at))
		answer := func() []NewLink {
			return []NewLink{withMail(newLink(alice, LinkReset), alice), withMail(newLink(carol, LinkReset), carol),
				withMail(newLink(bob, LinkReset), bob)}
		}
		stale := m
		stale.DueAt--
		is(t, "answered by a node whose reservation has ended", w.AnswerMail(t.Context(), stale, answer()), ErrSpent)
		oneWins(t, race(4, func(i int) error { return stores[i%2].AnswerMail(t.Context(), m, answer()) }))
		links, mails := count(t, w.Store, `SELECT COUNT(*) FROM links`),
			count(t, w.Store, `SELECT COUNT(*) FROM mails WHERE link IS NOT NULL`)
		if links != 2 || mails != 2 || len(w.due(t, at)) != 2 {
			t.Errorf("%d links, %d messages, want 2 of each", links, mails)
		}
	})
}

func withMail(l NewLink, u User) NewLink {
	m := newMail(u)
	m.Kind, m.Link = "link", &l.Digest
	l.Mail = &m
	return l
}

// A message about a change is stored exactly if the change is: two nodes that use one thing at the same
// moment do not tell the person twice, and nobody is told of what was refused.
func TestNoticesAreOfTheirTransaction(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, app := w.withTOTP(t, "alice")
		stores, n := w.pair(t), w.session(t, alice.ID)
		one := w.passkey(t, n)
		told := func(name string, want int, change func(s *Store, i int, m NewMail) error) {
			t.Helper()
			race(4, func(i int) error { return change(stores[i%2], i, newMail(alice)) })
			waiting := w.due(t, at)
			if len(waiting) != want {
				t.Errorf("%s: %d messages, want %d", name, len(waiting), want)
			}
			for _, id := range waiting {
				must(t, w.ForgetMail(t.Context(), Mail{ID: id}))
			}
		}
		showing := func(f FactorUse) Session { n := newSession(alice.ID); n.Factor = f; return n }
		told("a sign-in with a code", 1, func(s *Store, _ int, m NewMail) error {
			return s.AddSession(t.Context(), showing(FactorUse{TOTP: &TOTP{Secret: app.Secret, LastStep: 200}}), "",
				alice.Password, 0, m)
		})
		told("a sign-in with another password", 0, func(s *Store, _ int, m NewMail) error {
			return s.AddSession(t.Context(), newSession(alice.ID), "", "another hash", 0, m)
		})
		told("a stronger session", 1, func(s *Store, _ int, m NewMail) error {
			stronger := n
			stronger.Factor = FactorUse{Recovery: "alice 1"}
			return s.StrengthenSession(t.Context(), renewal(stronger), m)
		})
		told("the same passkey four times", 1, func(s *Store, _ int, m NewMail) error {
			k := newPasskey(alice.ID)
			k.ID = "the same"
			return s.AddPasskey(t.Context(), k, renewal(n), 20, m)
		})
		told("a passkey is removed", 1, func(s *Store, _ int, m NewMail) error {
			return s.DeletePasskey(t.Context(), alice.ID, one.ID, Ways{Passkeys: true}, nil, m)
		})
		told("the account of another server four times", 1, func(s *Store, _ int, m NewMail) error {
			i := newIdentity(alice.ID)
			i.Subject = "the same"
			return s.AddIdentity(t.Context(), i, renewal(n), 20, m)
		})
		told("it is removed", 1, func(s *Store, _ int, m NewMail) error {
			i := newIdentity(alice.ID)
			i.Subject = "the same"
			return s.DeleteIdentity(t.Context(), i, Ways{}, nil, m)
		})
		told("one is linked", 1, func(s *Store, _ int, m NewMail) error {
			i := newIdentity(alice.ID)
			i.Issuer, i.Subject = "https://linked.example", "linked"
			return w.linking(t, s, i, alice, m)
		})
		told("the app is removed", 1, func(s *Store, _ int, m NewMail) error {
			return s.RemoveTOTP(t.Context(), renewal(n), Ways{Passkeys: true}, m)
		})
		told("recovery codes", 4, func(s *Store, i int, m NewMail) error {
			return s.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{fmt.Sprint("new ", i)}, at, Ways{Passkeys: true}, m)
		})
		told("somebody unknown", 0,
			func(s *Store, _ int, m NewMail) error { return s.ResetFactors(t.Context(), "nobody", at, m) })
		told("everything is removed", 4,
			func(s *Store, _ int, m NewMail) error { return s.ResetFactors(t.Context(), alice.ID, at, m) })
		told("recovery codes without a factor", 0, func(s *Store, i int, m NewMail) error {
			return s.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{fmt.Sprint("none ", i)}, at, Ways{Passkeys: true}, m)
		})
	})
}
