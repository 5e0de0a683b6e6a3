package logout

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// LogoutRequest is an application's request to log the person out (OIDC
// RP-Logout §2), checked.
type LogoutRequest struct {
	Application *storage.Application // nil where the request names none
	RedirectURI string               // where the browser goes afterwards, or ""

	state        string
	subject, sid string // of the ID token that came as a hint
}

// ReadLogout checks a logout request. An error is for a page: nothing may be
// redirected (OIDC RP-Logout §4).
func (p *Logouts) ReadLogout(ctx context.Context, parameters url.Values) (*LogoutRequest, error) {
	err := oauth.CheckParameters(parameters)
	if err != nil {
		return nil, err
	}
	l := &LogoutRequest{RedirectURI: parameters.Get("post_logout_redirect_uri"), state: parameters.Get("state")}
	if len(l.state) > oauth.MaxState {
		return nil, oauth.Refuse("invalid_request", "state is longer than %d bytes.", oauth.MaxState)
	}
	clientID := parameters.Get("client_id")
	if text := parameters.Get("id_token_hint"); text != "" {
		// OIDC RP-Logout §4: what was to be proven by a hint that is none is not done,
		// also where client_id names the application.
		claims, err := p.tokens.Hint(ctx, text)
		if err == nil {
			clientID, err = p.readLogoutHint(l, claims, clientID)
		}
		if err != nil {
			return nil, err
		}
	}
	if clientID != "" {
		a, err := p.store.ApplicationByClientID(ctx, clientID)
		if errors.Is(err, storage.ErrNotFound) {
			return nil, oauth.Refuse("invalid_client", "No application with this client_id is registered here.")
		}
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		l.Application = &a
	}
	return l, p.CheckLogoutURI(l)
}

// readLogoutHint takes over whom and which session the hint names, and gives
// the client that it was issued to.
func (p *Logouts) readLogoutHint(l *LogoutRequest, claims jose.Claims, clientID string) (string, error) {
	if end, _ := claims.Time("exp"); p.config.RefuseExpired && end <= oauth.Now() {
		return "", oauth.Refuse("invalid_request", "id_token_hint has expired.")
	}
	l.subject, l.sid = claims.Text("sub"), claims.Text("sid")
	issuedTo := claims.Audience()
	// OIDC RP-Logout §2: both name the same client.
	if len(issuedTo) != 1 || clientID != "" && clientID != issuedTo[0] {
		return "", oauth.Refuse("invalid_request", "client_id is not the client that id_token_hint was issued to.")
	}
	return issuedTo[0], nil
}

// checkLogoutURI: OIDC RP-Logout §3: only to an address that the application
// registered, character by character.
func (p *Logouts) CheckLogoutURI(l *LogoutRequest) error {
	switch {
	case l.RedirectURI == "":
		return nil
	case l.Application == nil:
		return oauth.Refuse("invalid_request", "post_logout_redirect_uri needs id_token_hint or client_id beside it, by which the application is known.")
	case policy.Suspended(*l.Application):
		// OIDC RP-Logout §3: nobody answers for the address any more.
		return oauth.Refuse("unauthorized_client", policy.SuspendedText)
	}
	registered := oauth.Lines(l.Application.PostLogoutURIs)
	if slices.Contains(registered, l.RedirectURI) {
		return nil
	}
	e := oauth.Refuse("invalid_request", "The post-logout redirect URI of this request is not registered for the application.")
	e.Mismatch = p.redirects.Compare(l.RedirectURI, registered, oauth.Deref(l.Application.OwnerID))
	return e
}

// logoutTicket is a checked request on its way through a page of ours. The hint
// itself is not in it: it would stay in the browser's history.
type logoutTicket struct {
	At                                 int64
	Application, RedirectURI, Sub, SID string
	State                              []byte // as text, JSON could make it six times as long
}

// LogoutTicket carries a checked request to ResumeLogout.
func (p *Logouts) LogoutTicket(l *LogoutRequest) (string, error) {
	t := logoutTicket{At: oauth.Now(), RedirectURI: l.RedirectURI, State: []byte(l.state), Sub: l.subject, SID: l.sid}
	if l.Application != nil {
		t.Application = l.Application.ID
	}
	text, err := json.Marshal(t)
	return p.tickets.Seal(text, "logout"), err
}

