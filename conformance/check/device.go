package check

import (
	"net/url"
	"time"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Device is the response to a device authorization request (RFC 8628 §3.2).
type Device struct {
	Client                                *target.Client
	DeviceCode, UserCode, Page, Completed string
	Interval                              time.Duration
	Answer                                *wire.Answer
}

// AskDevice sends a device authorization request as a client, with the scope of the target.
func (t *T) AskDevice(c *target.Client, form url.Values) *wire.Answer {
	if t.Scope() != "" && !form.Has("scope") {
		form.Set("scope", t.Scope())
	}
	return t.Post(t.Endpoint(need.DeviceAuthorization), form, c.Credentials())
}

// Device starts the device flow. Without codes the check is blocked.
func (t *T) Device(c *target.Client) *Device { return t.DeviceOf(c, t.AskDevice(c, url.Values{})) }

// DeviceOf reads a device authorization response. Without codes the check is blocked.
func (t *T) DeviceOf(c *target.Client, a *wire.Answer) *Device {
	d := &Device{c, a.Text("device_code"), a.Text("user_code"), a.Text("verification_uri"),
		a.Text("verification_uri_complete"), 5 * time.Second, a}
	if a.Status/100 != 2 || d.DeviceCode == "" || d.UserCode == "" || d.Page == "" {
		t.Blockedf("no device code and user code were issued: %s", t.Failure(a))
	}
	if seconds, is := a.JSON()["interval"].(float64); is {
		d.Interval = time.Duration(seconds * float64(time.Second))
	}
	return d
}

// Poll asks for the tokens of a device, as its client.
func (t *T) Poll(d *Device) *wire.Answer { return t.PollAs(d.Client, d) }

// PollAs does the same as another client.
func (t *T) PollAs(c *target.Client, d *Device) *wire.Answer {
	return t.Token(c, wire.Params("grant_type", need.GrantDevice, "device_code", d.DeviceCode))
}

// Decide opens the page for devices in the browser in which the person is signed in, enters a user code and decides. It
// reports whether the page accepts the code. If the page cannot be used, the check is blocked.
func (t *T) Decide(d *Device, code string, approve bool) (accepted bool) {
	b := t.SignedIn()
	err := b.Open(d.Page)
	named, passed, entered, decided := false, false, false, false
	for range steps {
		if err != nil {
			t.Blockedf("the page for devices: %v", err)
		}
		t.At(b.Page)
		p := browser.Parse(b.Page)
		asks, first := p.AsksCode()
		if asks != nil && entered { // the next code, or the same one again
			return decided
		}
		if asks != nil {
			asks.Values.Set(asks.Code().Name, code)
			asks.Press(first)
			entered, err = true, b.Submit(asks)
			continue
		}
		if decided && len(p.Forms) == 0 {
			return true // the last page may have scripts
		}
		// After the decision, a server can ask for more: for a login, and for consent.
		form, button, problem := t.nextForm(p, b.Page, &named, &passed, approve)
		switch {
		case problem != "":
			t.Blockedf("%s", problem)
		case form == nil && button == nil && decided:
			return true
		case form == nil && button == nil:
			t.Blockedf("the page for devices at %s asks for no code and for no decision: it shows %q", wire.Bare(b.Page.URL),
				t.Clip(p.Text, shownText))
		case form == nil:
			err = t.follow(b, button)
		default:
			form.Press(button)
			err = t.submit(b, form, d.Client, button != nil)
		}
		decided = decided || button != nil
	}
	t.Blockedf("after %d forms the server still asks for something", steps)
	return false
}

// Decided does the same with the user code of the device. If the page does not accept the code, the check is blocked.
func (t *T) Decided(d *Device, approve bool) {
	if !t.Decide(d, d.UserCode, approve) {
		t.Blockedf("the page for devices does not accept the user code")
	}
}
