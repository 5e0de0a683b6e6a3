package grant

import (
	"context"
	"errors"
	"strings"

	"mandate/provider/acr"
	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/provider/tokens"
	"mandate/storage"
)

// passwordGrant exchanges a person's password for tokens (RFC 6749 §4.3). It replaces fosite's
// handler, which stores the two tokens separately and checks the password before the scope.
type passwordGrant struct{ p *Grants }

// Check checks the application, the scope and the password, in this order: an application that may not use this
// grant must not learn whether the password is right.
func (g *passwordGrant) Check(ctx context.Context, r *Request) (approved, error) {
	a := r.Client
	// RFC 9700 §2.4: this grant must not be used. The log names each application that still
	// uses it.
	if _, told := g.p.deprecated.LoadOrStore(a.ID, true); !told {
		g.p.log.Warn(
			"an application uses the password grant, which RFC 9700 deprecates: move it to the authorization code grant",
			"client", a.ClientID,
		)
	}
	username, password := r.Form.Get("username"), r.Form.Get("password")
	switch {
	case username == "":
		return approved{}, oauth.Refuse("invalid_request", "username is missing.")
	case password == "":
		return approved{}, oauth.Refuse("invalid_request", "password is missing.")
	}
	audience, err := g.p.apis.Requested(ctx, *a, r.Form[oauth.Resource])
	if err == nil {
		err = g.p.aim(ctx, r, audience)
	}
	if err != nil {
		return approved{}, err
	}
	requested, err := g.p.rules.ScopesWithoutLogin(*a, r.Form.Get("scope"), audience)
	if err != nil {
		return approved{}, err
	}
	// An assertion that is sent again must not try a password.
	err = g.p.clients.UseAssertion(ctx, r.by)
	if err != nil {
		return approved{}, err
	}
	key := people.FoldName(username)
	by := people.Attempt{Hasher: g.p.limits.Programs, Tries: passwordTries(*a, key, r.address),
		Queue: []string{"client " + a.ID, limits.InQueue(r.address)}, Sender: events.Application(*a)}
	u, err := g.p.people.CheckPassword(ctx, by, key, password)
	if err != nil {
		return approved{}, err
	}
	err = g.p.people.PasswordSuffices(ctx, u)
	if err == nil {
		err = g.p.proofs.Use(ctx, &r.proof)
	}
	if err == nil {
		err = g.p.tokens.MayApprove(ctx, *a, u.ID)
	}
	if err != nil {
		return approved{}, err
	}
	r.Form.Del("password")
	return approved{u.ID, func(ctx context.Context) (*tokens.TokenResponse, error) {
		answer, err := g.issue(ctx, r, &u, audience, requested.Names)
		if err == nil {
			answer.LeftOut = requested.LeftOut
		}
		return answer, err
	}}, nil
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
		tries := []throttle.Try{{
			Kind: limits.OfPair,
			Key:  "application " + a.ID + " " + key,
			Wide: a.ID,
		}, {Kind: limits.OfOwner, Key: "application " + a.ID, Wide: a.ID}}
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
	return append(tries, throttle.Try{
		Kind: limits.OfPair,
		Key:  "owner " + owner + " " + key,
		Wide: "owner " + owner,
	}, throttle.Try{Kind: limits.OfOwner, Key: "owner " + owner, Wide: "owner " + owner})
}

// issue makes the tokens, and stores them with a new authorization grant in one step.
func (g *passwordGrant) issue(
	ctx context.Context,
	r *Request,
	u *storage.User,
	audience resources.Audience,
	names []string,
) (*tokens.TokenResponse, error) {
	a, at, scope := r.Client, oauth.Now(), strings.Join(names, " ")
	grant := storage.Grant{ID: seal.Random(16), GrantType: policy.GrantPassword, ApplicationID: a.ID, UserID: u.ID,
		Scope: scope, AMR: acr.PWD, ACR: acr.Password, AuthTime: at, CreatedAt: at, Sector: a.Sector,
		ChargedTo: policy.ChargedTo(*a), Resource: audience.Stored(), Generation: a.Generation}
	family := tokens.Family{GrantID: grant.ID, Began: at, Scope: scope, Resource: grant.Resource, UserID: grant.UserID,
		Sector: grant.Sector, Bound: r.bound}
	made, err := g.p.tokens.NewPair(ctx, *a, family, names, audience, tokens.Anew())
	if err != nil {
		return nil, err
	}
	grant.ExpiresAt = made.ExpiresAt
	err = g.p.store.AddGrantWithTokens(ctx, grant, made.Tokens, u.Password)
	if errors.Is(err, storage.ErrSpent) { // the password was changed after the check
		return nil, people.WrongPassword()
	}
	if errors.Is(err, storage.ErrExcluded) {
		return nil, oauth.Refuse(
			"invalid_grant", "This person may not use the application: an administrator decides who may.",
		)
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	return made.Answer, nil
}
