package storage

import (
	"cmp"
	"context"
	"errors"
)

// Grant is an authorization grant and its token family. With the authorization code
// flow, the row first represents the code, and with the device flow the device code of an
// approved request.
type Grant struct {
	ID            string  `db:"id"`
	GrantType     string  `db:"grant_type"`
	ApplicationID string  `db:"application_id"`
	UserID        string  `db:"user_id"`
	SessionID     string  `db:"session_id"`
	Scope         string  `db:"scope"`
	AuthTime      int64   `db:"auth_time"`
	CreatedAt     int64   `db:"created_at"`
	ExpiresAt     int64   `db:"expires_at"`
	CodeDigest    *string `db:"code_digest"`
	CodeExpiresAt int64   `db:"code_expires_at"`
	CodeUsedAt    *int64  `db:"code_used_at"`
	CodeChallenge string  `db:"code_challenge"`
	RedirectURI   string  `db:"redirect_uri"`
	RedirectSent  bool    `db:"redirect_sent"`
	SessionEndsAt int64   `db:"session_ends_at"` // 0: the grant does not end with its session
	Sector        string  `db:"sector"`
	Nonce         string  `db:"nonce"`
	Claims        string  `db:"claims"` // the claims parameter
	// the resources, each as indicator.Stored names it, by line; empty: the server itself
	Resource   string  `db:"resource"`
	ChargedTo  *string `db:"charged_to"` // the quota that this grant counts against
	Generation int64   `db:"generation"` // that of the application for which it was made
	// the thumbprint of the key to which the code is bound (RFC 9449 §10); empty: to none
	DPoPKey string `db:"dpop_jkt"`
	AMR     string `db:"amr"` // the methods of the login, separated by spaces
	ACR     string `db:"acr"` // the strength of the login, as the tokens name it
	// UserMay: the account is active, and may use the application. It is only read, never written.
	UserMay bool `db:"user_may"`

	// Consent is the consent of the person on which the grant relies, as it was when it allowed the grant. nil: it relies
	// on none. It is used, and never read.
	Consent *Consent `db:"-"`
}

const (
	intoGrants = `INSERT INTO grants (id, grant_type, application_id, user_id, session_id, scope, auth_time, created_at,
		expires_at,
	code_digest, code_expires_at, code_challenge, redirect_uri, redirect_sent, nonce, claims, session_ends_at, sector,
		charged_to, resource, generation, dpop_jkt, amr, acr)
	`
	grantValues = `$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, ` +
		`$16, $17, $18, $19, $20, $21, $22, $23, $24`
)

// The statements store a grant only if the person may use the application.
var (
	insertGrant = intoGrants + `SELECT ` + grantValues + ` FROM applications a, users u WHERE a.id = $3 AND u.id = $4
		AND ` + mayBegin("$8")
	insertConsented = insertGrant + ` AND EXISTS (SELECT 1 FROM consents WHERE application_id = $3 AND user_id = $4
		AND generation = $21 AND scope = $25 AND resource = $26)`
)

// ErrRevoked means that the consent on which a grant relies was revoked, or that it is another one by now.
var ErrRevoked = errors.New("the consent was revoked or has changed")

func (g Grant) values() []any {
	return []any{g.ID, g.GrantType, g.ApplicationID, g.UserID, g.SessionID, g.Scope, g.AuthTime, g.CreatedAt, g.ExpiresAt,
		g.CodeDigest, g.CodeExpiresAt, g.CodeChallenge, g.RedirectURI, g.RedirectSent, g.Nonce, g.Claims, g.SessionEndsAt,
		g.Sector, g.ChargedTo, g.Resource, g.Generation, g.DPoPKey, g.AMR, g.ACR}
}

// AddGrant stores a grant whose code is not exchanged yet. It returns ErrSpent if the
// session has ended. A non-empty owner means that the application wants a logout
// notification; owner is then the application's owner. A non-empty request is the digest of
// the pushed request that the grant answers. It is marked as used together with the grant;
// AddGrant returns ErrNotFound and stores nothing if it was used already, or has expired. It returns ErrRevoked if
// the grant relies on a consent, and what is stored is not that one any more, and ErrExcluded if the person may not use
// the application.
func (s *Store) AddGrant(ctx context.Context, g Grant, owner, request string) error {
	return s.atomically(ctx, func(t tx) error {
		if request != "" {
			err := t.one(useRequest, request, g.CreatedAt)
			if err != nil {
				return err
			}
		}
		return t.addGrant(g, owner)
	})
}

func (t tx) addGrant(g Grant, owner string) error {
	err := t.holdSession(g.SessionID, g.UserID, g.CreatedAt)
	if err != nil {
		return err
	}
	// The session is locked, also by RevokeConsent: whatever it deletes is not seen here, or it deletes this grant.
	if g.Consent != nil {
		err = t.meets(ErrRevoked, insertConsented, append(g.values(), g.Consent.Scope, g.Consent.Resource)...)
	} else {
		err = t.meets(ErrExcluded, insertGrant, g.values()...)
	}
	if errors.Is(err, ErrRevoked) {
		err = cmp.Or(t.mustAdmit(g.UserID, g.ApplicationID, g.CreatedAt), err)
	}
	if err != nil || owner == "" {
		return err
	}
	_, err = t.exec(`INSERT INTO logins (session_id, application_id, user_id, sector, owner, due_at, attempts, expires_at)
		SELECT id, $2, user_id, $3, $4, 0, 0, expires_at + $5 FROM sessions WHERE id = $1
		ON CONFLICT (session_id, application_id) DO UPDATE SET expires_at = excluded.expires_at, sector = excluded.sector`,
		g.SessionID, g.ApplicationID, g.Sector, owner, notifyFor)
	return err
}

