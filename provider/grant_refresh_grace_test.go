package provider

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// anyOrder ignores the order of scopes, which has no meaning (RFC 6749 §3.3).
var anyOrder = cmp.FilterPath(
	func(p cmp.Path) bool { return p.String() == "Scope" },
	cmp.Comparer(func(a, b string) bool {
		return slices.Equal(slices.Sorted(slices.Values(strings.Fields(a))), slices.Sorted(slices.Values(strings.Fields(b))))
	}),
)

func TestRefreshGrace(t *testing.T) {
	bubble := func(rule string,
		test func(t *testing.T, f *fixture, app *clients.Registered, first, second *tokens.TokenResponse)) {
		t.Run(rule, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, grace)
				app := f.app(public)
				first := f.tokens(app, f.login("alice"))
				test(t, f, app, first, f.must(f.refresh(app, first.RefreshToken)))
			})
		})
	}
	bubble(
		"within the grace the very same successor comes again",
		func(t *testing.T, f *fixture, app *clients.Registered, first, second *tokens.TokenResponse) {
			for n := range 3 {
				time.Sleep(3 * time.Second)
				again := f.must(f.refresh(app, first.RefreshToken))
				want := *second
				want.ExpiresIn -= int64(3 * (n + 1))
				if d := cmp.Diff(&want, again); d != "" {
					t.Error(d)
				}
			}
			if n := f.count("tokens"); n != 4 {
				t.Error(n, "tokens are stored, want the two pairs")
			}
			f.must(f.refresh(app, second.RefreshToken))
		},
	)
	// RFC 6749 §6: the scope is part of the request. The kept answer with another scope does not answer this request.
	bubble(
		"another scope is refused within the grace, and spends nothing",
		func(t *testing.T, f *fixture, app *clients.Registered, _, second *tokens.TokenResponse) {
			const all = "read write groups"
			for _, test := range []struct{ asked, same, other string }{
				{"write read", "read write", "read"},
				{"write read", "write read", "-"},
				{"-", all, "read"},
				{all, "-", "write"},
				{"read", "read read", "read write"},
				{"read", "read", "introspection"},
				{"read", "read", `"`},
			} {
				first := f.tokens(app, f.login("alice"), "scope", all)
				second := f.must(f.refresh(app, first.RefreshToken, "scope", test.asked))
				_, err := f.refresh(app, first.RefreshToken, "scope", test.other)
				wantError(t, err, "400 invalid_scope")
				again := f.must(f.refresh(app, first.RefreshToken, "scope", test.same))
				if d := cmp.Diff(second, again, anyOrder); d != "" {
					t.Errorf("%q after %q: %s", test.same, test.asked, d)
				}
				f.wantActive(true, first.AccessToken, second.AccessToken, second.RefreshToken)
				third := f.must(f.refresh(app, second.RefreshToken))
				// If the successor was used, the token family is revoked, whatever the scope of the request is.
				_, err = f.refresh(app, first.RefreshToken, "scope", test.other)
				wantError(t, err, "400 invalid_grant")
				f.wantActive(false, third.AccessToken, third.RefreshToken)
			}
			f.wantActive(true, second.AccessToken)
		},
	)
	bubble("the grace ends", func(t *testing.T, f *fixture, app *clients.Registered, first, second *tokens.TokenResponse) {
		time.Sleep(10 * time.Second)
		_, err := f.refresh(app, first.RefreshToken)
		wantError(t, err, "400 invalid_grant")
		f.wantActive(false, first.AccessToken, second.AccessToken, second.RefreshToken)
	})
	bubble(
		"a successor that was used ends the family",
		func(t *testing.T, f *fixture, app *clients.Registered, first, second *tokens.TokenResponse) {
			third := f.must(f.refresh(app, second.RefreshToken))
			_, err := f.refresh(app, first.RefreshToken)
			wantError(t, err, "400 invalid_grant")
			f.wantActive(false, first.AccessToken, second.AccessToken, third.AccessToken, third.RefreshToken)
		},
	)
	bubble(
		"the grace is for the same client only",
		func(t *testing.T, f *fixture, _ *clients.Registered, first, second *tokens.TokenResponse) {
			_, err := f.refresh(f.app(public), first.RefreshToken)
			wantError(t, err, "400 invalid_grant")
			f.wantActive(true, second.AccessToken, second.RefreshToken)
		},
	)
	bubble(
		"a family that was revoked has no grace",
		func(t *testing.T, f *fixture, app *clients.Registered, first, second *tokens.TokenResponse) {
			_, err := f.Tokens.Revoke(t.Context(), by(app, "token", second.AccessToken), "")
			wantError(t, err, "no error")
			_, err = f.refresh(app, first.RefreshToken)
			wantError(t, err, "400 invalid_grant")
		},
	)
	bubble(
		"who reads the table reads no token",
		func(t *testing.T, f *fixture, _ *clients.Registered, first, second *tokens.TokenResponse) {
			f.store.Close()
			for _, token := range []string{first.RefreshToken, second.AccessToken, second.RefreshToken} {
				if f.contains(token) {
					t.Errorf("%.8s... is in the database", token)
				}
			}
		},
	)
	// The server key and the database together must not be enough to read the successor.
	bubble(
		"only the token leads to the one that takes its place",
		func(t *testing.T, f *fixture, _ *clients.Registered, first, second *tokens.TokenResponse) {
			token, err := f.store.TokenByDigest(t.Context(), seal.Digest(first.RefreshToken), oauth.Now())
			if err != nil {
				t.Fatal(err)
			}
			stored := oauth.Deref(token.Successor)
			salt := stored[:22]
			if got := tokens.Derived(first.RefreshToken, salt, *token.UsedAt).RefreshToken(); got != second.RefreshToken {
				t.Errorf("the token leads to %s", got)
			}
			if got := tokens.Derived(
				seal.Digest(first.RefreshToken), salt, *token.UsedAt,
			).RefreshToken(); got == second.RefreshToken {
				t.Error("its digest leads to the same")
			}
			// There is one for each rotation of a month.
			if len(stored) > 50 {
				t.Errorf("%d bytes are stored", len(stored))
			}
		},
	)
	t.Run("of many at once all get the same successor", func(t *testing.T) {
		f := begin(t, grace)
		app := f.app(public)
		first := f.tokens(app, f.login("alice"))
		won := f.race(t, app, first.RefreshToken)
		if len(won) != 8 {
			t.Fatal(len(won), "answers")
		}
		for _, answer := range won {
			if answer.RefreshToken != won[0].RefreshToken || answer.AccessToken != won[0].AccessToken {
				t.Error("two successors")
			}
		}
		f.wantActive(true, won[0].AccessToken, won[0].RefreshToken)
	})
}

