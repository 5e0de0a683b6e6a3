package storage

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func newInvitation(email string, groups ...string) NewInvitation {
	return NewInvitation{Invitation: Invitation{ID: rand.Text(), Digest: rand.Text(), Email: email, Mailed: true,
		Groups: strings.Join(groups, "\n"), CreatedAt: at, ExpiresAt: later}}
}

func (w world) invitation(t *testing.T, email string, groups ...string) Invitation {
	t.Helper()
	i := newInvitation(email, groups...)
	must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{i}, 100))
	return i.Invitation
}

// guest returns a person who makes an account with an invitation.
func guest(i Invitation) User {
	u := newUser(rand.Text())
	u.Email, u.Password = i.Email, ""
	return u
}

// accepts uses an invitation.
func (w world) accepts(t *testing.T, i Invitation) error {
	t.Helper()
	return second(w.AcceptInvitation(t.Context(), i.Digest, guest(i), nil))
}

func TestInvitationIsUsedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		must(t, w.AddGroup(t.Context(), "staff", at))
		i, other := w.invitation(t, "New@Example.com", "staff", "gone"), w.invitation(t, "other@example.com")
		found, err := w.InvitationByDigest(t.Context(), i.Digest, at)
		must(t, err)
		if diff := cmp.Diff(i, found); diff != "" {
			t.Error(diff)
		}
		people := make([]User, 8)
		errs := race(8, func(n int) error {
			people[n] = guest(i)
			key := newPasskey(people[n].ID)
			missing, err := stores[n%2].AcceptInvitation(t.Context(), i.Digest, people[n], &key)
			if err == nil && !slices.Equal(missing, []string{"gone"}) {
				t.Errorf("groups that do not exist: %v", missing)
			}
			return err
		})
		winner := people[oneWins(t, errs)]
		if groups, err := w.GroupsOf(t.Context(), winner.ID, at); err != nil || !slices.Equal(groups, []string{"staff"}) {
			t.Errorf("groups %v, %v", groups, err)
		}
		if keys, err := w.PasskeysOf(t.Context(), winner.ID); err != nil || len(keys) != 1 {
			t.Errorf("passkeys %v, %v", keys, err)
		}
		for query, want := range map[string]int{`SELECT COUNT(*) FROM users`: 1, `SELECT COUNT(*) FROM passkeys`: 1,
			`SELECT COUNT(*) FROM invitations`: 1} {
			if got := count(t, w.Store, query); got != want {
				t.Errorf("%s: %d, want %d", query, got, want)
			}
		}
		is(t, "the invitation of somebody else", w.accepts(t, other), nil)
	})
}

// What fails leaves the invitation as it was, and no person.
func TestInvitationStaysUnlessItIsUsed(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, i := w.person(t, "alice"), w.invitation(t, "new@example.com")
		key := newPasskey(alice.ID)
		must(t, w.AddPasskey(t.Context(), key, renewal(w.session(t, alice.ID)), 10))
		before := counts(t, w.Store)
		taken := guest(i)
		taken.UsernameKey = "alice"
		is(t, "a username that somebody has", second(w.AcceptInvitation(t.Context(), i.Digest, taken, nil)), ErrConflict)
		same := guest(i)
		stolen := key
		stolen.UserID = same.ID
		is(t, "a passkey that somebody has", second(w.AcceptInvitation(t.Context(), i.Digest, same, &stolen)), ErrFactorUsed)
		foreign := guest(i)
		foreign.Email = "elsewhere@example.com"
		is(t, "another address", second(w.AcceptInvitation(t.Context(), i.Digest, foreign, nil)), ErrSpent)
		is(t, "another link", second(w.AcceptInvitation(t.Context(), "other", guest(i), nil)), ErrSpent)
		late := guest(i)
		late.CreatedAt = later
		is(t, "too late", second(w.AcceptInvitation(t.Context(), i.Digest, late, nil)), ErrSpent)
		is(t, "read too late", second(w.InvitationByDigest(t.Context(), i.Digest, later)), ErrNotFound)
		alice.Email = "NEW@example.com"
		must(t, w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
		is(t, "an address that somebody has by now", w.accepts(t, i), ErrAddressTaken)
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		alice.Email = ""
		must(t, w.UpdateUser(t.Context(), alice, nil, nil, Beside{}))
		is(t, "after all that", w.accepts(t, i), nil)
	})
}

