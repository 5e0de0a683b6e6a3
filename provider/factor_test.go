package provider

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/acr"
	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/provider/totp"
	"mandate/storage"
)

var home = people.Browser{Address: "192.0.2.1"}

// phone is an authenticator app.
type phone struct {
	f      *fixture
	secret string
}

// now returns the code that the app shows. The time moves to the next step first, because each code
// is accepted once.
func (p phone) now() string {
	p.f.t.Helper()
	time.Sleep(30 * time.Second)
	code, err := totp.Code(p.secret, totp.Step(oauth.Now()))
	if err != nil {
		p.f.t.Fatal(err)
	}
	return code
}

// enrol adds an authenticator app in a session, which becomes stronger.
func (f *fixture) enrol(s *storage.SignedIn) (phone, *storage.SignedIn) {
	f.t.Helper()
	c, err := f.People.StepUp(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
	return f.firstApp(c)
}

// firstApp adds an authenticator app in answer to a challenge.
func (f *fixture) firstApp(c *people.Challenge) (phone, *storage.SignedIn) {
	f.t.Helper()
	app, err := f.People.NewTOTP(c)
	if err != nil {
		f.t.Fatal(err)
	}
	made := phone{f, strings.ReplaceAll(app.Secret, " ", "")}
	return made, f.signedIn(f.People.Answer(f.t.Context(), c,
		people.Answer{By: people.ByNewTOTP, Code: made.now(), Secret: app.Sealed}, home))
}

// signedIn returns the session of a SignIn.
func (f *fixture) signedIn(in *people.SignIn, err error) *storage.SignedIn {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
	s, err := f.People.SignedIn(f.t.Context(), in.Session)
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

// first does the first step of a sign-in, after which there is no session.
func (f *fixture) first(name string) string {
	f.t.Helper()
	in, err := f.People.Login(f.t.Context(), name, goodPassword, home)
	if err != nil {
		f.t.Fatal(err)
	}
	if in.Session != "" || in.Device != "" || in.Ticket == "" {
		f.t.Fatalf("the password alone gives %+v", in)
	}
	return in.Ticket
}

// second does the second step.
func (f *fixture) second(ticket, by, code string) (*people.SignIn, error) {
	c, err := f.People.SecondStep(f.t.Context(), ticket)
	if err != nil {
		return nil, err
	}
	return f.People.Answer(f.t.Context(), c, people.Answer{By: by, Code: code}, home)
}

func isError(t testing.TB, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v, want %v", what, err, want)
	}
}

func TestSignInInTwoSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s := f.enrol(f.login("alice"))
		if s.Session.AMR != "pwd otp" || acr.Of(s.Session.AMR) != acr.MFA {
			t.Error("after the enrolment:", s.Session.AMR)
		}
		sessions := f.count("sessions")
		ticket := f.first("alice")
		for _, test := range []struct{ rule, by, code, want string }{
			{"a wrong code", people.ByTOTP, "000000", "400 invalid_grant"},
			{"no code", people.ByTOTP, "", "400 invalid_grant"},
			{"no way", "", app.now(), "400 invalid_grant"},
			{"a recovery code that nobody has", people.ByRecovery, "abcd-efgh-ijkl-mnop", "400 invalid_grant"},
			{"another app while there is one", people.ByNewTOTP, app.now(), "400 invalid_grant"},
		} {
			_, err := f.second(ticket, test.by, test.code)
			if got := kind(err); got != test.want {
				t.Errorf("%s: %s", test.rule, got)
			}
		}
		if n := f.count("sessions"); n != sessions {
			t.Errorf("%d sessions before the second step", n-sessions)
		}
		code := app.now()
		in, err := f.second(ticket, people.ByTOTP, code)
		s = f.signedIn(in, err)
		if s.Session.AMR != "pwd otp" || s.Session.AuthTime != oauth.Now() || in.Device == "" {
			t.Errorf("%+v %+v", s.Session, in)
		}
		// RFC 6238 §5.2: a code is accepted once.
		_, err = f.second(f.first("alice"), people.ByTOTP, code)
		wantError(t, err, "400 invalid_grant")
	})
}

func TestTicketOfTheFirstStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s := f.enrol(f.login("alice"))
		ticket := f.first("alice")
		_, err := f.People.SignedIn(t.Context(), ticket)
		isError(t, "as a session", err, oauth.ErrNotFound)
		for name, wrong := range map[string]string{"none": "", "forged": ticket + "A",
			"another purpose": f.sealers.tickets.Seal([]byte(`{}`), "second step"),
			"a device":        f.sealers.devices.Seal([]byte("alice"), "device")} {
			_, err = f.People.SecondStep(t.Context(), wrong)
			isError(t, name, err, oauth.ErrNotFound)
		}
		time.Sleep(people.SignInLife + time.Second)
		_, err = f.second(ticket, people.ByTOTP, app.now())
		isError(t, "after ten minutes", err, oauth.ErrNotFound)
		ticket = f.first("alice")
		c, err := f.People.SecondStep(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		if err := second(f.People.ChangePassword(t.Context(), s,
			people.Passwords{Current: goodPassword, Next: "other words in a row"})); err != nil {
			t.Fatal(err)
		}
		_, err = f.People.SecondStep(t.Context(), ticket)
		isError(t, "after the password was changed", err, oauth.ErrNotFound)
		_, err = f.People.Answer(t.Context(), c, people.Answer{By: people.ByTOTP, Code: app.now()}, home)
		isError(t, "and while it was changed", err, oauth.ErrNotFound)
		if err := f.People.ResetPassword(t.Context(), "alice", goodPassword); err != nil {
			t.Fatal(err)
		}
		ticket = f.first("alice")
		if err := f.People.DisableUser(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		_, err = f.second(ticket, people.ByTOTP, app.now())
		isError(t, "of a disabled account", err, oauth.ErrNotFound)
		if err := f.People.EnableUser(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		ticket = f.first("alice")
		if err := f.People.ResetFactors(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		_, err = f.People.SecondStep(t.Context(), ticket)
		isError(t, "after the factor was removed", err, oauth.ErrNotFound)
	})
}

func TestRecoveryCodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		_, _, err := f.People.NewRecoveryCodes(t.Context(), f.login("bob"))
		isError(t, "without a second factor", err, oauth.ErrNotFound)
		_, s := f.enrol(f.login("alice"))
		codes, _, err := f.People.NewRecoveryCodes(t.Context(), s)
		if err != nil || len(codes) != 10 {
			t.Fatal(codes, err)
		}
		for _, code := range codes {
			plain := strings.ReplaceAll(code, "-", "")
			if f.contains(code) || f.contains(plain) || f.contains(strings.ToUpper(plain)) {
				t.Error("the database has the code itself")
			}
		}
		in, err := f.second(f.first("alice"), people.ByRecovery,
			" \u200e"+strings.ToUpper(strings.ReplaceAll(codes[3], "-", "\u2011\u00a0"))+" ")
		if got := f.signedIn(in, err).Session.AMR; got != "pwd otp" {
			t.Error(got)
		}
		_, err = f.second(f.first("alice"), people.ByRecovery, codes[3])
		wantError(t, err, "400 invalid_grant")
		f.enrol(f.login("bob"))
		_, err = f.second(f.first("bob"), people.ByRecovery, codes[4])
		wantError(t, err, "400 invalid_grant")
		again, _, err := f.People.NewRecoveryCodes(t.Context(),
			f.signedIn(f.second(f.first("alice"), people.ByRecovery, codes[5])))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.second(f.first("alice"), people.ByRecovery, codes[6])
		wantError(t, err, "400 invalid_grant")
		_, err = f.second(f.first("alice"), people.ByRecovery, again[0])
		wantError(t, err, "no error")
	})
}

