package rules

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// deviceNeeds returns what a check of the device authorization endpoint needs.
func deviceNeeds(more ...Need) []Need {
	return append([]Need{need.DeviceAuthorization, need.Device}, more...)
}

// rfc8628 returns the rules about the device authorization grant.
func rfc8628() []Rule {
	pollNeeds := deviceNeeds(need.Token)
	decisionNeeds := deviceNeeds(need.Token, need.User, need.Authorization) // a person can sign in at the authorization endpoint
	return []Rule{
		{
			ID: "RFC8628/3.1/tls", Level: Must,
			Text:  "The device authorization endpoint uses TLS.",
			Needs: []Need{need.DeviceAuthorization},
			Check: func(t *T) { wantTLS(t, t.Endpoint(need.DeviceAuthorization)) },
		},
		{
			// The MUST NOT binds the sender. For the server RFC 6749 §5.2 defines the error invalid_request, without a
			// keyword.
			ID: "RFC8628/3.1/parameters-once", Level: Should,
			Text:  "A device authorization request that repeats a parameter is refused.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				c, scope := t.Client(need.Device), cmp.Or(t.Scope(), "openid")
				t.Device(c)
				wantNoCodes(t, t.AskDevice(c, url.Values{"scope": {scope, scope}}), "the request has the parameter scope twice")
			},
		},
		{
			ID: "RFC8628/3.1/unknown-parameters", Level: Must,
			Text:  "A parameter that the server does not know is ignored.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Device)
				t.Device(c)
				wantCodes(t, t.AskDevice(c, url.Values{"conformance_unknown": {"1"}}), "the request has an unknown parameter")
			},
		},
		{
			ID: "RFC8628/3.1/empty-parameters", Level: Must,
			Text:  "A parameter without a value counts as omitted.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Device)
				t.Device(c)
				wantCodes(t, t.AskDevice(c, url.Values{"resource": {""}}), "the request has an empty parameter resource")
			},
		},
		{
			ID: "RFC8628/3.1/client-identified", Level: Must,
			Text:  "A request of a client that does not exist, or that names no client, is refused.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				t.Device(t.Client(need.Device))
				for _, form := range []url.Values{{}, {"client_id": {"conformance-" + t.Random()}}} {
					wantNoCodes(t, t.Post(t.Endpoint(need.DeviceAuthorization), form), "the request names no client, or one that does not exist")
				}
			},
		},
		{
			ID: "RFC8628/3.2/response", Level: Must,
			Text:  "The response has status 200 and is a JSON object with device_code, user_code, verification_uri and expires_in.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				a := t.Device(t.Client(need.Device)).Answer
				t.WantStatus(a, http.StatusOK)
				if a.MediaType() != "application/json" {
					t.Errorf("the media type is %q, want application/json", a.MediaType())
				}
				if seconds, is := a.JSON()["expires_in"].(float64); !is || seconds <= 0 {
					t.Errorf("expires_in is %s, want a number of seconds", Quoted(a.JSON()["expires_in"]))
				}
				if interval, has := a.JSON()["interval"]; has {
					if seconds, is := interval.(float64); !is || seconds <= 0 {
						t.Errorf("interval is %s, want a number of seconds", Quoted(interval))
					}
				}
			},
		},
		{
			ID: "RFC8628/3.2/verification-uri", Level: Must,
			Text:  "verification_uri and verification_uri_complete are URIs, and the second has the user code.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				for _, uri := range []string{d.Page, d.Completed} {
					u, err := url.Parse(uri)
					if uri != "" && (err != nil || !u.IsAbs() || u.Host == "") {
						t.Errorf("%q is no absolute URI", uri)
					}
				}
				if whole, _ := url.QueryUnescape(d.Completed); d.Completed != "" && !strings.Contains(plainCode(whole), plainCode(d.UserCode)) {
					t.Errorf("verification_uri_complete does not contain the user code")
				}
			},
		},
		{
			ID: "RFC8628/3.2/not-cached", Level: Should,
			Text:  "The response is not stored in caches.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				a := t.Device(t.Client(need.Device)).Answer
				if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
					t.Failf("Cache-Control is %q, want no-store", a.Header.Get("Cache-Control"))
				}
			},
		},
		{
			ID: "RFC8628/3.2/codes-differ", Level: Must,
			Text:  "Each request gets another device code and another user code.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				one, other := t.Device(t.Client(need.Device)), t.Device(t.Client(need.Device))
				if one.DeviceCode == other.DeviceCode || one.UserCode == other.UserCode {
					t.Failf("two requests got the same code")
				}
			},
		},
		{
			ID: "RFC8628/3.3/page", Level: Must,
			Text:  "A person who enters the user code at verification_uri can approve the device, which then gets tokens.",
			Needs: decisionNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				if !t.Decide(d, d.UserCode, true) {
					t.Failf("the page does not accept the user code")
				}
				t.WantGranted(t.Poll(d))
			},
		},
		{
			ID: "RFC8628/3.3/address-without-code", Level: Should,
			Text:  "verification_uri does not contain the user code, because people type it.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				if at, _ := url.QueryUnescape(d.Page); strings.Contains(plainCode(at), plainCode(d.UserCode)) {
					t.Failf("verification_uri contains the user code")
				}
			},
		},
		{
			ID: "RFC8628/3.3.1/code-confirmed", Level: Should,
			Text:  "The page at verification_uri_complete shows the user code, and does not approve the device by itself.",
			Needs: decisionNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				if d.Completed == "" {
					t.Skipf("the rule applies to a server that returns verification_uri_complete")
				}
				// With another code, the same browser signs in.
				other := t.Device(t.Client(need.Device))
				t.Decided(other, true)
				b := t.SignedIn()
				err := b.Open(d.Completed)
				if err != nil {
					t.Blockedf("the page at verification_uri_complete: %v", err)
				}
				t.At(b.Page)
				if !shows(b, d.UserCode) {
					t.Errorf("the page does not show the user code")
				}
				if a := t.Poll(d); a.Granted() {
					t.At(a)
					t.Errorf("the device got tokens although nobody approved it")
				}
			},
		},
		{
			ID: "RFC8628/3.4/bound-to-client", Level: Should,
			Text:  "Another client gets no tokens for the device code, and the device still does.",
			Needs: append(decisionNeeds, need.Code),
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				t.Decided(d, true)
				t.WantRefused(t.PollAs(t.Client(need.Code), d), "the device code belongs to another client")
				t.Granted(t.Poll(d))
			},
		},
		{
			ID: "RFC8628/3.5/authorization-pending", Level: Must,
			Text:  "Before the decision, the token endpoint answers authorization_pending with status 400.",
			Needs: pollNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				a := t.Poll(d)
				if a.Text("error") == "slow_down" { // it counts the first interval from the request on
					t.Pause(d.Interval * 2)
					a = t.Poll(d)
				}
				t.WantStatus(a, http.StatusBadRequest)
				t.WantError(a, "authorization_pending")
			},
		},
		{
			ID: "RFC8628/3.5/slow-down", Level: May,
			Text:  "A device that polls more often than the interval allows is told to slow down.",
			Needs: pollNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				t.Poll(d)
				a := t.Poll(d)
				t.WantStatus(a, http.StatusBadRequest)
				t.WantError(a, "slow_down")
			},
		},
		{
			ID: "RFC8628/3.5/access-denied", Level: Must,
			Text:  "After the person has denied the request, the token endpoint answers access_denied with status 400.",
			Needs: decisionNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				t.Decided(d, false)
				a := t.Poll(d)
				t.WantStatus(a, http.StatusBadRequest)
				t.WantError(a, "access_denied")
			},
		},
		{
			ID: "RFC8628/3.5/expired-token", Level: Must,
			Text:     "After the codes have expired, the token endpoint answers expired_token.",
			TestedBy: "provider/grant_device_test.go:TestDeviceCodeThatIsNotApproved",
		},
		{
			ID: "RFC8628/3.5/used-once", Level: Should, Alone: true,
			// The document does not say it. A device code stands for the approval like an authorization code, and the
			// flow ends with its tokens.
			Text:  "A device code gets tokens once.",
			Needs: decisionNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				t.Decided(d, true)
				t.Granted(t.Poll(d))
				t.WantRefused(t.Poll(d), "the device code was used before")
			},
		},
		{
			ID: "RFC8628/4/metadata", Level: Should,
			Text:  "The metadata names the device authorization endpoint, and the grant type.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				if address, _ := t.Metadata()["device_authorization_endpoint"].(string); address == "" {
					t.Errorf("the metadata has no device_authorization_endpoint")
				}
				if types, has := t.Metadata().List("grant_types_supported"); has && !slices.Contains(types, need.GrantDevice) {
					t.Errorf("grant_types_supported lacks %s", need.GrantDevice)
				}
			},
		},
		{
			ID: "RFC8628/5.1/guesses-limited", Level: Should,
			Text:     "The server limits how many user codes can be tried.",
			TestedBy: "conformance/mandate/attack_device_test.go:TestAttackGuessUserCodes",
		},
		{
			ID: "RFC8628/5.1/user-code-entropy", Level: Should,
			Text:     "A user code is random enough that limited guesses do not find it.",
			TestedBy: "provider/device/usercode_test.go:TestUserCodesAreRandom",
		},
		{
			ID: "RFC8628/5.2/device-code-entropy", Level: Should,
			Text:  "A device code is one of at least 2^128 possible ones.",
			Needs: deviceNeeds(),
			Check: func(t *T) {
				wantBits(t, 128, func() string { return t.Device(t.Client(need.Device)).DeviceCode })
			},
		},
		{
			ID: "RFC8628/5.4/person-informed", Level: Should,
			Text:     "The page says that a device gets access and what is known of it, and asks whether the person has the device.",
			TestedBy: "conformance/mandate/browser_device_test.go:TestBrowserDevice",
		},
		{
			ID: "RFC8628/6.1/distinct-characters", Level: Should,
			Text:     "No two characters of user codes look alike.",
			TestedBy: "provider/device/usercode_test.go:TestReadUserCode",
		},
		{
			ID: "RFC8628/6.1/case-and-punctuation", Level: Should,
			Text:  "A user code of letters is accepted in lower case and without punctuation.",
			Needs: decisionNeeds,
			Check: func(t *T) {
				d := t.Device(t.Client(need.Device))
				if d.UserCode != strings.ToUpper(d.UserCode) {
					t.Skipf("the rule applies to codes of capital letters: this server issues others")
				}
				typed := strings.ToLower(plainCode(d.UserCode))
				if typed == d.UserCode {
					t.Skipf("the rule applies to codes with letters or punctuation: this server issues others")
				}
				other := t.Device(t.Client(need.Device))
				t.Decided(other, true)
				t.Granted(t.Poll(other))
				if !t.Decide(d, typed, true) {
					t.Failf("the page does not accept the user code in lower case and without punctuation")
				}
				t.WantGranted(t.Poll(d))
			},
		},
	}
}

// wantCodes asserts that a device authorization request succeeds.
func wantCodes(t *T, a *wire.Answer, although string) {
	if a.Text("device_code") == "" {
		t.At(a)
		t.Failf("the server issues no codes, although only %s: %s", although, t.Failure(a))
	}
}

// wantNoCodes asserts that a device authorization request is refused.
func wantNoCodes(t *T, a *wire.Answer, why string) {
	t.At(a)
	if a.Text("device_code") != "" {
		t.Failf("codes were issued, although %s", why)
	}
}

// plainCode returns the letters and digits of a code.
func plainCode(code string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return -1
	}, code)
}

// shows reports whether a page has a code as text, or as the value of a field.
func shows(b *browser.Browser, code string) bool {
	p := browser.Parse(b.Page)
	if strings.Contains(plainCode(p.Text), plainCode(code)) {
		return true
	}
	for _, f := range p.Forms {
		for _, values := range f.Values {
			if slices.ContainsFunc(values, func(v string) bool { return plainCode(v) == plainCode(code) }) {
				return true
			}
		}
	}
	return false
}
