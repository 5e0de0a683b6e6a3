package mandate

import (
	"strings"
	"testing"
)

// The pages for devices in a browser (RFC 8628 §3.3).
func TestBrowserDevice(t *testing.T) {
	browser := chromium(t)
	s := startServer(t, options{provider: []string{"SCOPES: {read: Read what is yours, write: Change what is yours}",
		"RESOURCES: [{URI: https://films.example/v1, NAME: Films, SCOPES: [read, write]}]"}})
	alice := s.person(t, "alice")
	app := s.application(t, "--name", "Television", "--client-type", "public", "--grant", deviceGrant)
	long := s.application(t, "--name", "Mandate has checked this device. Press Allow "+
		strings.Repeat("to stay signed in ", 5), "--owner", alice.Name, "--client-type", "public", "--grant", deviceGrant)
	b := s.window(t, browser)

	t.Run("a typed code leads to the question, and the answer to the device", func(t *testing.T) {
		b := b.in(t)
		codes := s.askDevice(t, app, "scope", "read", "resource", "https://films.example/v1")
		b.open("/device")
		b.logIn(alice)
		b.expect(200, "Connect a device")
		b.fill("Code on your device", strings.ToLower(codes.UserCode))
		b.press("Continue")
		b.expect(200, "Allow a device to access your account?")
		b.says(codes.UserCode, "Did somebody send you this code", "Television", "Read what is yours", "Films",
			"https://films.example/v1", "127.0.0.1", "This browser has the same address", "Go-http-client")
		b.press("Allow")
		b.expect(200, "The device may go on")
		b.says("Go back to your device")
		s.mustToken(t, app.auth(), pollForm(codes.DeviceCode))
	})

	t.Run("a link fills the field, and decides nothing", func(t *testing.T) {
		b := b.in(t)
		codes := s.askDevice(t, app)
		b.open(codes.VerificationURIComplete)
		b.expect(200, "Connect a device")
		b.says("This code comes from the link that you opened")
		if got := b.value("Code on your device"); got != codes.UserCode {
			t.Errorf("the field has %q", got)
		}
		s.wantPoll(t, app, codes.DeviceCode, "authorization_pending")
		b.press("Continue")
		b.says(codes.UserCode)
		b.press("Do not allow")
		b.expect(200, "The device gets no access")
		s.wantPoll(t, app, codes.DeviceCode, "access_denied")
	})

	t.Run("a wrong code says what to do", func(t *testing.T) {
		b := b.in(t)
		for typed, says := range map[string]string{"hello": "A code has eight letters",
			"BBBB-BBBB": "No device is waiting with this code"} {
			b.open("/device")
			b.fill("Code on your device", typed)
			b.press("Continue")
			b.expect(422, "Connect a device")
			b.says(says)
			if got := b.value("Code on your device"); got != typed {
				t.Errorf("the field has %q", got)
			}
		}
	})

	t.Run("looks", func(t *testing.T) {
		b := b.in(t)
		b.look("device", "/device")
		b.look("device-linked", "/device?user_code=WXYZ-BCDF")
		for name, app := range map[string]application{"device-approval": app, "device-approval-long": long} {
			codes := s.askDevice(t, app, "scope", "read write", "resource", "https://films.example/v1")
			b.look(name, codes.VerificationURIComplete, func() { b.press("Continue") })
		}
		b.look("device-wrong", "/device?user_code=x", func() { b.press("Continue") })
		codes := ""
		b.look("device-allowed", "/device", func() {
			codes = s.askDevice(t, app).UserCode
			b.fill("Code on your device", codes)
			b.press("Continue")
			b.press("Allow")
		})
	})
}
