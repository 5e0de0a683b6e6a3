package storage

import (
	"context"
	"errors"

	"github.com/jmoiron/sqlx"
)

// Application is a registered client. Each list is one text: spaces separate scopes and
// grant types, line feeds separate redirect URIs. The statements follow from the tags (see column): also
// which decisions of an administrator UpdateApplication never undoes, and a new owner does not get.
type Application struct {
	ID                 string  `db:"id" written:"once"`
	ClientID           string  `db:"client_id" written:"once"`
	Name               string  `db:"name"`
	OwnerID            *string `db:"owner_id" written:"once"`
	Owner              *string `db:"owner" written:"never"` // the owner's name
	OwnerAdministrator *bool   `db:"owner_is_admin" written:"never"`
	OwnerActive        *bool   `db:"owner_is_active" written:"never"`
	Responsible        string  `db:"responsible" written:"once"` // ByOperator, ByOwner or ByNobody
	ClientType         string  `db:"client_type"`
	GrantTypes         string  `db:"grant_types"`
	RedirectURIs       string  `db:"redirect_uris"`
	Scopes             string  `db:"scopes"`
	HashClientSecret   bool    `db:"hash_client_secret"`
	Secret             string  `db:"secret"`
	OldSecret          string  `db:"old_secret"`
	OldSecretExpiresAt int64   `db:"old_secret_expires_at" written:"once"`
	MayIntrospect      bool    `db:"may_introspect" administrators:"true"`
	SkipConsent        bool    `db:"skip_consent" administrators:"true"`
	// whether its requests need a code challenge: required or if-sent; empty: as the server is set
	PKCE          string `db:"pkce" administrators:"if-sent"`
	RequirePushed bool   `db:"require_pushed"` // refuse authorization requests that it did not push
	// the proof that its tokens always need: dpop or certificate; empty: none
	SenderConstraint string `db:"sender_constraint"`
	// a set of requirements that it has switched on together; empty: none
	Profile              string `db:"profile"`
	AccessTokenLifetime  int64  `db:"access_token_lifetime"`
	RefreshTokenLifetime int64  `db:"refresh_token_lifetime"`
	Algorithm            string `db:"algorithm"`
	UserInfoAlgorithm    string `db:"userinfo_algorithm"`
	// signs the introspection responses that it asks for; empty: RS256
	IntrospectionAlg  string `db:"introspection_algorithm"`
	Sector            string `db:"sector"`
	PostLogoutURIs    string `db:"post_logout_redirect_uris"`
	BackchannelURI    string `db:"backchannel_logout_uri"`
	AccessTokenFormat string `db:"access_token_format"`
	// the URIs of the resources that its tokens may be for; empty: any
	Resources string `db:"resources"`
	// FromPage, FromCommand, FromRegistration or FromDocument; empty: unknown
	Origin   string `db:"origin" written:"once"`
	Metadata string `db:"metadata"` // JSON
	// how it authenticates; empty: it sends its secret in any way
	AuthMethod string `db:"auth_method"`
	// the only algorithm of its assertions; empty: any that the method allows
	AuthAlgorithm string `db:"auth_algorithm"`
	// its public keys, as a JWK Set; at most one of JWKS and JWKSURI is set
	JWKS    string `db:"jwks"`
	JWKSURI string `db:"jwks_uri"` // the address of such a set
	// its assertions may be for the address of an endpoint
	EndpointAudience bool `db:"endpoint_audience" administrators:"true"`
	// that of its certificate (RFC 8705 §2.1.2), or empty
	CertificateSubject string `db:"certificate_subject"`
	// the only algorithm of its request objects; empty: any that the server supports
	ObjectAlgorithm string `db:"object_algorithm"`
	// refuse authorization requests that it did not sign
	RequireSigned bool   `db:"require_signed"`
	RequestURIs   string `db:"request_uris"` // the addresses of its request objects
	// of its signed authorization responses; empty: the usual one
	ResponseAlgorithm string `db:"response_algorithm"`
	// the only ones that it may use; empty: any
	ResponseModes string `db:"response_modes"`
	// ManagedAlone, ManagedByMany, or empty: nobody may change it by RFC 7592
	Management         string  `db:"management"`
	RegistrationDigest *string `db:"registration_digest" written:"once"` // UpdateApplication deletes it
	// JSON: what its initial access token allowed
	RegistrationLimits string `db:"registration_limits" written:"once"`
	// the weakest login with which a person may approve it; empty: any
	RequiredACR string `db:"required_acr"`
	// values of acr for requests that name none, the preferred one first, with spaces between
	DefaultACR string `db:"default_acr"`
	// whether its refresh tokens are rotated: on or off; empty: as the server is set
	RefreshRotation string `db:"refresh_rotation" administrators:"off"`
	// whether its ID tokens have the claims of the granted scopes: on or off; empty: as its kind says
	ClaimsInIDToken string `db:"claims_in_id_token" administrators:"on"`
	// where a person opens it; empty: no page lists it
	LaunchURL string `db:"launch_url"`
	// the names of groups by line: whose members may use it (empty: everybody), and whose may not
	AllowedGroups string `db:"allowed_groups" administrators:"kept"`
	DeniedGroups  string `db:"denied_groups" administrators:"kept"`
	NobodyNew     bool   `db:"nobody_new" administrators:"kept"` // only people who give it access already may use it
	// the rules of its own claims: a JSON object in each line
	Claims string `db:"claims" administrators:"*"`
	// the program for which it was registered; it never changes
	Program           string `db:"program" written:"once"`
	LastUsedAt        int64  `db:"last_used_at" written:"never"` // 0: never; see NoteUses
	LastWithoutPKCEAt int64  `db:"last_without_pkce_at" written:"never"`
	CreatedAt         int64  `db:"created_at" written:"once"`
	// when it was last registered again, or 0; see ShareRegistration
	RenewedAt int64 `db:"renewed_at" written:"never"`
	UpdatedAt int64 `db:"updated_at"`
	// counts how often everything that it held was revoked
	Generation int64 `db:"generation" written:"never"`
	Version    int64 `db:"version" written:"never"`
}

