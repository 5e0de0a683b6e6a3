package registration

import (
	"context"
	"crypto/hmac"
	"errors"
	"net/http"
	"strings"
	"time"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

// Read describes an application to the holder of its registration access token.
//
// RFC 7592 §2.1: a client that may not read its record gets 403. What a person decides about
// the application later does not concern whoever registered it.
func (p *Registrations) Read(ctx context.Context, r *http.Request, clientID string) (storage.Application,
	map[string]any, error) {
	a, err := p.managed(ctx, r, clientID)
	if err == nil && a.Management == "" {
		err = p.mayChange(a)
	}
	if err != nil {
		return a, nil, p.refused(ctx, a, err)
	}
	return a, p.answer(a, describeStored(a), ""), nil
}

// managed returns the application that a request manages.
//
// RFC 7592 §2: the token belongs to exactly one client, that of the address. OIDC
// Registration §4.4: an unknown client is refused like a wrong token, and never with 404.
func (p *Registrations) managed(ctx context.Context, r *http.Request, clientID string) (storage.Application, error) {
	token, err := registrationBearer(r)
	if err != nil {
		return storage.Application{}, err
	}
	if token == "" {
		return storage.Application{},
			oauth.NoToken("Send the registration access token in the Authorization header as Bearer.")
	}
	if !strings.HasPrefix(token, registrationPrefix) {
		return storage.Application{}, invalidRegistrationToken()
	}
	a, err := p.store.ApplicationByClientID(ctx, clientID)
	if errors.Is(err, storage.ErrNotFound) ||
		err == nil && (a.Origin != storage.FromRegistration || !hmac.Equal([]byte(token), []byte(p.registrationToken(a)))) {
		return storage.Application{}, invalidRegistrationToken()
	}
	return a, oauth.Stored(err)
}

func invalidRegistrationToken() *oauth.Error {
	return oauth.InvalidToken("There is no client with this registration access token at this address.")
}

// mayChange refuses a change of an application that is suspended, or not the registrant's own.
func (p *Registrations) mayChange(a storage.Application) error {
	suspended := p.rules.WhySuspended(a)
	switch {
	case suspended != "":
		return forbidden(suspended)
	case a.Management == storage.ManagedByMany:
		return forbidden("Several clients have registered with the same metadata and share this client id, so none of them " +
			"may change it. Register again with other metadata.")
	case a.Management != storage.ManagedAlone:
		return forbidden("A person has changed or taken over this application, so it can be read and changed only on the " +
			"pages of this server.")
	}
	return nil
}

// forbidden returns the error for something that this client may not do (RFC 7592 §2.2,
// §2.3).
func forbidden(text string) *oauth.Error {
	return &oauth.Error{Status: http.StatusForbidden, Code: "access_denied", Description: text}
}

// Change replaces the metadata of an application (RFC 7592 §2.2). What a
// request leaves out gets its default: the new metadata replaces the old.
func (p *Registrations) Change(ctx context.Context, r *http.Request, clientID, address string) (storage.Application,
	map[string]any, error) {
	a, answer, err := p.change(ctx, r, clientID, address)
	return a, answer, p.refused(ctx, a, err)
}

func (p *Registrations) change(ctx context.Context, r *http.Request, clientID, address string) (storage.Application,
	map[string]any, error) {
	was, err := p.managed(ctx, r, clientID)
	if err == nil {
		err = p.mayChange(was)
	}
	if err != nil {
		return was, nil, err
	}
	said, err := p.readMetadata(ctx, r)
	if err == nil {
		err = p.checkChange(ctx, said, was)
	}
	if err != nil {
		return was, nil, err
	}
	by, err := p.registrantOf(ctx, was, address)
	if err != nil {
		return was, nil, err
	}
	d, err := p.describe(ctx, said, by, was)
	if err == nil && by.open() {
		err = p.countRegistration(address)
	} else if err == nil { // each change is an event
		_, err = p.limits.Request(throttle.Try{Kind: limits.OfOwnChange, Key: "application " + was.ID,
			Wide: "application " + was.ID})
	}
	if err == nil {
		err = p.checkSector(ctx, d, by)
	}
	if err != nil {
		return was, nil, err
	}
	a := was
	secret, err := p.applyDescription(ctx, &a, d)
	if err != nil {
		return was, nil, err
	}
	err = p.store.UpdateApplication(events.Attach(ctx, clients.ChangeEvents(was, a, events.ByApplication(was))...), a, was)
	if errors.Is(err, storage.ErrNotFound) {
		return was, nil, oauth.Later(http.StatusServiceUnavailable, time.Second,
			"The application was changed at the same moment. Read it, and try again.")
	}
	if err != nil {
		return was, nil, oauth.Unavailable(err)
	}
	return a, p.answer(a, d, secret), nil
}

// checkChange checks the members that only an update may or must have.
//
// RFC 7592 §2.2: client_id is that of the client. The server's own members are not sent
// back. A client secret cannot be chosen, so it can only be the present one.
func (p *Registrations) checkChange(ctx context.Context, said *metadata.Client, was storage.Application) error {
	for _, member := range []string{"registration_access_token", "registration_client_uri", "client_secret_expires_at",
		"client_id_issued_at"} {
		if said.Sent(member) {
			return refuseMember(member, "must not be in an update")
		}
	}
	if said.ClientID != was.ClientID {
		return refuseMember("client_id", "must be in an update, with the client id of the application")
	}
	// RFC 7592 §2.2: an update replaces all metadata. Without the statement, nobody would have
	// signed values that stay as they were.
	if said.SoftwareStatement == "" && clients.MetadataOf(was).SoftwareStatement != "" {
		return refuseMember("software_statement", "must be in an update of a client that registered with one")
	}
	if said.ClientSecret == "" {
		return nil
	}
	if was.ClientType == policy.Public {
		return refuseMember("client_secret", "must not be in an update of a client without a secret")
	}
	err := p.clients.ProveSecret(ctx, was, said.ClientSecret)
	if e, ok := errors.AsType[*oauth.Error](err); ok && e.Code == "invalid_client" {
		return refuseMember("client_secret", "is not the present secret: a client cannot choose its secret")
	}
	return err
}

// registrantOf returns who stands for an application that registered itself, and what it
// may be registered for.
func (p *Registrations) registrantOf(ctx context.Context, a storage.Application, address string) (registrant, error) {
	if a.Responsible == storage.ByNobody {
		return openRegistrant(address), nil
	}
	limits, err := ParseLimits(a.RegistrationLimits)
	if err != nil {
		return registrant{}, err
	}
	by := registrant{actor: policy.Operator(), limits: limits, from: a.ID}
	if a.Responsible != storage.ByOperator {
		u, err := p.store.UserByID(ctx, oauth.Deref(a.OwnerID))
		if err != nil {
			return registrant{}, oauth.Unavailable(err)
		}
		by.actor = policy.By(u)
	}
	return by, nil
}

// End deletes an application at its own request (RFC 7592 §2.3). Its tokens
// and grants end with it.
func (p *Registrations) End(ctx context.Context, r *http.Request, clientID string) (storage.Application, error) {
	a, err := p.managed(ctx, r, clientID)
	if err == nil && a.Management != storage.ManagedAlone {
		err = p.mayChange(a)
	}
	if err != nil {
		return a, p.refused(ctx, a, err)
	}
	deleted := events.Event{Kind: events.ApplicationDeleted, Person: events.OwnerOf(a), By: events.ByApplication(a),
		Object: events.Application(a)}
	err = p.store.DeleteRegistration(events.Attach(ctx, deleted), a.ID)
	if errors.Is(err, storage.ErrNotFound) { // it was deleted or shared at the same moment
		return a, oauth.Later(http.StatusServiceUnavailable, time.Second,
			"The application was changed at the same moment. Try again.")
	}
	return a, oauth.Stored(err)
}
