package mandate

import (
	"image"
	"image/color"
	"strings"
	"testing"
)

// circle returns a logo with transparent parts.
func circle(side int, c color.Color) image.Image {
	i := image.NewNRGBA(image.Rect(0, 0, side, side))
	for y := range side {
		for x := range side {
			if dx, dy := 2*x-side, 2*y-side; dx*dx+dy*dy < side*side {
				i.Set(x, y, c)
			}
		}
	}
	return i
}

// How logos look on the pages that show them (RFC 7591 §2). The window fails the test if the
// browser sends a request to the host of a logo.
func TestBrowserLogo(t *testing.T) {
	browser := chromium(t)
	h := newDocumentHost(t)
	s := startServer(t, h.options(
		options{provider: []string{"SCOPES: {read: Read what is yours, write: Change what is yours}",
			"DEFAULT_SCOPES: [read, write]"}}))
	alice := s.person(t, "alice")
	ink, white := color.NRGBA{22, 33, 31, 255}, color.NRGBA{255, 255, 255, 255}
	square := h.logo("/square.png", "image/png", logoPNG(t, 300, 300, teal))
	b := s.window(t, browser)
	consent := func(b *tab, name string, app application) {
		b.Helper()
		address, _ := s.authorizeURL(app)
		b.look("logo-"+name, strings.TrimPrefix(address, s.URL))
	}
	type box struct{ Natural, Width, Height float64 }
	shown := func(b *tab) box {
		b.Helper()
		b.until("document.querySelector('.logo').complete")
		return evaluate[box](b, "(() => { const i = document.querySelector('.logo'), r = i.getBoundingClientRect(); return "+
			"{Natural: i.naturalWidth, Width: r.width, Height: r.height} })()")
	}

	t.Run("the login page and the consent page", func(t *testing.T) {
		b := b.in(t)
		app := s.registersLogo(t, h, "Square", square)
		consent(b, "login", app)
		b.says("Who asks", "Square", "Its privacy policy", "Its terms of service", "What it shows here, it chose itself.")
		if got := shown(b); got != (box{96, 48, 48}) {
			t.Errorf("%+v", got)
		}
		b.logIn(alice)
		consent(b, "square", app)
		b.says("it chose its name itself, and the logo if you see one", "Its privacy policy")
		if got := shown(b); got != (box{96, 48, 48}) {
			t.Errorf("%+v", got)
		}
		if n := h.fetches("/square.png"); n != 1 {
			t.Errorf("%d requests, want that of the server alone", n)
		}
	})

	t.Run("every logo has the same size", func(t *testing.T) {
		b := b.in(t)
		for name, file := range map[string][]byte{"wide": logoPNG(t, 1024, 100, teal), "high": logoPNG(t, 20, 600, teal),
			"transparent-dark":  encodedPNG(t, circle(400, ink)),
			"transparent-light": encodedPNG(t, circle(400, white)), "small": logoPNG(t, 16, 16, teal)} {
			consent(b, name, s.registersLogo(t, h, name, h.logo("/"+name+".png", "image/png", file)))
			if got := shown(b); got != (box{96, 48, 48}) {
				t.Errorf("%s: %+v", name, got)
			}
		}
		consent(b, "long-name", s.registersLogo(t, h, strings.Repeat("Extraordinarily long ", 7), square))
	})

	t.Run("nothing is seen of a logo that is not there", func(t *testing.T) {
		b := b.in(t)
		b.absent = s.URL + "/logo/"
		defer func() { b.absent = "" }()
		consent(b, "missing", s.registersLogo(t, h, "Missing", h.URL+"/missing.png"))
		if got := shown(b); got != (box{}) {
			t.Errorf("%+v", got)
		}
		consent(b, "none", s.registersLogo(t, h, "None", ""))
		if n := evaluate[int](b, "document.querySelectorAll('.logo').length"); n != 0 {
			t.Errorf("%d images", n)
		}
	})

	t.Run("the page for devices", func(t *testing.T) {
		b := b.in(t)
		app := asApplication(s.registers(t, bearer(s.initialToken(t, "--may", "authorization_code,"+deviceGrant)),
			member{"client_name": "Television", "redirect_uris": []string{h.URL + "/tv"},
				"grant_types": []string{"authorization_code", deviceGrant}, "token_endpoint_auth_method": "none",
				"logo_uri":   square,
				"policy_uri": h.URL + "/policy"}), "")
		codes := s.askDevice(t, app, "scope", "read write")
		b.look("logo-device", codes.VerificationURIComplete, func() { b.press("Continue") })
		b.says("Television", "Its privacy policy")
		if got := shown(b); got != (box{96, 48, 48}) {
			t.Errorf("%+v", got)
		}
	})
}
