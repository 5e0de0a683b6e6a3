package authorize

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"mandate/provider/clientauth"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/possession"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

// PushedRequest is the response to a pushed authorization request (RFC 9126 §2.2).
type PushedRequest struct {
	RequestURI string `json:"request_uri"`
	ExpiresIn  int64  `json:"expires_in"`

	LeftOut policy.LeftOut `json:"-"` // the scopes of the request that the application cannot get
}

// maxPushed is the largest size of a pushed request in bytes, form-encoded. It is that of a
// request in the query.
const maxPushed = 16 << 10

// Push handles a pushed authorization request (RFC 9126 §2). It returns the response and the
// authenticated application. If client authentication succeeds and a later check fails, it
// returns the application together with the error.
func (p *Authorizations) Push(ctx context.Context, r *http.Request, address string) (*PushedRequest,
	*storage.Application, error) {
	ctx = clientauth.From(ctx, address)
	answer, a, err := p.answerPush(ctx, r)
	if err != nil {
		return nil, a, p.clients.Refused(ctx, "par", a, err)
	}
	p.clients.LeftOut(ctx, "par", a, answer.LeftOut)
	return answer, a, nil
}

// answerPush is Push for a context that says from which address the request comes.
func (p *Authorizations) answerPush(ctx context.Context, r *http.Request) (*PushedRequest,
	*storage.Application, error) {
	form, err := oauth.ReadForm(r, oauth.Resource)
	if err != nil {
		return nil, nil, p.clients.UseUnreadAny(ctx, r, err, p.proofs)
	}
	// RFC 9126 §2: a client authenticates here as at the token endpoint.
	by, err := p.clients.PresentAny(ctx, r, form)
	if err != nil {
		return nil, nil, p.clients.UseUnreadProof(ctx, by, r, err, p.proofs)
	}
	application, sent := by.Application, shown{by: by}
	answer, err := p.push(ctx, r, form, *application, &sent)
	switch {
	case err != nil && !sent.verified:
		return nil, application, p.clients.UseUnreadProof(ctx, by, r, err, p.proofs)
	case err != nil:
		return nil, application, p.clients.UseFailed(ctx, by, err, p.proofs, sent.proof)
	}
	return answer, application, nil
}

// shown is what a pushed request proves, until it is used.
type shown struct {
	by       *clientauth.Caller
	proof    possession.Proof
	verified bool // proof is what the request proves
}

// push checks and stores the pushed request of an application. It notes its proof.
func (p *Authorizations) push(ctx context.Context, r *http.Request, form url.Values, application storage.Application,
	sent *shown) (*PushedRequest, error) {
	// RFC 9126 §2.1: a pushed request cannot refer to another one.
	if form.Has("request_uri") {
		return nil, oauth.Refuse("invalid_request", "request_uri must not be pushed: send the parameters themselves.")
	}
	var err error
	parameters, signed := maps.Clone(form), hasValue(form, "request")
	if signed {
		parameters, err = p.pushedObject(ctx, sent.by, application, form)
		if err != nil {
			return nil, err
		}
	}
	for _, name := range credentials {
		parameters.Del(name)
	}
	// FAPI 2.0 Security Profile §5.3.2.2: a pushed request has redirect_uri.
	if policy.HasProfile(application) && parameters.Get("redirect_uri") == "" {
		return nil, oauth.Refuse("invalid_request", "redirect_uri is missing: the profile of this application requires it "+
			"in each pushed request.")
	}
	sent.proof, err = p.bindPushed(r, parameters)
	sent.verified = sent.proof.Key != ""
	if err != nil {
		return nil, err
	}
	if len(parameters.Encode()) > maxPushed {
		e := oauth.Refuse("invalid_request", "The authorization request is longer than %d bytes. Shorten it: state may "+
			"have at most %d bytes.", oauth.Own(maxPushed), oauth.Own(oauth.MaxState))
		e.Status = http.StatusRequestEntityTooLarge
		return nil, e
	}
	uri := requestURIPrefix + seal.Random(32)
	request := Request{Parameters: parameters, Signed: signed,
		pushed: pushed{Digest: seal.Digest(uri), ClientID: application.ClientID, Generation: application.Generation}}
	// RFC 9126 §2.1: the request is validated as at the authorization endpoint.
	a, err := p.check(ctx, request)
	if err == nil && a.Refused != nil {
		err = a.Refused
	}
	if err == nil {
		err = p.keep(ctx, request, a.Application, sent)
	}
	if err != nil {
		return nil, err
	}
	return &PushedRequest{RequestURI: uri, ExpiresIn: oauth.Seconds(p.config.PushedLifetime), LeftOut: a.LeftOut}, nil
}

