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

	"mandate/provider/access"
	"mandate/provider/events"
	"mandate/provider/indicator"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/storage"
)

// Interaction says what the person must do before the request can be completed: sign in, show
// another factor, or approve the request on the consent page.
type Interaction struct {
	// Excluded: the person may not use the application, whatever they do. Nothing else is set.
	Excluded *access.Verdict

	Login  bool   // the person must sign in for this request first; there is no consent page yet
	Reason Reason // why the person must sign in, if Login is true
	// the person must first show a factor, so that the login satisfies this acr; empty: the login suffices
	ACR         string
	Before      bool     // the person approved something for this application before
	Approved    []string // the scopes that the person approved before, without those that this request wants elsewhere
	ApprovedFor []string // the URIs of the resources that the person approved before
	Ticket      string   // the form of the consent page sends it back with the answer
}

// RequiredInteraction returns what the person must still do, or nil if the request can be completed. It
// returns an error for the client if prompt=none forbids what the person must do.
func (p *Authorizations) RequiredInteraction(ctx context.Context, a *Authorization, s *storage.SignedIn) (*Interaction,
	error) {
	consent, err := p.consent(ctx, a, s)
	if err != nil {
		return nil, err
	}
	excluded, err := p.access.Admit(ctx, a.Application, s.User)
	if err != nil {
		return nil, err
	}
	remembered := strings.Fields(consent.Scope)
	ask, reason := p.needsConsent(a, consent), p.whyLogin(a, s)
	login := reason != ""
	missing, required := missingACR(a, s)
	switch {
	// OIDC Core §3.1.2.1: it matters first who is signed in, then since when and how, and then what
	// that person approves. OIDC Core §15.1: a request with the scope openid does not fail because
	// of acr_values.
	case a.Silent() && (login || missing != "" && required):
		return nil, LoginRequired()
	// The person has never approved this application, so it must not learn who is signed in. The
	// error is the same, whether the request names this person or another, or nobody is signed in.
	case a.Silent() && ask && len(remembered) == 0 && len(a.OpenID.Subjects) > 0:
		return nil, LoginRequired()
	// An application for which no administrator is responsible does not learn who may use it, unless the person has
	// approved it.
	case a.Silent() && excluded != nil && (!ask || policy.StandingOf(a.Application) == policy.StandingAdministrator):
		return nil, access.Excluded()
	case a.Silent() && ask:
		// OIDC Core §3.1.2.6: consent_required.
		return nil, oauth.Refuse("consent_required", "The person must approve the request, which prompt=none forbids.")
	case login:
		return &Interaction{Login: true, Reason: reason}, nil
	case excluded != nil:
		return &Interaction{Excluded: excluded}, nil
	case missing != "" && !a.Silent():
		return &Interaction{ACR: missing}, nil
	case !ask:
		if !a.Application.SkipConsent {
			a.consent = &consent
		}
		return nil, nil
	}
	// The person approves only what the page shows. If the default scopes grow
	// meanwhile, the new ones must not be approved, so the ticket names the scopes.
	parameters := maps.Clone(a.parameters)
	parameters.Set("scope", strings.Join(ScopeNames(a.Scopes), " "))
	shown, err := a.shown()
	if err != nil {
		return nil, err
	}
	ticket, err := json.Marshal(ticket{s.Session.ID, oauth.Now(), parameters.Encode(), a.RedirectURI, a.redirectSent,
		shown, a.pushed, a.signed})
	if err != nil {
		return nil, err
	}
	before := approved(consent)
	return &Interaction{Before: len(remembered) > 0, Approved: oauth.Without(remembered, before.New(a.toApprove())...),
		ApprovedFor: a.approvedFor(before), Ticket: p.tickets.Seal(ticket, "consent")}, nil
}

// needsConsent reports whether the consent page must be shown. The consent is what the person
// approved before.
func (p *Authorizations) needsConsent(a *Authorization, consent storage.Consent) bool {
	switch {
	case !a.assured():
		return true
	case a.Application.SkipConsent:
		return slices.Contains(a.OpenID.prompt, "consent")
	case p.config.ApprovalPrompt == "force", slices.Contains(a.OpenID.prompt, "consent"):
		return true
	}
	// RFC 8707 §2: a scope means something at a resource. Two consents, each for one scope at one
	// resource, do not make a third one.
	return !approved(consent).Covers(a.toApprove())
}

// assured reports whether the response certainly goes to the application that the person approved
// before. Only then a consent counts the next time.
func (a *Authorization) assured() bool {
	came := policy.CameByItself(a.Application)
	switch {
	// Nobody answers for what such an application says about itself, or nobody with the right to.
	case came && policy.StandingOf(a.Application) != policy.StandingAdministrator:
		return false
	// RFC 8252 §8.6: any program can use the client_id of a native client, and receive the response
	// at a loopback address or by a private-use scheme. A host with a certificate is one party.
	case came || a.Application.ClientType == policy.Public:
		return redirect.AtHost(a.RedirectURI)
	}
	return true
}

func approved(c storage.Consent) indicator.Approved {
	return indicator.ReadApproved(c.Scope, c.Resource)
}

// approvedFor returns the URIs of the requested resources that the person approved before.
func (a *Authorization) approvedFor(before indicator.Approved) []string {
	var uris []string
	for _, name := range oauth.Narrow(a.toApprove().Resources(), before.Resources()) {
		uri, _ := indicator.Split(name)
		uris = append(uris, uri)
	}
	return uris
}

