package storage

import "testing"

func TestStatementsFollowFromTheFieldsOfTheRecord(t *testing.T) {
	columns := columnsOf(struct {
		ID      string `db:"id" written:"once"`
		Kind    string `db:"kind"` // stored in two columns
		Added   string `db:"added"`
		Owner   string `db:"owner" written:"never"` // of another table
		Version int64  `db:"version" written:"never"`
	}{})
	kind := map[string][]assignment{"kind": {{"is_a", "(:kind = 'a')"}, {"is_b", "(:kind = 'b')"}}}
	for _, test := range []struct{ got, want string }{
		{
			selected(columns, "r", map[string]string{"owner": "u.name"}),
			"r.id, r.kind, r.added, u.name AS owner, r.version",
		},
		{
			inserted(columns, "records", kind),
			"INSERT INTO records (id, is_a, is_b, added) VALUES (:id, (:kind = 'a'), (:kind = 'b'), :added)",
		},
		{updated(columns, kind), "is_a = (:kind = 'a'), is_b = (:kind = 'b'), added = :added"},
	} {
		if test.got != test.want {
			t.Errorf("got %s\nwant %s", test.got, test.want)
		}
	}
}
