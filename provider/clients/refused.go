package clients

import (
	"cmp"
	"context"
	"errors"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/storage"
)

// Refused counts that an endpoint has refused a request. a is the application that has authenticated, or nil: then it
// is the one that the error names. It returns the error.
func (p *Clients) Refused(ctx context.Context, endpoint string, a *storage.Application, err error) error {
	p.CountRefusal(sentTo(ctx, endpoint, a), err)
	return err
}

func sentTo(ctx context.Context, endpoint string, a *storage.Application) events.Refused {
	return events.Refused{Endpoint: endpoint, Application: a, Proved: clientauth.Accountable(a),
		Address: cmp.Or(clientauth.AddressOf(ctx), origin.Of(ctx).Address)}
}

// CountRefusal is Refused for an endpoint to which a browser sends.
func (p *Clients) CountRefusal(of events.Refused, err error) {
	e, refused := errors.AsType[*oauth.Error](err)
	if !refused {
		return
	}
	if of.Application == nil {
		of.Application = e.Application
	}
	p.refusals.Count(of, e)
}

// LeftOut counts the scopes that a request of an application named and did not get.
func (p *Clients) LeftOut(ctx context.Context, endpoint string, a *storage.Application, left policy.LeftOut) {
	if left != nil {
		p.CountLeftOut(sentTo(ctx, endpoint, a), left)
	}
}

// CountLeftOut is LeftOut for an endpoint to which a browser sends.
func (p *Clients) CountLeftOut(of events.Refused, left policy.LeftOut) {
	for _, e := range left.Errors() {
		p.refusals.Count(of, e)
	}
}