// Somebody else could use a browser that was left open, or a stolen cookie.
func TestFactorsNeedAFreshSignIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		before := f.login("alice")
		time.Sleep(5*time.Minute + time.Second)
		c, err := f.People.StepUp(t.Context(), before)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.People.NewTOTP(c)
		isError(t, "adding an app in an old session", err, people.ErrConfirm)
		_, err = f.People.Answer(t.Context(), c, people.Answer{By: people.ByNewTOTP, Code: "000000", Secret: "x"}, home)
		isError(t, "the answer in an old session", err, people.ErrConfirm)
		weak := f.login("alice")
		app, s := f.enrol(f.login("alice"))
		_, _, err = f.People.NewRecoveryCodes(t.Context(), weak)
		isError(t, "codes after the password alone", err, people.ErrConfirm)
		isError(t, "removal after the password alone", second(f.People.RemoveTOTP(t.Context(), weak)), people.ErrConfirm)
		time.Sleep(5 * time.Minute)
		_, _, err = f.People.NewRecoveryCodes(t.Context(), s)
		isError(t, "codes in an old session", err, people.ErrConfirm)
		isError(t, "removal in an old session", second(f.People.RemoveTOTP(t.Context(), s)), people.ErrConfirm)
		// A step-up does not make a sign-in fresh: the cookie may be stolen, and one code be guessed.
		c, err = f.People.StepUp(t.Context(), weak)
		if err != nil {
			t.Fatal(err)
		}
		stronger := f.signedIn(f.People.Answer(t.Context(), c, people.Answer{By: people.ByTOTP, Code: app.now()}, home))
		if stronger.Session.AuthTime != weak.Session.AuthTime || stronger.Session.ID != weak.Session.ID ||
			stronger.Session.AMR != "pwd otp" || stronger.Session.Digest == weak.Session.Digest {
			t.Errorf("%+v", stronger.Session)
		}
		isError(t, "removal after a step-up", second(f.People.RemoveTOTP(t.Context(), stronger)), people.ErrConfirm)
		fresh := f.signedIn(f.second(f.first("alice"), people.ByTOTP, app.now()))
		isError(t, "removal after a fresh sign-in", second(f.People.RemoveTOTP(t.Context(), fresh)), nil)
		f.login("alice") // the password suffices again
	})
}

// The secret of a new app is bound to the person and the session, and valid for ten minutes.
func TestNewTOTP(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alice, other, bob := f.login("alice"), f.login("bob"), f.login("bob")
		challenge := func(s *storage.SignedIn) *people.Challenge {
			c, err := f.People.StepUp(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		made, err := f.People.NewTOTP(challenge(bob))
		if err != nil {
			t.Fatal(err)
		}
		bobs := phone{f, strings.ReplaceAll(made.Secret, " ", "")}
		for name, s := range map[string]*storage.SignedIn{"another person": alice, "another session": other} {
			_, err = f.People.Answer(t.Context(), challenge(s),
				people.Answer{By: people.ByNewTOTP, Code: bobs.now(), Secret: made.Sealed}, home)
			if kind(err) != "400 invalid_grant" {
				t.Error(name, err)
			}
		}
		again, err := f.People.SameTOTP(challenge(bob), made.Sealed)
		if err != nil || again != made {
			t.Error("after a wrong code there is another secret", err)
		}
		again, err = f.People.SameTOTP(challenge(bob), "forged")
		if err != nil || again.Sealed == "forged" || again.Secret == made.Secret {
			t.Error(again, err)
		}
		_, err = f.People.Answer(t.Context(), challenge(bob),
			people.Answer{By: people.ByNewTOTP, Code: "000000", Secret: made.Sealed}, home)
		wantError(t, err, "400 invalid_grant")
		if f.count("totps") != 0 {
			t.Error("an app was stored without its first code")
		}
		old, err := f.People.NewTOTP(challenge(other))
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(people.SignInLife)
		other.Session.AuthTime = oauth.Now() // in the same session, the person has signed in again
		_, err = f.People.Answer(t.Context(), challenge(other),
			people.Answer{By: people.ByNewTOTP, Code: phone{f, strings.ReplaceAll(old.Secret, " ", "")}.now(),
				Secret: old.Sealed}, home)
		wantError(t, err, "400 invalid_grant")
		made, err = f.People.NewTOTP(challenge(other))
		if err != nil {
			t.Fatal(err)
		}
		bob, bobs = other, phone{f, strings.ReplaceAll(made.Secret, " ", "")}
		f.signedIn(f.People.Answer(t.Context(), challenge(bob),
			people.Answer{By: people.ByNewTOTP, Code: bobs.now(), Secret: made.Sealed}, home))
		if f.contains(bobs.secret) {
			t.Error("the database has the secret itself")
		}
	})
}

