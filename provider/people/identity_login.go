package people

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/provider/upstream"
	"mandate/storage"
)

// Leaving is a person who goes to another server to sign in.
type Leaving struct {
	Next   string            // where they go on after coming back
	Fresh  bool              // they must have signed in there anew
	Choose bool              // they are asked for another account there
	Adding *storage.SignedIn // the person who adds an identity; nil: somebody signs in
}

// Arrival is a person who has come back.
type Arrival struct {
	// Next and Adding are those of the Leaving. They are also set together with an error, if they
	// are known.
	Next   string
	Adding bool // an identity was added, and SignIn has only the new cookie of the session

	SignIn *SignIn
}

// LeaveLife is how long a person may be at another server.
const LeaveLife = 10 * time.Minute

// skew is how much the clocks of two servers may differ, in seconds.
const skew = 60

// left is what a browser keeps while its person is at another server. Nobody else can make it, and it
// works in the browser that has it alone.
type left struct {
	Server   string
	State    string // its digest
	Nonce    string
	Verifier string
	At       int64
	Next     string
	Fresh    bool
	Session  string // of a person who adds an identity; "": somebody signs in
}

const leftPurpose = "at another server"

// MostTicket is the size of the largest ticket of Leave. Browsers keep cookies of at most 4096 bytes with
// their names (RFC 6265 §6.1).
const MostTicket = 3600

// Leave returns the address of the other server, and the ticket that the browser keeps for Arrive. It
// returns ErrNotFound if there is no such server, and ErrConfirm if a person who adds an identity must
// sign in again first.
func (i *Identities) Leave(ctx context.Context, name string, l Leaving) (address, ticket string, err error) {
	s, err := i.named(name)
	if err != nil {
		return "", "", err
	}
	request := upstream.NewRequest()
	request.Fresh = l.Fresh || l.Choose || l.Adding != nil
	kept := left{Server: name, State: seal.Digest(request.State), Nonce: request.Nonce, Verifier: request.Verifier,
		At: oauth.Now(), Next: l.Next, Fresh: l.Fresh}
	if l.Adding != nil {
		err = i.people.Confirmed(ctx, l.Adding)
		if err != nil {
			return "", "", err
		}
		kept.Session = l.Adding.Session.ID
	}
	ticket, err = i.sealLeft(kept)
	if err != nil {
		return "", "", err
	}
	address, err = s.openID.AuthorizationURL(ctx, request)
	if err != nil {
		return "", "", s.arrivalError(err)
	}
	return address, ticket, nil
}

// sealLeft compresses what it seals: the address to go on at may be a long authorization request.
func (i *Identities) sealLeft(kept left) (string, error) {
	text, err := json.Marshal(kept)
	if err != nil {
		return "", err
	}
	ticket := i.tickets.Seal(squeeze(text), leftPurpose)
	if len(ticket) > MostTicket {
		return "", oauth.Refuse("invalid_request", "The request of the application is too long for signing in with another "+
			"server. Sign in with a password or a passkey. If you are its developer: push the request (RFC 9126).")
	}
	return ticket, nil
}

// open returns what a ticket contains.
func (i *Identities) open(ticket string) (left, error) {
	var kept left
	small, err := i.tickets.Open(ticket, leftPurpose)
	if err != nil {
		return kept, err
	}
	text, err := unsqueeze(small)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err == nil && oauth.Now()-kept.At > oauth.Seconds(LeaveLife) {
		err = errors.New("it has expired")
	}
	return kept, err
}

