package storage

import "testing"

func TestStatementsFollowFromTheFieldsOfTheRecord(t *testing.T) {
	columns := columnsOf(struct {
		ID      string `db:"id" written:"once"`
		Kind    string `db:"kind" administrators:"b"` // stored in two columns
		Added   string `db:"added" administrators:"late"`
		Free    bool   `db:"free" administrators:"true"`
		Owner   string `db:"owner" written:"never"` // of another table
		Version int64  `db:"version" written:"never"`
	}{})
	kind := map[string][]assignment{"kind": {{"is_a", "(:kind = 'a')"}, {"is_b", "(:kind = 'b')"}}}
	for _, test := range []struct{ got, want string }{
		{
			selected(columns, "r", map[string]string{"owner": "u.name"}),
			"r.id, r.kind, r.added, r.free, u.name AS owner, r.version",
		},
		{
			inserted(columns, "records", kind),
			"INSERT INTO records (id, is_a, is_b, added, free) VALUES (:id, (:kind = 'a'), (:kind = 'b'), :added, :free)",
		},
		{updated(columns, kind), "is_a = (:kind = 'a'), is_b = (:kind = 'b'), added = :added, free = :free"},
		{
			undecided(columns, kind),
			"is_b = (:was.kind = 'b') AND (added = 'late') = (:was.added = 'late') AND free = :was.free",
		},
		{withdrawn(columns, kind), "is_b = FALSE, added = CASE added WHEN 'late' THEN '' ELSE added END, free = FALSE"},
	} {
		if test.got != test.want {
			t.Errorf("got %s\nwant %s", test.got, test.want)
		}
	}
}
