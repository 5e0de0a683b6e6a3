package limits

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/password"
	"mandate/provider/throttle"
)

// Two addresses of one IPv4 /24 use up the attempts of their site at a username, and those of nobody else.
func TestNeighboursUseUpTheAttemptsOfTheirSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := NewThrottle(Size)
		waits := func(name, address string) time.Duration {
			_, wait := tries.Take(GuessAt(AtPage, name, address)...)
			return wait
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
			for range Of(OfPair).Tries {
				if wait := waits("alice", address); wait != 0 {
					t.Fatal(address, wait)
				}
			}
		}
		if wait := waits("alice", "192.0.2.3"); wait != 10*time.Second {
			t.Error("the same site waits for", wait)
		}
		for _, other := range [][2]string{{"alice", "198.51.100.1"}, {"bob", "192.0.2.3"}} {
			if wait := waits(other[0], other[1]); wait != 0 {
				t.Error(other, "waits for", wait)
			}
		}
	})
}

// Each kind of counter has its own limit: the throttle has them in the order of the constants.
func TestEveryKindHasItsLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := NewThrottle(Size)
		for kind := OfAccount; kind <= OfKnownFactor; kind++ {
			one := throttle.Try{Kind: kind, Key: "one"}
			for i := range Of(kind).Tries {
				if _, wait := tries.Take(one); wait != 0 {
					t.Fatalf("kind %d: try %d waits for %s", kind, i+1, wait)
				}
			}
			if _, wait := tries.Take(one); wait != Of(kind).Refill {
				t.Errorf("kind %d: after %d tries a wait of %s", kind, Of(kind).Tries, wait)
			}
			if _, wait := tries.Take(throttle.Try{Kind: kind, Key: "another"}); wait != 0 {
				t.Errorf("kind %d: another key waits", kind)
			}
		}
	})
}

// Networks and owners send many requests that are right: a hundred at once, and then one each second.
func TestRequestsAreMany(t *testing.T) {
	for _, kind := range []int{OfOwner, OfAddress, OfDeviceRequest, OfPushedRequest} {
		if got := Of(kind); got != (throttle.Limit{Tries: 100, Refill: time.Second}) {
			t.Errorf("kind %d: %+v", kind, got)
		}
	}
}

// A flood of guesses at one place does not use up the tries at another one, nor those of another name.
func TestPlacesAreApart(t *testing.T) {
	const address = "192.0.2.1"
	synctest.Test(t, func(t *testing.T) {
		l := New(password.Cost{}, 1)
		groups := map[string][]throttle.Try{
			"the page":            GuessAt(AtPage, "alice", address),
			"the token endpoint":  GuessAt(AtProgram, "alice", address),
			"the account":         GuessAtAccount("alice", address),
			"the session":         PasswordChange("cookie", "alice"),
			"a message":           MessageTo("reset ", "alice", address),
			"another message":     MessageTo("sign-up ", "alice", address),
			"a code":              {At(AtFactor, address)},
			"an unknown client":   {At(AtUnknownClient, address)},
			"a request of itself": {{Kind: OfOwnChange, Key: "cookie"}},
		}
		for name, tries := range groups {
			for {
				_, err := l.Take(tries...)
				if err != nil {
					oauthtest.Want(t, err, "429 temporarily_unavailable")
					break
				}
			}
			for other, tries := range groups {
				if err := l.CheckOnly(tries...); (err == nil) != (other != name) {
					t.Errorf("after a flood at %s, %s: %v", name, other, err)
				}
			}
			time.Sleep(24 * time.Hour) // virtual: all counters are full again
		}
	})
}

// CheckOnly uses no try, and what is given back can be used again.
func TestTriesComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := New(password.Cost{}, 1)
		one := throttle.Try{Kind: OfFactor, Key: "alice"}
		for range 3 * Of(OfFactor).Tries {
			if err := l.CheckOnly(one); err != nil {
				t.Fatal(err)
			}
			giveBack, err := l.Take(one)
			if err != nil {
				t.Fatal(err)
			}
			giveBack()
		}
	})
}

// The message of Request says how long the wait is, and Retry-After too.
func TestRequest(t *testing.T) {
	for kind, want := range map[int]string{
		OfDeviceRequest: "Too many requests. Try again in a minute., 1 s",
		OfRegistration:  "Too many requests. Try again in a minute., 30 s",
		OfMessageTo:     "Too many requests. Try again in 5 minutes., 300 s",
	} {
		synctest.Test(t, func(t *testing.T) {
			l := New(password.Cost{}, 1)
			one := throttle.Try{Kind: kind, Key: "one"}
			for range Of(kind).Tries {
				if _, err := l.Request(one); err != nil {
					t.Fatal(err)
				}
			}
			_, err := l.Request(one)
			oauthtest.Want(t, err, "429 temporarily_unavailable")
			e, _ := errors.AsType[*oauth.Error](err)
			if got := fmt.Sprintf("%s, %d s", e.Description, e.RetryAfter); got != want {
				t.Errorf("kind %d: %s, want %s", kind, got, want)
			}
		})
	}
}

// A hash that gets no turn is the server's matter, and too many places of one party are the party's.
func TestHashingError(t *testing.T) {
	cause := fmt.Errorf("wrapped: %w", password.ErrBusy)
	err := hashingError(cause)
	oauthtest.Want(t, err, "503 temporarily_unavailable")
	if !errors.Is(err, password.ErrBusy) {
		t.Error("the cause is lost")
	}
	oauthtest.Want(t, hashingError(password.ErrQueue), "429 temporarily_unavailable")
	for _, other := range []error{nil, context.Canceled} {
		if got := hashingError(other); got != other {
			t.Errorf("%v becomes %v", other, got)
		}
	}
}

func TestInQueue(t *testing.T) {
	if InQueue("192.0.2.1") != InQueue("192.0.2.200") || InQueue("192.0.2.1") == InQueue("198.51.100.1") {
		t.Error(InQueue("192.0.2.1"), InQueue("192.0.2.200"), InQueue("198.51.100.1"))
	}
}
