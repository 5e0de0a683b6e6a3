package storage

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// exchange marks a one-time value (authorization code, refresh token) as used by a
// conditional UPDATE, and stores the tokens that are issued for it. The row of the
// token family is read but not locked. So a family that is revoked at the same moment
// may still receive tokens; those tokens are invalid, like the rest of the family.
type exchange struct {
	redeem       step
	extendFamily step      // extends the family; it may affect no row
	statements   [3]string // the whole statement, by the number of tokens
}

// step is a statement and the number of its arguments.
type step struct {
	text string
	args int
}

// newExchange joins all steps to one statement for PostgreSQL, and so to one round trip
// and one commit. SQLite has no such statement, and needs none: it has no network.
func newExchange(spend, prolong step) *exchange {
	var first strings.Builder
	fmt.Fprintf(&first, "WITH spent AS (%s RETURNING 1)", spend.text)
	n := spend.args
	if prolong.text != "" {
		fmt.Fprintf(&first, ", prolonged AS (%s AND EXISTS (SELECT 1 FROM spent))", prolong.after(n))
		n += prolong.args
	}
	e := &exchange{redeem: spend, extendFamily: prolong}
	// A signed access token is not stored.
	e.statements[0] = first.String() + " SELECT 1 FROM spent"
	one := "SELECT CAST($1 AS TEXT), CAST($2 AS BOOLEAN), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS TEXT), CAST($6 " +
		"AS BIGINT), CAST($7 AS BIGINT), CAST($8 AS TEXT), CAST($9 AS TEXT), CAST($10 AS BIGINT), CAST($11 AS TEXT) FROM " +
		"spent"
	var rows []string
	for i := range e.statements[1:] {
		rows = append(rows, step{text: one}.after(n+tokenValues*i))
		e.statements[i+1] = first.String() + " INSERT INTO tokens (" + tokenColumns + ") " + strings.Join(rows, " UNION ALL ")
	}
	return e
}

var placeholder = regexp.MustCompile(`\$[0-9]+`)

// after returns the statement with its placeholders renumbered: $1 becomes $(n+1).
func (s step) after(n int) string {
	return placeholder.ReplaceAllStringFunc(s.text, func(name string) string {
		own, _ := strconv.Atoi(name[1:]) // it is all digits
		return "$" + strconv.Itoa(n+own)
	})
}

// exchange runs e. args are the arguments of its steps, in order. If the one-time value
// was used already, exchange returns ErrSpent and stores nothing.
func (s *Store) exchange(ctx context.Context, e *exchange, given []Token, args ...any) error {
	if !s.embedded {
		for _, token := range given {
			args = append(args, token.values()...)
		}
		n, err := s.run(ctx, true, e.statements[len(given)], args)
		if err != nil || n > 0 {
			return err
		}
		if len(given) == 0 {
			return ErrSpent
		}
		return s.redeemedByThisCall(ctx, given[0].Digest)
	}
	return s.atomically(ctx, func(t tx) error {
		err := t.spend(e.redeem.text, args[:e.redeem.args]...)
		if err == nil && e.extendFamily.text != "" {
			_, err = t.exec(e.extendFamily.text, args[e.redeem.args:]...)
		}
		if err != nil {
			return err
		}
		return t.addTokens(given)
	})
}

// redeemedByThisCall reports whether this call itself used the one-time value. If a connection breaks
// before the answer arrives, the statement runs twice, and the second run finds the
// value used. This must not become ErrSpent, because callers treat ErrSpent as theft. It writes the token as it is: a
// commit that writes nothing does not wait until the standby has the first one.
func (s *Store) redeemedByThisCall(ctx context.Context, digest string) error {
	// The caller's request may have ended; the result still matters. Only this call
	// knows the digest.
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), maxReadWait)
	defer stop()
	var given []string
	ctx, done := s.begin(ctx, confirmToken)
	err := s.writeRows(ctx, &given, confirmToken, digest)
	done(err)
	if err == nil && len(given) == 0 {
		return ErrSpent
	}
	return err
}

const confirmToken = `UPDATE tokens SET used_at = used_at WHERE digest = $1 RETURNING digest`
