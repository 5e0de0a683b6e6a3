package provider

import (
	"errors"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/seal"
)

func TestSetup(t *testing.T) {
	f := begin(t)
	person := people.Person{Username: "root", Password: goodPassword}
	link, err := f.People.SetupLink(t.Context())
	if err != nil || len(link) < 43 {
		t.Fatal(link, err)
	}
	for _, wrong := range []string{"", "x", link[1:], link + "A", seal.Digest(link)} {
		if err := f.People.CheckSetup(t.Context(), wrong); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("%q: %v", wrong, err)
		}
		if err := f.People.Setup(t.Context(), wrong, person); !errors.Is(err, oauth.ErrNotFound) {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	wantInvalid(t, f.People.Setup(t.Context(), link, people.Person{Username: "root", Password: "short"}), "password")
	wantError(t, f.People.CheckSetup(t.Context(), link), "no error")
	// If many requests use the link at once, exactly one succeeds.
	start := make(chan struct{})
	var wg sync.WaitGroup
	results := make(chan error, 8)
	for i := range 8 {
		wg.Go(func() {
			<-start
			results <- f.People.Setup(t.Context(), link,
				people.Person{Username: "root" + string(rune('a'+i)), Password: goodPassword})
		})
	}
	close(start)
	wg.Wait()
	close(results)
	won := 0
	for err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, oauth.ErrNotFound) {
			t.Error(err)
		}
	}
	people, total, err := f.People.Users(t.Context(), "", 10, 0)
	if err != nil || won != 1 || total != 1 || !people[0].Administrator {
		t.Error(won, total, err)
	}
	// The link cannot be used again.
	link2, err := f.People.SetupLink(t.Context())
	if d := cmp.Diff("", link2); d != "" || err != nil {
		t.Error(d, err)
	}
	if err := f.People.Setup(t.Context(), link, person); !errors.Is(err, oauth.ErrNotFound) {
		t.Error(err)
	}
}

// The setup link is valid for one database. It does not work on another database, or after the
// database was restored to its first state.
func TestSetupLinkIsForOneDatabase(t *testing.T) {
	one, other := begin(t), begin(t)
	again, err := New(t.Context(), testConfig(), one.store, one.log)
	if err != nil {
		t.Fatal(err)
	}
	if linkOf(t, one.Provider) != linkOf(t, again) {
		t.Error("it changes with a restart")
	}
	if linkOf(t, one.Provider) == linkOf(t, other.Provider) {
		t.Error("it is the same for both")
	}
	person := people.Person{Username: "root", Password: goodPassword}
	if err = other.People.Setup(t.Context(), linkOf(t, one.Provider), person); !errors.Is(err, oauth.ErrNotFound) {
		t.Error("another database's link:", err)
	}
	wantError(t, again.People.Setup(t.Context(), linkOf(t, one.Provider), person), "no error")
}

func linkOf(t *testing.T, p *Provider) string {
	t.Helper()
	link, err := p.People.SetupLink(t.Context())
	if err != nil || link == "" {
		t.Fatal(link, err)
	}
	return link
}
