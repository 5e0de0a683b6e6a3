package mandate

import (
	"net/http"
	"net/url"
	"testing"
)

// TestAttackDeviceWithoutConsent: an application for devices gets tokens without the page, or
// with more than the page showed.
func TestAttackDeviceWithoutConsent(t *testing.T) {
	attack(t, "device grant that bypasses consent, or gets more than was shown",
		"CVE-2024-38371 (authentik); django-oauth-toolkit #1692")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		b := v.signedIn(t, v.alice)
		codes := v.askDevice(t, v.web, "scope", "read") // it may skip the consent page
		b.open(t, "/device?user_code="+codes.UserCode)
		b.open(t, codes.VerificationURIComplete)
		v.wantPoll(t, v.web, codes.DeviceCode, "authorization_pending")
		b.enter(t, codes.UserCode)
		b.decide(t, "approve")
		// RFC 6749 §5.2, RFC 8628 §3.4: the token request has no scope. More than was shown is
		// never granted.
		got := v.mustToken(t, v.web.auth(), pollForm(codes.DeviceCode, "scope", "read write"))
		if got.Scope != "read" {
			t.Errorf("the scope is %q", got.Scope)
		}
		address, _ := v.authorizeURL(v.casual, "scope", "read")
		b.open(t, address)
		if b.Away != nil {
			t.Error("another application needs no consent")
		}
	})
}

// TestAttackDeviceConsentCounts: the approval of a device, which others can begin, lets the
// application skip the consent page later.
func TestAttackDeviceConsentCounts(t *testing.T) {
	t.Parallel()
	attack(t, "an approval that counts for another flow", "")
	v := newFixture(t, options{})
	app := v.application(t, "--name", "Both", "--grant", "authorization_code", "--grant", deviceGrant, "--redirect-uri",
		"https://both.example/back")
	b := v.signedIn(t, v.alice)
	b.approvedDevice(t, app, "scope", "read")
	address, _ := v.authorizeURL(app, "scope", "read")
	b.open(t, address)
	if b.Away != nil {
		t.Errorf("without the consent page the browser goes to %s", b.Away)
	}
}

// TestAttackDeviceFromAnotherSession: somebody uses the page that another person was shown, or
// decides again.
func TestAttackDeviceFromAnotherSession(t *testing.T) {
	attack(t, "device request that another session approves", "django-oauth-toolkit #1819; CVE-2026-45337 (better-auth)")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		alice, bob := v.signedIn(t, v.alice), v.signedIn(t, v.bob)
		codes := v.askDevice(t, v.tv)
		alice.enter(t, codes.UserCode)
		ticket := alice.ticketOfPage(t)
		for _, decision := range []string{"approve", "deny"} {
			bob.send(t, "/device/answer/", params("ticket", ticket, "decision", decision))
			if bob.Status != http.StatusBadRequest {
				t.Errorf("%s: %d %s", decision, bob.Status, bob.Body)
			}
		}
		v.wantPoll(t, v.tv, codes.DeviceCode, "authorization_pending")
		alice.decide(t, "approve")
		bob.enter(t, codes.UserCode)
		if bob.Status != 422 {
			t.Errorf("after the decision, another person finds the request: %d", bob.Status)
		}
		got := v.mustToken(t, v.tv.auth(), pollForm(codes.DeviceCode))
		if name := v.introspect(t, v.asker.auth(), got.AccessToken)["username"]; name != "alice" {
			t.Errorf("the token is about %v", name)
		}
	})
}

