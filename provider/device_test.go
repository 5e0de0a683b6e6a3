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
	"mandate/provider/policy"
	"mandate/storage"
)

func TestDeviceIsDecidedOnceAndBySessionOfThePage(t *testing.T) {
	f := begin(t)
	app, alice, bob := f.television(), f.login("alice"), f.login("bob")
	codes := f.asks(app)
	q := f.find(strings.ToLower(strings.ReplaceAll(codes.UserCode, "-", " ")), alice)
	if q.UserCode != codes.UserCode || q.From.Address != "192.0.2.9" || q.From.UserAgent != "television" || q.Near {
		t.Errorf("the page shows %+v", q)
	}
	for what, err := range map[string]error{
		"another session": second(f.Devices.Approve(t.Context(), q.Ticket, bob)),
		"no ticket":       second(f.Devices.Approve(t.Context(), "", alice)),
		"another denies":  f.Devices.Deny(t.Context(), q.Ticket, bob),
		"a consent page":  second(f.Authorizations.Resume(t.Context(), q.Ticket, alice)),
	} {
		if kind(err) != "400 invalid_request" {
			t.Errorf("%s: %v", what, err)
		}
	}
	again := f.find(codes.UserCode, bob)
	if _, err := f.Devices.Approve(t.Context(), q.Ticket, alice); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"twice":          second(f.Devices.Approve(t.Context(), q.Ticket, alice)),
		"denied later":   f.Devices.Deny(t.Context(), q.Ticket, alice),
		"by another too": second(f.Devices.Approve(t.Context(), again.Ticket, bob)),
	} {
		if kind(err) != "400 invalid_request" {
			t.Errorf("%s: %v", what, err)
		}
	}
	_, err := f.Devices.Find(t.Context(), codes.UserCode, alice, "192.0.2.1")
	wantInvalid(t, err, "user_code")
	answer := f.must(f.token(app, pollWith(codes)...))
	token, err := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
	if err != nil || oauth.Deref(token.UserID) != alice.User.ID {
		t.Errorf("the token is about %v, %v", oauth.Deref(token.UserID), err)
	}
}

// The person approves what the page showed.
func TestDeviceIsNotApprovedAfterAChange(t *testing.T) {
	for what, change := range map[string]func(*clients.Registration){
		"another name":   func(r *clients.Registration) { r.Name = "Bank" },
		"fewer scopes":   func(r *clients.Registration) { r.Scopes = []string{"read"} },
		"no grant type":  grants(policy.GrantCode),
		"no scope of it": func(r *clients.Registration) { r.Scopes = []string{"groups"} },
	} {
		t.Run(what, func(t *testing.T) {
			f := begin(t)
			app, s := f.television(), f.login("alice")
			codes := f.asks(app, "scope", "read write")
			q := f.find(codes.UserCode, s)
			r := clients.Registration{
				Name:             "Client",
				ClientType:       policy.Public,
				GrantTypes:       []string{policy.GrantDevice},
				RedirectURIs:     []string{callback},
				HashClientSecret: true,
			}
			change(&r)
			if _, err := f.Clients.Update(
				t.Context(), policy.Operator(), app.Application.ID, f.version(app.Application.ID), r,
			); err != nil {
				t.Fatal(err)
			}
			_, err := f.Devices.Approve(t.Context(), q.Ticket, s)
			wantError(t, err, "400 invalid_request")
			_, err = f.token(app, pollWith(codes)...)
			if got := kind(err); got != "400 authorization_pending" && got != "400 unauthorized_client" {
				t.Error(err)
			}
		})
	}
}

