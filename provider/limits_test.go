package provider

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
)

// asked starts a request with each secret, one after the other. The returned function gives the results of the
// requests that have ended.
func (f *fixture) asked(app *clients.Registered, address string, secrets ...string) (ended func() map[string]int) {
	results := make(chan string, len(secrets))
	for _, secret := range secrets {
		go func() {
			_, _, err := f.Grants.Token(f.t.Context(),
				by(&clients.Registered{Application: app.Application, Secret: secret}, "grant_type", policy.GrantClient), address)
			results <- kind(err)
		}()
		synctest.Wait()
	}
	return func() map[string]int {
		synctest.Wait()
		got := map[string]int{}
		for range len(results) {
			got[<-results]++
		}
		return got
	}
}

func wrongOnes(n int) []string {
	var secrets []string
	for range n {
		secrets = append(secrets, "wrong: "+seal.Random(8))
	}
	return secrets
}

func TestChosenSecretIsNotGuessedInParallel(t *testing.T) {
	chosen := func(f *fixture) *clients.Registered {
		return f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
	}
	wants := func(t *testing.T, what string, got, want map[string]int) {
		t.Helper()
		if d := cmp.Diff(want, got); d != "" {
			t.Error(what, d)
		}
	}
	const refused, wrong, right = "429 temporarily_unavailable", "401 invalid_client", "no error"
	one := func(c *Config) { c.Hashing.Concurrency = 1 }
	t.Run("guesses are counted before they are hashed", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, one)
			app := chosen(f)
			take(t, f.limits.Programs) // no request gets a slot for its hash
			ended := f.asked(app, "a", append(wrongOnes(50), app.Secret)...)
			wants(t, "at once:", ended(), map[string]int{refused: 51 - limits.Of(limits.OfPair).Tries})
			f.limits.Programs.Release()
			wants(t, "then:", ended(), map[string]int{wrong: limits.Of(limits.OfPair).Tries})
			wants(t, "afterwards:", f.asked(app, "a", "wrong", app.Secret)(), map[string]int{refused: 2})
		})
	})
	t.Run("a secret that is sent many times at once is hashed once", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, one)
			app := chosen(f)
			take(t, f.limits.Programs)
			same := make([]string, 50)
			for i := range same {
				same[i] = app.Secret
			}
			ended := f.asked(app, "a", same...)
			if n := f.limits.Programs.Stats().Waiting; n != 1 {
				t.Error(n, "hashes wait")
			}
			f.limits.Programs.Release()
			wants(t, "the right one:", ended(), map[string]int{right: 50})
			if n := f.limits.Tries.Size(); n != 0 {
				t.Error(n, "counters are left")
			}
			for i := range same {
				same[i] = "wrong"
			}
			take(t, f.limits.Programs)
			ended = f.asked(app, "a", same...)
			f.limits.Programs.Release()
			wants(t, "a wrong one:", ended(),
				map[string]int{wrong: limits.Of(limits.OfPair).Tries, refused: 50 - limits.Of(limits.OfPair).Tries})
		})
	})
	t.Run("who leaves does not answer for the others", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, one)
			app := chosen(f)
			take(t, f.limits.Programs)
			ctx, leave := context.WithCancel(t.Context())
			go func() { _, _, _ = f.Grants.Token(ctx, by(app, "grant_type", policy.GrantClient), "a") }()
			synctest.Wait()
			ended := f.asked(app, "a", app.Secret)
			leave()
			synctest.Wait()
			f.limits.Programs.Release()
			wants(t, "who stayed:", ended(), map[string]int{right: 1})
		})
	})
	t.Run("one client does not fill the queue from many addresses, nor one address for many clients", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			f := begin(t, one)
			app, other, many := chosen(f), chosen(f), []*clients.Registered{chosen(f), chosen(f), chosen(f)}
			take(t, f.limits.Programs)
			n := 0
			for _, address := range []string{"a", "b", "c"} {
				n += f.asked(app, address, wrongOnes(limits.Of(limits.OfPair).Tries)...)()[refused]
			}
			if want := 3*limits.Of(limits.OfPair).Tries - password.QueueEach; n != want ||
				f.limits.Programs.Stats().Waiting != password.QueueEach {
				t.Errorf("%d are refused, want %d; %d hashes wait", n, want, f.limits.Programs.Stats().Waiting)
			}
			ended := f.asked(other, "d", other.Secret)
			wants(t, "another client at once:", ended(), map[string]int{})
			f.limits.Programs.Release()
			wants(t, "another client then:", ended(), map[string]int{right: 1})
			if f.limits.Programs.Stats().Parties != 0 {
				t.Error("places are still taken:", f.limits.Programs.Stats().Parties)
			}
			take(t, f.limits.Programs)
			n = 0
			for _, app := range many {
				n += f.asked(app, "e", wrongOnes(limits.Of(limits.OfPair).Tries)...)()[refused]
			}
			if want := 3*limits.Of(limits.OfPair).Tries - password.QueueEach; n != want {
				t.Errorf("of one address %d are refused, want %d", n, want)
			}
			f.limits.Programs.Release()
			// The refused requests above have not used a try.
			wants(t, "afterwards:", f.asked(chosen(f), "e", wrongOnes(limits.Of(limits.OfPair).Tries)...)(),
				map[string]int{wrong: limits.Of(limits.OfPair).Tries})
		})
	})
	t.Run("who is right comes in any number", func(t *testing.T) {
		f := begin(t)
		app := f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" })
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				_, err := f.token(app, "grant_type", policy.GrantClient)
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	})
}

