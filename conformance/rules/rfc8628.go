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

// rfc8628 has the checks of the rules about the device authorization grant.
var rfc8628 = checks{
	"RFC8628/3.1/tls": func(t *T) { wantTLS(t, t.Endpoint(need.DeviceAuthorization)) },
	"RFC8628/3.1/parameters-once": func(t *T) {
		c, scope := t.Client(need.Device), cmp.Or(t.Scope(), "openid")
		t.Device(c)
		wantNoCodes(t, t.AskDevice(c, url.Values{"scope": {scope, scope}}), "the request has the parameter scope twice")
	},
	"RFC8628/3.1/unknown-parameters": func(t *T) {
		c := t.Client(need.Device)
		t.Device(c)
		wantCodes(t, t.AskDevice(c, url.Values{"conformance_unknown": {"1"}}), "the request has an unknown parameter")
	},
	"RFC8628/3.1/empty-parameters": func(t *T) {
		c := t.Client(need.Device)
		t.Device(c)
		wantCodes(t, t.AskDevice(c, url.Values{"resource": {""}}), "the request has an empty parameter resource")
	},
	"RFC8628/3.1/client-identified": func(t *T) {
		t.Device(t.Client(need.Device))
		for _, form := range []url.Values{{}, {"client_id": {"conformance-" + t.Random()}}} {
			wantNoCodes(t, t.Post(t.Endpoint(need.DeviceAuthorization), form),
				"the request names no client, or one that does not exist")
		}
	},
	"RFC8628/3.2/response": func(t *T) {
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
	"RFC8628/3.2/verification-uri": func(t *T) {
		d := t.Device(t.Client(need.Device))
		for _, uri := range []string{d.Page, d.Completed} {
			u, err := url.Parse(uri)
			if uri != "" && (err != nil || !u.IsAbs() || u.Host == "") {
				t.Errorf("%q is no absolute URI", uri)
			}
		}
		if whole, _ := url.QueryUnescape(d.Completed); d.Completed != "" &&
			!strings.Contains(plainCode(whole), plainCode(d.UserCode)) {
			t.Errorf("verification_uri_complete does not contain the user code")
		}
	},
	"RFC8628/3.2/not-cached": func(t *T) {
		a := t.Device(t.Client(need.Device)).Answer
		if !strings.Contains(a.Header.Get("Cache-Control"), "no-store") {
			t.Failf("Cache-Control is %q, want no-store", a.Header.Get("Cache-Control"))
		}
	},
	"RFC8628/3.2/codes-differ": func(t *T) {
		one, other := t.Device(t.Client(need.Device)), t.Device(t.Client(need.Device))
		if one.DeviceCode == other.DeviceCode || one.UserCode == other.UserCode {
			t.Failf("two requests got the same code")
		}
	},
	"RFC8628/3.3/page": func(t *T) {
		d := t.Device(t.Client(need.Device))
		if !t.Decide(d, d.UserCode, true) {
			t.Failf("the page does not accept the user code")
		}
		t.WantGranted(t.Poll(d))
	},
	"RFC8628/3.3/address-without-code": func(t *T) {
		d := t.Device(t.Client(need.Device))
		if at, _ := url.QueryUnescape(d.Page); strings.Contains(plainCode(at), plainCode(d.UserCode)) {
			t.Failf("verification_uri contains the user code")
		}
	},
	"RFC8628/3.3.1/code-confirmed": rfc8628CodeConfirmed,
	"RFC8628/3.4/bound-to-client": func(t *T) {
		d := t.Device(t.Client(need.Device))
		t.Decided(d, true)
		t.WantRefused(t.PollAs(t.Client(need.Code), d), "the device code belongs to another client")
		t.Granted(t.Poll(d))
	},
	"RFC8628/3.5/authorization-pending": func(t *T) {
		d := t.Device(t.Client(need.Device))
		a := t.Poll(d)
		if a.Text("error") == "slow_down" { // it counts the first interval from the request on
			t.Pause(d.Interval * 2)
			a = t.Poll(d)
		}
		t.WantStatus(a, http.StatusBadRequest)
		t.WantError(a, "authorization_pending")
	},
	"RFC8628/3.5/slow-down": func(t *T) {
		d := t.Device(t.Client(need.Device))
		t.Poll(d)
		a := t.Poll(d)
		t.WantStatus(a, http.StatusBadRequest)
		t.WantError(a, "slow_down")
	},
	"RFC8628/3.5/access-denied": func(t *T) {
		d := t.Device(t.Client(need.Device))
		t.Decided(d, false)
		a := t.Poll(d)
		t.WantStatus(a, http.StatusBadRequest)
		t.WantError(a, "access_denied")
	},
	"RFC8628/3.5/used-once": func(t *T) {
		d := t.Device(t.Client(need.Device))
		t.Decided(d, true)
		t.Granted(t.Poll(d))
		t.WantRefused(t.Poll(d), "the device code was used before")
	},
	"RFC8628/4/metadata": func(t *T) {
		if address, _ := t.Metadata()["device_authorization_endpoint"].(string); address == "" {
			t.Errorf("the metadata has no device_authorization_endpoint")
		}
		if types, has := t.Metadata().List("grant_types_supported"); has && !slices.Contains(types, need.GrantDevice) {
			t.Errorf("grant_types_supported lacks %s", need.GrantDevice)
		}
	},
	"RFC8628/5.2/device-code-entropy": func(t *T) {
		wantBits(t, 128, func() string { return t.Device(t.Client(need.Device)).DeviceCode })
	},
	"RFC8628/6.1/case-and-punctuation": rfc8628CaseAndPunctuation,
}

func rfc8628CodeConfirmed(t *T) {
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
}

func rfc8628CaseAndPunctuation(t *T) {
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