// AnyVersion makes UpdateApplication ignore the version. The operator's update then
// overwrites what somebody has changed in the meantime.
const AnyVersion = -1

// ByOperator, ByOwner and ByNobody say who is responsible for an application.
const (
	ByOperator = "operator"
	ByOwner    = "owner"
	ByNobody   = "nobody"
)

// FromPage, FromCommand, FromRegistration and FromDocument say how an application came
// here.
const (
	FromPage         = "page"         // a person registered it on a page
	FromCommand      = "command"      // the operator registered it at the command line
	FromRegistration = "registration" // it registered itself (RFC 7591)
	FromDocument     = "document"     // its client id is the URL of its metadata document
)

// fromApplications joins each application with its owner.
const fromApplications = ` FROM applications a LEFT JOIN users u ON u.id = a.owner_id `

// The statements of an application. Whether it needs PKCE is one field and two columns, of which older releases know
// the first.
var (
	columnsOfApplication = columnsOf(Application{})
	applicationPKCE      = map[string][]assignment{
		"pkce": {{"pkce_exempt", "(:pkce = 'if-sent')"}, {"pkce_required", "(:pkce = 'required')"}},
	}
	readApplication = selected(columnsOfApplication, "a", map[string]string{
		"owner":           "u.username",
		"owner_is_admin":  "u.administrator",
		"owner_is_active": "u.active",
		"pkce":            "CASE WHEN a.pkce_exempt THEN 'if-sent' WHEN a.pkce_required THEN 'required' ELSE '' END",
	})
	selectApplication = `SELECT ` + readApplication + fromApplications
	insertApplication = inserted(columnsOfApplication, "applications", applicationPKCE)
	updateApplication = `UPDATE applications SET ` + updated(columnsOfApplication, applicationPKCE) +
		`, registration_digest = NULL, version = version + 1,
		generation = generation + CASE WHEN profile = '' AND :profile <> '' THEN 1 ELSE 0 END
		WHERE id = :id AND secret = :was.secret AND ` + undecided(columnsOfApplication, applicationPKCE) + `
		AND responsible = :was.responsible AND COALESCE(owner_id, '') = COALESCE(:was.owner_id, '')
			AND (CAST(:was.version AS BIGINT) < 0 OR version = :was.version AND management = :was.management)`
	withdrawDecisions = withdrawn(columnsOfApplication, applicationPKCE)
)