// An invitation ends with the rights of the inviter, and does not come back with them.
func TestInvitationEndsWithItsInviter(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.administrator(t, "root") // somebody stays an administrator
		change := func(u User, change func(*User)) error {
			change(&u)
			return w.UpdateUser(t.Context(), u, nil, nil, Beside{})
		}
		for name, end := range map[string]func(u User) error{
			"disabled": func(u User) error { return w.DisableUser(t.Context(), u.ID, at) },
			"restored": func(u User) error {
				return errors.Join(w.DisableUser(t.Context(), u.ID, at), w.EnableUser(t.Context(), u.ID, at))
			},
			"demoted":              func(u User) error { return change(u, func(u *User) { u.Administrator = false }) },
			"disabled on the page": func(u User) error { return change(u, func(u *User) { u.Active = false }) },
			"demoted and back": func(u User) error {
				return errors.Join(change(u, func(u *User) { u.Administrator = false }), change(u, func(*User) {}))
			},
			"deleted": func(u User) error { return w.DeleteUser(t.Context(), u.ID, at, Handover{Delete: true}) },
			// The rights are read again when the invitation is used.
			"demoted, invitation left": func(u User) error {
				return second(w.exec(t.Context(), `UPDATE users SET administrator = FALSE WHERE id = $1`, u.ID))
			},
		} {
			u := w.administrator(t, strings.ReplaceAll(name, " ", "-"))
			i, m := newInvitation(rand.Text()+"@example.com"), newMail(u)
			i.InviterID, m.UserID, m.Invitation = &u.ID, nil, &i.ID
			i.Mail = &m
			must(t, w.AddInvitations(t.Context(), &u.ID, []NewInvitation{i}, 100))
			is(t, name+": before", second(w.InvitationByDigest(t.Context(), i.Digest, at)), nil)
			must(t, end(u))
			is(t, name, second(w.InvitationByDigest(t.Context(), i.Digest, at)), ErrNotFound)
			is(t, name+": used", w.accepts(t, i.Invitation), ErrSpent)
			if name != "demoted, invitation left" && slices.Contains(w.due(t, at), m.ID) {
				t.Errorf("%s: the message is still sent", name)
			}
			late := newInvitation("late@example.com")
			late.InviterID = &u.ID
			if name != "restored" && name != "demoted and back" {
				is(t, name+": another invitation", w.AddInvitations(t.Context(), &u.ID, []NewInvitation{late}, 100), ErrSpent)
			}
		}
		u, bob := w.administrator(t, "changed"), w.person(t, "bob")
		i := newInvitation("stays@example.com")
		i.InviterID = &u.ID
		must(t, w.AddInvitations(t.Context(), &u.ID, []NewInvitation{i}, 100))
		must(t, w.SetPassword(t.Context(), u.ID, "new", at))
		must(t, change(u, func(u *User) { u.Email = "moved@example.com" }))
		must(t, w.DisableUser(t.Context(), bob.ID, at))
		is(t, "another password and address, and somebody else is disabled", w.accepts(t, i.Invitation), nil)
	})
}

func (w world) administrator(t *testing.T, name string) User {
	t.Helper()
	u := newUser(name)
	u.Administrator = true
	must(t, w.AddUser(t.Context(), u, nil))
	return u
}

// An inviter loses the rights at the moment at which they invite: the invitation is refused, or ends.
func TestInvitationInParallelWithTheEndOfRights(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		stores := w.pair(t)
		w.administrator(t, "root")
		for n := range 5 {
			u := w.administrator(t, "u"+string(rune('a'+n)))
			i := newInvitation(rand.Text() + "@example.com")
			i.InviterID = &u.ID
			errs := race(2, func(n int) error {
				if n == 0 {
					return stores[0].AddInvitations(t.Context(), &u.ID, []NewInvitation{i}, 100)
				}
				return stores[1].DisableUser(t.Context(), u.ID, at)
			})
			is(t, "disabled", errs[1], nil)
			if errs[0] != nil {
				is(t, "invited", errs[0], ErrSpent)
			}
			if left := count(t, w.Store, `SELECT COUNT(*) FROM invitations`); left != 0 {
				t.Errorf("%d invitations of a disabled person", left)
			}
		}
	})
}

