package provider

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/places"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// toldAt is a transport that answers calls in place of the network and records their times.
type toldAt struct {
	sync.Mutex
	calls  []time.Duration // since the start
	start  time.Time
	answer func(n int) (int, error) // the status of the n-th call, from 0
}

func (a *toldAt) RoundTrip(r *http.Request) (*http.Response, error) {
	a.Lock()
	n := len(a.calls)
	a.calls = append(a.calls, time.Since(a.start))
	a.Unlock()
	status, err := a.answer(n)
	if err != nil {
		return nil, err
	}
	if status == 0 { // the call hangs
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(strings.NewReader(""))}, nil
}

// calls makes a provider use this transport in place of the network.
func calls(at http.RoundTripper) func(*Config) {
	return func(c *Config) { c.TraceOutbound = func(http.RoundTripper) http.RoundTripper { return at } }
}

// telling returns a provider with one login whose session has just ended, its transport and its
// log.
func telling(t *testing.T, answer func(n int) (int, error)) (*fixture, *toldAt, *strings.Builder) {
	t.Helper()
	at := &toldAt{start: time.Now(), answer: answer}
	f := begin(t, func(c *Config) {
		c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
	}, calls(at))
	f.loggedOut("alice")
	return f, at, f.logged
}

// loggedOut ends the login of a person at an application that must be notified.
func (f *fixture) loggedOut(name string) {
	f.t.Helper()
	app := f.app(func(r *clients.Registration) { r.BackchannelURI = "https://client.example/logout" })
	s := f.login(name)
	f.code(app, s, "scope", "openid")
	err := f.Logouts.Logout(f.t.Context(), s)
	if err != nil {
		f.t.Fatal(err)
	}
}

// tells runs the notification of applications for this time.
func (f *fixture) tells(t *testing.T, span time.Duration) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), span)
	defer stop()
	f.Logouts.Notify(ctx, f.clock.Right)
}

// round sends the notifications that are due, waits for the calls, and then waits until other
// notifications are due.
func (f *fixture) round(t *testing.T) {
	t.Helper()
	err := f.Logouts.NotifyDue(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	due, err := f.store.DueLogins(t.Context(), oauth.Now()+1e6, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(due) > 0 {
		time.Sleep(time.Until(time.Unix(due[0].DueAt, 0)))
	}
}

func (f *fixture) logins() int {
	f.t.Helper()
	due, err := f.store.DueLogins(context.Background(), oauth.Now()+1e6, 100, 100)
	if err != nil {
		f.t.Fatal(err)
	}
	return len(due)
}

func TestBackChannel_2_8_application_is_told_at_once_and_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at, _ := telling(t, func(int) (int, error) { return 200, nil })
		f.tells(t, 2*time.Minute)
		if diff := cmp.Diff([]time.Duration{0}, at.calls); diff != "" {
			t.Error(diff)
		}
		if f.logins() > 0 {
			t.Error("it is still due")
		}
	})
}

func TestBackChannel_2_8_application_that_does_not_answer_is_told_again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at, _ := telling(t, func(n int) (int, error) {
			return []int{500, 0, 302}[min(n, 2)], nil
		})
		for range 10 {
			f.round(t)
		}
		m := time.Minute
		want := []time.Duration{0, m / 2, m/2 + 2*m, m/2 + 10*m, m/2 + 42*m, m/2 + 170*m, m/2 + 682*m}
		if diff := cmp.Diff(want, at.calls); diff != "" {
			t.Error(diff)
		}
		if f.logins() > 0 {
			t.Error("it is tried for ever")
		}
	})
}

func TestBackChannel_2_8_application_that_comes_back_is_told(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at, log := telling(t, func(n int) (int, error) {
			if n == 0 {
				return 0, errors.New("nobody listens")
			}
			return 204, nil
		})
		f.tells(t, time.Minute)
		if len(at.calls) != 2 || f.logins() > 0 {
			t.Errorf("told at %v, %d due", at.calls, f.logins())
		}
		if !strings.Contains(log.String(), "nobody listens") || strings.Contains(log.String(), "logout_token") {
			t.Errorf("the log says %s", log)
		}
	})
}

// A slow application does not delay the notifications of other applications.
func TestBackChannel_slow_application_delays_nobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at, _ := telling(t, func(n int) (int, error) {
			if n == 0 {
				return 0, nil // the call hangs until its timeout
			}
			return 200, nil
		})
		go func() {
			time.Sleep(time.Second / 2)
			f.loggedOut("bob")
		}()
		f.tells(t, 4*time.Second)
		if diff := cmp.Diff([]time.Duration{0, time.Second / 2}, at.calls); diff != "" {
			t.Error(diff)
		}
	})
}

func TestLogoutIsToldToNobodyWhoIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &toldAt{start: time.Now(), answer: func(int) (int, error) { return 200, nil }}
		f := begin(t, func(c *Config) {
			c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
		}, calls(at))
		app := f.app(func(r *clients.Registration) { r.BackchannelURI = "https://client.example/logout" })
		s := f.login("alice")
		f.code(app, s, "scope", "openid")
		err := f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID)
		if err == nil {
			err = f.Logouts.Logout(t.Context(), s)
		}
		if err != nil {
			t.Fatal(err)
		}
		f.tells(t, 5*time.Second)
		if len(at.calls) > 0 || f.logins() > 0 {
			t.Errorf("told at %v, %d due", at.calls, f.logins())
		}
	})
}

// Applications of one owner that hang do not delay the notifications of other owners'
// applications.
func TestBackChannel_slow_owner_delays_nobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var honest []time.Duration
		var mu sync.Mutex
		at := roundTrip(func(r *http.Request) (*http.Response, error) {
			if strings.HasPrefix(r.URL.Host, "slow") {
				<-r.Context().Done()
				return nil, r.Context().Err()
			}
			mu.Lock()
			defer mu.Unlock()
			honest = append(honest, time.Since(start))
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		})

		f := begin(t, func(c *Config) {
			c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
		}, calls(at))

		mallory := f.person("mallory")
		s := f.login("alice")
		for i := range 60 {
			made, err := f.Clients.Register(t.Context(), policy.By(mallory), clients.Registration{
				Name:             "slow",
				ClientType:       policy.Confidential,
				GrantTypes:       []string{policy.GrantCode},
				RedirectURIs:     []string{callback},
				HashClientSecret: true,
				BackchannelURI:   fmt.Sprintf("https://slow%d.example/", i),
			})
			if err != nil {
				t.Fatal(err)
			}
			f.code(made, s, "scope", "openid")
		}
		err := f.Logouts.Logout(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			time.Sleep(1100 * time.Millisecond)
			f.loggedOut("bob")
		}()
		f.tells(t, 4*time.Second)
		if len(honest) != 1 || honest[0] > 2200*time.Millisecond {
			t.Errorf("told after %v", honest)
		}
	})
}

// Anybody can register applications that answer late, and always with success, so that nothing pauses them. They delay
// the notifications neither of applications for which somebody is responsible nor of those at other domains.
//
// Resembles CVE-2007-6750 (Slowloris) in its class: peers who are slow, and make no error, use up what all share.
func TestAttackNoticesOfStrangers(t *testing.T) {
	for name, host := range map[string]func(n int) string{
		"one domain":   func(n int) string { return fmt.Sprintf("x%d.slow.example", n) },
		"many domains": func(n int) string { return fmt.Sprintf("slow-%d.example", n) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { noticesOfStrangers(t, host) })
		})
	}
}

