package notices

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mandate/provider/mail"
	"mandate/provider/oauth"
	"mandate/storage"
	"mandate/testkit/smtpd"
)

// attempt sends what is due in a queue, once, and returns the messages that are still stored.
func attempt(t *testing.T, n *Notices, queue string, answers Answers) []storage.Mail {
	t.Helper()
	var sending sync.WaitGroup
	_, err := n.sendDue(t.Context(), queue, answers, make(chan struct{}, atOnce), &sending)
	if err != nil {
		t.Fatal(err)
	}
	sending.Wait()
	return stored(t, n, queue)
}

// stored returns the messages of a queue that were not sent, also those that are not due.
func stored(t *testing.T, n *Notices, queue string) []storage.Mail {
	t.Helper()
	far := oauth.Now() + longestLife - 60
	all, err := n.store.DueMails(t.Context(), queue, far, 100)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func add(t *testing.T, n *Notices, m storage.NewMail) {
	t.Helper()
	err := n.store.AddMail(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
}

// to returns a message to an address that lives for a day.
func to(n *Notices, address string) storage.NewMail {
	return n.message(factor, longestLife, content{To: address, Factor: &Factor{Username: "alice"}})
}

// What becomes of a message depends on what the mail server says of it.
func TestOutcomes(t *testing.T) {
	server := smtpd.Start(t, smtpd.Options{})
	broken := func(string, any) (mail.Letter, error) { return mail.Letter{}, errors.New("no such text") }
	panics := func(string, any) (mail.Letter, error) { panic("an unexpected record") }
	for name, test := range map[string]struct {
		letters               Letters
		address               string
		change                func(n *Notices, m *storage.NewMail)
		sent, failed, givenUp int64
		left                  bool
	}{
		"accepted":   {letters: plain, address: "alice@example.org", sent: 1},
		"refused":    {letters: plain, address: "refused@example.org", givenUp: 1},
		"not now":    {letters: plain, address: "later@example.org", failed: 1, left: true},
		"no address": {letters: plain, address: "alice\r\n@example.org", givenUp: 1},
		"no text":    {letters: broken, address: "alice@example.org", givenUp: 1},
		"a panic":    {letters: panics, address: "alice@example.org", left: true},
		"not in time": {letters: plain, address: "later@example.org", givenUp: 1,
			change: func(_ *Notices, m *storage.NewMail) { m.ExpiresAt = m.CreatedAt + firstPause }},
		"the text of another message": {letters: plain, address: "alice@example.org", givenUp: 1,
			change: func(n *Notices, m *storage.NewMail) { m.Body = to(n, "alice@example.org").Body }},
	} {
		n := component(t, server.Address, test.letters)
		m := to(n, test.address)
		if test.change != nil {
			test.change(n, &m)
		}
		add(t, n, m)
		before := oauth.Now()
		left := attempt(t, n, "", Answers{})
		sent, failed, givenUp := n.Counts()
		if sent != test.sent || failed != test.failed || givenUp != test.givenUp || (len(left) > 0) != test.left {
			t.Errorf("%s: sent %d, failed %d, given up %d, left %d", name, sent, failed, givenUp, len(left))
		}
		if test.failed > 0 && (left[0].DueAt < before+firstPause || left[0].DueAt > oauth.Now()+firstPause) {
			t.Errorf("%s: due after %d seconds", name, left[0].DueAt-before)
		}
		if test.letters != nil && name == "a panic" && left[0].DueAt < before+lease {
			t.Errorf("%s: another node tries at once", name)
		}
	}
	got := server.Messages(t)
	if len(got) != 1 || !slices.Equal(got[0].To, []string{"alice@example.org"}) {
		t.Errorf("the mail server has %d messages: %v", len(got), got)
	}
}

// A message that another node reserves, after this one has found it and before it has a place for it, is left to it.
func TestReserved(t *testing.T) {
	n := component(t, "127.0.0.1:1", plain)
	for range 3 {
		add(t, n, n.Asked("alice", "", ""))
	}
	answered := 0
	answer := func(ctx context.Context, first storage.Mail, _, _ string) error {
		answered++
		due, err := n.store.DueMails(ctx, "", oauth.Now(), 10)
		for _, m := range due {
			if err == nil && m.ID != first.ID {
				_, err = n.store.LeaseMail(ctx, m, oauth.Now()+lease)
			}
		}
		return err
	}
	var sending sync.WaitGroup
	// A place that is not given back would be waited for without an end.
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	_, err := n.sendDue(ctx, "", Answers{Reset: answer}, make(chan struct{}, 1), &sending)
	if err != nil {
		t.Fatal(err)
	}
	sending.Wait()
	if answered != 1 {
		t.Errorf("%d notes were answered", answered)
	}
}

// An invitation whose message is given up is marked, so that whoever invited sees it.
func TestInvitationGivenUp(t *testing.T) {
	n := component(t, "127.0.0.1:1", func(string, any) (mail.Letter, error) {
		return mail.Letter{}, errors.New("no text")
	})
	i := storage.Invitation{ID: "i1", Email: "bob@example.org", CreatedAt: oauth.Now(), ExpiresAt: oauth.Now() + 3600}
	made := n.Invitation(i, "", "https://link")
	err := n.store.AddInvitations(t.Context(), nil, []storage.NewInvitation{{Invitation: i, Mail: &made}}, 1)
	if err != nil {
		t.Fatal(err)
	}
	attempt(t, n, "", Answers{})
	kept, err := n.store.Invitation(t.Context(), i.ID)
	if err != nil || !kept.Unsent {
		t.Error(kept.Unsent, err)
	}
}

// A note is for the answer of its kind, which replaces it; no letter is written for it.
func TestNotes(t *testing.T) {
	for name, test := range map[string]struct {
		note  func(n *Notices) storage.NewMail
		queue string
		wants string
		fails error
		left  int
	}{
		"password": {note: func(n *Notices) storage.NewMail { return n.Asked("alice", "de", "") }, wants: "reset alice de",
			left: 1},
		"account": {note: func(n *Notices) storage.NewMail { return n.AskedSignUp("bob@example.org", "fr", "") },
			queue: strangers, wants: "sign-up bob@example.org fr", left: 1},
		"a failure": {note: func(n *Notices) storage.NewMail { return n.Asked("alice", "de", "") }, wants: "reset alice de",
			fails: errors.New("the database is away"), left: 1},
	} {
		n := component(t, "127.0.0.1:1", plain)
		var got []string
		answer := func(kind string) Answer {
			return func(_ context.Context, _ storage.Mail, asked, language string) error {
				got = append(got, kind+" "+asked+" "+language)
				return test.fails
			}
		}
		add(t, n, test.note(n))
		attempt(t, n, test.queue, Answers{Reset: answer("reset"), SignUp: answer("sign-up")})
		sent, failed, givenUp := n.Counts()
		if !slices.Equal(got, []string{test.wants}) || sent != 0 || givenUp != 0 || (failed == 1) != (test.fails != nil) {
			t.Errorf("%s: %q, sent %d, failed %d, given up %d", name, got, sent, failed, givenUp)
		}
		for _, queue := range []string{"", strangers} {
			select {
			case <-n.wake[queue]:
			default:
				t.Errorf("%s: the queue %q does not look for what the answer has made", name, queue)
			}
		}
	}
}

func TestPause(t *testing.T) {
	for attempts, want := range map[int64]int64{1: 10, 2: 20, 3: 40, 9: 2560, 10: 3600, 200: 3600} {
		if got := pause(attempts); got != want {
			t.Errorf("after %d attempts: %d, want %d", attempts, got, want)
		}
	}
}

// A line of the log has no address.
func TestNames(t *testing.T) {
	n := component(t, "127.0.0.1:25", plain)
	for _, m := range []storage.NewMail{n.Invitation(invited, "", "https://link"), n.Known(alice, "", "")} {
		for _, one := range names(m.Mail) {
			if strings.Contains(one.(string), "@") {
				t.Error(names(m.Mail))
			}
		}
		if got := len(names(m.Mail)); got != 4 {
			t.Errorf("%d names", got)
		}
	}
}

// Run sends nothing while the clock is wrong, and ends with its context. What strangers cause has places of its own.
func TestRun(t *testing.T) {
	n := component(t, "127.0.0.1:1", plain)
	blocked, release := make(chan struct{}, 10), make(chan struct{})
	reset := make(chan struct{}, 1)
	answers := Answers{
		SignUp: func(context.Context, storage.Mail, string, string) error {
			blocked <- struct{}{}
			<-release
			return nil
		},
		Reset: func(context.Context, storage.Mail, string, string) error { reset <- struct{}{}; return nil },
	}
	for range atOnce {
		add(t, n, n.AskedSignUp("bob@example.org", "", ""))
	}
	var right atomic.Bool
	var looked atomic.Int64
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		n.Run(ctx, func() bool { looked.Add(1); return right.Load() }, answers)
		close(ended)
	}()
	receive := func(what string, from <-chan struct{}) {
		t.Helper()
		select {
		case <-from:
		case <-time.After(20 * time.Second):
			t.Fatal("no ", what)
		}
	}
	for looked.Load() < 4 {
		n.Wake()
	}
	if len(blocked) > 0 {
		t.Error("a note was answered while the clock was wrong")
	}
	right.Store(true)
	n.Wake()
	for range atOnce {
		receive("answer to strangers", blocked)
	}
	add(t, n, n.Asked("alice", "", ""))
	n.Wake()
	receive("answer, because strangers have all places", reset)
	close(release)
	stop()
	receive("end", ended)
}