// consent returns what the person approved for this application before; nothing at all if
// there is no consent.
func (p *Authorizations) consent(ctx context.Context, a *Authorization, s *storage.SignedIn) (storage.Consent, error) {
	c, err := p.store.Consent(ctx, s.User.ID, a.Application.ID)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Consent{}, nil
	}
	if err != nil {
		return c, oauth.Unavailable(err)
	}
	return c, nil
}

// ticket is a checked request that waits for the answer of the consent page. It is bound to
// the session to which the page was shown. An attacker therefore cannot make another browser
// approve a request that the attacker began.
type ticket struct {
	Session      string
	At           int64
	Parameters   string
	RedirectURI  string
	RedirectSent bool
	Shown        string
	Pushed       pushed
	Signed       bool
}

// TicketLife is how long a ticket is valid, in seconds.
const TicketLife = 3600

// shown returns a digest of what the consent page shows: the application, its owner, and the
// scopes, claims and resources for which it asks. The redirect URI is not part of it, because Resume
// compares the redirect URI separately.
func (a *Authorization) shown() (string, error) {
	application := a.Application.ID
	if policy.FollowsDocument(a.Application) {
		// Somebody else's approval may store the application meanwhile, so its ID is not part
		// of this. The page warns if all redirect URIs are on the person's own computer.
		application = strings.Join([]string{a.Application.ClientID, a.Application.RedirectURIs, a.Application.Metadata}, "\n")
	}
	text, err := json.Marshal([]any{application, a.Application.Name, oauth.Deref(a.Application.Owner), a.Scopes,
		a.ClaimScopes, a.OpenID.claims, a.Audience.Named(), a.Application.Claims})
	return seal.Digest(string(text)), err
}

// Resume opens the ticket of an answered consent page and checks the request again, because
// the application or the configuration may have changed meanwhile. It returns the request as
// Authorize does, or an error if the ticket is no longer valid for this session.
func (p *Authorizations) Resume(ctx context.Context, sealed string, s *storage.SignedIn) (*Authorization, error) {
	stale := &oauth.Error{Status: http.StatusBadRequest, Code: "invalid_request",
		Description: "This consent page is no longer valid. Go back to the application and begin again."}
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
	a, err := p.check(ctx, Request{Parameters: parameters, Signed: t.Signed, pushed: t.Pushed})
	if err == nil && a.RedirectURI != t.RedirectURI {
		return nil, stale
	}
	if err != nil || a.Refused != nil {
		return a, err
	}
	// OIDC Core §3.1.2.4: the person approved what the page showed, and nothing else.
	shown, err := a.shown()
	if err == nil && shown != t.Shown {
		err = stale
	}
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Approve stores the person's consent and completes the request as Complete does.
func (p *Authorizations) Approve(ctx context.Context, a *Authorization, s *storage.SignedIn) (redirect.Response,
	error) {
	refused, err := p.admit(ctx, a)
	if err != nil {
		return redirect.Response{}, err
	}
	excluded, err := p.access.Admit(ctx, a.Application, s.User)
	if err != nil {
		return redirect.Response{}, err
	}
	if excluded != nil {
		return p.Refusal(a, access.Excluded()), nil
	}
	if refused != nil {
		return p.Refusal(a, refused), nil
	}
	scope := strings.Join(a.scopesToApprove(), " ")
	given := events.Event{Kind: events.ConsentGiven, Person: s.User, Object: events.Application(a.Application),
		Detail: scope}
	now := storage.Consent{UserID: s.User.ID, ApplicationID: a.Application.ID, Scope: scope,
		Resource:  a.toApprove().String(),
		CreatedAt: oauth.Now(), Generation: a.Application.Generation}
	err = p.store.KeepConsent(events.Attach(ctx, given), now, s.Session.ID,
		func(before, now storage.Consent) storage.Consent {
			now = merge(before, now)
			a.consent = &now
			return now
		})
	if errors.Is(err, storage.ErrSpent) {
		return redirect.Response{}, loggedOut()
	}
	if err != nil {
		return redirect.Response{}, oauth.Unavailable(err)
	}
	return p.Complete(ctx, a, s)
}

// merge returns a consent with what the person approved before.
func merge(before, now storage.Consent) storage.Consent {
	now.Resource = approved(before).With(approved(now)).String()
	now.Scope = strings.Join(oauth.Union(strings.Fields(before.Scope), strings.Fields(now.Scope)), " ")
	return now
}

// admit stores the application if its metadata document describes it, so that the consent, the
// code and its tokens belong to a stored application. It returns an error for the client, or
// one of the server.
func (p *Authorizations) admit(ctx context.Context, a *Authorization) (*oauth.Error, error) {
	if !policy.FollowsDocument(a.Application) {
		return nil, nil
	}
	stored, err := p.clients.Admit(ctx, a.Application)
	if refused, ok := errors.AsType[*oauth.Error](err); ok && refused.Cause == nil {
		return refused, nil
	}
	if err != nil {
		return nil, err
	}
	a.Application = stored
	return nil, p.newRequest(ctx, a)
}

// loggedOut returns the error for a consent whose session ended before it was stored.
func loggedOut() *oauth.Error {
	return oauth.Refuse("access_denied", "The person was signed out meanwhile.")
}

// revoked returns the error for a request whose consent the person revoked before its code was stored.
func revoked() *oauth.Error {
	return oauth.Refuse("access_denied",
		"The access of this application was revoked meanwhile. Go back to the application and begin again.")
}
