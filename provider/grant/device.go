package grant

import (
	"context"
	"errors"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// deviceGrant exchanges a device code for tokens, once a person has approved the request of
// the device (RFC 8628 §3.4, §3.5). Until then the device polls.
type deviceGrant struct{ p *Grants }

// Check counts the poll if the request of the device is pending, and
// otherwise checks the approval. A poll is one write, and a second one only redeems the code.
func (g *deviceGrant) Check(ctx context.Context, r *Request) (approved, error) {
	code := r.Form.Get("device_code")
	if code == "" {
		return approved{}, oauth.Refuse("invalid_request", "device_code is missing.")
	}
	// A poll has an effect: an assertion that is sent again must have none.
	err := g.p.clients.UseAssertion(ctx, r.by)
	if err != nil {
		return approved{}, err
	}
	digest := seal.Digest(code)
	early, err := g.p.store.PollDevice(ctx, digest, r.Client.ID, oauth.Now())
	switch {
	case err == nil && early:
		return approved{}, oauth.Refuse(
			"slow_down", "The device polls too often: wait five seconds more than before, now and before each later poll.",
		)
	case err == nil:
		return approved{}, oauth.Refuse(
			"authorization_pending", "The person has not decided yet: poll again after the interval.",
		)
	case !errors.Is(err, storage.ErrNotFound):
		return approved{}, oauth.Unavailable(err)
	}
	// RFC 8628 §3.5: slow_down means that the request is still pending. A device that polls
	// too often is therefore told the decision at once.
	grant, err := g.p.grantOf(ctx, policy.GrantDevice, digest)
	if errors.Is(err, storage.ErrNotFound) {
		return approved{}, g.withoutGrant(ctx, *r.Client, digest)
	}
	if err != nil {
		return approved{}, oauth.Unavailable(err)
	}
	// RFC 8628 §3.4, RFC 6749 §5.2: a device code works only for the client it was issued to.
	if grant.ApplicationID != r.Client.ID {
		return approved{}, invalidDeviceCode()
	}
	if grant.CodeExpiresAt <= oauth.Now() && grant.CodeUsedAt == nil {
		return approved{}, expiredDeviceCode()
	}
	err = g.p.proofs.Use(ctx, &r.proof)
	if err != nil {
		return approved{}, err
	}
	return g.p.redemption(ctx, r, &grant)
}

// withoutGrant returns the error for a device code without an approval.
func (g *deviceGrant) withoutGrant(ctx context.Context, a storage.Application, digest string) error {
	d, err := g.p.store.DeviceByCode(ctx, digest)
	switch {
	case errors.Is(err, storage.ErrNotFound), err == nil && d.ApplicationID != a.ID:
		return invalidDeviceCode()
	case err != nil:
		return oauth.Unavailable(err)
	case d.State == storage.DeviceDenied:
		// RFC 8628 §3.5: the status is 400, as for every error of RFC 6749 §5.2.
		return oauth.Refuse("access_denied", "The person denied the request.")
	case d.CodesEnd() <= oauth.Now():
		return expiredDeviceCode()
	}
	return oauth.Refuse(
		"invalid_grant",
		"The approval has ended: it was revoked, or the person was signed out. Begin again with a new device authorization "+
			"request.",
	)
}

func invalidDeviceCode() *oauth.Error {
	return oauth.Refuse("invalid_grant", "The device code is unknown, or was issued to another client.")
}

func expiredDeviceCode() *oauth.Error {
	return oauth.Refuse(
		"expired_token", "The device code has expired. Begin again with a new device authorization request.",
	)
}
