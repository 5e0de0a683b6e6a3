package device

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"mandate/provider/access"
	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Request is a pending request of a device, as a person sees it before the decision.
type Request struct {
	Application storage.Application
	Scopes      []policy.Scope
	Audience    resources.Audience
	UserCode    string // as the device shows it
	From        Origin
	Near        bool // the request came from the network of the person
	CreatedAt   int64
	Ticket      string // the form of the page sends it back with the answer

	digest string // of the device code
}

// Find returns the request that has the user code which the person typed. It returns an
// Invalid if there is none, and an Error with status 429 after too many wrong codes.
func (p *Devices) Find(ctx context.Context, typed string, s *storage.SignedIn, address string) (*Request, error) {
	code, ok := readUserCode(typed)
	switch {
	case strings.TrimSpace(typed) == "":
		return nil, wrongCode("Enter the code that your device shows.")
	case !ok:
		return nil, wrongCode("A code has eight letters, such as BCDF-GHJK. It never contains A, E, I, O, U, Y or a digit: " +
			"check the letters on your device.")
	}
	// RFC 8628 §5.1: guesses at user codes are limited, in one session and in all of a person. Whoever has a copy of a
	// session does not use up those of the others. The limit of the network is higher: it stops a person with many
	// accounts. A right code gives back its own try, and no other.
	giveBack, err := p.limits.Take(
		throttle.Try{Kind: limits.OfUserCode, Key: s.Session.SignIn(), Site: s.User.ID, Wide: throttle.WideNetwork(address)},
		limits.At(limits.AtUserCode, address))
	if err != nil {
		return nil, err
	}
	d, err := p.store.DeviceByUserCode(ctx, p.userCodeDigest(code), oauth.Now())
	if errors.Is(err, storage.ErrNotFound) {
		return nil, wrongCode("No device is waiting with this code. Check each letter. A code works once and only for a " +
			"few minutes: if your device shows another code now, enter that one.")
	}
	giveBack()
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	q, err := p.request(ctx, d, code, address)
	if err != nil {
		return nil, err
	}
	shown, err := q.shown()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(ticket{s.Session.ID, q.digest, code, shown})
	if err != nil {
		return nil, err
	}
	q.Ticket = p.tickets.Seal(text, sealedFor)
	return q, nil
}

func wrongCode(message string) error {
	return &oauth.Invalid{Fields: []oauth.FieldError{{Field: "user_code", Message: message}}}
}

// request returns a stored request with the application and what the application may have
// now.
func (p *Devices) request(ctx context.Context, d storage.Device, code, address string) (*Request, error) {
	a, err := p.store.Application(ctx, d.ApplicationID)
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return nil, oauth.Unavailable(err)
	}
	a = p.rules.Effective(a)
	audience, failed := p.apis.Granted(ctx, d.Resource)
	if failed != nil {
		return nil, failed
	}
	names := audience.Scopes(oauth.Narrow(strings.Fields(d.Scope), p.rules.AllowedScopes(a)))
	if err != nil || p.rules.WhySuspended(a) != "" || !policy.HasGrant(a, policy.GrantDevice) || len(names) == 0 {
		return nil, wrongCode("The application on your device may not ask for access any more. Ask its developer, or begin " +
			"again on the device.")
	}
	return &Request{Application: a, Scopes: p.rules.Describe(names), Audience: audience, UserCode: displayed(code),
		From: Origin{d.Address, d.UserAgent},
		Near: throttle.Network(d.Address) == throttle.Network(address), CreatedAt: d.CreatedAt, digest: d.Digest}, nil
}

// ticket is a request that waits for the answer of the page. It is bound to the session to
// which the page was shown: nobody can make another browser approve a device.
type ticket struct{ Session, Digest, Code, Shown string }

const sealedFor = "device"

// shown returns a digest of what the page shows about the application and the access.
func (q *Request) shown() (string, error) {
	text, err := json.Marshal([]any{q.Application.ID, q.Application.Name, oauth.Deref(q.Application.Owner), q.Scopes,
		q.Audience.Named(), q.Application.Claims})
	return seal.Digest(string(text)), err
}

// over returns the error for a page whose request cannot be decided any more.
func over() *oauth.Error {
	return oauth.Refuse("invalid_request", "This request of a device was answered already, or its code has expired. "+
		"Begin again on the device if you still want to allow access.")
}