// Arrive checks the response of another server. who is the person who is signed in, or nil. It begins a
// session or the second step, as People.Login does, or adds an identity.
func (i *Identities) Arrive(ctx context.Context, name, ticket string, response url.Values, who *storage.SignedIn,
	b Browser) (Arrival, error) {
	s, err := i.named(name)
	if err != nil {
		return Arrival{}, err
	}
	kept, err := i.open(ticket)
	// RFC 9700 §4.7.1: the response belongs to a request of this browser.
	if err != nil || subtle.ConstantTimeCompare([]byte(seal.Digest(response.Get("state"))), []byte(kept.State)) != 1 {
		return Arrival{}, notBegun(err)
	}
	arrived := Arrival{Next: kept.Next, Adding: kept.Session != ""}
	// RFC 9700 §4.4.2.2: each server has a redirect URI of its own, and this one is not that of the
	// server to which the browser was sent.
	if kept.Server != name {
		return arrived, notBegun(errors.New("it is the response of another server"))
	}
	// Nobody reaches the other server without a ticket. With tickets, a stranger soon finds this limit.
	giveBack, err := i.people.limits.Take(i.people.at(limits.AtServer, b)...)
	if err != nil {
		return arrived, err
	}
	err = i.people.store.SeeOnce(ctx,
		storage.OneTime{Digest: seal.Digest("other server\x00" + kept.State), ExpiresAt: kept.At + 2*oauth.Seconds(LeaveLife),
			Now: oauth.Now()})
	switch {
	case errors.Is(err, storage.ErrSpent):
		return arrived, notBegun(errors.New("its response was used already"))
	case err != nil:
		giveBack()
		return arrived, oauth.Unavailable(err)
	}
	p, err := s.openID.Redeem(ctx, response, upstream.Request{Nonce: kept.Nonce, Verifier: kept.Verifier})
	if err != nil {
		// A stranger can cause every one of these, so the try stays used.
		return arrived, i.refused(ctx, s, kept, storage.User{}, s.arrivalError(err))
	}
	p.Email = lookedUp(p.Email)
	err = i.finish(ctx, s, kept, p, who, b, &arrived)
	// The response was used, and is a row. A person who has signed in more often than anybody does is known only now.
	if !isRefused(err) && !isLimited(err) {
		giveBack()
	}
	return arrived, err
}

// finish signs a person in whom another server has identified, or adds the identity.
func (i *Identities) finish(ctx context.Context, s *server, kept left, p upstream.Person, who *storage.SignedIn,
	b Browser, arrived *Arrival) error {
	now := oauth.Now()
	old := p.AuthTime < kept.At-skew // 0: it is unknown
	if kept.Session != "" {
		// OIDC Core §3.1.2.1: a server may ignore prompt=login, and then the login may be somebody else's. Google,
		// for one, never says the time: there the person sees the account on the page to which prompt=login leads.
		if old && p.AuthTime != 0 {
			return s.refuse("the login at the other server is an old one",
				"%s says that you did not sign in there just now. Sign out there, then add the account again.", s.Label)
		}
		var err error
		arrived.SignIn, err = i.add(ctx, s, kept, p, who)
		return err
	}
	// OIDC Core §3.1.2.1: likewise. Here a time that is unknown is none.
	if kept.Fresh && old {
		return i.refused(ctx, s, kept, storage.User{},
			s.refuse("the other server does not confirm that the login is a new one",
				"%s does not confirm that you have signed in there just now. Sign in in another way.", s.Label))
	}
	u, identity, link, err := i.person(ctx, s, p)
	if err != nil {
		return i.refused(ctx, s, kept, u, i.explained(ctx, s, p, err))
	}
	// A login whose time is unknown may be an old one. It changes nothing about how a person signs in.
	by := login{methods: acr.At(s.acrOf(p)), at: min(now, cmp.Or(p.AuthTime, now-freshLife-1)), old: old, with: identity,
		link: link}
	if link == nil {
		mapped, member := s.memberships(p)
		err = i.people.setGroups(ctx, u, p.Issuer, mapped, member)
		if err != nil {
			return err
		}
	}
	// Each response is a row, also if the second step never follows.
	err = i.people.mayRepeat(u, "server ")
	if err != nil {
		return err
	}
	arrived.SignIn, err = i.people.firstStep(ctx, u, by, b)
	if errors.Is(err, storage.ErrSpent) && link != nil {
		// The same person has signed in twice at this moment: what is stored by now decides.
		u, by.with, err = i.known(ctx, s, p)
		by.link = nil
		if err == nil {
			arrived.SignIn, err = i.people.firstStep(ctx, u, by, b)
		}
		if errors.Is(err, storage.ErrNotFound) {
			err = storage.ErrSpent
		}
	}
	if errors.Is(err, storage.ErrSpent) {
		return notBegun(errors.New("the account or its identity has changed at this moment"))
	}
	return err
}

// refused stores that a sign-in with another server was refused, and returns the error for the person. u is
// the person here, or a person who was not added: of these nothing is stored.
func (i *Identities) refused(ctx context.Context, s *server, kept left, u storage.User, refusal error) error {
	if kept.Session != "" || !isRefused(refusal) {
		return refusal
	}
	if u.Number == 0 {
		u = storage.User{}
	}
	err := events.Failed(ctx, i.people.store,
		events.Event{Kind: events.SignInFailed, Person: u, By: events.Nobody(), Object: i.people.server(s.Issuer),
			Detail: strings.TrimSpace("server " + conditionOf(refusal))})
	if err != nil {
		return err
	}
	return refusal
}

