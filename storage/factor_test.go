package storage

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// withTOTP stores a person with an authenticator app and recovery codes.
func (w world) withTOTP(t *testing.T, name string) (User, TOTP) {
	t.Helper()
	u := w.person(t, name)
	app := TOTP{u.ID, "sealed " + name, at, 100}
	n := newSession(u.ID)
	n.Factor.New = &app
	must(t, w.AddSession(t.Context(), n, "", u.Password, 0))
	must(t, w.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{name + " 1", name + " 2"}, at, Ways{Passkeys: true}))
	return u, app
}

// showing stores a session of somebody who has shown a factor.
func (w world) showing(t *testing.T, u User, f FactorUse) error {
	t.Helper()
	n := newSession(u.ID)
	n.Factor = f
	return w.AddSession(t.Context(), n, "", u.Password, 0)
}

func TestFactors(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, app := w.withTOTP(t, "alice")
		bob := w.person(t, "bob")
		for _, test := range []struct {
			who  User
			want Factors
		}{{alice, Factors{TOTPSince: at, RecoveryCodes: 2}}, {bob, Factors{}}} {
			got, err := w.Factors(t.Context(), test.who.ID)
			must(t, err)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(test.who.Username, diff)
			}
		}
		got, err := w.TOTP(t.Context(), alice.ID)
		must(t, err)
		if diff := cmp.Diff(app, got); diff != "" {
			t.Error(diff)
		}
		_, err = w.TOTP(t.Context(), bob.ID)
		is(t, "the app of somebody without one", err, ErrNotFound)
		is(t, "a second app", w.showing(t, alice, FactorUse{New: &TOTP{alice.ID, "other", at, 1}}), ErrFactorUsed)
	})
}

// RFC 6238 §5.2: a code is accepted once.
func TestTOTPStepIsUsedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, app := w.withTOTP(t, "alice")
		bob, _ := w.withTOTP(t, "bob")
		step := func(n int64, secret string) FactorUse { return FactorUse{TOTP: &TOTP{Secret: secret, LastStep: n}} }
		is(t, "the step of the enrolment", w.showing(t, alice, step(100, app.Secret)), ErrFactorUsed)
		is(t, "an earlier step", w.showing(t, alice, step(99, app.Secret)), ErrFactorUsed)
		is(t, "the secret of an app that was replaced", w.showing(t, alice, step(101, "old")), ErrFactorUsed)
		is(t, "somebody else's secret", w.showing(t, bob, step(101, app.Secret)), ErrFactorUsed)
		before := count(t, w.Store, `SELECT COUNT(*) FROM sessions WHERE user_id = $1`, alice.ID)
		accepted := 0
		for _, err := range race(16, func(int) error { return w.showing(t, alice, step(101, app.Secret)) }) {
			if err == nil {
				accepted++
			} else {
				is(t, "a step that was used meanwhile", err, ErrFactorUsed)
			}
		}
		if accepted != 1 {
			t.Errorf("one step was accepted %d times", accepted)
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM sessions WHERE user_id = $1`, alice.ID); n != before+1 {
			t.Errorf("one step began %d sessions", n-before)
		}
		is(t, "the next step", w.showing(t, alice, step(102, app.Secret)), nil)
	})
}

func TestRecoveryCodeIsUsedOnce(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, _ := w.withTOTP(t, "alice")
		bob, _ := w.withTOTP(t, "bob")
		is(t, "somebody else's code", w.showing(t, bob, FactorUse{Recovery: "alice 1"}), ErrFactorUsed)
		is(t, "an unknown code", w.showing(t, alice, FactorUse{Recovery: "alice 3"}), ErrFactorUsed)
		accepted := 0
		for _, err := range race(16, func(int) error { return w.showing(t, alice, FactorUse{Recovery: "alice 1"}) }) {
			if err == nil {
				accepted++
			} else {
				is(t, "a code that was used meanwhile", err, ErrFactorUsed)
			}
		}
		if accepted != 1 {
			t.Errorf("one code was accepted %d times", accepted)
		}
		// A session that is not stored uses no code.
		n := newSession(alice.ID)
		n.Factor.Recovery = "alice 2"
		is(t, "after the password was changed", w.AddSession(t.Context(), n, "", "other hash", 0), ErrSpent)
		got, err := w.Factors(t.Context(), alice.ID)
		must(t, err)
		if got.RecoveryCodes != 1 {
			t.Errorf("%d codes are left, want 1", got.RecoveryCodes)
		}
	})
}

func TestRecoveryCodesAreReplaced(t *testing.T) {
	eachIsolation(t, func(t *testing.T, w world) {
		alice, _ := w.withTOTP(t, "alice")
		n := w.session(t, alice.ID)
		is(t, "somebody without a second factor",
			w.ReplaceRecoveryCodes(t.Context(), renewal(w.session(t, w.person(t, "bob").ID)), []string{"bob 1"}, at,
				Ways{Passkeys: true}), ErrNotFound)
		for _, err := range race(8, func(i int) error {
			return w.ReplaceRecoveryCodes(t.Context(), renewal(n),
				[]string{fmt.Sprint("new ", i, "a"), fmt.Sprint("new ", i, "b"), fmt.Sprint("new ", i, "c")}, at,
				Ways{Passkeys: true})
		}) {
			must(t, err)
		}
		got, err := w.Factors(t.Context(), alice.ID)
		must(t, err)
		if got.RecoveryCodes != 3 {
			t.Errorf("%d codes, want 3", got.RecoveryCodes)
		}
		is(t, "an old code", w.showing(t, alice, FactorUse{Recovery: "alice 1"}), ErrFactorUsed)
	})
}

func TestFactorsAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, _ := w.withTOTP(t, "alice")
		bob, _ := w.withTOTP(t, "bob")
		gone := func(name string, u User) {
			t.Helper()
			got, err := w.Factors(t.Context(), u.ID)
			must(t, err)
			if diff := cmp.Diff(Factors{}, got); diff != "" {
				t.Error(name, diff)
			}
		}
		n := w.session(t, alice.ID)
		must(t, w.RemoveTOTP(t.Context(), renewal(n), Ways{Passkeys: true}))
		gone("removed", alice)
		is(t, "removed again", w.RemoveTOTP(t.Context(), renewal(n), Ways{Passkeys: true}), ErrNotFound)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM sessions WHERE user_id = $1`, alice.ID); n != 2 {
			t.Errorf("%d sessions after the removal, want 2", n)
		}
		n = w.session(t, bob.ID)
		must(t, w.ResetFactors(t.Context(), bob.ID, at))
		gone("reset", bob)
		_, err := w.SessionByDigest(t.Context(), n.Digest, at, 0)
		is(t, "a session after the reset", err, ErrNotFound)
		is(t, "somebody unknown", w.ResetFactors(t.Context(), "nobody", at), ErrNotFound)
		carol, _ := w.withTOTP(t, "carol")
		must(t, w.DeleteUser(t.Context(), carol.ID, at, Handover{Delete: true}))
		gone("deleted", carol)
	})
}