// All people of a list are invited, or none, and nobody twice.
func TestInvitationsAreStoredTogether(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		w.person(t, "alice")
		old := w.invitation(t, "invited@example.com")
		before := counts(t, w.Store)
		add := func(most int, addresses ...string) error {
			var list []NewInvitation
			for _, address := range addresses {
				list = append(list, newInvitation(address))
			}
			return w.AddInvitations(t.Context(), nil, list, most)
		}
		is(t, "somebody's address", add(100, "one@example.com", "ALICE@example.com"), ErrAddressTaken)
		is(t, "an invited address", add(100, "one@example.com", "Invited@Example.com"), ErrInvited)
		is(t, "the same address twice", add(100, "one@example.com", "ONE@example.com"), ErrInvited)
		is(t, "too many", add(2, "one@example.com", "two@example.com"), ErrFull)
		full := newInvitation("three@example.com")
		m := newMail(User{ID: "x"})
		m.UserID, m.Limit.Most = nil, 0
		full.Mail = &m
		is(t, "too many messages", w.AddInvitations(t.Context(), nil, []NewInvitation{newInvitation("one@example.com"), full},
			100), ErrMailFull)
		if diff := cmp.Diff(before, counts(t, w.Store)); diff != "" {
			t.Error(diff)
		}
		is(t, "as many as allowed", add(3, "one@example.com", "two@example.com"), nil)
		must(t, second(w.exec(t.Context(), `UPDATE invitations SET expires_at = $1 WHERE id = $2`, at, old.ID)))
		if !slices.Equal(invitedAddresses(t, w, "one@example.com", "INVITED@example.com"), []bool{true, false}) {
			t.Error("an expired invitation counts, or one that works does not")
		}
		is(t, "after the invitation has expired", add(100, "Invited@Example.com"), nil)
		found, total, err := w.Invitations(t.Context(), "EXAMPLE.com", 2, 1)
		must(t, err)
		if total != 3 || len(found) != 2 || found[0].Email != "one@example.com" {
			t.Errorf("%d: %+v", total, found)
		}
	})
}

func TestInvitationGetsANewLink(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		u := w.administrator(t, "root")
		old, next := w.invitation(t, "new@example.com", "staff"), newInvitation("new@example.com", "staff")
		next.InviterID = &u.ID
		must(t, w.RenewInvitation(t.Context(), old.ID, next, 1))
		is(t, "the old link", w.accepts(t, old), ErrSpent)
		is(t, "the old ID", w.RenewInvitation(t.Context(), old.ID, newInvitation("new@example.com"), 1), ErrNotFound)
		found, err := w.Invitation(t.Context(), next.ID)
		must(t, err)
		if found.Inviter == nil || *found.Inviter != "root" || found.Groups != "staff" {
			t.Errorf("%+v", found)
		}
		if n, err := w.InvitationsOf(t.Context(), u.ID, at); n != 1 || err != nil {
			t.Error(n, err)
		}
		must(t, w.DeleteInvitation(t.Context(), next.ID))
		is(t, "withdrawn", w.accepts(t, next.Invitation), ErrSpent)
		is(t, "withdrawn again", w.DeleteInvitation(t.Context(), next.ID), ErrNotFound)
		late := w.invitation(t, "late@example.com")
		must(t, second(w.Sweep(t.Context(), later+expiredInvitation-1, 10)))
		is(t, "swept a second before its time is over", second(w.Invitation(t.Context(), late.ID)), nil)
		must(t, second(w.Sweep(t.Context(), later+expiredInvitation, 10)))
		is(t, "swept", second(w.Invitation(t.Context(), late.ID)), ErrNotFound)
	})
}

