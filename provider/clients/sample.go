package clients

import (
	"context"
	"errors"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

const sampleClientID = "mandate-sample-api"

// SampleAPIClient returns the credentials with which the sample API introspects tokens,
// and registers its application if there is none. The secret is derived from the
// server's key, so that all nodes compute the same one and none has to store it.
func (p *Clients) SampleAPIClient(ctx context.Context) (id, secret string, err error) {
	secret = p.config.SampleSecret
	a, err := p.store.ApplicationByClientID(ctx, sampleClientID)
	if errors.Is(err, storage.ErrNotFound) {
		at := oauth.Now()
		made := storage.Application{
			ID:               seal.Identifier(),
			ClientID:         sampleClientID,
			Name:             "Sample API",
			ClientType:       policy.Confidential,
			GrantTypes:       policy.GrantClient,
			HashClientSecret: true,
			Secret:           clientauth.Digest(secret),
			MayIntrospect:    true,
			Responsible:      storage.ByOperator,
			CreatedAt:        at,
			UpdatedAt:        at,
		}
		err = p.store.AddApplication(events.Attach(ctx, events.Event{
			Kind:   events.ApplicationAdded,
			Object: events.Application(made),
		}), made, 0)
		if errors.Is(err, storage.ErrConflict) { // another node has registered it
			err = nil
		}
		return sampleClientID, secret, err
	}
	if err == nil && (a.Secret != clientauth.Digest(secret) || !a.MayIntrospect) {
		was := a
		a.Secret, a.MayIntrospect = clientauth.Digest(secret), true
		err = p.store.UpdateApplication(
			events.Attach(ctx, ChangeEvents(was, a, &origin.Actor{Kind: origin.Server})...), a, was,
		)
	}
	return sampleClientID, secret, err
}