// AddGrantWithTokens stores a grant and its tokens at once, for a password grant. hash
// is the hash of the password that was checked. It returns ErrSpent if the person's
// hash is another one by now, and ErrExcluded if the person may not use the application.
func (s *Store) AddGrantWithTokens(ctx context.Context, g Grant, pair []Token, hash string) error {
	return s.atomically(ctx, func(t tx) error {
		err := t.confirm(g.UserID, hash, "")
		if err != nil {
			return err
		}
		err = t.meets(ErrExcluded, insertGrant, g.values()...)
		if err != nil {
			return err
		}
		return t.addTokens(pair)
	})
}

// GrantByCode reads the grant of an authorization code or a device code, whether the code
// was used or not.
func (s *Store) GrantByCode(ctx context.Context, digest string, now int64) (Grant, error) {
	var g Grant
	err := s.get(ctx, &g, `SELECT g.id, g.grant_type, g.application_id, g.user_id, g.session_id, g.scope, g.auth_time,
		g.created_at, g.expires_at,
		g.code_digest, g.code_expires_at, g.code_used_at, g.code_challenge, g.redirect_uri, g.redirect_sent, g.nonce,
			g.claims, g.session_ends_at, g.sector, g.charged_to, g.resource, g.generation, g.dpop_jkt, g.amr, g.acr,
				u.active AND `+mayUse("$2")+` AS user_may
		FROM grants g JOIN users u ON u.id = g.user_id JOIN applications a ON a.id = g.application_id
		WHERE g.code_digest = $1`, digest, now)
	return g, err
}

var redeemCode = newExchange(step{`UPDATE grants SET code_used_at = $2, expires_at = $3 WHERE id = $1
	AND code_used_at IS NULL AND code_expires_at > $2`, 3}, step{})

// RedeemCode marks an authorization code or a device code as used and stores the tokens that are issued
// for it. Of two concurrent calls, one gets ErrSpent and stores nothing.
func (s *Store) RedeemCode(ctx context.Context, grantID string, now, expiresAt int64, pair []Token) error {
	return s.exchange(ctx, redeemCode, pair, grantID, now, expiresAt)
}

var (
	rotateRefresh = newExchange(step{`UPDATE tokens SET used_at = $2, successor = $3, charged_to = NULL
		WHERE digest = $1 AND refresh AND used_at IS NULL AND expires_at > $2 AND EXISTS (SELECT 1 FROM grants
			WHERE id = $4)`, 4}, prolong)
	keepRefresh = newExchange(step{`UPDATE tokens SET expires_at = $3, issued_at = $2
		WHERE digest = $1 AND refresh AND used_at IS NULL AND expires_at > $2 AND EXISTS (SELECT 1 FROM grants
			WHERE id = $4)`, 4}, prolong)
	// A token family lasts as long as its tokens. Its end never moves to an earlier
	// time, because an older token may last longer than the new ones.
	prolong = step{`UPDATE grants SET expires_at = $3 WHERE id = $1 AND expires_at < $2`, 3}
)

// RotateRefresh marks a refresh token as used and stores its successors. successor leads to them, for a client
// that repeats the request within the grace period.
func (s *Store) RotateRefresh(ctx context.Context, old, grantID, successor string, now, expiresAt int64,
	pair []Token) error {
	return s.exchange(ctx, rotateRefresh, pair, old, now, successor, grantID, grantID, expiresAt,
		withSlack(now, expiresAt))
}

// ConfirmRotation returns no error if the rotation of a refresh token is durable. It writes the row as it is, and so
// waits until the standby has the rotation. It returns ErrNotFound if another primary has taken over that does not have
// it. SQLite shows nothing that is not durable.
func (s *Store) ConfirmRotation(ctx context.Context, digest, successor string) error {
	if s.embedded {
		return nil
	}
	n, err := s.run(ctx, true, `UPDATE tokens SET used_at = used_at WHERE digest = $1 AND successor = $2`,
		[]any{digest, successor})
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

// KeepRefresh extends a refresh token that stays valid, and stores a new access token. The
// refresh token is issued again: its lifetime counts from now.
// A signed access token is not stored; then access is empty.
func (s *Store) KeepRefresh(ctx context.Context, digest, grantID string, now, refreshExpiresAt, expiresAt int64,
	access ...Token) error {
	return s.exchange(ctx, keepRefresh, access, digest, now, refreshExpiresAt, grantID, grantID, expiresAt,
		withSlack(now, expiresAt))
}

// withSlack adds some time to the end of a token family, so that not every refresh has
// to update the row of the family. The update is expensive: the row is in five indexes.
func withSlack(now, expiresAt int64) int64 {
	return expiresAt + max(0, min((expiresAt-now)/8, 24*60*60))
}

// RevokeGrant revokes a token family. It returns no error if the family has ended
// already.
func (s *Store) RevokeGrant(ctx context.Context, id string) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.exec(`DELETE FROM grants WHERE id = $1`, id)
		t.changed(OfGrant, id)
		if n == 0 {
			t.unchanged()
		}
		return err
	})
}