func TestSessionBecomesStronger(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, app := w.withTOTP(t, "alice")
		weak := newSession(alice.ID)
		weak.AMR = "pwd"
		must(t, w.AddSession(t.Context(), weak, "", alice.Password, 0))
		strong := weak
		strong.Digest, strong.AMR, strong.Factor = "new digest", "pwd otp",
			FactorUse{TOTP: &TOTP{Secret: app.Secret, LastStep: 200}}
		other := strong
		other.UserID = w.person(t, "bob").ID
		is(t, "the session of somebody else", w.StrengthenSession(t.Context(), Renewal{other.ID, weak.Digest, other}),
			ErrSpent)
		is(t, "another digest", w.StrengthenSession(t.Context(), Renewal{strong.ID, "unknown", strong}), ErrSpent)
		must(t, w.StrengthenSession(t.Context(), Renewal{strong.ID, weak.Digest, strong}))
		got, err := w.SessionByDigest(t.Context(), strong.Digest, at, 0)
		must(t, err)
		strong.Factor = FactorUse{}
		if diff := cmp.Diff(strong, got.Session); diff != "" {
			t.Error(diff)
		}
		_, err = w.SessionByDigest(t.Context(), weak.Digest, at, 0)
		is(t, "the old cookie", err, ErrNotFound)
		// A code that was used changes nothing.
		again := strong
		again.Digest, again.AMR, again.Factor = "newer digest", "pwd otp pop",
			FactorUse{TOTP: &TOTP{Secret: app.Secret, LastStep: 200}}
		is(t, "a code that was used", w.StrengthenSession(t.Context(), Renewal{again.ID, strong.Digest, again}),
			ErrFactorUsed)
		_, err = w.SessionByDigest(t.Context(), strong.Digest, at, 0)
		is(t, "the cookie after that", err, nil)
		// A person who signs in again in the same browser has the methods of this sign-in.
		renewed := newSession(alice.ID)
		renewed.AMR = "pwd"
		must(t, w.AddSession(t.Context(), renewed, strong.Digest, alice.Password, 0))
		got, err = w.SessionByDigest(t.Context(), renewed.Digest, at, 0)
		must(t, err)
		if got.Session.ID != weak.ID || got.Session.AMR != "pwd" {
			t.Error(got.Session)
		}
	})
}

