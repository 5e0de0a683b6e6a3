package mandate

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/oauth2"
)

// The device authorization grant (RFC 8628), on both databases.

const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// deviceCodes is a device authorization response (RFC 8628 §3.2).
type deviceCodes struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int    `json:"expires_in"`
	Interval                int    `json:"interval"`
}

// askDevice makes a device authorization request, which must succeed.
func (s *server) askDevice(t testing.TB, app application, more ...string) deviceCodes {
	t.Helper()
	a := s.post(t, "/o/device_authorization/", app.auth(), params(more...))
	if a.Status != http.StatusOK {
		t.Fatalf("no codes: %d %s", a.Status, a.Body)
	}
	var codes deviceCodes
	a.decode(t, &codes)
	s.secret(codes.DeviceCode)
	s.secret(codes.UserCode)
	return codes
}

// enter types a user code on the page for devices.
func (b *browser) enter(t testing.TB, code string) {
	t.Helper()
	b.open(t, "/device")
	b.submit(t, "", params("user_code", code))
}

// allowDevice approves the request of a device.
func (b *browser) allowDevice(t testing.TB, codes deviceCodes) {
	t.Helper()
	b.enter(t, codes.UserCode)
	b.decide(t, "approve")
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "The device may go on") {
		t.Fatalf("the device is not allowed: %d %s", b.Status, b.Body)
	}
}

// approvedDevice returns the codes of a device that the person of the browser has allowed.
func (b *browser) approvedDevice(t testing.TB, app application, more ...string) deviceCodes {
	t.Helper()
	codes := b.server.askDevice(t, app, more...)
	b.allowDevice(t, codes)
	return codes
}

func pollForm(deviceCode string, more ...string) url.Values {
	return params(append([]string{"grant_type", deviceGrant, "device_code", deviceCode}, more...)...)
}

// wantPoll polls with a device code and checks the error.
func (s *server) wantPoll(t testing.TB, app application, deviceCode, code string) {
	t.Helper()
	err := s.post(t, "/o/token/", app.auth(), pollForm(deviceCode)).refused(400, code)
	if err != nil {
		t.Error(err)
	}
}

func TestDevice(t *testing.T) {
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db,
			provider: []string{"OIDC_ENABLED: true", "RESOURCES: [{URI: https://films.example/, NAME: Films, SCOPES: [read]}]"}})
		t.Run("flow", v.deviceFlow)
		t.Run("endpoint", v.deviceEndpoint)
		t.Run("page", v.devicePage)
		t.Run("denied", v.deviceDenied)
		t.Run("ends", v.deviceEnds)
	})
}

// deviceFlow follows a device from its request to a refreshed token.
func (v *fixture) deviceFlow(t *testing.T) {
	for _, app := range []application{v.tv, v.web} {
		b := v.signedIn(t, v.alice)
		codes := v.askDevice(t, app, "scope", "openid read")
		if codes.VerificationURI != v.BaseURL+"/device" || codes.VerificationURIComplete != codes.VerificationURI+
			"?user_code="+codes.UserCode || codes.ExpiresIn != 600 || codes.Interval != 5 {
			t.Errorf("the response is %+v", codes)
		}
		v.wantPoll(t, app, codes.DeviceCode, "authorization_pending")
		v.wantPoll(t, app, codes.DeviceCode, "slow_down")
		b.allowDevice(t, codes)
		got := v.mustToken(t, app.auth(), pollForm(codes.DeviceCode))
		if got.Scope != "openid read" || got.IDToken == "" || !v.active(t, v.asker.auth(), got.AccessToken) {
			t.Errorf("the tokens are %+v", got)
		}
		next := v.mustToken(t, app.auth(), refreshForm(got.RefreshToken))
		b.open(t, "/account/")
		if !strings.Contains(b.Body, "openid read") {
			t.Error("the account page does not show what was allowed")
		}
		v.wantPoll(t, app, codes.DeviceCode, "invalid_grant")
		v.dead(t, []*server{v.server}, app, next)
	}
}

