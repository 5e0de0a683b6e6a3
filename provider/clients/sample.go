package clients

import (
	"context"
	"errors"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

const sampleClientID = "mandate-sample-api"

// SampleAPIClient gives the sample API its own credentials for introspection,
// and registers it where it is not. The secret comes from the server's key: all
// nodes find the same one, and none has to keep it.
func (p *Clients) SampleAPIClient(ctx context.Context) (id, secret string, err error) {
	secret, err = seal.Derive(p.config.ServerKey, "sample-api")
	if err != nil {
		return "", "", err
	}
	a, err := p.store.ApplicationByClientID(ctx, sampleClientID)
	if errors.Is(err, storage.ErrNotFound) {
		at := oauth.Now()
		err = p.store.AddApplication(ctx, storage.Application{ID: seal.Identifier(), ClientID: sampleClientID, Name: "Sample API", ClientType: policy.Confidential,
			GrantTypes: policy.GrantClient, HashClientSecret: true, Secret: StoredDigest + seal.Digest(secret), MayIntrospect: true, Responsible: storage.ByOperator, CreatedAt: at, UpdatedAt: at}, 0)
		if errors.Is(err, storage.ErrConflict) { // another node was faster
			err = nil
		}
		return sampleClientID, secret, err
	}
	if err == nil && (a.Secret != StoredDigest+seal.Digest(secret) || !a.MayIntrospect) {
		was := a
		a.Secret, a.MayIntrospect = StoredDigest+seal.Digest(secret), true
		err = p.store.UpdateApplication(ctx, a, was)
	}
	return sampleClientID, secret, err
}
