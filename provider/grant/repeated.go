package grant

import (
	"context"
	"errors"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// trail is what a replaced refresh token keeps of the request that has replaced it. Together with the text of that
// token, which the database does not have, the salt leads to the same tokens again (see tokens.Derived). The tags say
// whether a second request asks for the same.
type trail struct {
	salt                   string
	resource, scope, bound string
}

const (
	saltSize = 22 // characters of 128 bits
	tagSize  = 8  // characters of 48 bits
)

// newTrail returns the trail of a request with a refresh token.
func newTrail(n *renewal) trail {
	return trail{seal.Random(16), tag(n.audience.Stored()), tag(inOrder(n.scope)), tag(string(n.bound))}
}

func tag(value string) string { return seal.Digest(value)[:tagSize] }

// inOrder returns scopes, whose order and repetition have no meaning (RFC 6749 §3.3).
func inOrder(scopes []string) string {
	return strings.Join(slices.Compact(slices.Sorted(slices.Values(scopes))), " ")
}

// String returns the trail as it is stored.
func (t trail) String() string { return t.salt + t.resource + t.scope + t.bound }

// readTrail reads a stored trail. An older release has stored something else, which nobody can use.
func readTrail(stored string) (trail, bool) {
	if len(stored) != saltSize+3*tagSize {
		return trail{}, false
	}
	tags := stored[saltSize:]
	return trail{stored[:saltSize], tags[:tagSize], tags[tagSize : 2*tagSize], tags[2*tagSize:]}, true
}

// usedBefore handles a request with a refresh token that was used before. Within the grace period,
// and while the successor of the token is unused, the request gets the same successor. A client
// that lost the answer, or whose processes refresh at the same time, can therefore continue.
// Otherwise two parties have the token, so usedBefore revokes the token family and returns an
// error (RFC 9700 §4.14.2).
//
// FAPI 2.0 Security Profile §5.3.2.1: a server that rotates must let the client retry with the old
// token. A client with a profile keeps its refresh token, so it does not need that here.
func (g *refreshGrant) usedBefore(ctx context.Context, n *renewal) error {
	a, token := *n.Client, n.token
	if oauth.Now()-*token.UsedAt < g.p.rules.AllowanceOf(a).RefreshGrace && oauth.Deref(token.Successor) != "" {
		alone, err := g.repeat(ctx, n)
		if err != nil || alone {
			return err
		}
	}
	err := g.p.revokeReused(ctx, token.Grant.ID, usedTwice(events.TokenReused, a, token))
	if err != nil {
		return err
	}
	g.p.log.Warn(
		"a refresh token was used a second time: its token family was revoked", "grant", token.Grant.ID, "client",
		a.ClientID,
	)
	return oauth.Refuse(
		"invalid_grant", "The refresh token was already used. All tokens of its token family have been revoked.",
	)
}

// repeat lets the request have the tokens of the one before. It returns false, and no error, if a second party has the
// refresh token: its successor was used, or the two requests prove different keys.
func (g *refreshGrant) repeat(ctx context.Context, n *renewal) (bool, error) {
	token := &n.token
	kept, known := readTrail(*token.Successor)
	if !known {
		return false, oauth.Refuse(
			"invalid_grant",
			"This refresh token was used a moment ago, while the server was updated: use the new refresh token.",
		)
	}
	n.from = tokens.Derived(n.Form.Get("refresh_token"), kept.salt, *token.UsedAt)
	unused, err := g.successorIsUnused(ctx, n)
	if err != nil || !unused {
		return false, err
	}
	err = g.narrowAudience(ctx, n)
	if err != nil {
		return false, err
	}
	switch {
	case kept.bound == tag(string(n.bound)):
		return true, g.again(ctx, n, kept)
	// Anybody who has an unbound refresh token of a public client can bind the next one to a key
	// of their own.
	case n.Client.ClientType == policy.Public && token.CNF == "":
		return false, nil
	}
	return false, oauth.Refuse(
		"invalid_grant",
		"This refresh token was used a moment ago with another key or certificate: use the same again, or the new refresh "+
			"token.",
	)
}

// successorIsUnused reports whether the refresh token that has taken the place of the presented one is unused. A
// refresh token that is kept is issued again when it is used.
func (g *refreshGrant) successorIsUnused(ctx context.Context, n *renewal) (bool, error) {
	next, err := g.p.store.RefreshTokenByDigest(ctx, seal.Digest(n.from.RefreshToken()), oauth.Now())
	if errors.Is(err, storage.ErrNotFound) {
		return false, invalidRefresh()
	}
	if err != nil {
		return false, oauth.Unavailable(err)
	}
	return next.UsedAt == nil && next.IssuedAt <= *n.token.UsedAt, nil
}

// again lets the request have the tokens of the one before, if it asks for the same. Otherwise it returns an error and
// does not revoke anything: the client still gets them when it asks for the same. The rotation may be one that
// can still be lost with the primary of the database: then the client would have refresh tokens that no server knows.
func (g *refreshGrant) again(ctx context.Context, n *renewal, kept trail) error {
	a, token := *n.Client, &n.token
	if kept.resource != tag(n.audience.Stored()) {
		return oauth.Refuse(
			"invalid_target",
			"This refresh token was used a moment ago for another resource: name the same resource again, or use the new "+
				"refresh token.",
		)
	}
	scope, err := g.scope(a, token.Scope, n.audience, n.Form.Get("scope"))
	if err != nil {
		return err
	}
	// RFC 6749 §6: the scope is part of the request. A request with another scope is a new
	// request, and the refresh token for it was already used.
	if kept.scope != tag(inOrder(scope)) {
		return oauth.Refuse(
			"invalid_scope",
			"This refresh token was used a moment ago with another scope: ask for the same scope again, or use the new "+
				"refresh token.",
		)
	}
	n.scope = scope
	err = g.p.store.ConfirmRotation(ctx, token.Digest, *token.Successor)
	if err != nil {
		return oauth.Unavailable(err)
	}
	err = events.Failed(ctx, g.p.store, usedTwice(events.TokenRepeated, a, *token))
	if err != nil {
		return err
	}
	g.p.log.Debug(
		"a refresh token was used twice within the grace period: both requests have the same successor", "grant",
		token.Grant.ID, "client", a.ClientID,
	)
	n.repeats = true
	return nil
}

// usedTwice returns the event about a refresh token that was used a second time.
func usedTwice(kind events.Kind, a storage.Application, token storage.RefreshToken) events.Event {
	return events.Event{
		Kind:   kind,
		Person: storage.User{ID: token.Grant.UserID, Username: token.Username},
		By:     events.ByApplication(a),
		Object: events.Application(a),
		Detail: "refresh",
	}
}