// asked reserves a note, and returns a link that answers it.
func (w world) asked(t *testing.T, email string) (Mail, *NewInvitation) {
	t.Helper()
	note, m, link := newMail(User{ID: "x"}), newMail(User{ID: email}), newInvitation(email)
	note.UserID, m.UserID, m.Invitation, link.Asked, link.Mail = nil, nil, &link.ID, true, &m
	m.Limit.PerHour = 2
	must(t, w.AddMail(t.Context(), note))
	leased, err := w.LeaseMail(t.Context(), note.Mail, at+100)
	must(t, err)
	return leased, &link
}

// Somebody asks for a link. It is not an invitation, it does not end one, and it ends when somebody has
// the address.
func TestLinkThatSomebodyAskedFor(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "staff", at))
		must(t, w.AddGroup(t.Context(), "guests", at))
		invited := w.invitation(t, "New@example.com", "staff")
		note, link := w.asked(t, "new@example.com")
		stale := note
		stale.DueAt--
		is(t, "answered by a node whose reservation has ended", w.AnswerSignUp(t.Context(), stale, link, 2), ErrSpent)
		must(t, w.AnswerSignUp(t.Context(), note, link, 2))
		is(t, "answered again", w.AnswerSignUp(t.Context(), note, link, 2), ErrSpent)
		if due := w.due(t, at); !slices.Equal(due, []string{link.Mail.ID}) {
			t.Errorf("due: %v", due)
		}
		note, second := w.asked(t, "new@example.com")
		must(t, w.AnswerSignUp(t.Context(), note, second, 2))
		note, none := w.asked(t, "new@example.com") // too many messages
		must(t, w.AnswerSignUp(t.Context(), note, none, 100))
		is(t, "beyond the limit", w.accepts(t, none.Invitation), ErrSpent)
		note, none = w.asked(t, "full@example.com")
		none.Mail.Limit.Most = 0
		must(t, w.AnswerSignUp(t.Context(), note, none, 100))
		is(t, "a link whose message has no room", w.accepts(t, none.Invitation), ErrSpent)
		for what, err := range map[string]error{
			"one that is known by its ID": w.DeleteInvitation(t.Context(), link.ID),
			"read by its ID":              errOf(w.Invitation(t.Context(), link.ID)),
			"renewed by its ID":           w.RenewInvitation(t.Context(), link.ID, newInvitation("more@example.com"), 100),
		} {
			is(t, what, err, ErrNotFound)
		}
		if _, total, err := w.Invitations(t.Context(), "", 10, 0); total != 1 || err != nil {
			t.Error(total, err)
		}
		if !slices.Equal(invitedAddresses(t, w, "NEW@example.com", "more@example.com"), []bool{true, false}) {
			t.Error("a link that somebody asked for counts as an invitation")
		}
		u := guest(link.Invitation)
		must(t, errOf(w.AcceptInvitation(t.Context(), link.Digest, u, nil)))
		// Whoever has shown the address gets what waits for it.
		if groups, err := w.GroupsOf(t.Context(), u.ID, at); err != nil || !slices.Equal(groups, []string{"staff"}) {
			t.Errorf("groups %v, %v", groups, err)
		}
		is(t, "the invitation", w.accepts(t, invited), ErrSpent)
		is(t, "the other link", w.accepts(t, second.Invitation), ErrSpent)
		if left := count(t, w.Store, `SELECT COUNT(*) FROM invitations`); left != 0 {
			t.Errorf("%d are left", left)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func invitedAddresses(t *testing.T, w world, addresses ...string) []bool {
	t.Helper()
	var list []bool
	for _, address := range addresses {
		invited, err := w.IsInvited(t.Context(), address, at)
		must(t, err)
		list = append(list, invited)
	}
	return list
}

// Strangers ask for so many links that no more can wait. Somebody else still gets one: the oldest of these
// links ends, with its message. An invitation does not end.
func TestLinksThatStrangersAskForMakeRoom(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		const most = 3
		invited := w.invitation(t, "invited@example.com")
		var links []Invitation
		for n := range 5 {
			note, link := w.asked(t, fmt.Sprintf("stranger%d@example.com", n))
			link.CreatedAt += int64(n)
			must(t, w.AnswerSignUp(t.Context(), note, link, most))
			links = append(links, link.Invitation)
			if due := w.due(t, at); len(due) != min(n+1, most) || !slices.Contains(due, link.Mail.ID) {
				t.Errorf("after %d requests, these messages wait: %v", n+1, due)
			}
		}
		for n, link := range links {
			want := error(nil)
			if n < len(links)-most {
				want = ErrSpent
			}
			is(t, link.Email, w.accepts(t, link), want)
		}
		is(t, "the invitation", w.accepts(t, invited), nil)
	})
}

