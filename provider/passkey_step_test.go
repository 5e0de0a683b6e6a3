package provider

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/acr"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/throttle"
)

// secondStep types the right password, and returns the challenge of the second step.
func (f *fixture) secondStep(name string) *people.Challenge {
	f.t.Helper()
	in, err := f.People.Login(f.t.Context(), name, goodPassword, people.Browser{Address: "192.0.2.1"})
	if err != nil || in.Session != "" || in.Ticket == "" {
		f.t.Fatalf("the password suffices: %+v, %v", in, err)
	}
	c, err := f.People.SecondStep(f.t.Context(), in.Ticket)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

func TestPasskeyAsSecondFactor(t *testing.T) {
	f := begin(t)
	alice, bob := f.login("alice"), f.login("bob")
	by, stored := f.passkey(alice)
	his, _ := f.passkey(bob)
	if !acr.Satisfies(alice.Session.AMR, acr.Passkey) {
		t.Error("the session in which the passkey was made has", alice.Session.AMR)
	}
	c := f.secondStep("alice")
	if ways := c.Ways(""); !slices.Equal(ways, []string{people.ByPasskey}) {
		t.Error(ways)
	}
	ask := func(c *people.Challenge) people.Ceremony {
		asked, err := f.Passkeys.AskForStep(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	asked := ask(c)
	answer := func(c *people.Challenge, r people.Response) (*people.SignIn, error) {
		return f.Passkeys.Answer(t.Context(), c, r, people.Browser{Address: "192.0.2.1"})
	}
	wantError(t, second(answer(c, people.Response{Ticket: asked.Ticket, JSON: his.Get(asked.Options)})), refusal)
	wantError(t, second(answer(f.secondStep("bob"), people.Response{Ticket: asked.Ticket, JSON: his.Get(asked.Options)})),
		refusal)
	wantError(t, second(answer(c, f.answered(by))), refusal) // to the request of the login page
	again := f.secondStep("alice")
	// to another sign-in
	wantError(t, second(answer(again, people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)})), refusal)
	r := people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)}
	in, err := answer(c, r)
	if err != nil {
		t.Fatal(err)
	}
	s, err := f.People.SignedIn(t.Context(), in.Session)
	if err != nil || s.User.ID != alice.User.ID || !acr.Satisfies(s.Session.AMR, acr.Passkey) ||
		!slices.Contains(acr.Methods(s.Session.AMR), "pwd") {
		t.Error(s, err)
	}
	by.Counter++
	wantError(t, second(answer(c, r)), refusal) // the response is used

	// The passkey is removed. The password alone is enough again.
	err = second(f.Passkeys.Remove(t.Context(), s, stored.ID))
	if err != nil {
		t.Fatal(err)
	}
	asked = ask(again)
	wantError(t, second(answer(again, people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)})), refusal)
	f.login("alice")
}

// A session by the password, and then by a code, is not as strong as one by a passkey.
func TestPasskeyStrengthensASession(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	c, err := f.People.StepUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if ways := c.Ways(acr.Passkey); !slices.Equal(ways, []string{people.ByNewPasskey}) {
		t.Error("no passkey:", ways)
	}
	if ways := c.Ways(acr.MFA); !slices.Equal(ways, []string{people.ByNewTOTP}) {
		t.Error("no factor:", ways)
	}
	old := *s
	by, _ := f.passkey(s)
	c, err = f.People.StepUp(t.Context(), &old)
	if err != nil {
		t.Fatal(err)
	}
	if ways := c.Ways(acr.PhishingResistant); !slices.Equal(ways, []string{people.ByPasskey}) {
		t.Error("a passkey:", ways)
	}
	asked, err := f.Passkeys.AskForStep(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	// The old cookie of the session does not become stronger.
	_, err = f.Passkeys.Answer(t.Context(), c, people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)},
		people.Browser{})
	if !errors.Is(err, oauth.ErrNotFound) {
		t.Error(err)
	}
}

// At an address at which browsers offer no passkeys, nobody needs one.
func TestPasskeyThatCannotBeUsedIsNoFactor(t *testing.T) {
	f := begin(t)
	f.passkey(f.login("alice"))
	config := f.config
	config.Issuer = "http://192.0.2.1/o"
	p, err := New(t.Context(), config, f.store, f.log)
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.People.ACRValues(), acr.Passkey) || p.Passkeys.Offered() {
		t.Error("passkeys are offered")
	}
	in, err := p.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "192.0.2.1"})
	if err != nil || in.Session == "" {
		t.Error(in, err)
	}
}

// Somebody whose only passkey cannot be used at this address, and who must have a second factor, adds an authenticator
// app at the sign-in. Otherwise nobody but an administrator could help them.
func TestFirstAppBesideAPasskeyThatCannotBeUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		f.passkey(f.login("alice"))
		config := f.config
		config.Issuer, config.People.SecondFactor = "http://192.0.2.1/o", people.SecondFactorEverybody
		p, err := New(t.Context(), config, f.store, f.log)
		if err != nil {
			t.Fatal(err)
		}
		f.Provider = p
		_, s := f.firstApp(f.secondStep("alice"))
		if s.Session.AMR != "pwd otp" {
			t.Error(s.Session.AMR)
		}
	})
}

// CWE-770: a person with a passkey who has signed in more often than anybody does stores nothing more, and neither at
// the second step nor for a stronger session.
func TestAttackPasskeysBeyondTheLimitStoreRows(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	by, _ := f.passkey(s)
	step := func(c *people.Challenge) error {
		asked, err := f.Passkeys.AskForStep(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		by.Counter++
		_, err = f.Passkeys.Answer(t.Context(), c, people.Response{Ticket: asked.Ticket, JSON: by.Get(asked.Options)}, home)
		return err
	}
	stronger, err := f.People.StepUp(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	waits := f.secondStep("alice")
	for range limits.Of(limits.OfOwnChange).Tries {
		f.limits.Tries.Take(throttle.Try{Kind: limits.OfOwnChange, Key: "sign-in " + s.User.ID})
	}
	before, sessions := f.count("seen"), f.count("sessions")
	for range 3 {
		by.Counter++
		_, err := f.signInBy(by, home)
		wantError(t, err, "429 temporarily_unavailable")
		wantError(t, step(waits), "429 temporarily_unavailable")
		wantError(t, step(stronger), "429 temporarily_unavailable")
	}
	if rows := f.count("seen") - before; rows != 0 || f.count("sessions") != sessions {
		t.Errorf("%d rows, %d sessions after %d", rows, f.count("sessions"), sessions)
	}
}

// The codes of an app too: a right code beyond the limit of sign-ins is not used.
func TestCodeBeyondTheLimitOfSignInsIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		p, s := f.enrol(f.login("alice"))
		c := f.secondStep("alice")
		try := throttle.Try{Kind: limits.OfOwnChange, Key: "sign-in " + s.User.ID}
		answer := people.Answer{By: people.ByTOTP, Code: p.now()} // it waits for a new code
		for range limits.Of(limits.OfOwnChange).Tries {
			f.limits.Tries.Take(try)
		}
		wantError(t, second(f.People.Answer(t.Context(), c, answer, home)), "429 temporarily_unavailable")
		time.Sleep(10 * time.Second)
		wantError(t, second(f.People.Answer(t.Context(), c, answer, home)), "no error") // the same code
	})
}
