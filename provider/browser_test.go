package provider

import (
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/limits"
	"mandate/provider/people"
	"mandate/storage"
)

// The thief of a known browser's cookie, or of an account, must not sign in without a message after the account was
// reset.
func TestKnownBrowserIsForgotten(t *testing.T) {
	const next = "another few words"
	for name, change := range map[string]func(t *testing.T, f *fixture, u storage.User, s *storage.SignedIn) string{
		"own change of the password": func(t *testing.T, f *fixture, u storage.User, s *storage.SignedIn) string {
			in, err := f.People.ChangePassword(t.Context(), s, people.Passwords{Current: goodPassword, Next: next})
			if err != nil {
				t.Fatal(err)
			}
			f.told()
			f.signedIn(f.People.Login(t.Context(), "alice", next, people.Browser{Address: "192.0.2.1", Device: in.Device}))
			f.says(t, "in the browser that has changed the password")
			return next
		},
		"a link": func(t *testing.T, f *fixture, u storage.User, _ *storage.SignedIn) string {
			wantError(t, f.People.ResetByLink(t.Context(), f.made(u), next), "no error")
			return next
		},
		"passwd": func(t *testing.T, f *fixture, _ storage.User, _ *storage.SignedIn) string {
			wantError(t, f.People.ResetPassword(t.Context(), "alice", next), "no error")
			return next
		},
		"reset-factors": func(t *testing.T, f *fixture, _ storage.User, _ *storage.SignedIn) string {
			wantError(t, f.People.ResetFactors(t.Context(), "alice"), "no error")
			return goodPassword
		},
		"logout": func(t *testing.T, f *fixture, u storage.User, _ *storage.SignedIn) string {
			wantError(t, second(f.People.EndSessions(t.Context(), u.ID)), "no error")
			return goodPassword
		},
		"disable and enable": func(t *testing.T, f *fixture, _ storage.User, _ *storage.SignedIn) string {
			wantError(t, f.People.DisableUser(t.Context(), "alice"), "no error")
			wantError(t, f.People.EnableUser(t.Context(), "alice"), "no error")
			return goodPassword
		},
		"180 days": func(*testing.T, *fixture, storage.User, *storage.SignedIn) string {
			time.Sleep(people.KnownFor)
			return goodPassword
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, mailsTo(nowhere))
				alice := f.addressed("alice")
				in, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "192.0.2.1"})
				s := f.signedIn(in, err)
				f.told()
				known := people.Browser{Address: "192.0.2.1", Device: in.Device}
				f.signedIn(f.People.Login(t.Context(), "alice", goodPassword, known))
				f.says(t, "a known browser")
				password := change(t, f, alice, s)
				f.told()
				// The counter of the known browser is not one of its own any more.
				for range int(limits.Of(limits.OfPair).Tries) {
					_, err = f.People.Login(t.Context(), "alice", "wrong", people.Browser{Address: "198.51.100.1"})
					wantError(t, err, "400 invalid_grant")
				}
				_, err = f.People.Login(t.Context(), "alice", password, people.Browser{Address: "198.51.100.1", Device: in.Device})
				wantError(t, err, "429 temporarily_unavailable")
				f.signedIn(f.People.Login(t.Context(), "alice", password, known))
				f.says(t, "a browser that was known", "sign-in  192.0.2.1")
			})
		})
	}
}

// A mark of another person, or of an older version that bound it to the name alone, makes no browser known.
func TestMarkOfAKnownBrowserIsOfOnePerson(t *testing.T) {
	f := begin(t, mailsTo(nowhere))
	f.addressed("alice")
	f.addressed("bob")
	bob, err := f.People.Login(t.Context(), "bob", goodPassword, home)
	if err != nil {
		t.Fatal(err)
	}
	f.told()
	for name, device := range map[string]string{"of bob": bob.Device,
		"of an older version": f.sealers.devices.Seal([]byte("alice"), "device"), "none": ""} {
		f.signedIn(f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "192.0.2.1", Device: device}))
		f.says(t, name, "sign-in  192.0.2.1")
	}
}

// Whoever knows the password and not the second factor is noticed once a day, whatever the number of guesses.
func TestWrongSecondFactorIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, mailsTo(nowhere))
		f.addressed("alice")
		app, s := f.enrol(f.login("alice"))
		time.Sleep(24*time.Hour - time.Duration(time.Now().Unix()%86400)*time.Second) // the beginning of a day
		f.told()
		wrong := func(by string) {
			_, err := f.second(f.first("alice"), by, "000000")
			wantError(t, err, "400 invalid_grant")
		}
		wrong(people.ByTOTP)
		f.says(t, "the first one", "factor-refused")
		wrong(people.ByTOTP)
		wrong(people.ByRecovery)
		f.says(t, "more on the same day")
		c, err := f.People.StepUp(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(24 * time.Hour)
		_, err = f.People.Answer(t.Context(), c, people.Answer{By: people.ByTOTP, Code: "000000"}, home)
		wantError(t, err, "400 invalid_grant")
		f.says(t, "in a session, whose person is there")
		f.signedIn(f.second(f.first("alice"), people.ByTOTP, app.now()))
		f.says(t, "a right one", "sign-in  192.0.2.1")
		wrong(people.ByRecovery)
		f.says(t, "on the next day", "factor-refused")
	})
}

// With the shortest SESSION_IDLE_SECONDS, a session in use went on only by chance: its last use was stored once a
// minute.
func TestSessionInUseDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.People.SessionIdle = time.Minute })
		f.person("alice")
		in, err := f.People.Login(t.Context(), "alice", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		for _, pause := range []time.Duration{25, 25, 25, 50, 50, 40, 53, 53} {
			time.Sleep(pause * time.Second)
			_, err = f.People.SignedIn(t.Context(), in.Session)
			if err != nil {
				t.Fatalf("after a pause of %d seconds: %v", pause, err)
			}
		}
		time.Sleep(61 * time.Second)
		_, err = f.People.SignedIn(t.Context(), in.Session)
		wantMissing(t, err)
	})
}

