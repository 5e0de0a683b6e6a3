package registration

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/loopback"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// maxOpenBytes limits what the server stores of an application for which nobody is
// responsible.
const maxOpenBytes = 8 << 10

// registrant is who registers an application by a request, and what they may register.
type registrant struct {
	actor   policy.Actor // nobody: the request had no initial access token
	limits  Limits
	initial *storage.InitialToken
	from    string // for the limit of the fetches: the site of the network, or the initial access token or the application
}

// openRegistrant returns a registrant without an initial access token.
func openRegistrant(address string) registrant {
	return registrant{limits: Limits{Grants: policy.GrantNames()}, from: throttle.Site(address)}
}

// open reports whether nobody is responsible for what is registered.
func (by registrant) open() bool { return by.actor.Nobody() }

// Register is the registration endpoint (RFC 7591 §3, OIDC Registration §3). It
// returns the application and the answer.
//
// Without an initial access token only a public client can be registered, and two requests
// that say the same get the same client id (RFC 7591 §3.2.1 permits it for several
// instances of a client). So a client that registers at each start needs one row.
func (p *Registrations) Register(ctx context.Context, r *http.Request, address string) (storage.Application,
	map[string]any, error) {
	a, answer, err := p.register(ctx, r, address)
	return a, answer, p.refused(ctx, storage.Application{}, err)
}

// refused counts the refusal of a request, about the application that it manages. It returns the error.
func (p *Registrations) refused(ctx context.Context, a storage.Application, err error) error {
	if err == nil {
		return nil
	}
	return p.clients.Refused(ctx, "register", &a, err)
}

func (p *Registrations) register(ctx context.Context, r *http.Request, address string) (storage.Application,
	map[string]any, error) {
	by, err := p.registrant(ctx, r, address)
	if err != nil {
		return storage.Application{}, nil, err
	}
	said, err := p.readMetadata(ctx, r)
	if err != nil {
		return storage.Application{}, nil, err
	}
	a := storage.Application{Responsible: storage.ByNobody}
	if !by.open() {
		a = clients.NewApplication(by.actor)
	}
	a.Origin, a.Management = storage.FromRegistration, storage.ManagedAlone
	d, err := p.describe(ctx, said, by, a)
	if err != nil {
		return storage.Application{}, nil, err
	}
	if by.open() {
		digest, err := d.digest(p.clients.OpenRedirects())
		if err != nil {
			return storage.Application{}, nil, err
		}
		a.RegistrationDigest = &digest
		known, err := p.known(ctx, digest, address)
		if err == nil {
			return known, p.answer(known, d, ""), nil
		}
		if !errors.Is(err, oauth.ErrNotFound) {
			return storage.Application{}, nil, err
		}
		err = p.countRegistration(address)
		if err != nil {
			return storage.Application{}, nil, err
		}
	}
	return p.storeRegistration(ctx, a, d, by)
}

// storeRegistration stores a new application.
func (p *Registrations) storeRegistration(ctx context.Context, a storage.Application, d description,
	by registrant) (storage.Application, map[string]any, error) {
	err := p.checkSector(ctx, d, by)
	if err != nil {
		return a, nil, err
	}
	now := oauth.Now()
	a.ID, a.ClientID, a.CreatedAt = seal.Identifier(), seal.Identifier(), now
	secret, err := p.applyDescription(ctx, &a, d)
	if err != nil {
		return a, nil, err
	}
	initial := ""
	if by.initial != nil {
		initial, a.RegistrationLimits = by.initial.Digest, by.initial.Limits
	}
	added := events.Event{Kind: events.ApplicationAdded, Person: events.OwnerOf(a), Object: events.Application(a),
		Detail: a.Origin}
	stored, err := p.store.RegisterApplication(events.Attach(ctx, added), a, p.rules.AllowanceOf(a).Quota.Applications,
		initial, now)
	switch {
	// ErrNotFound: the maker of the token was deleted
	case errors.Is(err, storage.ErrSpent), errors.Is(err, storage.ErrNotFound):
		return a, nil, invalidInitialToken()
	case errors.Is(err, storage.ErrFull):
		return a, nil, oauth.Later(http.StatusServiceUnavailable, time.Hour,
			"This server has as many applications that registered themselves as it allows. Unused ones are deleted with time; "+
				"its operator can raise OPEN_MAX_APPLICATIONS.")
	case err != nil:
		return a, nil, oauth.Unavailable(err)
	}
	return stored, p.answer(stored, d, secret), nil
}

