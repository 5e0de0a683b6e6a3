package storage

import "context"

// Tracer is called at the start of each statement, with the statement's text; the text
// contains no values. The function that it returns is called with the statement's
// result.
type Tracer func(ctx context.Context, statement string) (context.Context, func(error))

// Trace sets the tracer. Call it before more than one goroutine uses the store.
func (s *Store) Trace(t Tracer) { s.tracer = t }

// transaction is the traced name of a whole transaction. Its statements are traced too.
const transaction = "TRANSACTION"

func (s *Store) begin(ctx context.Context, statement string) (context.Context, func(error)) {
	if s.tracer == nil {
		return ctx, ignore
	}
	return s.tracer(ctx, statement)
}

func ignore(error) {}
