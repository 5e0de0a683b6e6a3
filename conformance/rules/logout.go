package rules

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// wantSignedOut asserts that a logout request ended the session. A page that the browser cannot use blocks the check.
func wantSignedOut(t *T, v *check.Visit, d *check.LogoutOutcome) {
	if !t.StillSignedIn(v) {
		return
	}
	usablePage(t, d)
	t.At(d.Answer)
	t.Failf("the person is still signed in after the logout request, which is answered with %s", d.Answer)
}

// usablePage blocks the check if the browser stopped at a page that it cannot use.
func usablePage(t *T, d *check.LogoutOutcome) {
	p := browser.Parse(d.Answer)
	if d.Away == "" && d.Answer.Status < http.StatusBadRequest && (len(p.Forms) > 0 || p.Scripted) {
		t.Blockedf("the checks know no button that confirms the logout on the page at %s: name it in the target under "+
			"forms as logout, or let the page work without scripts", wire.Bare(d.Answer.URL))
	}
}

// wantNoEffect asserts that, without the person's confirmation, a logout request neither ends the session nor sends the
// browser to the address in the request. The server may show any page of its own.
func wantNoEffect(t *T, v *check.Visit, request url.Values, although string) {
	d := t.OpenLogout(v.Browser, request)
	if uri := request.Get("post_logout_redirect_uri"); uri != "" && strings.HasPrefix(d.Away, uri) {
		t.At(d.Answer)
		t.Failf("the browser was sent to %s, although %s", uri, although)
	}
	if !t.StillSignedIn(v) {
		t.At(d.Answer)
		t.Failf("the person was signed out, although %s", although)
	}
}

// asksWithoutHint blocks the check if a logout request without any parameter ends the session, or if no logout does.
// Then nothing shows whether the server looks at its parameters.
func asksWithoutHint(t *T) {
	logsOut(t)
	v := t.Visit(need.Logout)
	t.OpenLogout(v.Browser, url.Values{})
	if !t.StillSignedIn(v) {
		t.Blockedf("the server signs the person out without asking, even if the logout request has no id_token_hint")
	}
}

// logsOut blocks the check if a logout with an ID token of the session, which the person confirms, does not end it.
func logsOut(t *T) { t.SignOut(t.Visit(need.Logout)) }

// wantLogoutWith asserts that a logout works with a further parameter. First it shows that it works without it.
func wantLogoutWith(t *T, name, value string) {
	logsOut(t)
	v := t.Visit(need.Logout)
	wantSignedOut(t, v, t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID, name, value)))
}

// wantSentBack asserts that the browser was sent to the post-logout redirect URI of the client.
func wantSentBack(t *T, v *check.Visit, d *check.LogoutOutcome) {
	uri := v.Client.PostLogoutRedirectURIs[0]
	if strings.HasPrefix(d.Away, uri) {
		return
	}
	usablePage(t, d)
	t.At(d.Answer)
	if d.Away == "" {
		t.Failf("the browser stayed at the server, want a redirect to %s", uri)
	}
	t.Failf("the browser was sent to %s, want %s", wire.Place(d.Away), uri)
}

// sentBack skips the check if the browser was not sent to the post-logout redirect URI.
func sentBack(t *T, v *check.Visit, d *check.LogoutOutcome) *check.LogoutOutcome {
	if !strings.HasPrefix(d.Away, v.Client.PostLogoutRedirectURIs[0]) {
		usablePage(t, d)
		t.Skipf("the rule applies to a server that redirects to the post_logout_redirect_uri of the client logout after a " +
			"logout with its ID token: here the browser stayed elsewhere")
	}
	return d
}

// redirectsAfterLogout skips the check if the server redirects to no address after a logout.
func redirectsAfterLogout(t *T) {
	v := t.Visit(need.Logout)
	sentBack(t, v, t.Logout(v.Browser, t.LogoutRequest(v, "id_token_hint", v.Tokens.ID)))
}

// notified signs a person out, and returns the logout token request. Without one the check is blocked. A failure shows
// the logout request, since the logout token comes from the server by itself.
func notified(t *T) (*check.BackchannelRequest, *check.Visit) {
	n, v := noticeOfLogout(t)
	if n == nil {
		t.WantRemembered()
		t.Blockedf("%s", notNotified)
	}
	return n, v
}

const notNotified = "the client backchannel received no logout token after this logout: the server must be able to " +
	"reach the address that the target names as backchannel"

// noticeOfLogout does the same, and returns nil without a logout token request.
func noticeOfLogout(t *T) (*check.BackchannelRequest, *check.Visit) {
	t.Listener()
	v := t.Visit(need.Backchannel)
	var d *check.LogoutOutcome
	n := t.LogoutTokenDuring(func() {
		d = t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
		t.SignedOut(v)
	}, v)
	t.At(d.Answer)
	return n, v
}

// logoutToken signs a person out, and parses the logout token.
func logoutToken(t *T) (*jose.JWT, *check.Visit) {
	n, v := notified(t)
	j, err := jose.Read(n.Token)
	if err != nil {
		t.Blockedf("the client backchannel received a logout token that is no signed JWT: %v", err)
	}
	return j, v
}
