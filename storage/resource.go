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
	Key           string `db:"uri_key" written:"once"` // the URI in its normal form
	URI           string `db:"uri" written:"once"`     // the URI as it was registered
	Name          string `db:"name"`
	Scopes        string `db:"scopes"`                // empty: every scope
	TokenFormat   string `db:"token_format"`          // empty: that of the application
	Lifetime      int64  `db:"access_token_lifetime"` // in seconds; 0: that of the application
	Algorithm     string `db:"algorithm"`             // empty: that of the application
	Introspectors string `db:"introspectors"`
	Constrained   bool   `db:"sender_constrained"` // its tokens must be sender-constrained
	JWTTyp        string `db:"jwt_typ"`            // the typ of its signed access tokens; empty: at+jwt
	CreatedAt     int64  `db:"created_at" written:"once"`
	UpdatedAt     int64  `db:"updated_at"`
	Version       int64  `db:"version" written:"once"` // UpdateResource counts it
	// Generation distinguishes it from a deleted resource with the same URI. It never changes.
	Generation string `db:"generation" written:"once"`
}

var (
	columnsOfResource = columnsOf(Resource{})
	selectResource    = `SELECT ` + selected(columnsOfResource, "r", nil) + ` FROM resources r `
	insertResource    = inserted(columnsOfResource, "resources", nil)
	updateResource    = `UPDATE resources SET ` + updated(columnsOfResource, nil) + `, version = version + 1
		WHERE uri_key = :uri_key AND version = :version AND generation = :generation`
)

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
		n, err = t.exec(`UPDATE resources SET introspectors = REPLACE(introspectors, $1, $2), version = version + 1
			WHERE introspectors LIKE $3 ESCAPE '!'`,
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
	err := s.all(ctx, &found, selectResource+`ORDER BY LOWER(r.name), r.uri_key`)
	return found, err
}

// AddResource stores a resource. It returns ErrConflict if the URI is taken, and ErrFull
// if there are most resources already.
func (s *Store) AddResource(ctx context.Context, r Resource, most int) error {
	r.UpdatedAt, r.Version = r.CreatedAt, 0
	statement, values, err := named(insertResource, r)
	if err != nil {
		return err
	}
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
		_, err = t.exec(statement, values...)
		return err
	})
}

// UpdateResource writes everything but the URI. It returns ErrNotFound if the resource has
// changed since it was read with this version, or is another one with the same URI.
func (s *Store) UpdateResource(ctx context.Context, r Resource) error {
	statement, values, err := named(updateResource, r)
	if err != nil {
		return err
	}
	return s.atomically(ctx, func(t tx) error {
		t.changed(OfResource, "")
		return t.one(statement, values...)
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