func noticesOfStrangers(t *testing.T, host func(n int) string) {
	const applications, sessions = 16, 6
	var mu sync.Mutex
	var start time.Time
	running, most, good := 0, 0, map[string]time.Duration{}
	var squatter *clients.Registered // has the address of another application, which refuses its notifications
	refused := 0
	f := begin(t, func(c *Config) {
		c.OpenID, c.Scopes = true, append(c.Scopes, policy.Scope{Name: "openid", Description: "Sign in"})
		c.Open.Clients = []string{clients.OpenRegistration}
	}, calls(roundTrip(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		if squatter != nil && strings.Contains(claimsTo(t, r), squatter.Application.ClientID) {
			refused++
			return &http.Response{StatusCode: []int{200, 400}[refused%2], Body: http.NoBody}, nil
		}
		if !strings.Contains(r.URL.Host, "slow") {
			good[r.URL.Host] = time.Since(start)
			return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
		}
		running++
		most = max(most, running)
		mu.Unlock()
		time.Sleep(4900 * time.Millisecond)
		mu.Lock()
		running--
		return &http.Response{StatusCode: 200, Body: http.NoBody}, nil
	})))
	add := func(host, responsible string, owner *string) *clients.Registered {
		t.Helper()
		a := storage.Application{
			ID:             seal.Identifier(),
			ClientID:       seal.Identifier(),
			Name:           "x",
			ClientType:     policy.Public,
			GrantTypes:     policy.GrantCode,
			RedirectURIs:   "https://" + host + "/cb",
			BackchannelURI: "https://" + host + "/logout",
			Responsible:    responsible,
			OwnerID:        owner,
			CreatedAt:      oauth.Now(),
		}
		if responsible == storage.ByNobody {
			a.Origin, a.Management = storage.FromRegistration, storage.ManagedAlone
		}
		err := f.store.AddApplication(t.Context(), a, 0)
		if err != nil {
			t.Fatal(err)
		}
		a, err = f.store.Application(t.Context(), a.ID)
		if err != nil {
			t.Fatal(err)
		}
		return &clients.Registered{Application: a}
	}
	logOut := func(name string, signedInTo ...*clients.Registered) {
		t.Helper()
		s := f.login(name)
		for _, app := range signedInTo {
			f.approve(t, app, s, "redirect_uri", app.Application.RedirectURIs, "scope", "openid", "prompt", "")
		}
		err := f.Logouts.Logout(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
	}
	var strange []*clients.Registered
	for n := range applications {
		strange = append(strange, add(host(n), storage.ByNobody, nil))
	}
	owner := f.person("owner")
	others := map[string]*clients.Registered{
		"administrators.example": add("administrators.example", storage.ByOperator, nil),
		"persons.example":        add("persons.example", storage.ByOwner, &owner.ID),
		"told-before.example":    add("told-before.example", storage.ByNobody, nil),
		"new.example":            add("new.example", storage.ByNobody, nil),
	}
	var telling sync.WaitGroup
	telling.Go(func() { f.tells(t, 10*time.Minute) })
	logOut("bob", others["told-before.example"])
	synctest.Wait()
	with := add("squatter.example", storage.ByNobody, nil)
	f.sql(`UPDATE applications SET backchannel_logout_uri = 'https://told-before.example/logout' WHERE id = '` +
		with.Application.ID + `'`)
	mu.Lock()
	squatter = with
	mu.Unlock()
	logOut("mallory", squatter)
	synctest.Wait()
	for range sessions {
		logOut("mallory", strange...)
	}
	time.Sleep(time.Second) // so that these are due first
	mu.Lock()
	start = time.Now()
	clear(good)
	mu.Unlock()
	logOut("alice", slices.Collect(maps.Values(others))...)
	telling.Wait()
	one := host(0) == "x0.slow.example"
	for at := range others {
		// If slow ones have all places for applications that did not answer before, a new one waits for the first of
		// them.
		wait := time.Duration(0)
		if at == "new.example" && !one {
			wait = 4900 * time.Millisecond
		}
		if late, told := good[at]; !told || late > wait {
			t.Errorf("%s is told after %s: %v", at, late, told)
		}
	}
	if one && most != places.PerBoth || !one && most != places.Most {
		t.Errorf("%d calls to strangers at once", most)
	}
	if n := f.logins(); n > 0 || refused != 2 {
		t.Errorf("%d are left, and %d calls for the application with the address of another one", n, refused)
	}
}

// claimsTo returns the claims of the logout token that a request brings.
func claimsTo(t *testing.T, r *http.Request) string {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	form, wrong := url.ParseQuery(string(body))
	claims, undecoded := base64.RawURLEncoding.DecodeString(strings.Split(form.Get("logout_token")+"..", ".")[1])
	if err := errors.Join(err, wrong, undecoded); err != nil {
		t.Error(err)
	}
	return string(claims)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A row that this release cannot read does not affect other rows.
func TestBackChannel_row_that_is_wrong_ends_nothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, at, log := telling(t, func(int) (int, error) { return 200, nil })
		f.sql(`UPDATE applications SET algorithm = 'XX1'`)
		f.tells(t, time.Minute)
		if len(at.calls) > 0 || !strings.Contains(log.String(), `the algorithm \"XX1\" is not supported`) {
			t.Errorf("told at %v; log: %s", at.calls, log)
		}
	})
}

// An idle session ends in the same way as any other session. A session is not idle while an
// application refreshes the tokens of its login.
func TestIdleSessionEndsWithAllThatHangsOnIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := &toldAt{start: time.Now(), answer: func(int) (int, error) { return 200, nil }}
		f := begin(t, func(c *Config) {
			c.OpenID, c.Scopes, c.Tokens.IDTokenLifetime = true, append(c.Scopes, policy.Scope{
				Name:        "openid",
				Description: "Sign in",
			}), time.Hour
			c.SweepInterval, c.SweepBatch = time.Minute, 100
		}, calls(at))
		app := f.app(func(r *clients.Registration) { r.BackchannelURI = "https://client.example/logout" })
		used, left := f.login("alice"), f.login("bob")
		keep := f.must(f.exchange(app, f.code(app, used, "scope", "openid")))
		gone := f.must(f.exchange(app, f.code(app, left, "scope", "openid")))
		time.Sleep(20 * time.Hour)
		keep = f.must(f.refresh(app, keep.RefreshToken))
		time.Sleep(20 * time.Hour)
		f.sweep(t.Context())
		_ = f.Logouts.NotifyDue(t.Context())
		synctest.Wait()
		_, err := f.refresh(app, gone.RefreshToken)
		wantError(t, err, "400 invalid_grant")
		f.must(f.refresh(app, keep.RefreshToken))
		if len(at.calls) != 1 {
			t.Errorf("told at %v", at.calls)
		}
	})
}