// acrOf returns the acr that the operator assigns to the login of a person.
func (s *server) acrOf(p upstream.Person) string {
	for _, m := range s.ACR {
		if p.ACR != "" && m.From == p.ACR {
			return m.To
		}
	}
	return acr.Password
}

// add stores the identity that a person adds to their account. The session gets another cookie.
func (i *Identities) add(ctx context.Context, s *server, kept left, p upstream.Person, who *storage.SignedIn) (*SignIn,
	error) {
	// The response adds the identity for the session that asked for it. Otherwise somebody could add
	// their own identity to the account of another person in the same browser.
	if who == nil || who.Session.ID != kept.Session {
		return nil, notBegun(errors.New("the session that asked for the identity has ended"))
	}
	err := i.people.strongEnough(ctx, who)
	if err != nil {
		return nil, err
	}
	r, in := renewal(who)
	added := events.Event{Kind: events.FactorAdded, Person: who.User, Object: i.people.server(p.Issuer)}
	err = i.people.store.AddIdentity(events.Attach(ctx, added),
		storage.Identity{Issuer: p.Issuer, Subject: p.Subject, UserID: who.User.ID, CreatedAt: oauth.Now()}, r, MaxIdentities,
		i.people.notices.FactorChanged(who.User, notices.AccountAdded)...)
	switch {
	case errors.Is(err, storage.ErrConflict):
		return nil, i.alreadyAdded(ctx, s, p, who)
	case errors.Is(err, storage.ErrFull):
		return nil, s.full()
	case errors.Is(err, storage.ErrSpent):
		return nil, notBegun(err)
	}
	return i.people.renewed(in, err)
}

// full returns the Error for a person who has as many identities as allowed.
func (s *server) full() *oauth.Error {
	return s.refuse("the person has as many identities as allowed", "You may have at most %d accounts of other servers.",
		MaxIdentities)
}

// alreadyAdded returns nil if the person has the identity already, and an Error if somebody else has it.
func (i *Identities) alreadyAdded(ctx context.Context, s *server, p upstream.Person, who *storage.SignedIn) error {
	found, err := i.people.store.Identity(ctx, p.Issuer, p.Subject)
	switch {
	case err != nil:
		return oauth.Unavailable(err)
	case found.UserID != who.User.ID:
		return s.refuse("the identity belongs to another person", "Another person here signs in with this account of %s. "+
			"Choose another account there.", s.Label)
	}
	return nil
}

// notBegun returns the Error for a response to which this browser has no request. The cause is for the log.
func notBegun(cause error) *oauth.Error {
	e := oauth.Refuse("invalid_request", "This sign-in was not begun in this browser, or it took longer than %d "+
		"minutes, or it is finished already. Begin again.", int(LeaveLife/time.Minute))
	e.LogText = "the response of another server fits no request of this browser"
	return e.Because(cause)
}

// refuse returns the Error for a person who may not sign in.
func (s *server) refuse(forLog, format string, args ...any) *oauth.Error {
	return oauth.ForPerson(http.StatusForbidden, "access_denied", forLog, format, args...)
}

// arrivalError returns the Error for a response that does not identify anybody.
func (s *server) arrivalError(err error) error {
	if refusal, ok := errors.AsType[*upstream.Refusal](err); ok {
		switch refusal.Code {
		case "access_denied":
			return s.refuse(refusal.Error(), "%[1]s says that you may not sign in. If that is a mistake, ask the people who "+
				"run %[1]s.", s.Label)
		case "server_error", "temporarily_unavailable":
			return s.unreachable(err)
		}
		return oauth.ForPerson(http.StatusBadRequest, "invalid_response", refusal.Error(),
			"%s refused the request of this server. Tell an administrator of this server.", s.Label)
	}
	if _, ok := errors.AsType[*upstream.Unreachable](err); ok {
		return s.unreachable(err)
	}
	return oauth.ForPerson(http.StatusBadRequest, "invalid_response", "the response of the other server was not accepted",
		"The response of %s was not accepted, so nobody was signed in. Begin again. If it happens twice, tell an "+
			"administrator of this server.", s.Label).Because(err)
}

func (s *server) unreachable(err error) *oauth.Error {
	e := oauth.ForPerson(http.StatusServiceUnavailable, "temporarily_unavailable", "the other server does not answer",
		"%s does not answer right now. Try again in a moment, or sign in in another way.", s.Label)
	e.RetryAfter = 10
	return e.Because(err)
}
