package provider

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"mandate/provider/clients"
	"mandate/provider/device"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// television is an application for devices, with these changes.
func (f *fixture) television(changes ...func(*clients.Registration)) *clients.Registered {
	f.t.Helper()
	return f.app(append([]func(*clients.Registration){func(r *clients.Registration) {
		r.ClientType, r.GrantTypes, r.RedirectURIs = policy.Public, []string{policy.GrantDevice}, nil
	}}, changes...)...)
}

// device makes a device authorization request from a network address.
func (f *fixture) device(app *clients.Registered, address string, pairs ...string) (*device.Codes, error) {
	codes, _, err := f.Devices.Authorize(f.t.Context(), by(app, pairs...),
		device.Origin{Address: address, UserAgent: "television"})
	return codes, err
}

func (f *fixture) asks(app *clients.Registered, pairs ...string) *device.Codes {
	f.t.Helper()
	codes, err := f.device(app, "192.0.2.9", pairs...)
	if err != nil {
		f.t.Fatal(err)
	}
	return codes
}

func (f *fixture) find(code string, s *storage.SignedIn) *device.Request {
	f.t.Helper()
	q, err := f.Devices.Find(f.t.Context(), code, s, "192.0.2.1")
	if err != nil {
		f.t.Fatal(err)
	}
	return q
}

// allow approves the request of a device.
func (f *fixture) allow(codes *device.Codes, s *storage.SignedIn) {
	f.t.Helper()
	_, err := f.Devices.Approve(f.t.Context(), f.find(codes.UserCode, s).Ticket, s)
	if err != nil {
		f.t.Fatal(err)
	}
}

func pollWith(codes *device.Codes, pairs ...string) []string {
	return append([]string{"grant_type", policy.GrantDevice, "device_code", codes.DeviceCode}, pairs...)
}

func TestDeviceGrant(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t, openID)
		app, s := f.television(), f.login("alice")
		loggedIn := s.Session.AuthTime
		time.Sleep(time.Minute)
		codes := f.asks(app, "scope", "openid read offline_access")
		if codes.VerificationURI != server+"/device" || codes.VerificationURIComplete != codes.VerificationURI+"?user_code="+
			codes.UserCode || codes.ExpiresIn != 600 || codes.Interval != 5 {
			t.Errorf("%+v", codes)
		}
		_, err := f.token(app, pollWith(codes)...)
		wantError(t, err, "400 authorization_pending")
		f.allow(codes, s)
		if listed, err := f.People.Authorized(t.Context(), s.User.ID); err != nil || len(listed) != 1 {
			t.Errorf("before the device has its tokens, the account page lists %+v, %v", listed, err)
		}
		answer := f.must(f.token(app, pollWith(codes)...))
		if answer.Scope != "openid read offline_access" || answer.RefreshToken == "" {
			t.Errorf("%+v", answer)
		}
		f.wantActive(true, answer.AccessToken, answer.RefreshToken)
		claims := claimsOf(t, answer.IDToken)
		if claims["auth_time"] != float64(loggedIn) || claims["sub"] != s.User.ID ||
			claims["aud"] != app.Application.ClientID || claims["nonce"] != nil {
			t.Errorf("the ID token has %v", claims)
		}
		f.must(f.refresh(app, answer.RefreshToken))
		listed, err := f.People.Authorized(t.Context(), s.User.ID)
		if err != nil || len(listed) != 1 || !slices.Equal(listed[0].Scopes, []string{"openid", "read", "offline_access"}) {
			t.Errorf("the account page lists %+v, %v", listed, err)
		}
		if n := f.count("consents"); n != 0 {
			t.Errorf("%d consents are stored: with one, the application could skip the consent page", n)
		}
	})
}

