package storage

import (
	"context"
)

// Token is an access token or a refresh token, identified by the digest of its text.
type Token struct {
	Digest        string  `db:"digest"`
	Refresh       bool    `db:"refresh"`
	GrantID       *string `db:"grant_id"`
	ApplicationID *string `db:"application_id"`
	Scope         string  `db:"scope"`
	IssuedAt      int64   `db:"issued_at"`
	ExpiresAt     int64   `db:"expires_at"`
	UsedAt        *int64  `db:"used_at"`
	Successor     *string `db:"successor"`
	ChargedTo     *string `db:"charged_to"` // the quota that this token counts against
	Resource      string  `db:"resource"`   // the resources, as in Grant
	// that of the application for which it was made; only of a token without a grant
	Generation int64  `db:"generation"`
	CNF        string `db:"cnf"` // what the token is bound to (RFC 7800); empty: a bearer token
}

// LiveToken is a token with its application, its grant and its person.
type LiveToken struct {
	Token
	Application    string  `db:"owner_id"` // the application's id
	ClientID       string  `db:"client_id"`
	MayIntrospect  bool    `db:"may_introspect"`
	UserID         *string `db:"user_id"`
	Username       *string `db:"username"`
	GrantType      *string `db:"grant_type"`
	GrantCreatedAt *int64  `db:"grant_created_at"`
	SessionID      *string `db:"session_id"`
	SessionEndsAt  *int64  `db:"session_ends_at"`
	Sector         *string `db:"sector"`
	AuthTime       *int64  `db:"auth_time"`
	Claims         *string `db:"claims"`
	AMR            *string `db:"amr"`
	ACR            *string `db:"acr"`
	ChangesAt      int64   `db:"changes_at"` // when the person may lose the application by themselves; 0: never

	HasClaims bool `db:"has_claims"` // the application has rules for claims of its own

	// The application's current permissions.
	Scopes             string  `db:"application_scopes"`
	Origin             string  `db:"origin"`
	Responsible        string  `db:"responsible"`
	OwnerID            *string `db:"responsible_id"`
	OwnerActive        *bool   `db:"owner_is_active"`
	OwnerAdministrator *bool   `db:"owner_is_admin"`
}

// RefreshToken is a refresh token with its authorization grant. Of the grant it has what the
// next tokens are made of.
type RefreshToken struct {
	Token
	Grant    Grant  `db:"grant"`
	Username string `db:"username"`
}

// tokenContextColumns selects the columns that belong to a token: its application and who is
// responsible for it, and the token's grant and person, if any. Older password grants
// have no stored sector; they use the application's sector. $2 is the time.
var tokenContextColumns = applicationColumns +
	`, u.id AS user_id, u.username, g.grant_type, g.created_at AS grant_created_at, g.session_id, g.session_ends_at,
	` + sectorColumn + ` AS sector, g.auth_time, g.claims, g.amr, g.acr,
	` + changesAt("$2") + ` AS changes_at`

const sectorColumn = `CASE WHEN g.sector = '' AND g.grant_type = 'password' THEN a.sector ELSE g.sector END`

const applicationColumns = `a.id AS owner_id, a.client_id, a.may_introspect, a.scopes AS application_scopes, a.origin,
	a.responsible, a.claims <> '' AS has_claims,
	a.owner_id AS responsible_id, o.active AS owner_is_active, o.administrator AS owner_is_admin`

const tokenColumns = `digest, refresh, grant_id, application_id, scope, issued_at, expires_at, charged_to, ` +
	`resource, generation, cnf`
const tokenPlaceholders = `($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`
const tokenValues = 11
const insertToken = `INSERT INTO tokens (` + tokenColumns + `) VALUES ` + tokenPlaceholders
const insertTwoTokens = insertToken + `, ($12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22)`

func (t Token) values() []any {
	return []any{t.Digest, t.Refresh, t.GrantID, t.ApplicationID, t.Scope, t.IssuedAt, t.ExpiresAt, t.ChargedTo,
		t.Resource, t.Generation, t.CNF}
}

// addTokens stores one token, or an access token and its refresh token in one
// statement.
func (t tx) addTokens(pair []Token) error {
	var err error
	switch len(pair) {
	case 2:
		_, err = t.exec(insertTwoTokens, append(pair[0].values(), pair[1].values()...)...)
	case 1:
		_, err = t.exec(insertToken, pair[0].values()...)
	}
	return err
}

// ignoreDuplicate allows an INSERT to run twice. That happens if a connection breaks and it is
// unknown whether the statement ran. No other token has the same digest. The second run writes the row as it is:
// a commit that writes nothing does not wait until the standby has the first one.
const ignoreDuplicate = ` ON CONFLICT (digest) DO UPDATE SET used_at = tokens.used_at`

// AddToken stores a token without a grant, which an application obtained for itself
// (client credentials grant). Concurrent calls share a statement.
func (s *Store) AddToken(ctx context.Context, token Token) error {
	if s.embedded {
		_, err := s.exec(ctx, insertToken+ignoreDuplicate, token.values()...)
		return err
	}
	return s.writeWithOthers(ctx, insertTokens, write{token: &token})
}

