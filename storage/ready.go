package storage

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// ErrReplaced means that the SQLite file was removed or replaced while it is in use. What is written now is gone when
// the process ends.
var ErrReplaced = errors.New("the database file was removed or replaced while this program uses it: stop the " +
	"program, restore the file, and start it again")

// ProveWrite proves that the database stores what is written: it writes a row, and the commit is durable.
func (s *Store) ProveWrite(ctx context.Context) error {
	if s.file != nil {
		now, err := os.Stat(s.path)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrReplaced, err)
		}
		if !os.SameFile(s.file, now) {
			return ErrReplaced
		}
	}
	_, err := s.run(ctx, true, `INSERT INTO settings (name, value) VALUES ('written', '1') ON CONFLICT (name) DO UPDATE
		SET value = CASE WHEN settings.value = '1' THEN '2' ELSE '1' END`, nil)
	return err
}

// Settle returns when everything that was read from the database before is durable. Whoever finds that a change was
// made already calls it, and then reads again, before it reports a success: the earlier change may be one that the
// primary has made visible without its standby, and another primary may have taken over since.
//
// SQLite shows nothing that is not durable. Concurrent calls share a commit, so that those who wait for a standby that
// is missing hold one connection.
func (s *Store) Settle(ctx context.Context) error {
	if s.embedded {
		return nil
	}
	return s.settling.do(ctx, struct{}{})
}

// settle commits something for a batch of calls of Settle.
func (s *Store) settle(calls []struct{}) []error {
	ctx, stop := context.WithTimeout(context.Background(), maxBatchWait)
	defer stop()
	err := s.commitMessage(ctx)
	return slices.Repeat([]error{err}, len(calls))
}

func (s *Store) commitMessage(ctx context.Context) error {
	if !s.messageUnsupported.Load() {
		err := s.atomically(ctx, func(t tx) error {
			_, err := t.exec(`SELECT ` + emit)
			return err
		})
		if !unsupported(err) {
			return err
		}
		s.messageUnsupported.Store(true)
	}
	return s.ProveWrite(ctx)
}