// RFC 8628 §3.5: a device that keeps to the interval gets its tokens, also after it polled too
// early.
func TestDevicePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, s := f.television(), f.login("alice")
		codes := f.asks(app)
		poll := func(wait time.Duration, want string) {
			t.Helper()
			time.Sleep(wait)
			_, err := f.token(app, pollWith(codes)...)
			wantError(t, err, want)
		}
		poll(0, "400 authorization_pending")
		for range 3 {
			poll(5*time.Second, "400 authorization_pending")
		}
		poll(time.Second, "400 slow_down")
		poll(10*time.Second, "400 authorization_pending")
		poll(10*time.Second, "400 authorization_pending")
		// A device that ignores slow_down still gets an answer from time to time.
		answers := map[string]int{}
		for range 40 {
			time.Sleep(2 * time.Second)
			answers[kind(second(f.token(app, pollWith(codes)...)))]++
		}
		if answers["400 authorization_pending"] == 0 || answers["400 slow_down"] == 0 || len(answers) != 2 {
			t.Errorf("the answers of a flood: %v", answers)
		}
		f.allow(codes, s)
		f.must(f.token(app, pollWith(codes)...)) // slow_down would say that the request is pending
	})
}

// Whoever sees a poll, such as in a log, cannot slow the device down with its assertion: a poll that is sent again does
// not count. RFC 8628 §3.5: slow_down is for a device that does not keep to its interval.
//
// Resembles CVE-2020-15222 (fosite), where the jti of an assertion was not kept.
func TestAttackPollThatIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app := f.keyed()
		r := app.at("device_authorization", app.assertion(nil), "scope", "read")
		codes, _, err := f.Devices.Authorize(t.Context(), r, device.Origin{Address: "192.0.2.9"})
		if err != nil {
			t.Fatal(err)
		}
		poll := func(wait time.Duration, assertion, want string) {
			t.Helper()
			time.Sleep(wait)
			wantError(t, f.send("token", app.at("token", assertion, pollWith(codes)...)), want)
		}
		seen := app.assertion(nil)
		poll(0, seen, "400 authorization_pending")
		poll(4*time.Second, seen, "401 invalid_client")
		poll(time.Second, app.assertion(nil), "400 authorization_pending")
	})
}

func TestDeviceCodeThatIsNotApproved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := begin(t)
		app, other, s := f.television(), f.television(), f.login("alice")
		denied, expired, approved := f.asks(app), f.asks(app), f.asks(app)
		err := f.Devices.Deny(t.Context(), f.find(denied.UserCode, s).Ticket, s)
		if err != nil {
			t.Fatal(err)
		}
		f.allow(approved, s)
		for what, c := range map[string]struct {
			app   *clients.Registered
			pairs []string
			want  string
		}{
			"denied": {app, pollWith(denied), "400 access_denied"},
			"unknown": {app, []string{"grant_type", policy.GrantDevice, "device_code", "mdc_unknown"},
				"400 invalid_grant"},
			"the user code": {app, []string{"grant_type", policy.GrantDevice, "device_code", expired.UserCode},
				"400 invalid_grant"},
			"missing":                  {app, []string{"grant_type", policy.GrantDevice}, "400 invalid_request"},
			"another client":           {other, pollWith(expired), "400 invalid_grant"},
			"another client, approved": {other, pollWith(approved), "400 invalid_grant"},
			"another client, denied":   {other, pollWith(denied), "400 invalid_grant"},
			"without the grant type":   {f.app(), pollWith(approved), "400 unauthorized_client"},
			"as an authorization code": {f.app(grants(policy.GrantCode)),
				[]string{"grant_type", policy.GrantCode, "code", approved.DeviceCode}, "400 invalid_grant"},
			"a resource that was not in": {app, pollWith(approved, "resource", "https://unknown.example/"),
				"400 invalid_target"},
			"a resource that is no URI":   {app, pollWith(approved, "resource", "files"), "400 invalid_target"},
			"with a code verifier (PKCE)": {app, pollWith(denied, "code_verifier", verifier), "400 access_denied"},
		} {
			_, err := f.token(c.app, c.pairs...)
			if kind(err) != c.want {
				t.Errorf("%s: %v, want %s", what, err, c.want)
			}
		}
		time.Sleep(10 * time.Minute)
		for what, codes := range map[string]*device.Codes{"pending": expired, "approved": approved} {
			_, err := f.token(app, pollWith(codes)...)
			if kind(err) != "400 expired_token" {
				t.Errorf("an expired code that is %s: %v", what, err)
			}
		}
		_, err = f.Devices.Find(t.Context(), expired.UserCode, s, "192.0.2.1")
		wantInvalid(t, err, "user_code")
	})
}