// RFC 6749 §2.3.1: guessing is limited, also for those who know the password.
func TestGuessingCodesIsSlowed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, _ := f.enrol(f.login("alice"))
		known, err := f.second(f.first("alice"), people.ByTOTP, app.now())
		if err != nil {
			t.Fatal(err)
		}
		ticket := f.first("alice")
		try := func(by, code string, b people.Browser) string {
			c, err := f.People.SecondStep(t.Context(), ticket)
			if err != nil {
				t.Fatal(err)
			}
			_, err = f.People.Answer(t.Context(), c, people.Answer{By: by, Code: code}, b)
			return kind(err)
		}
		by := []string{people.ByTOTP, people.ByRecovery}
		for i := range limits.Of(limits.OfFactor).Tries {
			if got := try(by[i%2], "000000",
				people.Browser{Address: "198.51.100." + string(rune('1'+i%9))}); got != "400 invalid_grant" {
				t.Fatal(i, got)
			}
		}
		code := app.now()
		for name, b := range map[string]people.Browser{"another network": {Address: "203.0.113.1"},
			"the same network": home} {
			if got := try(people.ByTOTP, code, b); got != "429 temporarily_unavailable" {
				t.Error(name, got)
			}
		}
		if got := try(people.ByTOTP, code, people.Browser{Address: "203.0.113.1", Device: known.Device}); got != "no error" {
			t.Error("a browser that is known:", got)
		}
	})
}

// Lockout of the account's person (CWE-645): whoever knows the password, has a copy of a session, and has a copy of the
// mark of one known browser uses up all tries at codes that these have. Another known browser and another session of
// the person still have theirs, and nobody has more tries than the documentation says.
func TestAttackCodesAreLockedForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s := f.enrol(f.login("alice"))
		signsIn := func(b people.Browser) (*people.SignIn, error) {
			c, err := f.People.SecondStep(t.Context(), f.first("alice"))
			if err != nil {
				t.Fatal(err)
			}
			return f.People.Answer(t.Context(), c, people.Answer{By: people.ByTOTP, Code: app.now()}, b)
		}
		in, err := signsIn(home)
		copied := f.signedIn(in, err)
		mark := people.Browser{Address: "203.0.113.7", Device: in.Device}
		next, err := signsIn(home)
		own := f.signedIn(next, err)
		stepUp := func(s *storage.SignedIn) *people.Challenge {
			c, err := f.People.StepUp(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		ticket := f.first("alice")
		signIn := func() *people.Challenge {
			c, err := f.People.SecondStep(t.Context(), ticket)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}
		// guesses until nothing is left, and returns how many guesses there were.
		guesses := func(c *people.Challenge, b people.Browser) int {
			for n := range 1000 {
				_, err := f.People.Answer(t.Context(), c, people.Answer{By: people.ByTOTP, Code: "000000"}, b)
				if got := kind(err); got == "429 temporarily_unavailable" {
					return n
				} else if got != "400 invalid_grant" {
					t.Fatal(n, got)
				}
			}
			return 1000
		}
		stranger := people.Browser{Address: "203.0.113.7"}
		all := guesses(signIn(), stranger) + guesses(signIn(), mark) + guesses(stepUp(copied), stranger) +
			guesses(stepUp(copied), mark)
		if all != 30 {
			t.Errorf("%d guesses", all)
		}
		_, err = signsIn(people.Browser{Address: "192.0.2.1", Device: next.Device})
		wantError(t, err, "no error")
		_, err = f.People.Answer(t.Context(), stepUp(own), people.Answer{By: people.ByTOTP, Code: app.now()}, home)
		wantError(t, err, "no error")
		_, err = f.People.Answer(t.Context(), stepUp(s), people.Answer{By: people.ByTOTP, Code: app.now()}, home)
		wantError(t, err, "no error")

		// docs/security-model.md: the bound of an account for a day, whatever the number of sessions and marks.
		limit := limits.Of(limits.OfKnownFactor)
		perDay := func(l throttle.Limit) int { return int(24 * time.Hour / l.Refill) }
		if day := perDay(limits.Of(limits.OfFactor)) + 2*perDay(limit.OfSite()); day != 864 || perDay(limit) != 72 {
			t.Errorf("%d guesses a day, and %d with one session or one mark", day, perDay(limit))
		}
		marks, sessions, began := 0, 0, time.Now()
		for range 12 {
			in, err := signsIn(people.Browser{Address: "192.0.2.1"})
			if err != nil { // its own tries are used up, and come back in time
				time.Sleep(limits.Of(limits.OfFactor).Refill)
				in, err = signsIn(people.Browser{Address: "192.0.2.1"})
			}
			each := f.signedIn(in, err)
			ticket = f.first("alice")
			marks += guesses(signIn(), people.Browser{Address: "203.0.113.7", Device: in.Device})
			sessions += guesses(stepUp(each), stranger)
		}
		most := limit.OfSite().Tries + int(time.Since(began)/limit.OfSite().Refill)
		for what, n := range map[string]int{"known browsers": marks, "sessions": sessions} {
			if n > most || n <= 2*limit.Tries {
				t.Errorf("%d guesses in %s, at most %d", n, what, most)
			}
		}
	})
}

