package sites

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// The paths below each host of a site that the reverse proxy sends to this server.
const (
	Folder       = "/.mandate/"
	SignInPath   = Folder + "sign-in"
	CallbackPath = Folder + "callback"
	SignOutPath  = Folder + "sign-out"
	// TargetName is the parameter of SignInPath that has the path to which the browser returns.
	TargetName = "to"
)

// signInAt returns the address at which a browser gets a session for a request, or "": a redirect would lose what a
// form has sent.
func signInAt(f Forwarded) string {
	if f.Method != http.MethodGet && f.Method != http.MethodHead {
		return ""
	}
	return "https://" + f.Host + SignInPath + "?" + TargetName + "=" + url.QueryEscape(f.Target)
}

// state is what the browser carries through a sign-in. It is encrypted, and bound to the host and to the browser.
type state struct {
	Target   string
	Verifier string
	Until    int64
}

// stateLifetime is how long a person may take to sign in, in seconds.
const stateLifetime = 60 * 60

// SignIn returns the authorization request (RFC 6749 §4.1.1) of a browser at a host of a site. browser is a random
// value that only this browser has, in a cookie of the host.
func (p *Sites) SignIn(ctx context.Context, host, target, browser string) (string, error) {
	site, err := p.site(ctx, host)
	if err != nil {
		return "", err
	}
	verifier := seal.Random(32)
	raw, err := json.Marshal(state{returnTo(target), verifier, oauth.Now() + stateLifetime})
	if err != nil {
		return "", err
	}
	query := url.Values{
		"response_type": {"code"}, "client_id": {site.ClientID}, "redirect_uri": {callbackOf(host)},
		"state": {p.states.Seal(raw, bound(host, browser))}, "code_challenge": {challenge(verifier)},
		"code_challenge_method": {"S256"},
	}
	if p.config.OpenID {
		query.Set("scope", "openid")
	}
	return p.config.Issuer + "/authorize/?" + query.Encode(), nil
}

// returnTo returns the target of a request to which a browser returns: it stays at the same host, and outside the
// folder of this server, where it would sign in or out again.
func returnTo(target string) string {
	if !isTarget(target) || strings.HasPrefix(target, Folder) {
		return "/"
	}
	return target
}

func callbackOf(host string) string { return "https://" + host + CallbackPath }

func bound(host, browser string) string { return host + " " + seal.Digest(browser) }

// challenge returns the code challenge of a verifier (RFC 7636 §4.2).
func challenge(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// Arrival is the end of a sign-in: the cookie of the site, and where the browser goes.
type Arrival struct{ Cookie, Target string }

// Arrive redeems the code of an authorization response (RFC 6749 §4.1.2) for a session of the site.
//
// RFC 9700 §4.7.1: the state belongs to this browser, so nobody signs another person's browser in.
func (p *Sites) Arrive(ctx context.Context, host, browser string, query url.Values) (Arrival, error) {
	site, err := p.site(ctx, host)
	if err != nil {
		return Arrival{}, err
	}
	for _, name := range []string{"state", "code"} {
		if len(query[name]) > 1 {
			return Arrival{}, stale()
		}
	}
	raw, err := p.states.Open(query.Get("state"), bound(host, browser))
	if browser == "" || err != nil {
		return Arrival{}, stale()
	}
	var begun state
	err = json.Unmarshal(raw, &begun)
	if err != nil {
		return Arrival{}, err
	}
	if query.Get("code") == "" {
		return Arrival{}, refused()
	}
	if begun.Until <= oauth.Now() {
		return Arrival{}, stale()
	}
	arrived := Arrival{seal.Random(32), returnTo(begun.Target)}
	err = p.store.RedeemForSite(ctx, storage.SiteCode{Digest: seal.Digest(query.Get("code")),
		ApplicationID: site.ApplicationID, RedirectURI: callbackOf(host), Challenge: challenge(begun.Verifier)},
		seal.Digest(arrived.Cookie), host, oauth.Now())
	if errors.Is(err, storage.ErrSpent) {
		return Arrival{}, stale()
	}
	if err != nil {
		return Arrival{}, oauth.Unavailable(err)
	}
	// A session that does not let the person in would lead back to the sign-in, and that back to here.
	session, err := p.session(ctx, arrived.Cookie, host)
	if errors.Is(err, storage.ErrNotFound) || err == nil && !strongEnough(site, session) {
		return Arrival{}, refused()
	}
	return arrived, oauth.Stored(err)
}

// SignOut ends the session of a site.
func (p *Sites) SignOut(ctx context.Context, host, cookie string) error {
	_, err := p.site(ctx, host)
	if err != nil || cookie == "" || len(cookie) > maxCookie {
		return err
	}
	return oauth.Stored(p.store.EndSiteSession(ctx, seal.Digest(cookie), host))
}

func stale() *oauth.Error {
	return oauth.ForPerson(http.StatusBadRequest, "invalid_request", "", "This sign-in has expired, or began in another "+
		"browser, or your browser accepts no cookies. Open the page of the application again.")
}

func refused() *oauth.Error {
	return oauth.ForPerson(http.StatusForbidden, "access_denied", "", "You were not signed in to this application. Open "+
		"the page of the application again, or ask an administrator of this server.")
}