// ErrFull means that the quota of the owner, or of applications without a responsible
// person, is used up.
var ErrFull = errors.New("the quota is used up")

// AddApplication stores an application. It returns ErrConflict if the client id is
// taken. If most is above 0, it limits two numbers: the applications for which this
// owner alone is responsible, and the applications for which nobody is responsible. Of
// these a quarter is kept for applications that came by a metadata document, and a quarter
// for the others. It returns ErrFull if the limit is reached. of is what it has as a site, if it is one.
func (s *Store) AddApplication(ctx context.Context, a Application, most int, of ...Site) error {
	statement, values, err := named(insertApplication, a)
	if err != nil {
		return err
	}
	return s.atomically(ctx, func(t tx) error {
		err := t.roomFor(a, most)
		if err != nil {
			return err
		}
		_, err = t.exec(statement, values...)
		if err == nil {
			err = t.narrow(Application{}, a)
		}
		return t.setSites(a.ID, of, err)
	})
}

// roomFor checks the quota. It takes a lock before it counts, so the second of two
// concurrent registrations counts the first one. The lock is an UPDATE, because both
// databases lock rows only for writes.
func (t tx) roomFor(a Application, most int) error {
	if most <= 0 {
		return nil
	}
	if a.Responsible == ByNobody {
		return t.roomForOpen(a, most)
	}
	var n int
	_, err := t.exec(`UPDATE users SET active = active WHERE id = $1`, a.OwnerID)
	if err == nil {
		err = t.get(&n, `SELECT COUNT(*) FROM applications WHERE owner_id = $1 AND responsible = 'owner'`, a.OwnerID)
	}
	if err == nil && n >= most {
		err = ErrFull
	}
	return err
}

// roomForOpen checks the quota of applications for which nobody is responsible. Strangers
// can register any number, and one person can approve many metadata documents: neither may
// take the whole quota from the others.
func (t tx) roomForOpen(a Application, most int) error {
	_, err := t.exec(`UPDATE departures SET deleted = deleted`) // the table always has one row
	var n struct{ Total, Documents int }
	if err == nil {
		err = t.get(&n, `SELECT COUNT(*) AS total, COUNT(CASE WHEN origin = 'document' THEN 1 END) AS documents
			FROM applications WHERE responsible = 'nobody'`)
	}
	alike := n.Total - n.Documents
	if a.Origin == FromDocument {
		alike = n.Documents
	}
	if err == nil && (n.Total >= most || alike >= most-most/4) {
		err = ErrFull
	}
	return err
}

// Application reads an application by its id.
func (s *Store) Application(ctx context.Context, id string) (Application, error) {
	var a Application
	err := s.get(ctx, &a, selectApplication+`WHERE a.id = $1`, id)
	return a, err
}

// ApplicationByClientID reads an application by its client id.
func (s *Store) ApplicationByClientID(ctx context.Context, clientID string) (Application, error) {
	var a Application
	err := s.get(ctx, &a, selectApplication+`WHERE a.client_id = $1`, clientID)
	return a, err
}

// Selection says which applications a list contains. The zero value selects all.
type Selection struct {
	OwnerID  string
	Search   string
	Standing string // a standing of provider/policy, or Suspended
	// Origin is one of the origins above, or UnknownOrigin.
	Origin string
	// UnusedSince selects what was registered before this time and not used since then.
	UnusedSince int64
	// Closed has the origins from which an application for which nobody is responsible may not
	// come now. Suspended selects those too.
	Closed Origins
}

// Origins are the two ways in which an application comes by itself.
type Origins struct{ Documents, Registration bool }

