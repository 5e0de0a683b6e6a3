package grant

import (
	"context"
	"net/http"
	"net/url"

	"mandate/provider/clientauth"
	"mandate/provider/possession"
	"mandate/provider/resources"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Request is a token request whose client has authenticated.
type Request struct {
	Client  *storage.Application
	Form    url.Values
	address string // of the network
	by      *clientauth.Caller
	sent    *http.Request

	bound possession.Binding // what the new tokens are bound to
	proof possession.Proof   // by which they are; each grant uses it once it has found what the request presents
	shown bool               // proof is what the request proves: it was verified, or there is none
}

// Grant is what one value of grant_type stands for.
type Grant interface {
	// Check decides whether a request gets tokens. The application may use the grant, and what the new
	// tokens are bound to is verified.
	Check(ctx context.Context, r *Request) (approved, error)
}

// approved is the decision that a request gets tokens.
type approved struct {
	person string // the ID of the person for whom they are; "": they are for the application itself
	// issue makes the tokens, uses the one-time value that the request presents, and stores them.
	issue func(ctx context.Context) (*tokens.TokenResponse, error)
}

// aim checks that the tokens of a request are bound to something if this audience demands it. Some resources
// accept only sender-constrained tokens.
func (p *Grants) aim(ctx context.Context, r *Request, audience resources.Audience) error {
	if r.bound != "" || !audience.Constrained() {
		return nil
	}
	var err error
	r.bound, err = p.proofs.Required(ctx)
	return err
}

// use uses the proof of a request, and then the assertion of its client. A grant calls it after
// the checks that a stranger fails, and before the request has an effect.
func (p *Grants) use(ctx context.Context, r *Request) error {
	err := p.proofs.Use(ctx, &r.proof)
	if err == nil {
		err = p.clients.UseAssertion(ctx, r.by)
	}
	return err
}