// RFC 9700 §4.14.2: a revocation, a sign-out and a change of the person or the application end the grace period too.
func TestRefreshGraceEndsWithTheAccess(t *testing.T) {
	for what, end := range map[string]func(t *testing.T, f *fixture, app *clients.Registered, s *storage.SignedIn,
		next string) error{
		"nothing happens": func(*testing.T, *fixture, *clients.Registered, *storage.SignedIn, string) error { return nil },
		"the person signs out": func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn, _ string) error {
			return f.Logouts.Logout(t.Context(), s)
		},
		"the person revokes the access": func(t *testing.T, f *fixture, app *clients.Registered, s *storage.SignedIn,
			_ string) error {
			return f.People.Revoke(t.Context(), s.User.ID, app.Application.ID)
		},
		"the client revokes the successor": func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn,
			next string) error {
			return second(f.Tokens.Revoke(t.Context(), by(app, "token", next), ""))
		},
		"everything of the application is revoked": func(t *testing.T, f *fixture, app *clients.Registered,
			_ *storage.SignedIn, _ string) error {
			return f.Clients.RevokeAll(t.Context(), policy.Operator(), app.Application.ID)
		},
		"the account is disabled": func(t *testing.T, f *fixture, _ *clients.Registered, s *storage.SignedIn,
			_ string) error {
			return f.People.DisableUser(t.Context(), s.User.Username)
		},
		"the application loses the grant": func(t *testing.T, f *fixture, app *clients.Registered, _ *storage.SignedIn,
			_ string) error {
			return f.change(app, grants(policy.GrantPassword))
		},
	} {
		t.Run(what, func(t *testing.T) {
			f := begin(t, grace, withOpenID)
			app, s := f.app(public), f.login("alice")
			first := f.tokens(app, s, "scope", "openid read")
			next := f.must(f.refresh(app, first.RefreshToken))
			err := end(t, f, app, s, next.RefreshToken)
			if err != nil {
				t.Fatal(err)
			}
			again, err := f.refresh(app, first.RefreshToken)
			if what == "nothing happens" {
				if d := cmp.Diff(next, f.must(again, err)); d != "" {
					t.Error(d)
				}
				return
			}
			wantError(t, err, "400 invalid_grant")
			if n := len(f.storedEvents(events.TokenRepeated)); n != 0 {
				t.Errorf("%d events of a refresh that gave nothing", n)
			}
		})
	}
}