func TestFactorDueIsSetOnce(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice := w.person(t, "alice")
		for _, due := range []int64{later, at} {
			got, err := w.FactorDue(t.Context(), alice.ID, due)
			must(t, err)
			if got != later {
				t.Errorf("due %d, want %d", got, later)
			}
		}
		u, err := w.UserByID(t.Context(), alice.ID)
		must(t, err)
		if u.FactorDueAt != later {
			t.Error(u.FactorDueAt)
		}
		_, err = w.FactorDue(t.Context(), "nobody", later)
		is(t, "somebody unknown", err, ErrNotFound)
	})
}

// The account of another server that a thief has added must not survive a reset, and nobody must be locked out by one.
func TestResetRemovesIdentitiesOfAPersonWithAPassword(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, bob, carol := w.person(t, "alice"), w.person(t, "bob"), w.person(t, "carol")
		w.identity(t, w.session(t, alice.ID))
		w.identity(t, w.session(t, alice.ID))
		w.identity(t, w.session(t, bob.ID))
		w.identity(t, w.session(t, carol.ID))
		_, err := w.exec(t.Context(), `UPDATE users SET password = '' WHERE id = $1`, bob.ID)
		must(t, err)
		for u, want := range map[User]int{alice: 0, bob: 1} {
			must(t, w.ResetFactors(t.Context(), u.ID, at))
			left, err := w.IdentitiesOf(t.Context(), u.ID)
			must(t, err)
			had, err := w.HadIdentity(t.Context(), u.ID, "https://company.example")
			if len(left) != want || !had || err != nil {
				t.Errorf("%s: %d identities, want %d; had one: %t, %v", u.Username, len(left), want, had, err)
			}
		}
		left, err := w.IdentitiesOf(t.Context(), carol.ID)
		if len(left) != 1 || err != nil {
			t.Error("somebody else:", left, err)
		}
	})
}

// A mark of a known browser names the generation, so each of these makes it useless, and nothing else does.
func TestBrowsersAreForgotten(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		u, other := w.person(t, "alice"), w.person(t, "bob")
		for n, change := range []func() error{
			func() error { return w.SetPassword(t.Context(), u.ID, "new", at) },
			func() error {
				return w.ChangePassword(t.Context(), "new", "newer", at, renewal(w.session(t, u.ID)), true)
			},
			func() error { return w.ResetFactors(t.Context(), u.ID, at) },
			func() error { return second(w.EndSessions(t.Context(), u.ID, at)) },
			func() error { return w.DisableUser(t.Context(), u.ID, at) },
			func() error { return w.EnableUser(t.Context(), u.ID, at) },
		} {
			must(t, change())
			got, err := w.UserByID(t.Context(), u.ID)
			must(t, err)
			if got.Active {
				must(t, w.EndSession(t.Context(), u.ID, w.session(t, u.ID).ID, at, false))
			}
			got, err = w.UserByID(t.Context(), u.ID)
			must(t, err)
			if got.Generation != int64(n)+1 {
				t.Errorf("change %d: generation %d", n, got.Generation)
			}
		}
		got, err := w.UserByID(t.Context(), other.ID)
		if got.Generation != 0 || err != nil {
			t.Error("somebody else:", got.Generation, err)
		}
	})
}

// A passkey that browsers do not offer at the address of this server must keep nobody from the first authenticator app,
// and must not keep the recovery codes of an app that is gone.
func TestPasskeyThatIsNotOfferedIsNoFactor(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		offered, not := Ways{Passkeys: true}, Ways{}
		alice := w.person(t, "alice")
		n := w.session(t, alice.ID)
		w.passkey(t, n)
		first := func(ways Ways) FactorUse {
			return FactorUse{New: &TOTP{UserID: alice.ID, Secret: "s", CreatedAt: at, LastStep: 1}, First: &ways}
		}
		is(t, "recovery codes for nothing", w.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{"none"}, at, not),
			ErrNotFound)
		is(t, "the first app beside a passkey", w.showing(t, alice, first(offered)), ErrFactorUsed)
		is(t, "the first app", w.showing(t, alice, first(not)), nil)
		is(t, "another first app", w.showing(t, alice, first(not)), ErrFactorUsed)

		for what, test := range map[string]struct {
			ways Ways
			left int
		}{"of the passkey": {offered, 1}, "of the app alone": {not, 0}} {
			must(t, w.ReplaceRecoveryCodes(t.Context(), renewal(n), []string{what}, at, test.ways))
			must(t, w.RemoveTOTP(t.Context(), renewal(n), test.ways))
			f, err := w.Factors(t.Context(), alice.ID)
			must(t, err)
			if f.RecoveryCodes != test.left {
				t.Errorf("%d recovery codes %s are left, want %d", f.RecoveryCodes, what, test.left)
			}
			is(t, "the app once more", w.showing(t, alice, first(not)), nil)
		}
	})
}
