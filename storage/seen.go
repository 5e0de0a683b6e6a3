package storage

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// seen is a one-time value that is used now.
type seen struct {
	digest    string
	expiresAt int64
	now       int64
	call      string
}

// insertSeen holds the statements for batches of 1, 2, 4, ... 64 values. A row that has
// expired gives way: the value that it was stored for is refused because of its age. If a
// connection breaks, the statement may run twice, and the second time finds the row of the
// same call.
var insertSeen = newInsertSeen()

func newInsertSeen() (statements [7]string) {
	for i := range statements {
		rows := make([]string, 1<<i)
		for row := range rows {
			rows[row] = fmt.Sprintf("($%d, $%d, $%d)", 3*row+2, 3*row+3, 3*row+4)
		}
		statements[i] = `INSERT INTO seen (digest, expires_at, by_call) VALUES ` + strings.Join(rows, ", ") + `
			ON CONFLICT (digest) DO UPDATE SET expires_at = excluded.expires_at, by_call = excluded.by_call
			WHERE seen.expires_at <= $1 OR seen.by_call = excluded.by_call RETURNING digest`
	}
	return statements
}

// SeeOnce uses a one-time value that somebody else made, and stores its digest until
// expiresAt. It returns ErrSpent if the value was used already. It is one statement, which
// concurrent calls share.
func (s *Store) SeeOnce(ctx context.Context, digest string, expiresAt, now int64) error {
	one := seen{digest, expiresAt, now, rand.Text()}
	if s.embedded {
		var stored string
		err := s.writeRow(ctx, &stored, insertSeen[0], now, digest, expiresAt, one.call)
		if errors.Is(err, ErrNotFound) {
			return ErrSpent
		}
		return err
	}
	ctx, done := s.begin(ctx, insertSeen[0])
	err := s.seen.do(ctx, one)
	done(err)
	return err
}

// seeTogether stores the values of a batch in one statement, in the order of their digests:
// two batches with the same values cannot wait for each other. If a value occurs twice, the
// first call uses it.
func (s *Store) seeTogether(batch []seen) []error {
	ctx, stop := context.WithTimeout(context.Background(), maxReadWait)
	defer stop()
	first, args := map[string]int{}, []any{int64(0)}
	var now int64
	for i, one := range batch {
		now = max(now, one.now)
		if _, twice := first[one.digest]; !twice {
			first[one.digest] = i
		}
	}
	args[0] = now
	order := make([]int, 0, len(first))
	for _, i := range first {
		order = append(order, i)
	}
	slices.SortFunc(order, func(a, b int) int { return strings.Compare(batch[a].digest, batch[b].digest) })
	stored := map[string]bool{}
	for len(order) > 0 {
		n := powerOfTwo(len(order))
		chunk := args[:1:1]
		for _, i := range order[:n] {
			chunk = append(chunk, batch[i].digest, batch[i].expiresAt, batch[i].call)
		}
		var digests []string
		err := s.writeRows(ctx, &digests, insertSeen[bits.Len(uint(n))-1], chunk...)
		if err != nil {
			return slices.Repeat([]error{err}, len(batch))
		}
		for _, digest := range digests {
			stored[digest] = true
		}
		order = order[n:]
	}
	outcomes := make([]error, len(batch))
	for i, one := range batch {
		if first[one.digest] != i || !stored[one.digest] {
			outcomes[i] = ErrSpent
		}
	}
	return outcomes
}