// TokenByDigest reads a token if its application exists and still has the generation of
// the token or of its grant. For a token with a grant, the grant must exist and its person
// must be active, and may use the application. The token may be expired or used.
func (s *Store) TokenByDigest(ctx context.Context, digest string, now int64) (LiveToken, error) {
	var token LiveToken
	err := s.get(ctx, &token, `SELECT t.digest, t.refresh, t.grant_id, t.application_id, t.scope, t.issued_at,
		t.expires_at, t.used_at, t.successor, t.resource, t.generation, t.cnf,
		`+tokenContextColumns+`
		FROM tokens t LEFT JOIN grants g ON g.id = t.grant_id
		JOIN applications a ON a.id = COALESCE(g.application_id, t.application_id) AND a.generation = COALESCE(g.generation,
			t.generation)
		LEFT JOIN users u ON u.id = g.user_id LEFT JOIN users o ON o.id = a.owner_id
		WHERE t.digest = $1 AND (t.grant_id IS NULL OR u.active AND `+mayUse("$2")+`)`, digest, now)
	return token, err
}

// RefreshTokenByDigest reads a refresh token under the conditions of TokenByDigest. The token
// may be expired or used. It reads fewer columns, because an application that uses the token
// is read already.
func (s *Store) RefreshTokenByDigest(ctx context.Context, digest string, now int64) (RefreshToken, error) {
	token := RefreshToken{Token: Token{Digest: digest, Refresh: true}}
	err := s.get(ctx, &token, `SELECT t.scope, t.issued_at, t.expires_at, t.used_at, t.successor, t.resource, t.cnf,
		u.username,
		g.id AS "grant.id", g.grant_type AS "grant.grant_type", g.application_id AS "grant.application_id",
			g.user_id AS "grant.user_id", g.session_id AS "grant.session_id",
		g.session_ends_at AS "grant.session_ends_at", g.created_at AS "grant.created_at", g.auth_time AS "grant.auth_time",
			g.claims AS "grant.claims", g.amr AS "grant.amr", g.acr AS "grant.acr",
		`+sectorColumn+` AS "grant.sector"
		FROM tokens t JOIN grants g ON g.id = t.grant_id
		JOIN applications a ON a.id = g.application_id AND a.generation = g.generation
		JOIN users u ON u.id = g.user_id
		WHERE t.digest = $1 AND t.refresh AND u.active AND `+mayUse("$2"), digest, now)
	return token, err
}

// TokenOfGrant reads the grant, the application and the person of a signed access token
// of a token family. The token itself has no row. The person must be active, and may use the application.
func (s *Store) TokenOfGrant(ctx context.Context, grantID string, now int64) (LiveToken, error) {
	var token LiveToken
	err := s.get(ctx, &token, `SELECT g.id AS grant_id, `+tokenContextColumns+`
		FROM grants g JOIN applications a ON a.id = g.application_id AND a.generation = g.generation
			JOIN users u ON u.id = g.user_id
		LEFT JOIN users o ON o.id = a.owner_id
		WHERE g.id = $1 AND u.active AND `+mayUse("$2"), grantID, now)
	return token, err
}

// TokenOfApplication reads the application of a signed access token without a grant. It
// returns ErrNotFound if the token was revoked, or everything of its generation.
func (s *Store) TokenOfApplication(ctx context.Context, applicationID, digest string,
	generation int64) (LiveToken, error) {
	var token LiveToken
	err := s.get(ctx, &token, `SELECT a.id AS application_id, `+applicationColumns+`
		FROM applications a LEFT JOIN users o ON o.id = a.owner_id
		WHERE a.id = $1 AND a.generation = $3 AND NOT EXISTS (SELECT 1 FROM tokens t WHERE t.digest = $2)`, applicationID,
		digest, generation)
	return token, err
}

// RevokeSigned stores the revocation of a signed access token until the token expires.
// It returns no error if the token was revoked already, and keeps the later expiry.
func (s *Store) RevokeSigned(ctx context.Context, token Token, now int64) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfToken, token.Digest)
		_, err := t.exec(`INSERT INTO tokens (digest, refresh, application_id, scope, issued_at, expires_at, used_at,
			generation) VALUES ($1, FALSE, $2, $3, $4, $5, $6, $7)
			ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at WHERE excluded.expires_at > tokens.expires_at`,
			token.Digest, token.ApplicationID, token.Scope, token.IssuedAt, token.ExpiresAt, now, token.Generation)
		return err
	})
}

// RevokeToken revokes one token. It returns no error if the token has ended already.
func (s *Store) RevokeToken(ctx context.Context, digest string) error {
	return s.atomically(ctx, func(t tx) error {
		// The stored revocation of a signed token must stay: its digest is not secret.
		n, err := t.exec(`DELETE FROM tokens WHERE digest = $1 AND used_at IS NULL`, digest)
		if n == 0 {
			t.unchanged()
		}
		t.changed(OfToken, digest)
		return err
	})
}