// Suspended selects the applications whose responsible owner is missing or disabled, and those
// of Selection.Closed. UnknownOrigin selects those that are older than the column.
const (
	Suspended     = "suspended"
	UnknownOrigin = "unknown"
)

// selectedApplications is the condition of a Selection. It computes the standing as
// policy.StandingOf does.
const selectedApplications = `WHERE ($1 = '' OR a.owner_id = $1) AND (LOWER(a.name) LIKE $2 ESCAPE '!'
	OR LOWER(a.client_id) LIKE $2 ESCAPE '!' OR u.username_key LIKE $2 ESCAPE '!' OR a.name LIKE $3 ESCAPE '!')
	AND ($4 = '' OR $4 = CASE WHEN a.responsible = 'nobody' THEN 'open' WHEN a.responsible = 'operator' OR u.administrator
		AND u.active THEN 'administrator' ELSE 'person' END
		OR $4 = 'suspended' AND (a.responsible = 'owner' AND NOT COALESCE(u.active, FALSE)
			OR a.responsible = 'nobody' AND (a.origin = 'document' AND $7 OR a.origin = 'registration' AND $8)))
	AND ($5 = '' OR a.origin = CASE $5 WHEN 'unknown' THEN '' ELSE $5 END) AND ($6 = 0 OR a.last_used_at < $6
		AND a.created_at < $6 AND a.renewed_at < $6)`

// Applications lists applications by name, and returns the number of all that match.
func (s *Store) Applications(ctx context.Context, of Selection, limit, offset int) ([]Application, int, error) {
	folded, written := likePatterns(of.Search)
	args := []any{of.OwnerID, folded, written, of.Standing, of.Origin, of.UnusedSince, of.Closed.Documents,
		of.Closed.Registration}
	var total int
	err := s.get(ctx, &total, `SELECT COUNT(*) FROM applications a LEFT JOIN users u ON u.id = a.owner_id `+
		selectedApplications, args...)
	if err != nil {
		return nil, 0, err
	}
	var found []Application
	err = s.all(ctx, &found, selectApplication+selectedApplications+` ORDER BY LOWER(a.name), a.id LIMIT $9 OFFSET $10`,
		append(args, limit, offset)...)
	return found, total, err
}

// UpdateApplication writes the changeable columns of an application. Only RotateSecret
// replaces a secret; this method may change the form in which the secret is stored.
//
// was is the application as the caller read it. If the row has changed since then, the
// result is ErrNotFound. With AnyVersion, only some changes give ErrNotFound: a changed
// secret, a changed owner or responsible party, or a changed decision of an
// administrator.
//
// An application that has changed is no longer what it was registered as, so nobody who
// registers the same again gets it. If a profile is switched on, everything that the application
// holds is revoked: it was issued without what the profile requires.
func (s *Store) UpdateApplication(ctx context.Context, a, was Application, of ...Site) error {
	statement, values, err := named(updateApplication, struct {
		Application
		Was Application `db:"was"`
	}{a, was})
	if err != nil {
		return err
	}
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfApplication, a.ID)
		err := t.one(statement, values...)
		if err == nil {
			err = t.narrow(was, a)
		}
		return t.setSites(a.ID, of, err)
	})
}

// AssignApplication changes the owner of an application (nil: no owner) and who is
// responsible for it. It returns ErrSpent if the application has changed since it was
// read.
func (s *Store) AssignApplication(ctx context.Context, was Application, owner *string, responsible string,
	now int64) error {
	return s.atomically(ctx, func(t tx) error {
		n, err := t.assign(nil, owner, responsible, now,
			`id = $4 AND version = $5 AND responsible = $6 AND COALESCE(owner_id, '') = COALESCE($7, '')`, was.ID, was.Version,
			was.Responsible, was.OwnerID)
		if err == nil && len(n) == 0 {
			err = ErrSpent
		}
		return err
	})
}

