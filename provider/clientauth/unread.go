package clientauth

import (
	"context"
	"net/http"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/possession"
	"mandate/provider/throttle"
)

const (
	maxUnread        = 2        // assertions that are used of a request whose form was not read
	maxUnreadContent = 64 << 10 // bytes of its content
)

// UseUnread uses the client assertions and the DPoP proof of a request that was refused before they
// were read: they are where they must not be, or beside another way to authenticate, or the request names
// no grant. It returns the error for the client. checks is nil where no proof is sent, or where the caller
// uses it.
//
// OIDC Core §9: an assertion is used once, whatever the request was. RFC 9449 §11.1: the same of a proof.
func (p *Checks) UseUnread(ctx context.Context, r *http.Request, failed error, checks *possession.Checks) error {
	return p.useUnread(ctx, r, failed, checks, manner{})
}

// UseUnreadAny is UseUnread at an endpoint that begins an authorization.
func (p *Checks) UseUnreadAny(ctx context.Context, r *http.Request, failed error, checks *possession.Checks) error {
	return p.useUnread(ctx, r, failed, checks, manner{documents: true})
}

func (p *Checks) useUnread(
	ctx context.Context,
	r *http.Request,
	failed error,
	checks *possession.Checks,
	how manner,
) error {
	for _, sent := range unreadAssertions(r) {
		if !p.mayRead(ctx) {
			break
		}
		by := &Caller{}
		how.later = true
		_, err := p.proveAssertion(ctx, r, sent, how, by)
		if _, wrong := oauth.Refused(err); err != nil && !wrong {
			return err
		}
		failed = p.UseFailed(ctx, by, failed, nil, possession.Proof{})
	}
	return p.UseUnreadProof(ctx, &Caller{}, r, failed, checks)
}

// UseUnreadProof is UseFailed for a request that has failed before its DPoP proof was verified.
func (p *Checks) UseUnreadProof(
	ctx context.Context,
	by *Caller,
	r *http.Request,
	failed error,
	checks *possession.Checks,
) error {
	var proof possession.Proof
	if checks != nil && len(r.Header.Values("DPoP")) > 0 && !possession.AsksForNonce(failed) && p.mayRead(ctx) {
		verified, err := checks.Verify(r)
		if err == nil {
			proof = verified
		}
	}
	return p.UseFailed(ctx, by, failed, checks, proof)
}

// mayRead reports whether this server verifies a signature that it needs for no answer. Strangers make
// such requests too, so their number is limited by network.
func (p *Checks) mayRead(ctx context.Context) bool {
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfAssertion, "unread ", AddressOf(ctx)))
	return wait == 0
}

// unreadAssertions returns the client assertions of a request, wherever they are.
func unreadAssertions(r *http.Request) []credentials {
	var found []credentials
	for _, at := range places {
		for _, text := range at.search(r) {
			found = append(found, credentials{assertion: text, place: at})
		}
	}
	return found[:min(len(found), maxUnread)]
}