// ResumeLogout takes a request up again. The application may have changed
// meanwhile.
func (p *Logouts) ResumeLogout(ctx context.Context, sealed string) (*LogoutRequest, error) {
	stale := oauth.Refuse("invalid_request", "This logout page is no longer valid. Log out at the application again, or log out here.")
	text, err := p.tickets.Open(sealed, "logout")
	if err != nil {
		return nil, stale
	}
	var t logoutTicket
	err = json.Unmarshal(text, &t)
	if err != nil || oauth.Now()-t.At > pageLife {
		return nil, stale
	}
	l := &LogoutRequest{RedirectURI: t.RedirectURI, state: string(t.State), subject: t.Sub, sid: t.SID}
	if t.Application != "" {
		a, err := p.store.Application(ctx, t.Application)
		if errors.Is(err, storage.ErrNotFound) {
			return nil, stale
		}
		if err != nil {
			return nil, oauth.Unavailable(err)
		}
		l.Application = &a
	}
	return l, p.CheckLogoutURI(l)
}

// MustConfirm says whether the person is to be asked: always, unless the hint
// proves that the request comes from an application they are signed in to by
// this very session (OIDC RP-Logout §2). Anybody else's request is a nuisance
// that somebody makes of a link.
func (p *Logouts) MustConfirm(l *LogoutRequest, s *storage.SignedIn) bool {
	if p.config.AlwaysPrompt || l.subject == "" {
		return true
	}
	return !l.isOf(p, s.User.ID, s.Session.ID)
}

// EndedLife is how long a browser keeps which session ended in it.
const EndedLife = 24 * time.Hour

// ended is a session that has ended in a browser.
type ended struct {
	At                int64
	UserID, SessionID string
}

// Ended is what a browser keeps of a session that ends in it, for FollowsEnd.
func (p *Logouts) Ended(s *storage.SignedIn) (string, error) {
	text, err := json.Marshal(ended{oauth.Now(), s.User.ID, s.Session.ID})
	return p.tickets.Seal(text, "ended"), err
}

// FollowsEnd says whether a request comes of a session that ended in this very
// browser not long ago: one of several applications was the first to log out.
// Any other ID token proves nothing where nobody is signed in. Whoever registers
// an application has one, and would send other people's browsers to wherever they
// like (RFC 9700 §4.11.2).
func (p *Logouts) FollowsEnd(l *LogoutRequest, kept string) bool {
	text, err := p.tickets.Open(kept, "ended")
	if err != nil || l.Application == nil {
		return false
	}
	var e ended
	err = json.Unmarshal(text, &e)
	return err == nil && oauth.Now()-e.At <= oauth.Seconds(EndedLife) && l.isOf(p, e.UserID, e.SessionID)
}

// isOf says whether the hint is of a person's session.
func (l *LogoutRequest) isOf(p *Logouts, userID, sessionID string) bool {
	return l.subject == p.tokens.Subject(l.Application.Sector, userID) && l.sid == p.tokens.SID(l.Application.Sector, sessionID)
}

// LogoutFor ends the session as an application asked.
func (p *Logouts) LogoutFor(ctx context.Context, s *storage.SignedIn) error {
	return p.logout(ctx, s, p.config.KeepTokens)
}

// Logout ends the session as the person asked.
func (p *Logouts) Logout(ctx context.Context, s *storage.SignedIn) error {
	return p.logout(ctx, s, false)
}

func (p *Logouts) logout(ctx context.Context, s *storage.SignedIn, keepFamilies bool) error {
	err := p.store.EndSession(ctx, s.User.ID, s.Session.ID, oauth.Now(), keepFamilies)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return oauth.Unavailable(err)
	}
	p.TellNow()
	return nil
}

// After is where the browser goes when the session has ended (OIDC RP-Logout
// §3).
func (l *LogoutRequest) After() redirect.Response {
	r := redirect.Response{RedirectURI: l.RedirectURI}
	if l.state != "" {
		r.Parameters = []redirect.Parameter{{Name: "state", Value: l.state}}
	}
	return r
}