// Neighbours behind one address, or in one site, use up the tries of their network at each place. A person who has
// signed in with this browser before still signs in there.
//
// Class: CWE-645, a lockout that somebody else causes.
func TestAttackNeighboursLockKnownBrowsersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		f.login("alice")
		in, err := f.People.Login(t.Context(), "alice", goodPassword, home)
		if err != nil {
			t.Fatal(err)
		}
		known := people.Browser{Address: home.Address, Device: in.Device}
		by, _ := f.passkey(f.login("bob"))
		in, err = f.signInBy(by, home)
		if err != nil {
			t.Fatal(err)
		}
		bobs := people.Browser{Address: home.Address, Device: in.Device}
		app, _ := f.enrol(f.login("carol"))
		in, err = f.second(f.first("carol"), people.ByTOTP, app.now())
		if err != nil {
			t.Fatal(err)
		}
		carols, step, code := people.Browser{Address: home.Address, Device: in.Device}, f.secondStep("carol"), app.now()
		for _, place := range []string{limits.AtPage, limits.AtPasskey, limits.AtFactor, limits.AtServer} {
			for f.limits.CheckOnly(limits.At(place, home.Address)) == nil {
				_, _ = f.limits.Take(limits.At(place, home.Address))
			}
		}
		_, err = f.People.Answer(t.Context(), step, people.Answer{By: people.ByTOTP, Code: code}, home)
		wantKind(t, "control: a code in a new browser", err, "429 temporarily_unavailable")
		_, err = f.People.Answer(t.Context(), step, people.Answer{By: people.ByTOTP, Code: code}, carols)
		wantKind(t, "a code", err, "no error")
		by.Counter++
		_, err = f.signInBy(by, home)
		wantKind(t, "control: a passkey in a new browser", err, "429 temporarily_unavailable")
		_, err = f.signInBy(by, bobs)
		wantKind(t, "a passkey", err, "no error")
		_, err = f.People.Login(t.Context(), "alice", goodPassword, home)
		wantKind(t, "control: a password in a new browser", err, "429 temporarily_unavailable")
		_, err = f.People.Login(t.Context(), "alice", goodPassword, known)
		wantKind(t, "a password", err, "no error")
		_, err = f.People.Login(t.Context(), "bob", "wrong", known)
		wantKind(t, "the password of somebody else", err, "429 temporarily_unavailable")
	})
}

// A response without a ticket of this server costs nothing, so it uses up nothing.
func TestForgedTicketsOfPasskeysDoNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		by, _ := f.passkey(f.login("alice"))
		for range 2 * limits.Of(limits.OfAddress).Tries {
			_, err := f.Passkeys.SignIn(t.Context(), people.Response{Ticket: "forged", JSON: "{}"}, chrome, home)
			wantKind(t, "a forged ticket", err, refusal)
		}
		_, err := f.signInBy(by, home)
		wantKind(t, "a passkey", err, "no error")
	})
}

// Whoever has signed in with a stolen password has the cookies of browsers that were known until the password changed.
// They use up nothing of the browsers that are known now.
//
// Class: CWE-645, a lockout that somebody else causes.
func TestAttackFormerBrowsersLockKnownBrowsersOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice := f.login("alice")
		var stolen []string
		for range 2 * limits.Of(limits.OfAccount).Tries / limits.Of(limits.OfBrowser).Tries {
			in, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "198.51.100.1"})
			if err != nil {
				t.Fatal(err)
			}
			stolen = append(stolen, in.Device)
		}
		in, err := f.People.ChangePassword(t.Context(), alice,
			people.Passwords{Current: goodPassword, Next: "another few words"})
		alice = f.signedIn(in, err)
		by, _ := f.passkey(alice)
		for _, device := range stolen {
			for range limits.Of(limits.OfBrowser).Tries {
				bad := f.answered(by)
				bad.JSON = "{}"
				_, _ = f.Passkeys.SignIn(t.Context(), bad, chrome, people.Browser{Address: "198.51.100.1", Device: device})
			}
		}
		_, err = f.signInBy(by, people.Browser{Address: home.Address, Device: stolen[0]})
		wantKind(t, "control: a passkey in a browser that was known", err, "429 temporarily_unavailable")
		_, err = f.signInBy(by, people.Browser{Address: home.Address, Device: in.Device})
		wantKind(t, "a passkey in a known browser", err, "no error")
	})
}

// Whoever has the password makes any number of known browsers. Together they have as many tries as the account.
func TestAttackManyKnownBrowsers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice := f.login("alice")
		var known []people.Browser
		for range 2 * limits.Of(limits.OfAccount).Tries / limits.Of(limits.OfBrowser).Tries {
			in, err := f.People.Login(t.Context(), "alice", goodPassword, home)
			if err != nil || in.Device == "" {
				t.Fatal(in, err)
			}
			known = append(known, people.Browser{Address: home.Address, Device: in.Device})
		}
		by, _ := f.passkey(alice)
		tried := 0
		for _, b := range known {
			for range limits.Of(limits.OfBrowser).Tries {
				bad := f.answered(by)
				bad.JSON = "{}"
				_, err := f.Passkeys.SignIn(t.Context(), bad, chrome, b)
				if kind(err) == refusal {
					tried++
				}
			}
		}
		if tried != limits.Of(limits.OfAccount).Tries {
			t.Errorf("%d tries", tried)
		}
	})
}
