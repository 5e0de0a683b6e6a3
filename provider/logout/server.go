package logout

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// ByServer ends the session of an ID token because the server of the application requests it, without the browser of
// the person. It returns the client id of the application as far as it is known, and no error if the session has ended
// already.
//
// OIDC RP-Logout §2: nobody is signed out by a request of which it is not certain who sends it. Here the application
// proves who it is, instead of the browser. The ID token shows that the person is signed in to this application by this
// session (§6).
func (p *Logouts) ByServer(ctx context.Context, r *http.Request, address string) (string, error) {
	call := clientauth.From(ctx, address)
	form, err := serverForm(r)
	if err == nil && !clientauth.SendsCredentials(r, form) && !clientauth.SendsCertificate(r, form) {
		return "", unproven("Nobody was signed out. The request has neither the session of a browser nor client " +
			"authentication. Send it with the client ID and the secret of the application (HTTP Basic, or as at the token " +
			"endpoint), or send the browser of the person here.")
	}
	if err != nil {
		return "", p.clients.UseUnread(call, r, err, nil)
	}
	a, err := p.clients.Authenticate(call, r, form)
	if err != nil {
		return "", err
	}
	err = p.mayEnd(a)
	if err != nil {
		return a.ClientID, err
	}
	l := &Request{Application: &a}
	s, err := p.named(ctx, l, form.Get("id_token_hint"))
	if errors.Is(err, storage.ErrNotFound) {
		return a.ClientID, nil
	}
	if err != nil {
		return a.ClientID, err
	}
	out := events.Event{Kind: events.SignOut, Person: s.User, By: events.ByApplication(a), Object: events.Application(a)}
	return a.ClientID, p.logout(events.Attach(ctx, out), &s, !p.config.DeleteTokens)
}

// serverForm reads the parameters of a logout request without a browser.
func serverForm(r *http.Request) (url.Values, error) {
	if r.Method == http.MethodPost {
		return oauth.ReadForm(r)
	}
	form, err := url.ParseQuery(r.URL.RawQuery)
	switch {
	case err != nil:
		return nil, oauth.Refuse("invalid_request", "The query is not form-encoded: check its percent-encoding.")
	// RFC 6749 §2.3.1: credentials must not be in the request URI, because logs keep it.
	case form.Has("client_secret") || clientauth.HasAssertion(nil, form):
		return nil, oauth.Refuse("invalid_request", "Nobody was signed out. Send the credentials of the application in the "+
			"Authorization header, or everything in the body of a POST: logs keep the query.")
	}
	return form, oauth.CheckParameters(form)
}

func unproven(text string) *oauth.Error {
	e := oauth.Refuse("invalid_client", "%s", oauth.Own(text))
	e.Status, e.Challenge = http.StatusUnauthorized, clientauth.BasicChallenge
	return e
}

// mayEnd returns an Error unless the server of an application may end sessions without the person.
func (p *Logouts) mayEnd(a storage.Application) error {
	switch {
	case a.ClientType == policy.Public:
		return unproven("Nobody was signed out. This application is public, so it cannot prove who it is: send the browser " +
			"of the person here.")
	case policy.StandingOf(a) == policy.StandingOpen:
		return oauth.Refuse("unauthorized_client", "Nobody was signed out. Nobody is responsible for this application, so "+
			"it ends no session without the person: send the browser of the person here.")
	case p.config.AlwaysPrompt:
		return oauth.Refuse("unauthorized_client", "Nobody was signed out. This server asks the person at each sign-out "+
			"(OIDC_RP_INITIATED_LOGOUT_ALWAYS_PROMPT): send the browser of the person here.")
	}
	return nil
}

// named returns the session that an ID token names, or storage.ErrNotFound if it has ended.
func (p *Logouts) named(ctx context.Context, l *Request, hint string) (storage.SignedIn, error) {
	if hint == "" {
		return storage.SignedIn{},
			oauth.Refuse("invalid_request", "id_token_hint is missing: it is the ID token of the session that is to end.")
	}
	claims, err := p.tokens.Hint(ctx, hint)
	if err == nil {
		_, err = p.readLogoutHint(l, claims, l.Application.ClientID)
	}
	if err == nil && l.sid == "" {
		err = oauth.Refuse("invalid_request", "id_token_hint has no sid: it belongs to access that does not end with a "+
			"session.")
	}
	if err != nil {
		return storage.SignedIn{}, err
	}
	id := p.tokens.SessionOf(l.Application.Sector, l.sid)
	s, err := p.store.SessionByID(ctx, id)
	if errors.Is(err, storage.ErrNotFound) {
		// What has ended it can still be lost with the primary of the database.
		err = p.store.Settle(ctx)
		if err == nil {
			s, err = p.store.SessionByID(ctx, id)
		}
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
	case err != nil:
		err = oauth.Unavailable(err)
	// An application with HS256 can write any ID token for itself.
	case !l.isOf(p, s.User.ID, s.Session.ID):
		err = oauth.Refuse("invalid_request", "id_token_hint is of another person than its session.")
	}
	return s, err
}