func TestDeviceCodeIsRedeemedOnce(t *testing.T) {
	f := begin(t)
	app, s := f.television(), f.login("alice")
	codes := f.asks(app)
	f.allow(codes, s)
	answer := f.must(f.token(app, pollWith(codes)...))
	f.wantActive(true, answer.AccessToken)
	_, err := f.token(app, pollWith(codes)...)
	wantError(t, err, "400 invalid_grant")
	f.wantActive(false, answer.AccessToken, answer.RefreshToken)

	codes = f.asks(app)
	f.allow(codes, s)
	var polls sync.WaitGroup
	results := make(chan string, 64)
	for range 64 {
		polls.Go(func() { results <- kind(second(f.token(app, pollWith(codes)...))) })
	}
	polls.Wait()
	got := map[string]int{}
	for range 64 {
		got[<-results]++
	}
	if got["no error"] != 1 || got["400 invalid_grant"] != 63 {
		t.Errorf("64 polls at once: %v", got)
	}
}

func TestApprovalOfADeviceEndsWithItsApplication(t *testing.T) {
	f := begin(t)
	app, s := f.television(), f.login("alice")
	codes, open := f.asks(app), f.asks(app)
	f.allow(codes, s)
	if err := f.Clients.Delete(t.Context(), policy.Operator(), app.Application.ID); err != nil {
		t.Fatal(err)
	}
	_, err := f.token(app, pollWith(codes)...)
	wantError(t, err, "401 invalid_client")
	_, err = f.Devices.Find(t.Context(), open.UserCode, s, "192.0.2.1")
	wantInvalid(t, err, "user_code")
}

func TestDeviceAndResources(t *testing.T) {
	f := withResources(t)
	app, s := f.television(), f.login("alice")
	codes := f.asks(app, "resource", files, "resource", mailbox, "scope", "read")
	f.allow(codes, s)
	answer := f.must(f.token(app, pollWith(codes, "resource", mailbox)...))
	token, err := f.Tokens.LiveToken(t.Context(), answer.AccessToken)
	if err != nil || f.aud(answer.AccessToken) != mailbox {
		t.Errorf("the token is for %q, %v", token.Resource, err)
	}
	f.must(f.refresh(app, answer.RefreshToken, "resource", files))
	codes = f.asks(app, "resource", files)
	f.allow(codes, s)
	_, err = f.token(app, pollWith(codes, "resource", mailbox)...)
	wantError(t, err, "400 invalid_target")
	f.must(f.token(app, pollWith(codes)...)) // the request that failed did not use the code
}

// The database and the log have neither code.
func TestCodesOfDevicesAreKeptSecret(t *testing.T) {
	f := begin(t)
	app, s := f.television(), f.login("alice")
	codes := f.asks(app)
	_, _ = f.token(app, pollWith(codes)...)
	f.allow(codes, s)
	f.must(f.token(app, pollWith(codes)...))
	_, _ = f.token(app, pollWith(codes)...)
	plain := strings.ReplaceAll(codes.UserCode, "-", "")
	for _, secret := range []string{codes.DeviceCode, codes.UserCode, plain, seal.Digest(plain),
		seal.Digest(codes.UserCode)} {
		if f.contains(secret) {
			t.Errorf("the database has %q", secret)
		}
		if strings.Contains(f.logged.String(), secret) {
			t.Errorf("the log has %q", secret)
		}
	}
}