// assign changes the owner, and who is responsible, of the applications that a
// condition selects. An administrator's permissions and the consents of people were
// given to the previous owner's application. So assign switches the permissions off and
// deletes the consents. Whoever registered it by a request may not change it any more.
func (t tx) assign(each *Event, owner *string, responsible string, now int64, where string,
	args ...any) ([]string, error) {
	ids, err := t.texts(`UPDATE applications SET owner_id = $1, responsible = $2, updated_at = $3, version = version + 1,
		management = '', registration_digest = NULL, `+withdrawDecisions+` WHERE `+where+returningNames,
		append([]any{owner, responsible, now}, args...)...)
	ids, err = t.forgetIntrospectors(each, ids, err)
	for _, id := range ids {
		t.changed(OfApplication, id)
		if err == nil {
			_, err = t.exec(`DELETE FROM consents WHERE application_id = $1`, id)
		}
	}
	return ids, err
}

// OwnedBy lists the applications of one owner by name.
func (s *Store) OwnedBy(ctx context.Context, userID string) ([]Application, error) {
	var found []Application
	err := s.all(ctx, &found, selectApplication+`WHERE a.owner_id = $1 ORDER BY LOWER(a.name), a.id`, userID)
	return found, err
}

// LongestSigned returns the longest lifetime that an application or a resource has set for
// its signed access tokens. Without such tokens it returns 0 if an application has an algorithm
// for signed introspection or authorization responses, or a site has assertions, which are all valid for a moment, and
// otherwise -1.
func (s *Store) LongestSigned(ctx context.Context) (int64, error) {
	var longest int64
	err := s.get(ctx, &longest, `SELECT COALESCE(MAX(access_token_lifetime), -1) FROM (
		SELECT access_token_lifetime FROM applications WHERE access_token_format = 'jwt'
		UNION ALL SELECT 0 FROM applications WHERE introspection_algorithm <> '' OR response_algorithm <> ''
		UNION ALL SELECT 0 FROM sites WHERE assertion
		UNION ALL SELECT access_token_lifetime FROM resources WHERE token_format = 'jwt') AS signed`)
	return longest, err
}

// RotateSecret replaces the client secret that the caller read. The old secret works
// until oldUntil. It returns ErrSpent if another rotation came first.
func (s *Store) RotateSecret(ctx context.Context, id, was, secret string, oldUntil, now int64) error {
	err := s.changeApplication(ctx, id, `UPDATE applications SET old_secret = secret, old_secret_expires_at = $4,
		secret = $3, updated_at = $5, version = version + 1 WHERE id = $1 AND secret = $2`,
		id, was, secret, oldUntil, now)
	if err == ErrNotFound {
		return ErrSpent
	}
	return err
}

// DeleteApplication deletes an application. Its tokens are invalid from then on,
// because a token without its application is not valid. A busy application has millions
// of token rows; the clean-up deletes them later.
func (s *Store) DeleteApplication(ctx context.Context, id string) error {
	return s.atomically(ctx, func(t tx) error {
		ids, err := t.deleteApplications(nil, `id = $1`, id)
		if err == nil && len(ids) == 0 {
			err = ErrNotFound
		}
		return err
	})
}

// deleteApplications deletes the applications that a condition selects. Unless it is nil, each is the event of
// one of them.
func (t tx) deleteApplications(each *Event, where string, args ...any) ([]string, error) {
	ids, err := t.texts(`DELETE FROM applications WHERE `+where+returningNames, args...)
	ids, err = t.forgetIntrospectors(each, ids, err)
	for _, id := range ids {
		t.changed(OfApplication, id)
	}
	if err == nil && len(ids) > 0 {
		_, err = t.exec(`UPDATE departures SET deleted = deleted + $1`, len(ids))
	}
	return ids, err
}

// named returns a statement with $1, $2 and so on in place of its names, such as :client_id, and the
// values of the fields that have these names.
func named(statement string, record any) (string, []any, error) {
	return sqlx.BindNamed(sqlx.DOLLAR, statement, record)
}

func (s *Store) changeApplication(ctx context.Context, id, statement string, args ...any) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfApplication, id)
		return t.one(statement, args...)
	})
}