// A request above the limit is refused before it enters the queue for a slow hash.
func TestThrottleIsAskedBeforeTheHash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
		f.person("alice")
		app, phone := f.app(func(r *clients.Registration) { r.ClientSecret = "chosen by a person" }), f.app(public)
		s := f.login("bob")
		for name, try := range map[string]func(i int) error{
			"a login": func(int) error {
				_, err := f.People.Login(t.Context(), "alice", goodPassword+"x", people.Browser{Address: "a"})
				return err
			},
			"the password grant": func(int) error {
				return second(f.token(phone, "grant_type", policy.GrantPassword, "username", "alice", "password", "wrong"))
			},
			"the password grant of an administrator's application": func(int) error {
				return second(f.token(app, "grant_type", policy.GrantPassword, "username", "alice", "password", "wrong"))
			},
			"a chosen secret": func(i int) error {
				return second(f.token(&clients.Registered{Application: app.Application, Secret: fmt.Sprint("wrong", i)},
					"grant_type", policy.GrantClient))
			},
			"the change of a password": func(int) error {
				return second(f.People.ChangePassword(t.Context(), s,
					people.Passwords{Current: "wrong", Next: "another few words"}))
			},
		} {
			n := 0
			for kind(try(n)) != "429 temporarily_unavailable" {
				if n++; n > 100 {
					t.Fatal(name, "is never refused")
				}
			}
			take(t, f.limits.People)
			take(t, f.limits.Programs)
			ended := make(chan error, 1)
			go func() { ended <- try(-1) }()
			synctest.Wait()
			select {
			case err := <-ended:
				wantError(t, err, "429 temporarily_unavailable")
			default:
				t.Error(name, "waits for a hash, although it is refused")
			}
			f.limits.People.Release()
			f.limits.Programs.Release()
			synctest.Wait()
			time.Sleep(time.Hour)
		}
	})
}

// One address cannot fill the queue of the login page. A request that the queue refuses uses no try.
func TestOneAddressDoesNotFillTheQueueOfHashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
		f.person("alice")
		f.person("carol")
		known, err := f.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "home"})
		if err != nil {
			t.Fatal(err)
		}
		take(t, f.limits.People)
		results := make(chan string, 100)
		login := func(name, password string, b people.Browser) {
			go func() {
				_, err := f.People.Login(t.Context(), name, password, b)
				results <- kind(err)
			}()
			synctest.Wait()
		}
		for i := range 30 {
			login(fmt.Sprint("nobody", i), "wrong", people.Browser{Address: "a"})
		}
		if len(results) != 30-password.QueueEach || f.limits.People.Stats().Waiting != password.QueueEach {
			t.Errorf("%d are refused, and %d wait", len(results), f.limits.People.Stats().Waiting)
		}
		for len(results) > 0 {
			if got := <-results; got != "429 temporarily_unavailable" {
				t.Error(got)
			}
		}
		login("carol", goodPassword, people.Browser{Address: "b"})
		login("alice", goodPassword, people.Browser{Address: "a", Device: known.Device})
		if len(results) != 0 {
			t.Error("somebody else is refused:", <-results)
		}
		f.limits.People.Release()
		synctest.Wait()
		got := map[string]int{}
		for len(results) > 0 {
			got[<-results]++
		}
		if d := cmp.Diff(map[string]int{"400 invalid_grant": password.QueueEach, "no error": 2}, got); d != "" {
			t.Error(d)
		}
		if n := left(f.limits.Tries,
			throttle.Try{Kind: limits.OfAddress, Key: limits.AtPage + "a", Wide: ""}); n != limits.Of(limits.OfAddress).
			Tries-password.QueueEach || f.limits.People.Stats().Parties != 0 {
			t.Errorf("the address has %d tries left; %v", n, f.limits.People.Stats().Parties)
		}
	})
}

// One client or address cannot fill the queue for programs with the password grant.
func TestOneClientDoesNotFillTheQueueOfHashes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Hashing.Concurrency = 1 })
		apps := []*clients.Registered{f.app(), f.app(), f.app()}
		for rule, from := range map[string]func(i int) (*clients.Registered, string){
			"one client":  func(i int) (*clients.Registered, string) { return apps[0], fmt.Sprint("a", i) },
			"one address": func(i int) (*clients.Registered, string) { return apps[i%3], "a" },
		} {
			take(t, f.limits.Programs)
			refused, wrong := 0, 0
			results := make(chan string, 30)
			for i := range cap(results) {
				app, address := from(i)
				go func() {
					_, _, err := f.Grants.Token(t.Context(),
						by(app, "grant_type", policy.GrantPassword, "username", fmt.Sprint("nobody", i), "password", "wrong"), address)
					results <- kind(err)
				}()
				synctest.Wait()
			}
			refused = len(results)
			f.limits.Programs.Release()
			synctest.Wait()
			for len(results) > 0 {
				if <-results == "400 invalid_grant" {
					wrong++
				}
			}
			if refused != cap(results)-password.QueueEach || wrong != password.QueueEach ||
				f.limits.Programs.Stats().Parties != 0 {
				t.Errorf("%s: %d are refused at once, %d hashed; %v", rule, refused, wrong, f.limits.Programs.Stats().Parties)
			}
		}
	})
}

// left uses all remaining tries and returns how many there were.
func left(t *throttle.Throttle, want throttle.Try) int {
	for n := 0; ; n++ {
		if _, wait := t.Take(want); wait > 0 || n == 1000 {
			return n
		}
	}
}

// take occupies a slot of the hasher, so that no other request can use it.
func take(t *testing.T, h limits.Hasher) {
	t.Helper()
	err := h.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
}
