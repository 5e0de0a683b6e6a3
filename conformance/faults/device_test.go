package faults

import (
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

const (
	devicePath     = "/o/device_authorization/"
	devicePagePath = "/device"
	codePath       = "/device/"
	answerPath     = "/device/answer/"
)

// deviceFaults are faults of the device authorization grant (RFC 8628).
func deviceFaults() []fault {
	var number atomic.Int64
	codes := func(change func(p *proxy, a *wire.Answer)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Text("device_code") != "" {
				change(p, a)
			}
			return a
		}
	}
	ofDevice := func(q *ask) bool { return q.form().Get("grant_type") == need.GrantDevice }
	return []fault{
		{name: "a device request may repeat a parameter", at: devicePath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.change(func(v url.Values) { once(v) }) }),
			fails: "RFC8628/3.1/parameters-once"},
		{name: "a device request with an unknown parameter is refused", at: devicePath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.form().Has("conformance_unknown") }, badRequest),
			fails: "RFC8628/3.1/unknown-parameters"},
		{name: "a device request with an empty parameter is refused", at: devicePath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.form().Has("resource") }, badRequest),
			fails: "RFC8628/3.1/empty-parameters"},
		{name: "a device request of nobody gets codes", at: devicePath,
			spoil: spoiling(func(p *proxy, q *ask) { q.as(p.target.Clients[need.Device]) }),
			fails: "RFC8628/3.1/client-identified"},
		{name: "codes for devices come with 201", at: devicePath,
			spoil: codes(func(_ *proxy, a *wire.Answer) { a.Status = http.StatusCreated }), fails: "RFC8628/3.2/response"},
		{name: "codes for devices do not say when they expire", at: devicePath,
			spoil: codes(func(_ *proxy, a *wire.Answer) { edit(a, put("expires_in", nil)) }), fails: "RFC8628/3.2/response"},
		{name: "verification_uri is relative", at: devicePath,
			spoil: codes(func(_ *proxy, a *wire.Answer) { edit(a, put("verification_uri", devicePagePath)) }),
			fails: "RFC8628/3.2/verification-uri"},
		{name: "verification_uri_complete has no code", at: devicePath,
			spoil: codes(func(_ *proxy, a *wire.Answer) {
				edit(a, put("verification_uri_complete", a.Text("verification_uri")))
			}),
			fails: "RFC8628/3.2/verification-uri RFC8628/3.3.1/code-confirmed"},
		{name: "verification_uri has the user code", at: devicePath,
			spoil: codes(func(_ *proxy, a *wire.Answer) {
				edit(a, put("verification_uri", a.Text("verification_uri_complete")))
			}),
			fails: "RFC8628/3.3/address-without-code"},
		{name: "codes for devices may be cached", at: devicePath, spoil: answering(header("Cache-Control", "")),
			fails: "RFC8628/3.2/not-cached"},
		{name: "all devices have one user code", at: devicePath,
			spoil: codes(func(p *proxy, a *wire.Answer) { edit(a, put("user_code", p.once("user code", a.Text("user_code")))) }),
			fails: "RFC8628/3.2/codes-differ"},
		{name: "device codes are numbers", at: devicePath, spoil: codes(func(_ *proxy, a *wire.Answer) {
			edit(a, put("device_code", "device-"+string(rune('a'+number.Add(1)%26))))
		}),
			fails: "RFC8628/5.2/device-code-entropy"},
		{name: "no user code is accepted", at: codePath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.set("user_code", "BBBB-BBBB") }), fails: "RFC8628/3.3/page"},
		{name: "an approval of a device is lost", at: answerPath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.set("decision", "deny") }), fails: "RFC8628/3.3/page"},
		{name: "a user code in lower case is unknown", at: codePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if code := q.form().Get("user_code"); code != strings.ToUpper(code) {
				q.set("user_code", "BBBB-BBBB")
			}
		}), fails: "RFC8628/6.1/case-and-punctuation"},
		{name: "the page for devices does not show the code of the link", at: devicePagePath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.query = "" }), fails: "RFC8628/3.3.1/code-confirmed"},
		{name: "every client gets the tokens of a device", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if ofDevice(q) {
				q.as(p.target.Clients[need.Device])
			}
		}), fails: "RFC8628/3.4/bound-to-client"},
		{name: "a device that waits gets invalid_grant", at: tokenPath,
			spoil: miscalling("authorization_pending", "invalid_grant"), fails: "RFC8628/3.5/authorization-pending"},
		{name: "a device may poll as often as it likes", at: tokenPath,
			spoil: miscalling("slow_down", "authorization_pending"), fails: "RFC8628/3.5/slow-down"},
		{name: "access_denied has status 403", at: tokenPath, spoil: refusing(func(a *wire.Answer) {
			if a.Text("error") == "access_denied" {
				a.Status = http.StatusForbidden
			}
		}), fails: "RFC8628/3.5/access-denied"},
		{name: "a denied device gets invalid_grant", at: tokenPath, spoil: miscalling("access_denied", "invalid_grant"),
			fails: "RFC8628/3.5/access-denied"},
		{name: "a device code works twice", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			name := "tokens of " + q.form().Get("device_code")
			if p.has(name) {
				return p.once(name, nil).(*wire.Answer)
			}
			a := p.real(q)
			if ofDevice(q) && a.Granted() {
				p.keep(name, a)
			}
			return a
		}, fails: "RFC8628/3.5/used-once"},
		{name: "the metadata lacks the device grant", spoil: publishing(func(object map[string]any) {
			object["grant_types_supported"] = []string{need.GrantCode, need.GrantMachine, need.GrantPassword, "refresh_token"}
		}), fails: "RFC8628/4/metadata"},
	}
}