func TestSecondFactorPolicy(t *testing.T) {
	with := func(policy string, grace time.Duration) func(*Config) {
		return func(c *Config) { c.People.SecondFactor, c.People.SecondFactorGrace = policy, grace }
	}
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, with(people.SecondFactorEverybody, 48*time.Hour))
		f.login("alice") // the grace period begins
		time.Sleep(47 * time.Hour)
		f.login("alice")
		f.login("bob")
		time.Sleep(time.Hour)
		f.login("bob")
		ticket := f.first("alice")
		c, err := f.People.SecondStep(t.Context(), ticket)
		if err != nil || len(c.Ways("")) != 1 || c.Ways("")[0] != people.ByNewTOTP {
			t.Fatal(c, err)
		}
		made, err := f.People.NewTOTP(c)
		if err != nil {
			t.Fatal(err)
		}
		app := phone{f, strings.ReplaceAll(made.Secret, " ", "")}
		s := f.signedIn(f.People.Answer(t.Context(), c,
			people.Answer{By: people.ByNewTOTP, Code: app.now(), Secret: made.Sealed}, home))
		if s.Session.AMR != "pwd otp" {
			t.Error(s.Session.AMR)
		}
		// A person who has lost it adds another one at once.
		if err := f.People.ResetFactors(t.Context(), "alice"); err != nil {
			t.Fatal(err)
		}
		_, err = f.People.SignedIn(t.Context(), "x")
		isError(t, "no session", err, oauth.ErrNotFound)
		f.first("alice")
	})
	t.Run("administrators", func(t *testing.T) {
		f := begin(t, with(people.SecondFactorAdministrators, 0))
		f.login("alice")
		_, err := f.People.AddUser(t.Context(), policy.Operator(),
			people.Person{Username: "root", Password: goodPassword, Administrator: true})
		if err != nil {
			t.Fatal(err)
		}
		f.first("root")
	})
	t.Run("the password grant", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, with(people.SecondFactorEverybody, time.Hour))
			app := f.app()
			grant := func(name, password string) string {
				_, err := f.token(app, "grant_type", "password", "username", name, "password", password)
				return kind(err)
			}
			f.person("alice")
			if got := grant("alice", goodPassword); got != "no error" {
				t.Error("in the grace period:", got)
			}
			time.Sleep(2 * time.Hour)
			if got := grant("alice", goodPassword); got != "400 invalid_grant" {
				t.Error("after the grace period:", got)
			}
			_, err := f.token(app, "grant_type", "password", "username", "alice", "password", "wrong")
			if err == nil || strings.Contains(err.Error(), "second factor") {
				t.Error("a wrong password tells of the second factor:", err)
			}
		})
	})
}