// bindPushed notes the key of the DPoP proof of a pushed request, as if the request had the
// parameter dpop_jkt.
//
// RFC 9449 §10.1: a code is bound by the header too. If both are there, they name one key.
func (p *Authorizations) bindPushed(r *http.Request, parameters url.Values) (possession.Proof, error) {
	if len(r.Header.Values("DPoP")) == 0 {
		return possession.Proof{}, nil
	}
	proof, err := p.proofs.Verify(r)
	if err != nil {
		return proof, err
	}
	if said := parameters[dpopKey]; len(said) > 0 && said[0] != "" && !slices.Equal(said, []string{proof.Key}) {
		return proof, oauth.Refuse("invalid_dpop_proof", "The DPoP proof is signed with another key than the one of "+
			"dpop_jkt: use one key for both.")
	}
	parameters.Set(dpopKey, proof.Key)
	return proof, nil
}

// keep stores a pushed request, and uses what came with it.
func (p *Authorizations) keep(ctx context.Context, r Request, a storage.Application, sent *shown) error {
	address := clientauth.AddressOf(ctx)
	network := throttle.Site(address)
	perNetwork, err := p.mayPush(a, address)
	if err == nil {
		err = p.proofs.Use(ctx, &sent.proof)
	}
	if err == nil {
		err = p.clients.UseAssertion(ctx, sent.by)
	}
	if err != nil {
		return err
	}
	text, err := json.Marshal(sealedRequest{r.pushed.Generation, r.Parameters.Encode(), r.Signed})
	if err != nil {
		return err
	}
	now := oauth.Now()
	until := now + oauth.Seconds(p.config.PushedLifetime)
	err = p.store.AddRequest(ctx,
		storage.Request{Digest: r.pushed.Digest, ClientID: a.ClientID,
			Parameters: p.tickets.Seal(text, sealedAs(r.pushed.Digest, a.ClientID)),
			ChargedTo:  policy.RequestsOf(a), Network: network, OpensUntil: until, ExpiresAt: until + unopenedLife},
		p.config.MaxPushed, perNetwork, now)
	if errors.Is(err, storage.ErrFull) {
		return tooManyPushed(fullWait)
	}
	return oauth.Stored(err)
}

// mayPush limits how many requests a stranger can store. Everybody knows the client_id of a
// public application, and anybody can register an application with a key for which nobody is
// responsible. Their requests are also limited by network: one network cannot use up the requests
// of all others. It returns the limit for the network, or 0 for none.
func (p *Authorizations) mayPush(a storage.Application, address string) (int, error) {
	if a.ClientType != policy.Public && policy.StandingOf(a) != policy.StandingOpen {
		return 0, nil // its requests can all come from one server
	}
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfPushedRequest, "", address))
	if wait > 0 {
		return 0, tooManyPushed(wait)
	}
	if p.config.MaxPushed == 0 {
		return 0, nil
	}
	return max(1, p.config.MaxPushed/networkShare), nil
}

func tooManyPushed(wait time.Duration) *oauth.Error {
	return oauth.Later(http.StatusTooManyRequests, wait, "Too many pushed requests wait for their answer. Try again "+
		"later. The operator can raise PUSHED_REQUEST_MAX_PENDING.")
}
