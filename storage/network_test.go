package storage

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crowd is what one network fills, so that there is no room for others. add stores a row of a network and
// returns its name, left lists the names of the rows that are there.
type crowd struct {
	add  func(t *testing.T, network string, n int) (string, error)
	left func(t *testing.T) []string
}

const mostOfCrowd = 6

func crowds(w world, applicationID string) map[string]crowd {
	names := func(query string) func(t *testing.T) []string {
		return func(t *testing.T) []string {
			t.Helper()
			var found []string
			must(t, w.all(t.Context(), &found, query))
			return found
		}
	}
	return map[string]crowd{
		"messages": {func(t *testing.T, network string, n int) (string, error) {
			m := newMail(User{ID: "x"})
			m.Kind, m.UserID, m.Network, m.CreatedAt, m.Limit.Most, m.Limit.Recipient = "crowd", nil, network, at+int64(n),
				mostOfCrowd, ""
			return m.ID, w.AddMail(t.Context(), m)
		}, names(`SELECT id FROM mails WHERE kind = 'crowd'`)},
		"devices": {func(t *testing.T, network string, n int) (string, error) {
			d := newDevice(applicationID)
			d.Network, d.CreatedAt = network, at+int64(n)
			return d.Digest, w.AddDevice(t.Context(), d, mostOfCrowd, 0)
		}, names(`SELECT digest FROM devices`)},
		"pushed requests": {func(t *testing.T, network string, n int) (string, error) {
			r := newRequest()
			r.Network, r.OpensUntil = network, at+int64(n)
			return r.Digest, w.AddRequest(t.Context(), r, mostOfCrowd, 0, at)
		}, names(`SELECT digest FROM requests`)},
		"links": {func(t *testing.T, network string, n int) (string, error) {
			note, link := w.asked(t, fmt.Sprintf("%s-%d@example.com", network, n))
			link.Network, link.CreatedAt = network, at+int64(n)
			return link.ID, w.AnswerSignUp(t.Context(), note, link, mostOfCrowd)
		}, names(`SELECT id FROM invitations`)},
	}
}

// A network that fills what all share loses its own oldest rows, never those of others, and never adds to its
// share what others have.
func TestAttackOneNetworkTakesTheRoomOfAll(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		for name, c := range crowds(w, w.application(t, "x").ID) {
			t.Run(name, func(t *testing.T) {
				early, err := c.add(t, "early", 0)
				must(t, err)
				var flood []string
				for n := range 2 * mostOfCrowd {
					id, err := c.add(t, "flood", 1+n)
					if err == nil {
						flood = append(flood, id)
					}
				}
				late, err := c.add(t, "late", 100)
				must(t, err)
				left := c.left(t)
				if len(left) != mostOfCrowd || !slices.Contains(left, early) || !slices.Contains(left, late) {
					t.Fatalf("%d rows are left; that of before: %t, that of afterwards: %t", len(left), slices.Contains(left, early),
						slices.Contains(left, late))
				}
				// The newest of those that were accepted stay.
				want := slices.Concat([]string{early, late}, flood[len(flood)-(mostOfCrowd-2):])
				slices.Sort(want)
				slices.Sort(left)
				if diff := cmp.Diff(want, left); diff != "" {
					t.Error(diff)
				}
			})
		}
	})
}

// A limit that is reached is no lack of room: whoever reaches it removes nobody's message, and sends none.
func TestAttackReachedCountRemovesMail(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		add := func(network string, limit MailLimit) error {
			m := newMail(User{ID: "x"})
			m.UserID, m.Network, m.Limit = nil, network, limit
			return w.AddMail(t.Context(), m)
		}
		for range 3 {
			must(t, add("192.0.2.0/24", MailLimit{Most: 100}))
		}
		site := []MailCount{{Name: "site", PerHour: 1}}
		for name, limit := range map[string]MailLimit{
			"the share of a site": {Most: 100, Recipient: "a", PerHour: 100, Also: site},
			"a recipient":         {Most: 100, Recipient: "b", PerHour: 1},
		} {
			must(t, add("198.51.100.0/24", limit))
			for range 3 {
				is(t, name, add("198.51.100.0/24", limit), ErrFull)
			}
		}
		due, err := w.DueMails(t.Context(), "", at, 100)
		must(t, err)
		if len(due) != 5 {
			t.Errorf("%d messages wait, want the three of the other network and two", len(due))
		}
	})
}

// Whoever asks once is served after at most one message of each other network, whatever the others wait for.
func TestMailTakesTurnsByNetwork(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		add := func(network string, user *string, dueAt int64, queue string) string {
			m := newMail(User{ID: "x"})
			m.UserID, m.Network, m.DueAt, m.Queue, m.Limit.Recipient = user, network, dueAt, queue, ""
			must(t, w.AddMail(t.Context(), m))
			return m.ID
		}
		alice := w.person(t, "alice")
		first := add("flood", nil, at, "")
		for range 5 {
			add("flood", nil, at+1, "")
		}
		notice := add("", &alice.ID, at+2, "")
		add("", &alice.ID, at+3, "")
		honest := add("home", nil, at+4, "")
		other := add("flood", nil, at, "strangers")
		found, err := w.DueMails(t.Context(), "", at+10, 3)
		must(t, err)
		var ids []string
		for _, m := range found {
			ids = append(ids, m.ID)
		}
		if diff := cmp.Diff([]string{first, notice, honest}, ids); diff != "" {
			t.Error(diff)
		}
		found, err = w.DueMails(t.Context(), "strangers", at+10, 3)
		must(t, err)
		if len(found) != 1 || found[0].ID != other || found[0].Network != "flood" || found[0].Queue != "strangers" {
			t.Errorf("%+v", found)
		}
	})
}

// What one network may cause is counted before the recipient, so a network that has used up its share takes
// nothing from the share of others.
func TestMailIsCountedByNetworkToo(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		send := func(network string) error {
			m := newMail(alice)
			m.Limit.PerHour, m.Limit.Also = 5, []MailCount{{Name: "alice from " + network, PerHour: 3}}
			return w.AddMail(t.Context(), m)
		}
		for n, want := range []error{nil, nil, nil, ErrFull, ErrFull, ErrFull} {
			is(t, fmt.Sprint("flood ", n), send("flood"), want)
		}
		for n, want := range []error{nil, nil, ErrFull} {
			is(t, fmt.Sprint("home ", n), send("home"), want)
		}
	})
}