// deviceEndpoint checks the forms of requests and responses (RFC 8628 §3.1, §3.2).
func (v *fixture) deviceEndpoint(t *testing.T) {
	meta := v.get(t, "/.well-known/oauth-authorization-server", nobody).JSON(t)
	if meta["device_authorization_endpoint"] != v.Issuer+"/device_authorization/" {
		t.Errorf("the metadata has %v", meta["device_authorization_endpoint"])
	}
	a := v.post(t, "/o/device-authorization", both(v.tv.auth(), "unknown", "x"), params("scope", ""))
	if a.Status != http.StatusOK || a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%d, Cache-Control %q: %s", a.Status, a.Header.Get("Cache-Control"), a.Body)
	}
	for what, c := range map[string]struct {
		as     auth
		form   url.Values
		status int
		code   string
	}{
		"nobody":                    {nobody, params(), 401, "invalid_client"},
		"a wrong secret":            {basic(v.web.ClientID, "wrong"), params(), 401, "invalid_client"},
		"without the grant type":    {v.rival.auth(), params(), 400, "unauthorized_client"},
		"a parameter twice":         {v.tv.auth(), params("scope", "read", "scope", "write"), 400, "invalid_request"},
		"an unknown scope":          {v.tv.auth(), params("scope", "nonsense"), 400, "invalid_scope"},
		"the scope of introspector": {v.tv.auth(), params("scope", "introspection"), 400, "invalid_scope"},
		"an unknown resource":       {v.tv.auth(), params("resource", "https://unknown.example"), 400, "invalid_target"},
	} {
		err := v.post(t, "/o/device_authorization/", afar(c.as), c.form).refused(c.status, c.code)
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	if a := v.get(t, "/o/device_authorization/?client_id="+v.tv.ClientID,
		nobody); a.Status != http.StatusMethodNotAllowed || a.Header.Get("Allow") != "POST" {
		t.Errorf("GET: %d, Allow %q", a.Status, a.Header.Get("Allow"))
	}
	script := func(r *http.Request, form url.Values) {
		v.tv.auth()(r, form)
		r.Header.Set("Origin", "https://spa.example")
	}
	if a := v.post(t, "/o/device_authorization/", script, params()); a.Header.Get("Access-Control-Allow-Origin") != "*" {
		t.Error("a script of another site cannot read the response")
	}
}

// devicePage checks what a person sees before the decision.
func (v *fixture) devicePage(t *testing.T) {
	codes := v.askDevice(t, v.tv, "scope", "read", "resource", "https://films.example/")
	b := v.browser(t)
	b.open(t, codes.VerificationURIComplete)
	b.logIn(t, v.alice) // leads back to the page
	if b.URL.Path != "/device" || b.shows("decision") || !strings.Contains(b.Body, codes.UserCode) {
		t.Fatalf("the link leads to %s: %s", b.URL, b.Body)
	}
	for typed, status := range map[string]int{"": 422, "BCDF": 422, "AEIO-UAEI": 422, "BBBB-BBBB": 422,
		codes.UserCode + "B": 422} {
		b.enter(t, typed)
		if b.Status != status || b.shows("decision") || !strings.Contains(b.Body, `aria-invalid="true"`) {
			t.Errorf("%q: %d %s", typed, b.Status, b.Body)
		}
	}
	b.enter(t, strings.ToLower(strings.Replace(codes.UserCode, "-", " . ", 1)))
	text := html.UnescapeString(b.Body)
	for _, want := range []string{"alice", "Television", "<code>read</code>", "Films", "https://films.example/",
		codes.UserCode, "127.0.0.1", "Go-http-client", "Did somebody send you this code"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q: %s", want, b.Body)
		}
	}
	v.wantPoll(t, v.tv, codes.DeviceCode, "authorization_pending")
	// An application that may skip the consent page is shown too.
	b.enter(t, v.askDevice(t, v.web).UserCode)
	if !b.shows("decision") {
		t.Errorf("an application that skips consent: %s", b.Body)
	}
	// A form of another site decides nothing.
	b.enter(t, codes.UserCode)
	ticket := b.ticketOfPage(t)
	a, err := v.tryPost("/device/answer/", func(r *http.Request, _ url.Values) {
		r.Header.Set("Sec-Fetch-Site", "cross-site")
		r.AddCookie(&http.Cookie{Name: "mandate_session", Value: b.cookie(t, "/", "mandate_session")})
	}, params("ticket", ticket, "decision", "approve"))
	if err != nil || a.Status != http.StatusForbidden {
		t.Errorf("a form of another site: %d %v", a.Status, err)
	}
	v.wantPoll(t, v.tv, codes.DeviceCode, "slow_down")
}

