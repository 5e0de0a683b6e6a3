package people

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/seal"
	"mandate/storage"
)

func TestFlash(t *testing.T) {
	sealer, err := seal.New(make([]byte, 32), "flash")
	if err != nil {
		t.Fatal(err)
	}
	p := &People{flashes: sealer}
	alice, again := &storage.SignedIn{Session: storage.Session{ID: "one"}},
		&storage.SignedIn{Session: storage.Session{ID: "another"}}
	sealed := p.SealForPage(alice, "secret of x", "shown once")
	for _, test := range []struct {
		rule string
		s    *storage.SignedIn
		page string
		text string
		want string
	}{
		{"it is shown where it belongs", alice, "secret of x", sealed, "shown once"},
		{"not on another page", alice, "secret of y", sealed, ""},
		{"not in another session", again, "secret of x", sealed, ""},
		{"not altered", alice, "secret of x", sealed + "A", ""},
		{"not where there is nothing", alice, "secret of x", "", ""},
	} {
		if got := p.OpenForPage(test.s, test.page, test.text); got != test.want {
			t.Errorf("%s: %q", test.rule, got)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		sealed := p.SealForPage(alice, "secret of x", "shown once")
		for _, want := range []string{"shown once", ""} {
			time.Sleep(flashLife*time.Second/2 + time.Second/2)
			if got := p.OpenForPage(alice, "secret of x", sealed); got != want {
				t.Errorf("after a while: %q, want %q", got, want)
			}
		}
	})
}
