package logout

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"mandate/provider/authority"
	"mandate/provider/events"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// Request is an application's request to end the person's session (OIDC RP-Logout
// §2), after its parameters were checked.
type Request struct {
	Application *storage.Application // nil: the request names none
	RedirectURI string               // where the browser goes after the logout, or ""
	UILocales   string               // the languages in which the person wants to read the page, the preferred one first

	state        string
	subject, sid string // the claims of the id_token_hint
}

// Read checks the parameters of a logout request. An error must be shown on a
// page of this server: the browser must not be redirected (OIDC RP-Logout §4).
func (p *Logouts) Read(ctx context.Context, parameters url.Values) (*Request, error) {
	err := oauth.CheckParameters(parameters)
	if err != nil {
		return nil, err
	}
	l := &Request{RedirectURI: parameters.Get("post_logout_redirect_uri"),
		UILocales: oauth.Clip(parameters.Get("ui_locales"), 200), state: parameters.Get("state")}
	if len(l.state) > oauth.MaxState {
		return nil, oauth.Refuse("invalid_request", "state is longer than %d bytes.", oauth.Own(oauth.MaxState))
	}
	clientID := parameters.Get("client_id")
	if text := parameters.Get("id_token_hint"); text != "" {
		// OIDC RP-Logout §4: an invalid id_token_hint is an error, even if client_id
		// identifies the application.
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

// readLogoutHint copies the person and the session from the claims of the
// id_token_hint, and returns the client that it was issued to.
func (p *Logouts) readLogoutHint(l *Request, claims jose.Claims, clientID string) (string, error) {
	if end, _ := claims.Time("exp"); !p.config.AcceptExpired && end <= oauth.Now() {
		return "", oauth.Refuse("invalid_request", "id_token_hint has expired.")
	}
	l.subject, l.sid = claims.Text("sub"), claims.Text("sid")
	issuedTo := claims.Audience()
	// OIDC RP-Logout §2: client_id and id_token_hint name the same client.
	if len(issuedTo) != 1 || clientID != "" && clientID != issuedTo[0] {
		return "", oauth.Refuse("invalid_request", "client_id is not the client that id_token_hint was issued to.")
	}
	return issuedTo[0], nil
}

// CheckLogoutURI returns an Error unless the request has no redirect URI, or one that
// the application has registered.
//
// OIDC RP-Logout §3: the redirect URI equals a registered one, character by character.
func (p *Logouts) CheckLogoutURI(l *Request) error {
	suspended := ""
	if l.Application != nil {
		suspended = p.rules.WhySuspended(*l.Application)
	}
	switch {
	case l.RedirectURI == "":
		return nil
	case l.Application == nil:
		return oauth.Refuse("invalid_request", "post_logout_redirect_uri requires id_token_hint or client_id, which "+
			"identify the application.")
	case suspended != "":
		// OIDC RP-Logout §3: nobody is responsible for the redirect URI any more.
		return oauth.Refuse("unauthorized_client", "%s", suspended)
	}
	registered := oauth.Lines(p.rules.Effective(*l.Application).PostLogoutURIs)
	wrong, known := authority.Check(l.RedirectURI), slices.Contains(registered, l.RedirectURI)
	switch {
	case known && wrong != "": // it was registered before the rule was made
		return oauth.Refuse("invalid_request", "The post-logout redirect URI of this request %s.", wrong)
	case known:
		return nil
	}
	e := oauth.Refuse("invalid_request", "The post-logout redirect URI of this request is not registered for the "+
		"application.")
	e.Mismatch = p.config.Redirects.Compare(l.RedirectURI, registered, oauth.Deref(l.Application.OwnerID))
	return e
}

// logoutTicket holds a checked request while the person sees the logout page. It does
// not contain the ID token, which would stay in the browser's history.
type logoutTicket struct {
	At                                 int64
	Application, RedirectURI, Sub, SID string
	UILocales                          string
	State                              []byte // bytes, because JSON can make a text six times as long
}

// Ticket seals a checked request into a text for the logout page, which sends it
// back to Resume.
func (p *Logouts) Ticket(l *Request) (string, error) {
	t := logoutTicket{At: oauth.Now(), RedirectURI: l.RedirectURI, UILocales: l.UILocales, State: []byte(l.state),
		Sub: l.subject, SID: l.sid}
	if l.Application != nil {
		t.Application = l.Application.ID
	}
	text, err := json.Marshal(t)
	return p.tickets.Seal(text, "logout"), err
}

// Resume opens a text of Ticket, and checks the redirect URI again, because
// the application may have changed. It returns an Error if the text is older than an
// hour or was not sealed here.
func (p *Logouts) Resume(ctx context.Context, sealed string) (*Request, error) {
	stale := oauth.ForPerson(http.StatusBadRequest, "invalid_request", "",
		"This page is no longer valid. Sign out at the application again, or sign out here.")
	text, err := p.tickets.Open(sealed, "logout")
	if err != nil {
		return nil, stale
	}
	var t logoutTicket
	err = json.Unmarshal(text, &t)
	if err != nil || oauth.Now()-t.At > pageLife {
		return nil, stale
	}
	l := &Request{RedirectURI: t.RedirectURI, UILocales: t.UILocales, state: string(t.State), subject: t.Sub, sid: t.SID}
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

// MustConfirm reports whether the person must confirm the logout. That is always so,
// unless the ID token proves that the request comes from an application to which the
// person is signed in by this session (OIDC RP-Logout §2). Without that proof, anybody
// could end the session with a link.
//
// Nobody answers for where an application sends the browser for which nobody is responsible, so the
// person decides about that too (RFC 9700 §4.11.2).
func (p *Logouts) MustConfirm(l *Request, s *storage.SignedIn) bool {
	if p.config.AlwaysPrompt || l.subject == "" || l.leadsToStrangers() {
		return true
	}
	return !l.isOf(p, s.User.ID, s.Session.ID)
}

// EndedLife is how long a browser keeps the cookie that says which session ended in it.
const EndedLife = 24 * time.Hour

// endedSession is a session that has ended in a browser.
type endedSession struct {
	At                int64
	UserID, SessionID string
}

// EndedCookie returns the value of the cookie that a browser keeps of a session that ends in
// it, for EndedInThisBrowser.
func (p *Logouts) EndedCookie(s *storage.SignedIn) (string, error) {
	text, err := json.Marshal(endedSession{oauth.Now(), s.User.ID, s.Session.ID})
	return p.tickets.Seal(text, "ended"), err
}

// EndedInThisBrowser reports whether a request concerns a session that ended in this browser not
// long ago, for example because another application was the first to end it. kept is
// the browser's cookie from EndedCookie. If nobody is signed in, any other ID token proves
// nothing. Everybody who registers an application can get one, and could redirect other
// people's browsers to any address (RFC 9700 §4.11.2).
func (p *Logouts) EndedInThisBrowser(l *Request, kept string) bool {
	text, err := p.tickets.Open(kept, "ended")
	if err != nil || l.Application == nil || l.leadsToStrangers() {
		return false
	}
	var e endedSession
	err = json.Unmarshal(text, &e)
	return err == nil && oauth.Now()-e.At <= oauth.Seconds(EndedLife) && l.isOf(p, e.UserID, e.SessionID)
}

// leadsToStrangers reports whether the browser would go on to an address for which nobody is
// responsible.
func (l *Request) leadsToStrangers() bool {
	return l.RedirectURI != "" && policy.StandingOf(*l.Application) == policy.StandingOpen
}

// isOf reports whether the ID token was issued in this session of this person.
func (l *Request) isOf(p *Logouts, userID, sessionID string) bool {
	return l.subject == p.tokens.Subject(l.Application.Sector, userID) &&
		l.sid == p.tokens.SID(l.Application.Sector, sessionID)
}

// LogoutByApplication ends a session because an application requested it.
func (p *Logouts) LogoutByApplication(ctx context.Context, l *Request, s *storage.SignedIn) error {
	out := events.Event{Kind: events.SignOut, Person: s.User}
	if l.Application != nil {
		out.Object = events.Application(*l.Application)
	}
	return p.logout(events.Attach(ctx, out), s, !p.config.DeleteTokens)
}

// Logout ends a session because the person requested it.
func (p *Logouts) Logout(ctx context.Context, s *storage.SignedIn) error {
	return p.logout(events.Attach(ctx, events.Event{Kind: events.SignOut, Person: s.User}), s, false)
}

func (p *Logouts) logout(ctx context.Context, s *storage.SignedIn, keepFamilies bool) error {
	err := p.store.EndSession(ctx, s.User.ID, s.Session.ID, oauth.Now(), keepFamilies)
	if errors.Is(err, storage.ErrNotFound) {
		// Another request was faster, and what it did can still be lost with the primary of the database.
		err = p.store.Settle(ctx)
		if err == nil {
			err = p.store.EndSession(ctx, s.User.ID, s.Session.ID, oauth.Now(), keepFamilies)
		}
		if errors.Is(err, storage.ErrNotFound) {
			err = nil
		}
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	p.NotifyNow()
	return nil
}

// After returns the response that redirects the browser after the session has ended
// (OIDC RP-Logout §3).
func (l *Request) After() redirect.Response {
	r := redirect.Response{RedirectURI: l.RedirectURI}
	if l.state != "" {
		r.Parameters = []redirect.Parameter{{Name: "state", Value: l.state}}
	}
	return r
}
