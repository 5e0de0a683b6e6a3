package storage

import "context"

// Tracer is told that a statement begins, by its text, which has no values in
// it; what it gives is told how the statement ended.
type Tracer func(ctx context.Context, statement string) (context.Context, func(error))

// Trace sets who is told of statements, before the store is used by more than
// one goroutine.
func (s *Store) Trace(t Tracer) { s.tracer = t }

// transaction stands for the statements of one, which are told of too.
const transaction = "TRANSACTION"

func (s *Store) begin(ctx context.Context, statement string) (context.Context, func(error)) {
	if s.tracer == nil {
		return ctx, ignore
	}
	return s.tracer(ctx, statement)
}

func ignore(error) {}
