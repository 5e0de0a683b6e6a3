package storage

import (
	"context"
	"fmt"
	"iter"
	"strings"
)

// Resource is an API that tokens can be issued for (RFC 8707). Spaces separate its
// scopes. NewIntrospectors makes the list of its introspectors.
type Resource struct {
	Key           string `db:"uri_key"` // the URI in its normal form
	URI           string `db:"uri"`     // the URI as it was registered
	Name          string `db:"name"`
	Scopes        string `db:"scopes"`                // empty: every scope
	TokenFormat   string `db:"token_format"`          // empty: that of the application
	Lifetime      int64  `db:"access_token_lifetime"` // in seconds; 0: that of the application
	Algorithm     string `db:"algorithm"`             // empty: that of the application
	Introspectors string `db:"introspectors"`
	Constrained   bool   `db:"sender_constrained"` // its tokens must be sender-constrained
	JWTTyp        string `db:"jwt_typ"`            // the typ of its signed access tokens; empty: at+jwt
	CreatedAt     int64  `db:"created_at"`
	UpdatedAt     int64  `db:"updated_at"`
	Version       int64  `db:"version"` // read, never written
	// Generation distinguishes it from a deleted resource with the same URI. It never changes.
	Generation string `db:"generation"`
}

// NewIntrospectors returns a list of different client ids. There is a line feed before,
// between and after them, so that a statement can remove one.
func NewIntrospectors(clientIDs []string) string {
	if len(clientIDs) == 0 {
		return ""
	}
	return "\n" + strings.Join(clientIDs, "\n") + "\n"
}

// IntrospectorIDs are the client ids in the list of introspectors.
//
// RFC 6749 appendix A.1: a client id can contain spaces, but no line feed.
func (r *Resource) IntrospectorIDs() iter.Seq[string] {
	return func(yield func(string) bool) {
		for id := range strings.SplitSeq(r.Introspectors, "\n") {
			if id != "" && !yield(id) {
				return
			}
		}
	}
}

// returningNames returns the id, the client id and the name of each row, one a line, for forgetIntrospectors.
const returningNames = ` RETURNING id || '
' || client_id || '
' || name`

// forgetIntrospectors removes applications from all resources, and returns their ids: an
// administrator has trusted each of them as it was. Unless it is nil, each is the event of one of them.
func (t tx) forgetIntrospectors(each *Event, rows []string, err error) ([]string, error) {
	ids := make([]string, len(rows))
	for i, row := range rows {
		var clientID, name string
		ids[i], name, _ = strings.Cut(row, "\n")
		clientID, name, _ = strings.Cut(name, "\n")
		if each != nil {
			e := *each
			e.ID, e.ObjectID, e.ObjectName = fmt.Sprint(e.ID, "-", ids[i]), clientID, name
			t.happened(e)
		}
		if err != nil {
			continue
		}
		var n int64
		n, err = t.exec(`UPDATE resources SET introspectors = REPLACE(introspectors, $1, $2), version = version + 1 WHERE introspectors LIKE $3 ESCAPE '!'`,
			"\n"+clientID+"\n", "\n", "%\n"+likeEscape.Replace(clientID)+"\n%")
		if n > 0 {
			t.changed(OfResource, "")
		}
	}
	return ids, err
}

// Resources lists all resources by name.
func (s *Store) Resources(ctx context.Context) ([]Resource, error) {
	var found []Resource
	err := s.all(ctx, &found, `SELECT uri_key, uri, name, scopes, token_format, access_token_lifetime, algorithm, introspectors, sender_constrained, jwt_typ, created_at, updated_at, version, generation
		FROM resources ORDER BY LOWER(name), uri_key`)
	return found, err
}

// AddResource stores a resource. It returns ErrConflict if the URI is taken, and ErrFull
// if there are most resources already.
func (s *Store) AddResource(ctx context.Context, r Resource, most int) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfResource, "")
		var n int
		err := t.get(&n, `SELECT COUNT(*) FROM resources`)
		if err == nil && n >= most {
			err = ErrFull
		}
		if err != nil {
			return err
		}
		_, err = t.exec(`INSERT INTO resources (uri_key, uri, name, scopes, token_format, access_token_lifetime, algorithm, introspectors, created_at, updated_at, sender_constrained, version, generation, jwt_typ)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, 0, $11, $12)`,
			r.Key, r.URI, r.Name, r.Scopes, r.TokenFormat, r.Lifetime, r.Algorithm, r.Introspectors, r.CreatedAt, r.Constrained, r.Generation, r.JWTTyp)
		return err
	})
}

// UpdateResource writes everything but the URI. It returns ErrNotFound if the resource has
// changed since it was read with this version, or is another one with the same URI.
func (s *Store) UpdateResource(ctx context.Context, r Resource) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfResource, "")
		return t.one(`UPDATE resources SET name = $2, scopes = $3, token_format = $4, access_token_lifetime = $5, algorithm = $6, introspectors = $7, updated_at = $8, sender_constrained = $10, jwt_typ = $12, version = version + 1
			WHERE uri_key = $1 AND version = $9 AND generation = $11`,
			r.Key, r.Name, r.Scopes, r.TokenFormat, r.Lifetime, r.Algorithm, r.Introspectors, r.UpdatedAt, r.Version, r.Constrained, r.Generation, r.JWTTyp)
	})
}

// DeleteResource deletes a resource. From then on no tokens are issued for it, and no
// introspection shows its tokens as active, although another one with its URI may be added.
func (s *Store) DeleteResource(ctx context.Context, key string) error {
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfResource, "")
		return t.one(`DELETE FROM resources WHERE uri_key = $1`, key)
	})
}