// A link that an administrator passes on shows nothing about the address. So it gives only its own groups.
func TestLinkByHandTakesNothingElse(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "staff", at))
		i := newInvitation("new@example.com", "staff")
		i.Mailed = false
		must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{i}, 100))
		note, link := w.asked(t, "new@example.com")
		must(t, w.AnswerSignUp(t.Context(), note, link, 2))
		is(t, "by hand", w.accepts(t, i.Invitation), nil)
		is(t, "the link by mail", w.accepts(t, link.Invitation), ErrAddressTaken)
	})
}

// A person who comes from another server uses the invitation for the address, and may need one.
func TestPersonComesWithAnIdentityAndAnInvitation(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		must(t, w.AddGroup(t.Context(), "staff", at))
		come := func(email string, invited Invited) (User, error) {
			u := newUser(rand.Text())
			u.Email = email
			return u, second(w.AddUserWithIdentity(t.Context(), u, newIdentity(u.ID), invited))
		}
		note, link := w.asked(t, "asked@example.com")
		must(t, w.AnswerSignUp(t.Context(), note, link, 2))
		expired := w.invitation(t, "late@example.com")
		must(t, second(w.exec(t.Context(), `UPDATE invitations SET expires_at = $1 WHERE id = $2`, at, expired.ID)))
		root, orphan := w.administrator(t, "root"), newInvitation("orphan@example.com", "staff")
		orphan.InviterID = &root.ID
		must(t, w.AddInvitations(t.Context(), &root.ID, []NewInvitation{orphan}, 100))
		must(t, second(w.exec(t.Context(), `UPDATE users SET administrator = FALSE WHERE id = $1`, root.ID)))
		for _, address := range []string{"nobody@example.com", "asked@example.com", "late@example.com",
			"orphan@example.com"} {
			_, err := come(address, InvitedNeeded)
			is(t, address, err, ErrSpent)
		}
		for address, must := range map[string]Invited{"One@example.com": InvitedNeeded, "Two@example.com": InvitedTaken} {
			i := w.invitation(t, strings.ToLower(address), "staff", "gone")
			u, err := come(address, must)
			is(t, address, err, nil)
			if groups, err := w.GroupsOf(t.Context(), u.ID, at); err != nil || !slices.Equal(groups, []string{"staff"}) {
				t.Errorf("groups %v, %v", groups, err)
			}
			is(t, "the invitation after that", w.accepts(t, i), ErrSpent)
		}
		kept := w.invitation(t, "four@example.com", "staff")
		u, err := come("Four@example.com", InvitedIgnored)
		is(t, "an address that counts for nothing", err, nil)
		if groups, err := w.GroupsOf(t.Context(), u.ID, at); err != nil || len(groups) > 0 {
			t.Errorf("groups %v, %v", groups, err)
		}
		is(t, "its invitation", w.accepts(t, kept), ErrAddressTaken)
		i := w.invitation(t, "three@example.com")
		u = newUser("three")
		u.Email = i.Email
		// Used by the link and by the other server at the same moment.
		errs := race(2, func(n int) error {
			if n == 0 {
				return errOf(w.AcceptInvitation(t.Context(), i.Digest, guest(i), nil))
			}
			return errOf(w.AddUserWithIdentity(t.Context(), u, newIdentity(u.ID), InvitedNeeded))
		})
		for n, err := range errs {
			if errors.Is(err, ErrAddressTaken) {
				errs[n] = ErrSpent
			}
		}
		oneWins(t, errs)
	})
}

