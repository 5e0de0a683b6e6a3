package authorize

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/storage"
)

// Asked is what the consent page must ask about.
type Asked struct {
	Login      bool     // not about consent: the person must sign in for this request first
	Reason     Reason   // why they must, if Login is set
	Remembered []string // agreed to before
	Ticket     string   // comes back with the answer
}

// Reason says why a person who has a session must sign in again.
type Reason string

// The reasons, most specific first. Each one is also a value in an address, so it
// names no account.
const (
	OtherAccount  Reason = "account" // the request names another account than theirs
	ChooseAccount Reason = "choose"  // prompt=select_account
	LoginRequest  Reason = "request" // prompt=login or max_age=0
	LoginTooOld   Reason = "age"     // their login is older than max_age
)

// whyLogin returns the reason for which MustLogin is true.
func (p *Authorizations) whyLogin(a *Authorization, s *storage.SignedIn) Reason {
	o := a.OpenID
	switch {
	case !o.about(p.tokens.Subject(a.Application.Sector, s.User.ID)):
		return OtherAccount
	case slices.Contains(o.Prompt, "select_account"):
		return ChooseAccount
	case slices.Contains(o.Prompt, "login"), o.MaxAge == 0:
		return LoginRequest
	}
	return LoginTooOld
}

// Next says what the person must still agree to, or nil where nothing is left
// but to complete the request.
func (p *Authorizations) Next(ctx context.Context, a *Authorization, s *storage.SignedIn) (*Asked, error) {
	remembered, err := p.Remembered(ctx, a, s)
	if err != nil {
		return nil, err
	}
	ask, login := p.mustAsk(a, remembered), p.MustLogin(a, s)
	switch {
	// Whom it names is not to be told to an application that nobody let in: the
	// answer is the same for the right one and the wrong one.
	case a.Silent() && ask && len(remembered) == 0 && len(a.OpenID.Subjects) > 0, a.Silent() && ask && !login:
		// OIDC Core §3.1.2.6
		return nil, oauth.Refuse("consent_required", "The person must approve the request, which prompt=none forbids.")
	case a.Silent() && login:
		return nil, LoginRequired()
	case login:
		return &Asked{Login: true, Reason: p.whyLogin(a, s)}, nil
	case !ask:
		return nil, nil
	}
	// The answer is to what the page shows: a default scope that grows
	// meanwhile must not be approved with it.
	parameters := maps.Clone(a.Parameters)
	parameters.Set("scope", strings.Join(ScopeNames(a.Scopes), " "))
	shown, err := a.shown()
	if err != nil {
		return nil, err
	}
	ticket, err := json.Marshal(ticket{s.Session.ID, oauth.Now(), parameters.Encode(), a.RedirectURI, a.redirectSent, shown})
	if err != nil {
		return nil, err
	}
	return &Asked{Remembered: remembered, Ticket: p.tickets.Seal(ticket, "consent")}, nil
}

func (p *Authorizations) mustAsk(a *Authorization, remembered []string) bool {
	switch {
	case a.Application.ClientType == policy.Public:
		// RFC 8252 §8.6: any program can say that it is this one.
		return true
	case a.Application.SkipConsent:
		return slices.Contains(a.OpenID.Prompt, "consent")
	case p.config.AlwaysAsk, slices.Contains(a.OpenID.Prompt, "consent"):
		return true
	}
	return !oauth.Covers(remembered, a.asks())
}

func (p *Authorizations) Remembered(ctx context.Context, a *Authorization, s *storage.SignedIn) ([]string, error) {
	c, err := p.store.Consent(ctx, s.User.ID, a.Application.ID)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return strings.Fields(c.Scope), nil
}

// ticket is a checked request on its way through the consent page. It is bound
// to the session that saw the page: nobody can make another browser approve
// what they began.
type ticket struct {
	Session      string
	At           int64
	Parameters   string
	RedirectURI  string
	RedirectSent bool
	Shown        string
}

const TicketLife = 3600

// shown is a digest of what the consent page says of a request: who asks, and for
// what. (Where the answer goes is compared by itself.)
func (a *Authorization) shown() (string, error) {
	text, err := json.Marshal([]any{a.Application.ID, a.Application.Name, oauth.Deref(a.Application.Owner), a.Scopes, a.Told, a.OpenID.Claims})
	return seal.Digest(string(text)), err
}

// Resume checks a request again when the person has answered: the application
// may have changed meanwhile, and what the same parameters mean.
func (p *Authorizations) Resume(ctx context.Context, sealed string, s *storage.SignedIn) (*Authorization, error) {
	stale := &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request",
		Description: "This approval page is no longer valid. Go back to the application and begin again."}
	text, err := p.tickets.Open(sealed, "consent")
	if err != nil {
		return nil, stale
	}
	var t ticket
	err = json.Unmarshal(text, &t)
	if err != nil || t.Session != s.Session.ID || oauth.Now()-t.At > TicketLife {
		return nil, stale
	}
	parameters, err := url.ParseQuery(t.Parameters)
	if err != nil {
		return nil, stale
	}
	if !t.RedirectSent {
		parameters.Del("redirect_uri")
	}
	a, err := p.Authorize(ctx, parameters)
	if err == nil && a.RedirectURI != t.RedirectURI {
		return nil, stale
	}
	if err != nil || a.Refused != nil {
		return a, err
	}
	// OIDC Core §3.1.2.4: the person agreed to what the page showed, and to nothing
	// else.
	shown, err := a.shown()
	if err == nil && shown != t.Shown {
		err = stale
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Approve remembers the answer and completes the request.
func (p *Authorizations) Approve(ctx context.Context, a *Authorization, s *storage.SignedIn) (redirect.Response, error) {
	remembered, err := p.Remembered(ctx, a, s)
	if err != nil {
		return redirect.Response{}, err
	}
	err = p.store.KeepConsent(ctx, storage.Consent{UserID: s.User.ID, ApplicationID: a.Application.ID,
		Scope: strings.Join(oauth.Union(slices.Clone(remembered), a.asks()), " "), CreatedAt: oauth.Now()}, s.Session.ID)
	if errors.Is(err, storage.ErrSpent) {
		return redirect.Response{}, loggedOut()
	}
	if err != nil {
		return redirect.Response{}, oauth.Unavailable(err)
	}
	return p.Complete(ctx, a, s)
}

// loggedOut is for an approval whose session ended while it was stored.
func loggedOut() *oauth.Error {
	return oauth.Refuse("access_denied", "The person was logged out meanwhile.")
}

func ScopeNames(scopes []policy.Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = s.Name
	}
	return names
}