// The grace period depends on who is responsible for the application.
func TestRefreshGraceByStanding(t *testing.T) {
	for responsible, seconds := range map[string]time.Duration{storage.ByOperator: 10, storage.ByNobody: 30} {
		t.Run(responsible, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := begin(t, grace)
				app := f.app(public, grants(policy.GrantCode))
				f.sql("UPDATE applications SET responsible = '" + responsible + "'")
				f.forgetCopies()
				s := f.login("alice")
				for _, test := range []struct {
					after time.Duration
					want  string
				}{{seconds - 1, "no error"}, {seconds, "400 invalid_grant"}} {
					first := f.tokens(app, s, "scope", "read")
					next := f.must(f.refresh(app, first.RefreshToken))
					time.Sleep(test.after * time.Second)
					_, err := f.refresh(app, first.RefreshToken)
					wantError(t, err, test.want)
					f.wantActive(err == nil, next.RefreshToken)
				}
			})
		})
	}
}

// A client repeats itself as often as it likes: one row of the event log for each hour counts it. It reads as what it
// is, and displaces nothing on the page of the person.
func TestAttackEndlessRepetitions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, grace)
		var apps []*clients.Registered
		for range 9 {
			apps = append(apps, f.app(public))
		}
		s := f.login("alice")
		f.failed(events.SignInFailed, s.User, "203.0.113.9", "password")
		repeat := func(app *clients.Registered, times int) {
			t.Helper()
			first := f.tokens(app, s)
			f.must(f.refresh(app, first.RefreshToken))
			for range times {
				f.must(f.refresh(app, first.RefreshToken))
			}
		}
		for n := range 30 {
			time.Sleep(time.Hour)
			for _, app := range apps {
				repeat(app, n%3+1)
			}
		}
		var times []int64
		for _, e := range f.storedEvents(events.TokenRepeated) {
			times = append(times, e.Times)
			if e.PersonName != "alice" || e.ActorKind != origin.Application || e.ObjectKind != "application" ||
				e.Detail != "refresh" {
				t.Errorf("%+v", e)
			}
		}
		slices.Sort(times)
		want := slices.Concat(slices.Repeat([]int64{1}, 90), slices.Repeat([]int64{2}, 90), slices.Repeat([]int64{3}, 90))
		if d := cmp.Diff(want, times); d != "" || len(f.storedEvents(events.TokenReused)) > 0 {
			t.Error("each hour of an application is one row:", d)
		}
		shown, err := f.Events.OfPerson(t.Context(), s.User.ID, 15, 5)
		if err != nil {
			t.Fatal(err)
		}
		count := map[string]int{}
		for _, e := range shown {
			count[e.Kind]++
		}
		if d := cmp.Diff(map[string]int{
			"token.repeated": 2,
			"sign-in":        1,
			"sign-in.failed": 1,
			"person.added":   1,
		}, count); d != "" {
			t.Error(d)
		}
		if strings.Contains(f.logged.String(), "refresh token") { // it has no lines of the level DEBUG
			t.Errorf("the log is filled: %.600s", f.logged.String())
		}
	})
}

// Two requests with one refresh token and different scopes race. One gets tokens, the other gets
// an error, and the token family stays valid.
func TestRefreshGraceOfTwoScopesAtOnce(t *testing.T) {
	f := begin(t, grace)
	app := f.app(public)
	for range 5 {
		first := f.tokens(app, f.login("alice"), "scope", "read write")
		start, answers := make(chan struct{}), make(chan error, 8)
		for i := range cap(answers) {
			scope := []string{"read", "write"}[i%2]
			go func() {
				<-start
				answer, err := f.refresh(app, first.RefreshToken, "scope", scope)
				if err == nil && answer.Scope != scope {
					t.Errorf("asked for %s, got %s", scope, answer.Scope)
				}
				answers <- err
			}()
		}
		close(start)
		won := 0
		for range cap(answers) {
			err := <-answers
			if err == nil {
				won++
			} else {
				wantError(t, err, "400 invalid_scope")
			}
		}
		if won != cap(answers)/2 {
			t.Errorf("%d were answered", won)
		}
		f.wantActive(true, first.AccessToken)
	}
}