// An invitation stays for 30 days after it has expired, and a link that somebody asked for does not.
func TestInvitationThatHasExpired(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		old, asked := w.invitation(t, "Late@example.com"), newInvitation("asked@example.com")
		asked.Asked = true
		must(t, w.atomically(t.Context(), func(x tx) error { return x.addInvitation(asked) }))
		sweep := func(now, want int64) {
			t.Helper()
			n, err := w.Sweep(t.Context(), now, 10)
			if n != want || err != nil {
				t.Errorf("at %d: %d rows were deleted, %v", now, n, err)
			}
		}
		sweep(later-1, 0)
		sweep(later, 1)
		sweep(later+expiredInvitation-1, 0)
		list, total, err := w.Invitations(t.Context(), "", 10, 0)
		if len(list) != 1 || total != 1 || err != nil || list[0].ID != old.ID {
			t.Errorf("%v, %v", list, err)
		}
		if invited, err := w.IsInvited(t.Context(), old.Email, later); invited || err != nil {
			t.Errorf("invited: %v, %v", invited, err)
		}
		sweep(later+expiredInvitation, 1)
		is(t, "after that", second(w.Invitation(t.Context(), old.ID)), ErrNotFound)
	})
}

// A node whose clock is ahead took invitations of others as expired, and deleted them for its own.
func TestInvitationsOfOthersOutliveAWrongClock(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		now, err := w.Clock(t.Context())
		must(t, err)
		at := now.Unix()
		live := newInvitation("live@example.com")
		live.CreatedAt, live.ExpiresAt = at, at+1000
		must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{live}, 1))
		ahead := func(email string, most int) error {
			i := newInvitation(email)
			i.CreatedAt, i.ExpiresAt = at+100_000, at+200_000
			return w.AddInvitations(t.Context(), nil, []NewInvitation{i}, most)
		}
		is(t, "another address", ahead("new@example.com", 1), ErrFull)
		is(t, "the same address", ahead("LIVE@example.com", 2), ErrInvited)
		is(t, "the invitation", second(w.Invitation(t.Context(), live.ID)), nil)
	})
}

// Invitations that have expired leave their place to new ones, if there are too many.
func TestInvitationsThatHaveExpiredMakeRoom(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		old := w.invitation(t, "late@example.com")
		add := func(email string) error {
			i := newInvitation(email)
			i.CreatedAt, i.ExpiresAt = later, later+1
			return w.AddInvitations(t.Context(), nil, []NewInvitation{i}, 2)
		}
		is(t, "the second", add("ann@example.com"), nil)
		is(t, "the third", add("bob@example.com"), nil)
		is(t, "the one that has expired", second(w.Invitation(t.Context(), old.ID)), ErrNotFound)
		is(t, "the fourth", add("carol@example.com"), ErrFull)
	})
}

// An invitation says whether its message waits, or could not be sent.
func TestInvitationKnowsItsMessage(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		state := func(what, email string, waiting, unsent bool) {
			t.Helper()
			i, err := w.InvitationTo(t.Context(), email)
			if err != nil || i.Waiting != waiting || i.Unsent != unsent {
				t.Errorf("%s: %+v, %v", what, i, err)
			}
		}
		var mails []Mail
		for _, email := range []string{"Ann@example.com", "bob@example.com"} {
			i := newInvitation(email)
			m := newMail(User{})
			m.UserID, m.Link, m.Invitation = nil, nil, &i.ID
			i.Mail = &m
			must(t, w.AddInvitations(t.Context(), nil, []NewInvitation{i}, 10))
			mails = append(mails, m.Mail)
		}
		state("before", "ann@EXAMPLE.com", true, false)
		must(t, w.ForgetMail(t.Context(), mails[0]))
		must(t, w.GiveUpMail(t.Context(), mails[1]))
		state("sent", "ann@example.com", false, false)
		state("given up", "bob@example.com", false, true)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM mails`); n != 0 {
			t.Errorf("%d messages wait", n)
		}
		is(t, "an address that is not invited", second(w.InvitationTo(t.Context(), "carol@example.com")), ErrNotFound)
	})
}