// RFC 9470 §5: the person is led through the missing step.
func TestStepUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app, weak := f.app(), f.login("alice")
		strict := f.app(grants(policy.GrantCode), func(r *clients.Registration) { r.RequiredACR = acr.MFA })
		_, strong := f.enrol(f.login("alice"))
		missing := func(app *clients.Registered, s *storage.SignedIn, pairs ...string) string {
			t.Helper()
			a := f.authorize(app, pairs...)
			asked, err := f.Authorizations.RequiredInteraction(t.Context(), a, s)
			switch {
			case err != nil:
				return kind(err)
			case asked == nil:
				return ""
			case asked.Login:
				return "login"
			}
			return asked.ACR
		}
		essential := `{"id_token":{"acr":{"essential":true,"values":["phr","` + acr.MFA + `"]}}}`
		for _, test := range []struct {
			rule  string
			app   *clients.Registered
			pairs []string
			want  string // with the password alone; a login with a second factor always suffices
		}{
			{"no request", app, nil, ""},
			{"RFC9470/5 acr_values", app, []string{"acr_values", acr.MFA}, acr.MFA},
			{"RFC9470/5 one of them is satisfied", app, []string{"acr_values", acr.MFA + " " + acr.Password}, ""},
			{"RFC9470/5 unknown ones do not count", app, []string{"acr_values", "1 " + acr.MFA}, acr.MFA},
			{"OIDC Core/15.1 acr_values", app, []string{"scope", "openid", "acr_values", acr.MFA}, acr.MFA},
			{"OIDC Core/15.1 only unknown ones", app, []string{"scope", "openid", "acr_values", "1 2"}, ""},
			{"OIDC Core/15.1 acr_values, prompt=none", app, []string{"scope", "openid", "acr_values", acr.MFA, "prompt", "none"},
				"400 consent_required"},
			{"OIDC Core/5.5.1.1 an essential acr", app, []string{"scope", "openid", "claims", essential}, acr.MFA},
			{"OIDC Core/5.5.1.1 the claim wins", app,
				[]string{"scope", "openid", "claims", essential, "acr_values", acr.Password}, acr.MFA},
			{"the application requires it", strict, nil, acr.MFA},
			{"the application requires it, whatever the request says", strict, []string{"acr_values", acr.Password}, acr.MFA},
			{"the login comes first", app, []string{"scope", "openid", "prompt", "login", "acr_values", acr.MFA}, "login"},
		} {
			if got := missing(test.app, weak, test.pairs...); got != test.want {
				t.Errorf("%s: after the password alone: %q, want %q", test.rule, got, test.want)
			}
			if got := missing(test.app, strong, test.pairs...); got != "" && got != "login" && !strings.HasPrefix(got, "400") {
				t.Errorf("%s: after the second factor: %q", test.rule, got)
			}
		}
		// There is no code without it, whoever calls Complete.
		for _, test := range []struct {
			app   *clients.Registered
			pairs []string
		}{{strict, nil}, {app, []string{"acr_values", acr.MFA}}, {app, []string{"scope", "openid", "claims", essential}}} {
			answer, err := f.Authorizations.Complete(t.Context(), f.authorize(test.app, test.pairs...), weak)
			if err != nil || queryOf(t, answer.Location()).Get("error") != "unmet_authentication_requirements" {
				t.Error(answer.Location(), err)
			}
		}
		trusted := f.app(grants(policy.GrantCode),
			func(r *clients.Registration) { r.SkipConsent, r.RequiredACR = true, acr.MFA })
		_, err := f.Authorizations.RequiredInteraction(t.Context(), f.authorize(trusted, "scope", "openid", "prompt", "none"),
			weak)
		wantError(t, err, "400 login_required")
		open := f.app(func(r *clients.Registration) { r.SkipConsent = true })
		asked, err := f.Authorizations.RequiredInteraction(t.Context(),
			f.authorize(open, "scope", "openid", "prompt", "none", "acr_values", acr.MFA), weak)
		if asked != nil || err != nil {
			t.Error("OIDC Core/15.1 acr_values is voluntary:", asked, err)
		}
		// The password grant cannot reach it.
		f.person("bob")
		_, err = f.Clients.Register(t.Context(), policy.Operator(),
			clients.Registration{Name: "x", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantPassword},
				RequiredACR: acr.MFA})
		wantInvalid(t, err, "required_acr")
		_, err = f.Clients.Register(t.Context(), policy.Operator(),
			clients.Registration{Name: "x", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantClient},
				RequiredACR: "urn:example:acr"})
		wantInvalid(t, err, "required_acr")
		older := f.app() // registered by a release without the check
		f.sql(`UPDATE applications SET required_acr = '` + acr.MFA + `' WHERE id = '` + older.Application.ID + `'`)
		_, err = f.token(older, "grant_type", "password", "username", "bob", "password", goodPassword)
		wantError(t, err, "400 unauthorized_client")
	})
}

