package grant

import (
	"context"
	"errors"
	"strings"

	"github.com/ory/fosite"

	"mandate/provider/acr"
	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/framework"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/provider/tokens"
	"mandate/storage"
)

// passwordGrant exchanges a person's password for tokens (RFC 6749 §4.3). It replaces fosite's
// handler, which stores the two tokens separately and checks the password before the scope.
type passwordGrant struct{ p *Grants }

// CanSkipClientAuth returns false: every client must authenticate or identify itself.
func (*passwordGrant) CanSkipClientAuth(context.Context, fosite.AccessRequester) bool { return false }

// CanHandleTokenEndpointRequest reports whether the request has the grant type password.
func (*passwordGrant) CanHandleTokenEndpointRequest(_ context.Context, r fosite.AccessRequester) bool {
	return r.GetGrantTypes().ExactOne(policy.GrantPassword)
}

// HandleTokenEndpointRequest checks the application, the scope and the password, in this
// order.
func (g *passwordGrant) HandleTokenEndpointRequest(ctx context.Context, request fosite.AccessRequester) error {
	// An application that may not use this grant must not learn whether the password is
	// right, so this check comes first.
	a, err := g.p.begin(ctx, request, policy.GrantPassword)
	if err != nil {
		return err
	}
	// A token of this grant cannot say how the person signed in.
	if a.RequiredACR != "" && a.RequiredACR != acr.Password {
		return oauth.Refuse("unauthorized_client", "This application requires a second factor, which the password grant does not have: use the authorization code grant.")
	}
	// RFC 9700 §2.4: this grant must not be used. The log names each application that still
	// uses it.
	if _, told := g.p.deprecated.LoadOrStore(a.ID, true); !told {
		g.p.log.Warn("an application uses the password grant, which RFC 9700 deprecates: move it to the authorization code grant", "client", a.ClientID)
	}
	form := request.GetRequestForm()
	username, password := form.Get("username"), form.Get("password")
	switch {
	case username == "":
		return oauth.Refuse("invalid_request", "username is missing.")
	case password == "":
		return oauth.Refuse("invalid_request", "password is missing.")
	}
	issued := request.GetSession().(*Session)
	audience, err := g.p.apis.Requested(ctx, a, form[oauth.Resource])
	if err == nil {
		err = g.p.aim(ctx, issued, audience)
	}
	if err != nil {
		return err
	}
	requested, err := g.p.rules.ScopesWithoutLogin(a, form.Get("scope"), issued.audience)
	if err != nil {
		return err
	}
	issued.scope, issued.leftOut = requested.Names, requested.LeftOut
	// An assertion that is sent again must not try a password.
	err = g.p.clients.UseAssertion(ctx)
	if err != nil {
		return err
	}
	key, address := people.FoldName(username), clients.CallOf(ctx).Address
	u, err := g.p.people.CheckPassword(ctx, people.Attempt{Hasher: g.p.limits.Programs, Tries: passwordTries(a, key, address), Queue: []string{"client " + a.ID, limits.InQueue(address)}, Sender: events.Application(a)}, key, password)
	if err != nil {
		return err
	}
	err = g.p.people.PasswordSuffices(ctx, u)
	if err == nil {
		err = g.p.proofs.Use(ctx, &issued.proof)
	}
	if err == nil {
		err = g.p.tokens.MayApprove(ctx, a, u.ID)
	}
	if err != nil {
		return err
	}
	issued.person = &u
	form.Del("password")
	return nil
}

// passwordTries returns the limits that count a wrong password. They depend on the
// application:
//
//   - A confidential application for which the operator is responsible has a limit per
//     person and a limit in total. All its requests come from one network address, and nobody
//     else can use up its tries.
//   - One for which an administrator is responsible also has the limit of the account: whoever
//     has stolen the administrator's session could have registered it.
//   - For any other application, the limits are those of the network address and of the user
//     name, as on the login page.
//   - If no administrator is responsible, the applications of one owner also share the owner's
//     limits, because one owner can register many applications.
func passwordTries(a storage.Application, key, address string) []throttle.Try {
	trusted := policy.StandingOf(a) == policy.StandingAdministrator
	if trusted && a.ClientType == policy.Confidential {
		tries := []throttle.Try{{Kind: limits.OfPair, Key: "application " + a.ID + " " + key, Wide: a.ID}, {Kind: limits.OfOwner, Key: "application " + a.ID, Wide: a.ID}}
		if a.Responsible != storage.ByOperator {
			tries = append(tries, limits.OfAccountAt(limits.AtProgram, key, address))
		}
		return tries
	}
	tries := limits.GuessAt(limits.AtProgram, key, address)
	if trusted {
		return tries
	}
	owner := oauth.Deref(policy.ChargedTo(a))
	return append(tries, throttle.Try{Kind: limits.OfPair, Key: "owner " + owner + " " + key, Wide: "owner " + owner}, throttle.Try{Kind: limits.OfOwner, Key: "owner " + owner, Wide: "owner " + owner})
}

// PopulateTokenEndpointResponse makes the tokens, and stores them with a new authorization
// grant in one step.
func (g *passwordGrant) PopulateTokenEndpointResponse(ctx context.Context, request fosite.AccessRequester, responder fosite.AccessResponder) error {
	if !g.CanHandleTokenEndpointRequest(ctx, request) {
		return fosite.ErrUnknownRequest
	}
	a, issued, at := *request.GetClient().(*framework.Client).Application, request.GetSession().(*Session), oauth.Now()
	scope := strings.Join(issued.scope, " ")
	grant := storage.Grant{ID: seal.Random(16), GrantType: policy.GrantPassword, ApplicationID: a.ID, UserID: issued.person.ID,
		Scope: scope, AMR: acr.PWD, ACR: acr.Password, AuthTime: at, CreatedAt: at, Sector: a.Sector, ChargedTo: policy.ChargedTo(a), Resource: issued.audience.Stored(), Generation: a.Generation}
	made, err := g.p.tokens.NewPair(ctx, a, tokens.Family{GrantID: grant.ID, Began: at, Scope: scope, Resource: grant.Resource, UserID: grant.UserID, Sector: grant.Sector, Bound: issued.bound}, issued.scope, issued.audience, tokens.Anew())
	if err != nil {
		return err
	}
	grant.ExpiresAt = made.ExpiresAt
	err = g.p.store.AddGrantWithTokens(ctx, grant, made.Tokens, issued.person.Password)
	if errors.Is(err, storage.ErrSpent) { // the password was changed after the check
		return people.WrongPassword()
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	issued.give(made.Answer, responder)
	return nil
}