// known returns the application that was registered with the same metadata, and notes that
// several registrants have it now. Nobody may change it from then on: its registration
// access token is known to strangers.
//
// It also counts the time of the clean-up anew. That uses a try of the network, as a new
// application does: one network could otherwise keep more and more applications that it never
// uses, until there is no room for others. Without a try the time stays as it is.
func (p *Registrations) known(ctx context.Context, digest, address string) (storage.Application, error) {
	a, err := p.store.RegistrationByDigest(ctx, digest)
	if err != nil {
		return a, oauth.Stored(err)
	}
	// A repeated registration shortly after another one needs no write.
	fresh := oauth.Now()-max(a.CreatedAt, a.RenewedAt, a.LastUsedAt) <= clients.UseInterval
	if a.Management == storage.ManagedByMany && (fresh || p.countRegistration(address) != nil) {
		return a, nil
	}
	a, err = p.store.ShareRegistration(ctx, digest, oauth.Now())
	return a, oauth.Stored(err)
}

// countRegistration limits the new applications that come from one network. An identical
// registration is never refused, because hosted clients send it from few addresses for many
// people.
func (p *Registrations) countRegistration(address string) error {
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfRegistration, "", address))
	if wait > 0 {
		return oauth.Later(http.StatusTooManyRequests, wait, "Too many different applications were registered from this "+
			"network. Wait a little, then try again.")
	}
	return nil
}

// registrant reads who sends a registration request.
func (p *Registrations) registrant(ctx context.Context, r *http.Request, address string) (registrant, error) {
	text, err := registrationBearer(r)
	switch {
	case err != nil:
		return registrant{}, err
	case text != "":
		return p.holder(ctx, text)
	case !p.config.Open.Registration():
		return registrant{},
			oauth.NoToken("This server registers an application only with an initial access token. Ask its operator for one, " +
				"and send it in the Authorization header as Bearer.")
	}
	return openRegistrant(address), nil
}

// registrationBearer returns the token of the request, or "" if there is none. It is
// accepted in the header only (RFC 6750 §2.1).
func registrationBearer(r *http.Request) (string, error) {
	header := r.Header.Values("Authorization")
	switch {
	case r.URL.Query().Has("access_token"):
		return "", oauth.Refuse("invalid_request", "The token must not be in the query of the URL: send it in the "+
			"Authorization header as Bearer.")
	case len(header) > 1:
		return "", oauth.Refuse("invalid_request", "The request has more than one Authorization header.")
	case len(header) == 0:
		return "", nil
	}
	scheme, text, _ := strings.Cut(header[0], " ")
	text = strings.TrimLeft(text, " ")
	if !strings.EqualFold(scheme, "Bearer") || text == "" {
		return "", oauth.NoToken("The Authorization header does not use the scheme Bearer with a token.")
	}
	return text, nil
}

// readMetadata reads the body of a request, and the software statement in it.
//
// RFC 7591 §3.1: it is JSON, with the type application/json. A form of another site cannot
// have this type, so no page can register applications in the name of its visitors.
func (p *Registrations) readMetadata(ctx context.Context, r *http.Request) (*metadata.Client, error) {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return nil, oauth.Refuse("invalid_client_metadata", "Send the metadata as JSON, with the header Content-Type: "+
			"application/json.")
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, metadata.MaxBytes+1))
	if err != nil {
		return nil, err
	}
	verify := func(statement string) ([]byte, error) { return p.readStatement(ctx, statement) }
	said, err := metadata.ParseSigned(body, verify, clients.PlainMembers()...)
	var wrong *metadata.Error
	switch {
	case errors.As(err, &wrong) && wrong.Signed:
		return nil, invalidStatement("is wrong: %s", strings.TrimSuffix(wrong.Error(), "."))
	case wrong != nil:
		return nil, refuseMember(wrong.Member, "%s", strings.TrimSuffix(wrong.Problem, "."))
	}
	return said, err
}

// refuseMember returns the error for one member of the metadata (RFC 7591 §3.2.2). The text
// continues the name of the member, or "The metadata".
func refuseMember(member, format string, args ...any) *oauth.Error {
	code, subject := "invalid_client_metadata", member
	if member == "redirect_uris" {
		code = "invalid_redirect_uri"
	}
	if member == "" {
		subject = "The metadata"
	}
	e := oauth.Refuse(code, subject+" "+format+".", args...)
	e.LogText = subject + " is wrong"
	return e
}

// isNative reports whether only a program on the person's device can receive a code at a
// redirect URI.
func isNative(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme != "https" && (u.Scheme != "http" || loopback.InBrowser(u.Hostname()))
}