func (v *fixture) deviceDenied(t *testing.T) {
	b, codes := v.signedIn(t, v.alice), v.askDevice(t, v.tv)
	b.enter(t, codes.UserCode)
	b.decide(t, "deny")
	if b.Status != http.StatusOK || !strings.Contains(b.Body, "The device gets no access") {
		t.Errorf("%d %s", b.Status, b.Body)
	}
	v.wantPoll(t, v.tv, codes.DeviceCode, "access_denied")
	b.enter(t, codes.UserCode)
	if b.Status != 422 {
		t.Errorf("the same code again: %d", b.Status)
	}
}

// deviceEnds checks what ends an approval that the device has not used yet.
func (v *fixture) deviceEnds(t *testing.T) {
	for what, end := range map[string]func(b *browser, p person, app application){
		"revoked on the account page": func(b *browser, _ person, app application) {
			b.open(t, "/account/")
			b.send(t, "/account/applications/"+app.ID+"/revoke/", nil)
		},
		"signed out":           func(b *browser, _ person, _ application) { b.send(t, "/logout/", nil) },
		"account disabled":     func(_ *browser, p person, _ application) { v.mustCLI(t, "", "user", "disable", p.Name) },
		"signed out elsewhere": func(_ *browser, p person, _ application) { v.mustCLI(t, "", "user", "logout", p.Name) },
	} {
		p := v.person(t, strings.ReplaceAll(what, " ", "-"))
		b := v.signedIn(t, p)
		unused, used := b.approvedDevice(t, v.tv, "scope", "openid"), b.approvedDevice(t, v.tv, "scope", "openid")
		got := v.mustToken(t, v.tv.auth(), pollForm(used.DeviceCode))
		end(b, p, v.tv)
		err := v.post(t, "/o/token/", v.tv.auth(), pollForm(unused.DeviceCode)).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if v.active(t, v.asker.auth(), got.AccessToken) {
			t.Errorf("%s: the tokens of the device are active", what)
		}
	}
}

// TestDeviceWithGoClient uses golang.org/x/oauth2, which polls by itself.
func TestDeviceWithGoClient(t *testing.T) {
	t.Parallel()
	s := startServer(t, options{provider: []string{"DEVICE_FLOW_INTERVAL: 1"}})
	alice := s.person(t, "alice")
	b := s.signedIn(t, alice)
	public := s.application(t, "--name", "Television", "--client-type", "public", "--grant", deviceGrant)
	confidential := s.application(t, "--name", "Scanner", "--grant", deviceGrant)
	for _, app := range []application{public, confidential} {
		for _, decision := range []string{"approve", "deny"} {
			ctx := context.WithValue(t.Context(), oauth2.HTTPClient, s.client)
			config := &oauth2.Config{ClientID: app.ClientID, ClientSecret: app.ClientSecret, Scopes: []string{"read"},
				Endpoint: oauth2.Endpoint{DeviceAuthURL: s.URL + "/o/device_authorization/", TokenURL: s.URL + "/o/token/"}}
			var secret []oauth2.AuthCodeOption // the client authenticates at this endpoint only if it is told how
			if app.ClientSecret != "" {
				secret = append(secret, oauth2.SetAuthURLParam("client_secret", app.ClientSecret))
			}
			codes, err := config.DeviceAuth(ctx, secret...)
			if err != nil {
				t.Fatal(err)
			}
			s.secret(codes.DeviceCode)
			s.secret(codes.UserCode)
			b.open(t, codes.VerificationURIComplete)
			b.submit(t, "", nil)
			b.decide(t, decision)
			token, err := config.DeviceAccessToken(ctx, codes)
			if decision == "deny" {
				goRefused(t, err, http.StatusBadRequest, "access_denied")
				continue
			}
			s.goToken(t, token, err, "read", true)
		}
	}
}
