package provider

import (
	"context"
	"errors"
	"strings"

	"github.com/ory/fosite"

	"mandate/storage"
)

// passwordGrant exchanges a person's password (RFC 6749 §4.3). fosite's own
// stores the two tokens one by one, and asks for the password before it looks
// at the scope.
type passwordGrant struct{ p *Provider }

func (*passwordGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

func (*passwordGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(GrantPassword)
}

func (g *passwordGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	// An application that may not do this learns nothing about the password.
	a, err := mayUse(request, GrantPassword)
	if err != nil {
		return err
	}
	// RFC 9700 §2.4 forbids this grant to new deployments.
	if _, told := g.p.deprecated.LoadOrStore(a.ID, true); !told {
		g.p.log.Warn("an application uses the password grant, which RFC 9700 deprecates: move it to the authorization code grant", "client", a.ClientID)
	}
	form := request.GetRequestForm()
	username, password := form.Get("username"), form.Get("password")
	switch {
	case username == "":
		return refuse("invalid_request", "username is missing.")
	case password == "":
		return refuse("invalid_request", "password is missing.")
	}
	issued := request.GetSession().(*session)
	issued.scope, err = g.p.config.resolveScope(a, form.Get("scope"))
	if err != nil {
		return err
	}
	u, err := g.p.checkPassword(ctx, g.p.machine, foldName(username), password, g.tries(ctx, a, foldName(username)))
	if err != nil {
		return err
	}
	err = g.p.mayApprove(ctx, a)
	if err != nil {
		return err
	}
	issued.person = &u
	form.Del("password")
	return nil
}

// tries counts the failures of a confidential application per person and in
// all: its people come from one address, and nobody else can spend its tries.
// Whoever may register applications could have any number of them, so one that
// no administrator stands for shares the tries of the account.
func (g *passwordGrant) tries(ctx context.Context, a Application, key string) []try {
	if a.ClientType == Confidential {
		own := []try{{"application " + a.ID + " " + key, perPair}, {"application " + a.ID, perAddress}}
		if a.OwnerID == nil || a.OwnerAdministrator != nil && *a.OwnerAdministrator {
			return own
		}
		return append(own, try{"account " + key, perAccount})
	}
	from := network(callOf(ctx).address)
	return []try{{"address " + from, perAddress}, {"pair " + key + " " + from, perPair}, {"account " + key, perAccount}}
}

func (g *passwordGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	a, issued, at := request.GetClient().(*client).Application, request.GetSession().(*session), now()
	scope := strings.Join(issued.scope, " ")
	grant := storage.Grant{ID: random(16), GrantType: GrantPassword, ApplicationID: a.ID, UserID: issued.person.ID,
		Scope: scope, AuthTime: at, CreatedAt: at, Sector: a.Sector, ChargedTo: chargedTo(a)}
	made, err := g.p.newPair(ctx, a, family{grantID: grant.ID, began: at, scope: scope, userID: grant.UserID, sector: grant.Sector}, issued.scope)
	if err != nil {
		return err
	}
	grant.ExpiresAt = made.expiresAt
	err = g.p.store.AddGrantWithTokens(ctx, grant, made.tokens, issued.person.Password)
	if errors.Is(err, storage.ErrSpent) { // the password was changed meanwhile
		return wrongPassword()
	}
	if err != nil {
		return unavailable(err)
	}
	issued.give(made.answer, responder)
	return nil
}