// resume opens the ticket of an answered page, for this session.
func (p *Devices) resume(sealed string, s *storage.SignedIn) (ticket, error) {
	var t ticket
	text, err := p.tickets.Open(sealed, sealedFor)
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil || t.Session != s.Session.ID {
		return t, oauth.Refuse("invalid_request", "This page is no longer valid. Enter the code of the device again.")
	}
	return t, nil
}

// Excluded returns why the person may not use the application of the request, or nil.
func (p *Devices) Excluded(ctx context.Context, q *Request, s *storage.SignedIn) (*access.Verdict, error) {
	return p.access.Admit(ctx, q.Application, s.User)
}

// MissingACR returns the acr that the person must reach before approving the request, or "".
func (q *Request) MissingACR(s *storage.SignedIn) string {
	own := q.Application.RequiredACR
	if own == "" || acr.Satisfies(s.Session.AMR, own) {
		return ""
	}
	return own
}

// Approve grants the device the access that the page showed. It returns the application.
//
// The stored consent of the person does not change. It could otherwise let the application
// skip the consent page later, although others can begin a request of a device (RFC 10027 §4.1.1).
func (p *Devices) Approve(ctx context.Context, sealed string, s *storage.SignedIn) (storage.Application, error) {
	t, err := p.resume(sealed, s)
	if err != nil {
		return storage.Application{}, err
	}
	d, err := p.store.DeviceByCode(ctx, t.Digest)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.Application{}, over()
	}
	if err != nil {
		return storage.Application{}, oauth.Unavailable(err)
	}
	q, err := p.request(ctx, d, t.Code, "")
	if err != nil {
		return storage.Application{}, stale(err)
	}
	// The person approved what the page showed, and nothing else.
	shown, err := q.shown()
	if err == nil && (shown != t.Shown || q.MissingACR(s) != "") {
		err = stale(wrongCode(""))
	}
	if err == nil {
		err = p.tokens.MayApprove(ctx, q.Application, s.User.ID)
	}
	if err == nil {
		err = p.clients.Used(ctx, q.Application)
	}
	if err != nil {
		return q.Application, err
	}
	return q.Application, p.approve(ctx, d, q, s)
}

// stale converts the error for a request whose application has changed since the page was
// shown.
func stale(err error) error {
	if _, changed := errors.AsType[*oauth.Invalid](err); !changed {
		return err
	}
	return oauth.Refuse("invalid_request", "The application has changed since this page was shown. Enter the code of "+
		"the device again.")
}

func (p *Devices) approve(ctx context.Context, d storage.Device, q *Request, s *storage.SignedIn) error {
	var names []string
	for _, scope := range q.Scopes {
		names = append(names, scope.Name)
	}
	grant, owner := p.tokens.GrantBy(s, policy.GrantDevice, q.Application, names)
	grant.CodeDigest, grant.CodeExpiresAt, grant.ExpiresAt, grant.Resource = &d.Digest, d.CodesEnd(),
		d.CodesEnd(), d.Resource
	approved := events.Event{Kind: events.DeviceApproved, Person: s.User, Object: events.Application(q.Application),
		Detail: grant.Scope}
	err := p.store.ApproveDevice(events.Attach(ctx, approved), grant, owner)
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return over()
	case errors.Is(err, storage.ErrSpent):
		return oauth.Refuse("access_denied", "You were signed out meanwhile.")
	case errors.Is(err, storage.ErrExcluded):
		return access.Excluded()
	}
	return oauth.Stored(err)
}

// Deny denies the request of the page.
func (p *Devices) Deny(ctx context.Context, sealed string, s *storage.SignedIn) error {
	t, err := p.resume(sealed, s)
	if err != nil {
		return err
	}
	denied := events.Event{Kind: events.DeviceDenied, Person: s.User}
	d, err := p.store.DeviceByCode(ctx, t.Digest)
	var a storage.Application
	if err == nil {
		a, err = p.store.Application(ctx, d.ApplicationID)
	}
	switch {
	case errors.Is(err, storage.ErrNotFound):
		return over()
	case err != nil:
		return oauth.Unavailable(err)
	}
	denied.Object = events.Application(a)
	err = p.store.DenyDevice(events.Attach(ctx, denied), t.Digest, oauth.Now())
	if errors.Is(err, storage.ErrNotFound) {
		return over()
	}
	return oauth.Stored(err)
}