// RFC 8628 §5.1: guesses are limited, and nobody can use up the tries of somebody else.
func TestGuessesAtUserCodesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, mallory, alice := f.television(), f.login("mallory"), f.login("alice")
		guess := func(code string, s *storage.SignedIn) error {
			return second(f.Devices.Find(t.Context(), code, s, "192.0.2.1"))
		}
		codes := f.asks(app)
		for range 10 {
			wantInvalid(t, guess("not a code", mallory), "user_code") // needs no try
			wantInvalid(t, guess("BBBB-BBBB", mallory), "user_code")
			// A right code in between gives no other try back.
			if kind(guess(codes.UserCode, mallory)) == "429 temporarily_unavailable" {
				break
			}
		}
		for what, code := range map[string]string{"a wrong code": "BBBB-BBBB", "the right code": codes.UserCode} {
			if err := guess(code, mallory); kind(err) != "429 temporarily_unavailable" {
				t.Errorf("%s after ten wrong ones: %v", what, err)
			}
		}
		if err := guess(codes.UserCode, alice); err != nil {
			t.Errorf("another account of the same network: %v", err)
		}
		again := *mallory
		again.Session.AuthTime++
		for what, s := range map[string]*storage.SignedIn{
			"another session":       f.login("mallory"),
			"after another sign-in": &again,
		} {
			if err := guess(codes.UserCode, s); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		more := 0
		for range 5 {
			s := f.login("mallory")
			for kind(guess("BBBB-BBBB", s)) != "429 temporarily_unavailable" {
				more++
			}
		}
		if more != 10 {
			t.Errorf("%d guesses in other sessions", more)
		}
		time.Sleep(10 * time.Second)
		wantInvalid(t, guess("BBBB-BBBB", mallory), "user_code")
	})
}

// RFC 10027 §6.1.11: a stranger cannot fill the table, and one network not the quota.
func TestRequestsOfDevicesAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Device.MaxPending = 60 })
		open, closed := f.television(), f.app(grants(policy.GrantDevice))
		asked := func(app *clients.Registered, address string, n int) int {
			for i := range n {
				_, err := f.device(app, address)
				if err == nil {
					continue
				}
				wantError(t, err, "429 temporarily_unavailable")
				if e, _ := errors.AsType[*oauth.Error](err); e.RetryAfter == 0 {
					t.Error("the response does not say how long to wait")
				}
				return i
			}
			return n
		}
		if n := asked(open, "192.0.2.1", 10); n != 3 {
			t.Errorf("one network made %d requests, want a twentieth of all", n)
		}
		if n := asked(open, "198.51.100.1", 1); n != 1 {
			t.Error("another network may not ask")
		}
		if n := asked(closed, "192.0.2.1", 61); n != 60 {
			t.Errorf("a confidential application made %d requests", n)
		}
		time.Sleep(10 * time.Minute)
		if n := asked(open, "192.0.2.1", 1); n != 1 {
			t.Error("requests that have ended still count")
		}
	})
}

// Without a bound of all requests, a stranger in one network still has the tries of a network.
func TestDevicesAreSlowedByNetworkWithoutAQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, func(c *Config) { c.Device.MaxPending = 0 })
		app, most := f.television(), limits.Of(limits.OfDeviceRequest).Tries
		for n := range most {
			if err := second(f.device(app, "192.0.2.1")); err != nil {
				t.Fatalf("request %d: %v", n+1, err)
			}
		}
		wantError(t, second(f.device(app, "192.0.2.1")), "429 temporarily_unavailable")
		wantError(t, second(f.device(app, "198.51.100.1")), "no error")
	})
}

// The page asks for the second factor; whoever sends its form with a weaker session must not pass (RFC 9470 §3).
func TestDeviceIsNotApprovedByAWeakerSession(t *testing.T) {
	f := begin(t)
	app, s := f.television(func(r *clients.Registration) { r.RequiredACR = acr.MFA }), f.login("alice")
	s.Session.AMR = "pwd otp"
	q := f.find(f.asks(app).UserCode, s)
	weak := *s
	weak.Session.AMR = acr.PWD
	_, err := f.Devices.Approve(t.Context(), q.Ticket, &weak)
	wantError(t, err, "400 invalid_request")
	if n := f.count("devices WHERE state = 'approved'"); n != 0 {
		t.Error("the device is approved")
	}
	_, err = f.Devices.Approve(t.Context(), q.Ticket, s)
	wantError(t, err, "no error")
}
