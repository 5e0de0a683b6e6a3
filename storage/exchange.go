package storage

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// exchange spends one thing by a conditional UPDATE and stores the tokens that
// are given for it. What is spent belongs to a family, whose row is at most
// looked at: a family that is revoked at this very moment may still get tokens,
// which are then as dead as the rest of it.
type exchange struct {
	spend   step
	prolong step      // of the family, which need not meet its row
	whole   [3]string // by how many tokens are given
}

// step is a statement and how many arguments it has.
type step struct {
	text string
	args int
}

// newExchange makes one statement of it all for PostgreSQL, and so one round
// trip and one commit. SQLite has no such thing, and no way to go.
func newExchange(spend, prolong step) *exchange {
	var first strings.Builder
	fmt.Fprintf(&first, "WITH spent AS (%s RETURNING 1)", spend.text)
	n := spend.args
	if prolong.text != "" {
		fmt.Fprintf(&first, ", prolonged AS (%s AND EXISTS (SELECT 1 FROM spent))", prolong.after(n))
		n += prolong.args
	}
	e := &exchange{spend: spend, prolong: prolong}
	// Of a signed access token nothing is stored.
	e.whole[0] = first.String() + " SELECT 1 FROM spent"
	one := "SELECT CAST($1 AS TEXT), CAST($2 AS BOOLEAN), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS TEXT) FROM spent"
	var rows []string
	for i := range e.whole[1:] {
		rows = append(rows, step{text: one}.after(n+8*i))
		e.whole[i+1] = first.String() + " INSERT INTO tokens (" + tokenColumns + ") " + strings.Join(rows, " UNION ALL ")
	}
	return e
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// after gives the statement with its placeholders counted on from so many.
func (s step) after(n int) string {
	return placeholder.ReplaceAllStringFunc(s.text, func(name string) string {
		own, _ := strconv.Atoi(name[1:]) // it is all digits
		return "$" + strconv.Itoa(n+own)
	})
}

// exchange runs one, with the arguments of its steps in their order, or gives
// ErrSpent and stores nothing.
func (s *Store) exchange(ctx context.Context, e *exchange, given []Token, args ...any) error {
	if !s.embedded {
		for _, token := range given {
			args = append(args, token.values()...)
		}
		n, err := s.run(ctx, true, e.whole[len(given)], args)
		if err != nil || n > 0 {
			return err
		}
		if len(given) == 0 {
			return ErrSpent
		}
		return s.ours(ctx, given[0].Digest)
	}
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(e.spend.text, args[:e.spend.args]...)
		if err == nil && e.prolong.text != "" {
			_, err = t.exec(e.prolong.text, args[e.spend.args:]...)
		}
		if err != nil {
			return err
		}
		return t.addTokens(given)
	})
}

// ours says whether it was this very exchange that spent what is spent: it has run
// twice where a connection broke before its answer came. Whoever hears ErrSpent
// takes it for a theft.
func (s *Store) ours(ctx context.Context, digest string) error {
	// Whoever asked may have gone; what they hold is known to them alone.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), silence)
	defer stop()
	var given string
	err := s.get(ctx, &given, `SELECT digest FROM tokens WHERE digest = $1`, digest)
	if errors.Is(err, ErrNotFound) {
		return ErrSpent
	}
	return err
}
