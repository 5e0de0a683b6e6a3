package storage

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/lib/pq"
)

func TestOnlyWhatTheDatabaseWantsRunAgainIsRunAgain(t *testing.T) {
	synctest.Test(t, ranAgain)
}

func ranAgain(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		want int
	}{
		"success":               {nil, 1},
		"serialization failure": {&pq.Error{Code: "40001"}, overtaken},
		"deadlock":              {&pq.Error{Code: "40P01"}, overtaken},
		"name that exists":      {&pq.Error{Code: "23505"}, 1},
		"spent":                 {ErrSpent, 1},
		"lost connection":       {errors.New("connection reset by peer"), 1},
	} {
		ran := 0
		err := retry(t.Context(), 0, func() error { ran++; return c.err })
		if err != c.err || ran != c.want {
			t.Errorf("%s: ran %d times, want %d; got %v", name, ran, c.want, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	ran := 0
	err := retry(ended, 0, func() error { ran++; return &pq.Error{Code: "40001"} })
	if err == nil || ran != 1 {
		t.Errorf("with a context that has ended: ran %d times, got %v", ran, err)
	}
}

// Nine rivals are committed before the work succeeds, as on a busy server with more than one node.
func TestTransactionThatPostgreSQLCannotSerializeIsRunAgain(t *testing.T) {
	const rivals = 9
	w := migrated(t, serializableURL(t))
	other := opened(t, w.url)
	must(t, w.AddGroup(t.Context(), "group", at))
	ran := 0
	must(t, w.atomically(t.Context(), func(x tx) error {
		ran++
		var created int64
		err := x.get(&created, `SELECT created_at FROM groups WHERE name = 'group'`)
		if err != nil {
			return err
		}
		if ran <= rivals {
			_, err = other.exec(t.Context(), `UPDATE groups SET created_at = created_at + 1`)
			must(t, err)
		}
		_, err = x.exec(`UPDATE groups SET created_at = $1`, created+10)
		return err
	}))
	if got := count(t, w.Store, `SELECT created_at FROM groups`); ran != rivals+1 || got != at+rivals+10 {
		t.Errorf("ran %d times and left %d, want %d times and %d", ran, got, rivals+1, at+rivals+10)
	}
}

func TestTransactionsThatLockEachOtherOutBothComplete(t *testing.T) {
	w := migrated(t, postgresURL(t))
	must(t, w.AddGroup(t.Context(), "a", 0))
	must(t, w.AddGroup(t.Context(), "b", 0))
	holds := []chan struct{}{make(chan struct{}), make(chan struct{})}
	for _, err := range race(2, func(i int) error {
		first := true
		return w.atomically(t.Context(), func(x tx) error {
			_, err := x.exec(`UPDATE groups SET created_at = created_at + 1 WHERE name = $1`, []string{"a", "b"}[i])
			if err != nil {
				return err
			}
			if first {
				first = false
				close(holds[i])
				<-holds[1-i]
			}
			_, err = x.exec(`UPDATE groups SET created_at = created_at + 1 WHERE name = $1`, []string{"b", "a"}[i])
			return err
		})
	}) {
		must(t, err)
	}
	if n := count(t, w.Store, `SELECT SUM(created_at) FROM groups`); n != 4 {
		t.Errorf("%d changes are stored, want 4", n)
	}
}