// The tokens say how the person signed in when the grant was given, also after a refresh.
func TestTokensSayHowThePersonSignedIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app := f.app(func(r *clients.Registration) { r.AccessTokenFormat = "jwt" })
		weak := f.login("alice")
		_, strong := f.enrol(f.login("alice"))
		for _, test := range []struct {
			rule  string
			s     *storage.SignedIn
			pairs []string
			acr   string
			amr   []any
		}{
			{"the password", weak, nil, acr.Password, []any{"pwd"}},
			{"two factors", strong, nil, acr.MFA, []any{"pwd", "otp", "mfa"}},
			{"the value that the request prefers", strong, []string{"acr_values", acr.Password + " " + acr.MFA}, acr.Password,
				[]any{"pwd", "otp", "mfa"}},
		} {
			first := f.tokens(app, test.s, append([]string{"scope", "openid read"}, test.pairs...)...)
			again := f.must(f.refresh(app, first.RefreshToken))
			for _, answer := range []struct{ id, access string }{{first.IDToken, first.AccessToken},
				{again.IDToken, again.AccessToken}} {
				for _, text := range []string{answer.id, answer.access} {
					claims := claimsOf(t, text)
					amr, _ := claims["amr"].([]any)
					if claims["acr"] != test.acr || len(amr) != len(test.amr) || amr[len(amr)-1] != test.amr[len(test.amr)-1] {
						t.Errorf("%s: acr %v, amr %v", test.rule, claims["acr"], claims["amr"])
					}
				}
				found, _, err := f.Tokens.Introspect(t.Context(), by(f.app(introspects), "token", answer.access), "192.0.2.1")
				if err != nil || found.ACR != test.acr || len(found.Methods) != len(test.amr) {
					t.Errorf("%s: introspection: %+v %v", test.rule, found, err)
				}
			}
		}
	})
}

// The page of an administrator asks too; this is the second line.
func TestOnlyAnotherAdministratorResetsFactors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		_, bob := f.enrol(f.login("bob"))
		alice := f.login("alice")
		for name, s := range map[string]*storage.SignedIn{"a person": alice, "the person": bob} {
			var refused *oauth.Error
			err := f.People.ResetFactorsOf(t.Context(), s, bob.User.ID)
			if !errors.As(err, &refused) || refused.Code != "access_denied" {
				t.Errorf("%s resets the factors of bob: %v", name, err)
			}
		}
		if f.count("totps") != 1 {
			t.Error("the app was removed")
		}
	})
}

// Whoever can write in the database, but has not the server's key, cannot give their own app to somebody else.
func TestSecretOfAnAppWorksForItsPersonAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		alices, alice := f.enrol(f.login("alice"))
		_, bob := f.enrol(f.login("bob"))
		f.sql("UPDATE totps SET secret = (SELECT secret FROM totps WHERE user_id = '" + alice.User.ID +
			"') WHERE user_id = '" + bob.User.ID + "'")
		in, err := f.second(f.first("bob"), people.ByTOTP, alices.now())
		if err == nil {
			t.Errorf("the app of alice signs bob in: %+v", in)
		}
		_, err = f.second(f.first("alice"), people.ByTOTP, alices.now())
		wantError(t, err, "no error")
	})
}

// RFC 6238 §5.2: the code that has added the app is used up, too.
func TestCodeThatAddedAnAppIsUsedUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, _ := f.enrol(f.login("alice"))
		code, err := totp.Code(app.secret, totp.Step(oauth.Now()))
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.second(f.first("alice"), people.ByTOTP, code)
		wantError(t, err, "400 invalid_grant")
	})
}

// A sign-in that began while the person had no second factor must not add one beside a passkey that the person has
// added meanwhile: whoever knows the password alone would have a factor of their own.
func TestSignInAddsNoFactorBesideANewPasskey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.People.SecondFactor = people.SecondFactorEverybody })
		u := f.person("alice")
		ticket := f.first("alice")
		begun, err := f.People.SecondStep(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		made, err := f.People.NewTOTP(begun)
		if err != nil {
			t.Fatal(err)
		}
		app := phone{f, strings.ReplaceAll(made.Secret, " ", "")}
		f.sql(`INSERT INTO passkeys (id, user_id, public_key, name, sign_count, backup_eligible, backed_up, transports,
			aaguid, created_at, last_used_at) VALUES ('a', '` + u.ID + `', '', 'Phone', 0, FALSE, FALSE, '', '', 0, 0)`)
		later, err := f.People.SecondStep(t.Context(), ticket)
		if err != nil {
			t.Fatal(err)
		}
		if ways := later.Ways(""); len(ways) != 1 || ways[0] != people.ByPasskey {
			t.Error("the page offers", ways)
		}
		for name, c := range map[string]*people.Challenge{"the page was opened before": begun, "it is opened now": later} {
			_, err = f.People.Answer(t.Context(), c, people.Answer{By: people.ByNewTOTP, Code: app.now(), Secret: made.Sealed},
				home)
			wantError(t, err, "400 invalid_grant")
			if f.count("totps") != 0 || f.count("sessions") != 0 {
				t.Errorf("%s: the app was added, or a session began", name)
			}
		}
	})
}
