package storage

import (
	"context"
	"maps"
	"slices"

	"github.com/lib/pq"
)

// write is a token, a one-time value, or a token that is stored only if its value was not used
// before. PostgreSQL stores those of concurrent calls in one statement: its commit costs more
// than all its rows.
type write struct {
	token *Token
	value *seen
}

// The statements for the tokens of a batch, for its one-time values, and for both. The last has
// the digest of the value on which each token depends, or NULL.
const (
	insertTokens = `INSERT INTO tokens (` + tokenColumns + `) SELECT * FROM unnest(` + tokenTypes + `)` + ignoreDuplicate
	tokenTypes   = `$1::text[], $2::boolean[], $3::text[], $4::text[], $5::text[], $6::bigint[], $7::bigint[], ` +
		`$8::text[], $9::text[], $10::bigint[], $11::text[]`
	seeValues = intoSeen + `SELECT * FROM unnest($2::text[], $3::bigint[], $4::text[])` + unlessSeen
)

var insertBoth = `WITH used AS (` + step{text: seeValues}.after(tokenValues+1) + `), stored AS (
	INSERT INTO tokens (` + tokenColumns + `) SELECT ` + tokenColumns + ` FROM unnest(` + tokenTypes +
	`, $12::text[]) AS t (` + tokenColumns + `, value)
	WHERE value IS NULL OR value IN (SELECT digest FROM used)` + ignoreDuplicate + `) SELECT digest FROM used`

// writeWithOthers stores what one call writes, in a statement that concurrent calls share.
func (s *Store) writeWithOthers(ctx context.Context, statement string, one write) error {
	ctx, done := s.begin(ctx, statement)
	err := s.writes.do(ctx, one)
	done(err)
	return err
}

// writeBatch stores a batch. The values are stored in the order of their digests: two batches
// with the same values cannot wait for each other. If a value occurs twice, the first call
// uses it.
func (s *Store) writeBatch(batch []write) []error {
	ctx, stop := context.WithTimeout(context.Background(), maxBatchWait)
	defer stop()
	var tokens []write
	first := map[string]*seen{}
	for _, w := range batch {
		if w.value != nil && first[w.value.Digest] == nil {
			first[w.value.Digest] = w.value
		}
		if w.token != nil && (w.value == nil || first[w.value.Digest] == w.value) {
			tokens = append(tokens, w)
		}
	}
	used, err := s.writeTogether(ctx, tokens, first)
	if err != nil {
		return slices.Repeat([]error{err}, len(batch))
	}
	outcomes := make([]error, len(batch))
	for i, w := range batch {
		if w.value != nil && (first[w.value.Digest] != w.value || !slices.Contains(used, w.value.Digest)) {
			outcomes[i] = ErrSpent
		}
	}
	return outcomes
}

// writeTogether stores tokens and values, and returns the digests of those values that were
// not used before.
func (s *Store) writeTogether(ctx context.Context, tokens []write, values map[string]*seen) (used []string, err error) {
	switch {
	case len(values) == 0:
		_, err = s.run(ctx, true, insertTokens, tokenArrays(tokens)[:tokenValues])
	case len(tokens) == 0:
		err = s.writeRows(ctx, &used, seeValues, valueArrays(values)...)
	default:
		err = s.writeRows(ctx, &used, insertBoth, append(tokenArrays(tokens), valueArrays(values)...)...)
	}
	return used, err
}

// tokenArrays has an array for each of tokenColumns, and one with the digests of the values.
func tokenArrays(tokens []write) []any {
	n := len(tokens)
	digest, refresh, grantID, applicationID, scope := make([]string, n), make([]bool, n), make([]*string, n),
		make([]*string, n), make([]string, n)
	issuedAt, expiresAt, chargedTo, resource, generation, cnf := make([]int64, n), make([]int64, n), make([]*string, n),
		make([]string, n), make([]int64, n), make([]string, n)
	value := make([]*string, n)
	for i, w := range tokens {
		t := w.token
		digest[i], refresh[i], grantID[i], applicationID[i], scope[i] = t.Digest, t.Refresh, t.GrantID,
			t.ApplicationID, t.Scope
		issuedAt[i], expiresAt[i], chargedTo[i], resource[i], generation[i], cnf[i] = t.IssuedAt, t.ExpiresAt, t.ChargedTo,
			t.Resource, t.Generation, t.CNF
		if w.value != nil {
			value[i] = &w.value.Digest
		}
	}
	return arrays(digest, refresh, grantID, applicationID, scope, issuedAt, expiresAt, chargedTo, resource, generation,
		cnf, value)
}

// valueArrays has the latest time of the calls, and an array for each column of seen.
func valueArrays(values map[string]*seen) []any {
	digests := slices.Sorted(maps.Keys(values))
	var now int64
	expiresAt, calls := make([]int64, len(digests)), make([]string, len(digests))
	for i, digest := range digests {
		v := values[digest]
		expiresAt[i], calls[i], now = v.ExpiresAt, v.call, max(now, v.Now)
	}
	return append([]any{now}, arrays(digests, expiresAt, calls)...)
}

func arrays(columns ...any) []any {
	for i, column := range columns {
		columns[i] = pq.Array(column)
	}
	return columns
}