// TestAttackGuessUserCodes: somebody tries user codes, with right ones in between.
func TestAttackGuessUserCodes(t *testing.T) {
	t.Parallel()
	attack(t, "user codes that can be guessed without a limit, or whose limit locks others out",
		"Keycloak #51275; Abblix PR 165; django-oauth-toolkit #1734")
	v := newFixture(t, options{})
	mallory, alice := v.signedIn(t, v.bob), v.signedIn(t, v.alice)
	codes := v.askDevice(t, v.tv)
	limited := 0
	for i := range 20 {
		mallory.enter(t, "BBBB-BBB"+string("BCDFGHJKLMNPQRSTVWXZ"[i]))
		if mallory.Status == http.StatusTooManyRequests {
			limited++
			if mallory.Header.Get("Retry-After") == "" {
				t.Error("the page does not say how long to wait")
			}
			continue
		}
		mallory.enter(t, codes.UserCode) // a success gives back no other try
	}
	if limited < 9 {
		t.Errorf("of 20 guesses only %d were refused", limited)
	}
	// A link uses no try: nobody can use up the tries of somebody else.
	for range 30 {
		alice.open(t, "/device?user_code=BBBB-BBBB")
	}
	alice.allowDevice(t, codes)
}

// TestAttackDeviceCodeAsAnotherCode: a device code works where PKCE protects authorization
// codes, or an authorization code where no PKCE is asked for.
func TestAttackDeviceCodeAsAnotherCode(t *testing.T) {
	t.Parallel()
	attack(t, "PKCE bypass through the device grant", "CVE-2023-48228 (authentik); CVE-2024-22258 (Spring)")
	v := newFixture(t, options{})
	b := v.signedIn(t, v.alice)
	codes := b.approvedDevice(t, v.web)
	for what, form := range map[string][]string{
		"device code as a code": {"grant_type", "authorization_code", "code", codes.DeviceCode},
		"with a redirect URI":   {"grant_type", "authorization_code", "code", codes.DeviceCode, "redirect_uri", webURI},
		"code as a device code": {"grant_type", deviceGrant, "device_code", b.issue(t, v.web, v.alice).Get("code")},
	} {
		err := v.post(t, "/o/token/", v.web.auth(), params(form...)).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	v.mustToken(t, v.web.auth(), pollForm(codes.DeviceCode))
}

// TestAttackDevicePollsForEver: a device that polls too often never gets its tokens.
func TestAttackDevicePollsForEver(t *testing.T) {
	t.Parallel()
	attack(t, "polls that keep a device waiting for ever", "nextcloud oidc PR 716")
	v := newFixture(t, options{})
	codes := v.askDevice(t, v.tv)
	v.wantPoll(t, v.tv, codes.DeviceCode, "authorization_pending")
	for range 30 {
		v.wantPoll(t, v.tv, codes.DeviceCode, "slow_down")
	}
	v.signedIn(t, v.alice).allowDevice(t, codes)
	v.mustToken(t, v.tv.auth(), pollForm(codes.DeviceCode))
}

// TestAttackFillDevices: a stranger with the client_id of a public application makes requests
// until nobody else can.
func TestAttackFillDevices(t *testing.T) {
	t.Parallel()
	attack(t, "records that strangers can make without a limit", "")
	v := newFixture(t, options{provider: []string{"DEVICE_MAX_PENDING: 200"}})
	from := func(address string) int {
		as := func(r *http.Request, form url.Values) {
			v.tv.auth()(r, form)
			r.Header.Set("X-Forwarded-For", address)
		}
		made := 0
		for range 30 {
			a := v.post(t, "/o/device_authorization/", as, params())
			if a.Status == http.StatusOK {
				made++
			} else if err := a.refused(429, "temporarily_unavailable"); err != nil || a.Header.Get("Retry-After") == "" {
				t.Fatal(err, a.Header)
			}
		}
		return made
	}
	if n := from("198.51.100.1"); n != 10 {
		t.Errorf("one network made %d requests", n)
	}
	if n := from("203.0.113.1"); n != 10 {
		t.Errorf("then another network made %d requests", n)
	}
	// One customer of an internet provider has many IPv6 networks.
	customer := from("2001:db8:1::1") + from("2001:db8:1:1::1") + from("2001:db8:1:ffff::1")
	if customer != 10 {
		t.Errorf("three networks of one customer made %d requests", customer)
	}
	if n := from("2001:db8:2::1"); n != 10 {
		t.Errorf("then another customer made %d requests", n)
	}
}
