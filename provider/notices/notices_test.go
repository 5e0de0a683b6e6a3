package notices

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/mail"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
	"mandate/storage/storagetest"
)

const key = "a key of at least thirty-two characters"

// component returns the component, with a mail server at an address, and letters that say nothing.
func component(t *testing.T, at string, letters Letters) *Notices {
	t.Helper()
	sender, err := mail.New(mail.Config{URL: "smtp://" + at, From: "noreply@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	bodies, err := seal.New([]byte(key), "mail")
	if err != nil {
		t.Fatal(err)
	}
	store, _ := storagetest.Open(t)
	config := Config{SignUpsPerHour: 50, Base: "https://id.example.org"}
	return New(config, store, sender, letters, bodies, []byte(key), slog.New(slog.DiscardHandler))
}

func plain(string, any) (mail.Letter, error) {
	return mail.Letter{Subject: "Subject", Text: "Text", HTML: "<p>Text</p>"}, nil
}

// opened returns the encrypted part of a message.
func opened(t *testing.T, n *Notices, m storage.NewMail) content {
	t.Helper()
	text, err := n.bodies.Open(m.Body, m.Kind+" "+m.ID)
	var c content
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(m.Kind, err)
	}
	return c
}

var (
	alice = storage.User{ID: "u1", Username: "alice", Email: "Alice@Example.org", Language: "fr",
		Profile: `{"locale":"de-AT"}`}
	link    = storage.Link{Digest: "digest", CreatedAt: 1000, ExpiresAt: 1000 + 2*3600}
	invited = storage.Invitation{ID: "i1", Email: "bob@example.org", Language: "es", CreatedAt: 1000,
		ExpiresAt: 1000 + 48*3600, Network: "192.0.2.0/24"}
)

// Each message has the queue, the life, the limits and the languages of its kind.
func TestMessages(t *testing.T) {
	n := component(t, "127.0.0.1:25", plain)
	only := func(list []storage.NewMail) storage.NewMail {
		t.Helper()
		if len(list) != 1 {
			t.Fatalf("%d messages", len(list))
		}
		return list[0]
	}
	type shape struct {
		Queue, To, Languages  string
		Life, PerHour, Period int64
		Also                  []int64 // how many of what else is counted may come in an hour
		Network               string
		OfUser, Link, Invites bool
		Counted               bool
	}
	person, strange := "de-AT fr", "de-AT fr en"
	for name, test := range map[string]struct {
		made storage.NewMail
		want shape
	}{
		"asked": {n.Asked("alice", "en", "192.0.2.0/24"),
			shape{Languages: "en", Life: 600, Network: "192.0.2.0/24"}},
		"reset": {n.Reset(alice, link, "en", "192.0.2.0/24", "https://link"),
			shape{To: alice.Email, Languages: strange, Life: 7200, PerHour: 5, Also: []int64{3}, Network: "192.0.2.0/24",
				OfUser: true, Link: true, Counted: true}},
		"reset by an administrator": {n.Reset(alice, link, "", "", "https://link"),
			shape{To: alice.Email, Languages: person, Life: 7200, PerHour: 5, OfUser: true, Link: true, Counted: true}},
		"address": {n.Address(alice, link, "https://link"),
			shape{To: alice.Email, Languages: person, Life: 7200, PerHour: 5, Also: []int64{20}, OfUser: true, Link: true,
				Counted: true}},
		"password": {only(n.PasswordChanged(alice)),
			shape{To: alice.Email, Languages: person, Life: 86400, PerHour: 20, OfUser: true, Counted: true}},
		"sign-in": {only(n.SignedIn(alice, "Firefox", "192.0.2.1")),
			shape{To: alice.Email, Languages: person, Life: 86400, PerHour: 20, OfUser: true, Counted: true}},
		"factor": {only(n.FactorChanged(alice, TOTPAdded)),
			shape{To: alice.Email, Languages: person, Life: 86400, PerHour: 20, OfUser: true, Counted: true}},
		"account": {only(n.AccountChanged(alice, AddressChanged)),
			shape{To: alice.Email, Languages: person, Life: 86400, PerHour: 20, OfUser: true, Counted: true}},
		"refused": {only(n.FactorRefused(alice, "")),
			shape{To: alice.Email, Languages: person, Life: 86400, PerHour: 1, Period: 86400, OfUser: true, Counted: true}},
		"invitation": {n.Invitation(invited, "alice", "https://link"),
			shape{To: "bob@example.org", Languages: "es", Life: 48 * 3600, PerHour: 5, Invites: true, Counted: true}},
		"asked-sign-up": {n.AskedSignUp("bob@example.org", "es", "192.0.2.0/24"),
			shape{Queue: strangers, Languages: "es", Life: 600, PerHour: 50, Also: []int64{5}, Network: "192.0.2.0/24",
				Counted: true}},
		"sign-up": {n.SignUp(invited, "https://link"),
			shape{Queue: strangers, To: "bob@example.org", Languages: "es", Life: 48 * 3600, PerHour: 5, Also: []int64{3},
				Network: "192.0.2.0/24", Invites: true, Counted: true}},
		"known": {n.Known(alice, "en", "192.0.2.0/24"),
			shape{Queue: strangers, To: alice.Email, Languages: strange, Life: 600, PerHour: 5, Also: []int64{3},
				Network: "192.0.2.0/24", OfUser: true, Counted: true}},
	} {
		m, c := test.made, opened(t, n, test.made)
		got := shape{Queue: m.Queue, To: c.To, Languages: c.Languages, Life: m.ExpiresAt - m.CreatedAt,
			PerHour: m.Limit.PerHour, Period: m.Limit.Period, Network: m.Network,
			OfUser: oauth.Deref(m.UserID) == alice.ID, Link: oauth.Deref(m.Link) == link.Digest,
			Invites: oauth.Deref(m.Invitation) == invited.ID, Counted: m.Limit.Recipient != ""}
		for _, one := range m.Limit.Also {
			got.Also = append(got.Also, one.PerHour)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if m.DueAt != m.CreatedAt || m.Limit.Most != mostWaiting {
			t.Errorf("%s: due after %d seconds, at most %d", name, m.DueAt-m.CreatedAt, m.Limit.Most)
		}
		if message, err := c.message(); (err != nil) != (c.Asked != "") {
			t.Errorf("%s: %v, %v", name, message, err)
		}
	}
}

// What a message says is that of its kind, with times in the units of its text.
func TestContents(t *testing.T) {
	n := component(t, "127.0.0.1:25", plain)
	for name, test := range map[string]struct {
		made storage.NewMail
		want any
	}{
		"reset":   {n.Reset(alice, link, "", "", "https://link"), Reset{"alice", "https://link", 120}},
		"address": {n.Address(alice, link, "https://link"), Address{"alice", "https://link", 2}},
		"known":   {n.Known(alice, "", ""), Known{"alice", "https://id.example.org/login/"}},
		"sign-up": {n.SignUp(invited, "https://link"), SignUp{"https://link", 48}},
		"invitation": {n.Invitation(invited, "alice", "https://link"),
			Invitation{"alice", "https://link", invited.ExpiresAt}},
	} {
		got, err := opened(t, n, test.made).message()
		if err != nil {
			t.Error(name, err)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	refused := opened(t, n, n.FactorRefused(alice, "Corporate")[0]).Factor
	if refused.Change != FactorRefused || refused.Server != "Corporate" || !strings.HasSuffix(refused.Link, "/account/") {
		t.Error(refused)
	}
}

// Nobody without an address gets a message, and nobody at all without a mail server or without texts.
func TestNobodyToWriteTo(t *testing.T) {
	with := component(t, "127.0.0.1:25", plain)
	silent := component(t, "127.0.0.1:25", nil)
	if !with.On() || silent.On() {
		t.Error("with texts", with.On(), "without", silent.On())
	}
	nowhere := alice
	nowhere.Email = ""
	for name, list := range map[string]func(n *Notices, u storage.User) []storage.NewMail{
		"password": func(n *Notices, u storage.User) []storage.NewMail { return n.PasswordChanged(u) },
		"sign-in":  func(n *Notices, u storage.User) []storage.NewMail { return n.SignedIn(u, "Firefox", "192.0.2.1") },
		"factor":   func(n *Notices, u storage.User) []storage.NewMail { return n.FactorChanged(u, TOTPAdded) },
		"refused":  func(n *Notices, u storage.User) []storage.NewMail { return n.FactorRefused(u, "") },
	} {
		if got := list(with, nowhere); got != nil {
			t.Errorf("%s: a message to nobody", name)
		}
		if got := list(silent, alice); got != nil {
			t.Errorf("%s: a message, and nobody sends it", name)
		}
		if got := list(with, alice); len(got) != 1 {
			t.Errorf("%s: %d messages", name, len(got))
		}
	}
}

// accepted counts how many of some messages the store accepts.
func accepted(t *testing.T, n *Notices, made ...storage.NewMail) int {
	t.Helper()
	count := 0
	for _, m := range made {
		err := n.store.AddMail(t.Context(), m)
		switch {
		case err == nil:
			count++
		case !errors.Is(err, storage.ErrFull):
			t.Fatal(err)
		}
	}
	return count
}

// Whoever asks for links for an address does not keep them from its owner, nor those of another kind from anybody.
func TestLimits(t *testing.T) {
	n := component(t, "127.0.0.1:25", plain)
	times := func(count int, one func() storage.NewMail) (list []storage.NewMail) {
		for range count {
			list = append(list, one())
		}
		return list
	}
	lower, other := alice, alice
	lower.Email = strings.ToLower(alice.Email)
	other.ID, other.Email = "u2", "carol@example.org"
	for _, u := range []storage.User{alice, other} {
		u.Username, u.UsernameKey = u.ID, u.ID
		err := n.store.AddUser(t.Context(), u, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	links := func(u storage.User, network string) func() storage.NewMail {
		return func() storage.NewMail { return n.Known(u, "", network) }
	}
	day := func(u storage.User, server string) func() storage.NewMail {
		return func() storage.NewMail { return n.FactorRefused(u, server)[0] }
	}
	for _, step := range []struct {
		name  string
		made  []storage.NewMail
		wants int
	}{
		{"one network", times(4, links(alice, "192.0.2.0/24")), 3},
		{"another network", times(4, links(lower, "198.51.100.0/24")), 2},
		{"another person", times(1, links(other, "192.0.2.0/24")), 1},
		{"another kind", times(1, func() storage.NewMail {
			return n.to(n.message(address, longestLife, content{To: alice.Email}), alice, nil, linksPerHour)
		}), 1},
		{"a wrong factor", times(2, day(alice, "")), 1},
		{"a wrong factor after another server", times(2, day(alice, "Corporate")), 1},
		{"a wrong factor of another person", times(1, day(other, "")), 1},
		{"requests for accounts of one network", times(6, func() storage.NewMail {
			return n.AskedSignUp("x@example.org", "", "192.0.2.0/24")
		}), 5},
		{"requests for accounts of another", times(1, func() storage.NewMail {
			return n.AskedSignUp("x@example.org", "", "198.51.100.0/24")
		}), 1},
	} {
		if got := accepted(t, n, step.made...); got != step.wants {
			t.Errorf("%s: %d of %d accepted, want %d", step.name, got, len(step.made), step.wants)
		}
	}
}

// Every network has at least one request for an account, and without a limit as many as it likes.
func TestShareOfSignUps(t *testing.T) {
	n := component(t, "127.0.0.1:25", plain)
	for most, want := range map[int][]int64{0: nil, 1: {1}, 9: {1}, 10: {1}, 29: {2}, 1000: {100}} {
		n.config.SignUpsPerHour = most
		m := n.AskedSignUp("bob@example.org", "", "192.0.2.0/24")
		var got []int64
		for _, one := range m.Limit.Also {
			got = append(got, one.PerHour)
		}
		if !slices.Equal(got, want) || (m.Limit.Recipient == "") != (most == 0) {
			t.Errorf("%d an hour: a network has %v, want %v", most, got, want)
		}
	}
}

func TestLanguagesOf(t *testing.T) {
	for _, test := range []struct {
		profile, language string
		others            []string
		want              string
	}{
		{`{"locale":"de-AT"}`, "fr", []string{"en"}, "de-AT fr en"},
		{"", "fr", nil, "fr"},
		{"no JSON", "", []string{"", "en"}, "en"},
		{"{}", "", nil, ""},
	} {
		u := storage.User{Profile: test.profile, Language: test.language}
		if got := languagesOf(u, test.others...); got != test.want {
			t.Errorf("%q, %q: %q, want %q", test.profile, test.language, got, test.want)
		}
	}
}
