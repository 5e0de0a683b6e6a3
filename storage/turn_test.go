package storage

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

func agree(time.Time) bool { return true }

// Two nodes that delete the same rows wait for each other.
func TestOneNodeCleansUpForAll(t *testing.T) {
	w := migrated(t, postgresURL(t))
	mine := func(node string) bool {
		t.Helper()
		now, mine, err := w.TakeTurn(t.Context(), node, agree)
		must(t, err)
		if time.Since(now).Abs() > 10*time.Second {
			t.Errorf("the time of the database is %v", now)
		}
		return mine
	}
	turns := race(8, func(int) error {
		_, mine, err := w.TakeTurn(t.Context(), "first", func(time.Time) bool { return false })
		if mine {
			err = errors.New("a node that does not agree with the time has the turn")
		}
		return err
	})
	must(t, errors.Join(turns...))
	for range 2 {
		if !mine("first") {
			t.Error("the first node does not have the turn")
		}
	}
	if mine("second") {
		t.Error("the second node has the turn of the first")
	}
	// The turn of a node that has ended without a word.
	_, err := w.write.ExecContext(t.Context(), `UPDATE settings SET value = CAST($1 AS TEXT) || ' first'
		WHERE name = 'turn'`, time.Now().Unix()-1)
	must(t, err)
	if !mine("second") || mine("first") {
		t.Error("nobody takes the turn of a node that has gone")
	}
	must(t, w.EndTurn(t.Context(), "first"))
	if mine("first") {
		t.Error("a node ends the turn of another one")
	}
	must(t, w.EndTurn(t.Context(), "second"))
	if !mine("first") {
		t.Error("the turn was not ended")
	}
	_, err = w.write.ExecContext(t.Context(), `UPDATE settings SET value = CAST($1 AS TEXT) || ' second'
		WHERE name = 'turn'`, time.Now().Unix()+400*24*3600)
	must(t, err)
	if !mine("first") {
		t.Error("a turn that was taken at a wrong time holds for ever")
	}
}

func TestSQLiteFileThatWasReplacedIsNoticed(t *testing.T) {
	w := migrated(t, sqliteURL(t))
	path := strings.TrimPrefix(w.url, "sqlite:///")
	must(t, w.ProveWrite(t.Context()))
	must(t, os.Rename(path, path+".away"))
	is(t, "removed", w.ProveWrite(t.Context()), ErrReplaced)
	must(t, os.WriteFile(path, nil, 0o600))
	is(t, "replaced", w.ProveWrite(t.Context()), ErrReplaced)
	must(t, os.Rename(path+".away", path))
	must(t, w.ProveWrite(t.Context()))
}

func TestWriteIsProven(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		stored := func() string {
			value, err := w.Setting(t.Context(), "written")
			must(t, err)
			return value
		}
		must(t, w.ProveWrite(t.Context()))
		first := stored()
		must(t, w.ProveWrite(t.Context()))
		if stored() == first {
			t.Error("nothing was written")
		}
	})
}
