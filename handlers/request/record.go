package request

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"mandate/provider/origin"
)

// Record collects what is known about a request while it is handled. Only one
// goroutine at a time uses it.
type Record struct {
	Grant string // at the token endpoint: the grant type
	// Quiet lowers the level of the log line to debug.
	Quiet bool
	// Counts means that something was stored, so that the form counts even if its answer is an error.
	Counts bool
	Fail   Failure // writes an error in the format of the route
	// Session keeps what the handlers know of the session, so that they look it up
	// once per request.
	Session any
	// Language keeps the language of the page likewise.
	Language any

	id      string
	origin  origin.Origin
	began   time.Time
	trace   string     // the trace ID, empty without tracing
	end     func(Seen) // ends the trace
	seen    func(Seen) // updates the metrics of the route
	route   string
	outcome string
	noted   []slog.Attr
}

// Failure writes an error in the format that the caller expects.
type Failure func(w http.ResponseWriter, r *http.Request, err error)

type recordKey struct{}

// RecordOf returns the record of the request. A context that belongs to no request
// has an empty record.
func RecordOf(ctx context.Context) *Record {
	rec, ok := ctx.Value(recordKey{}).(*Record)
	if !ok {
		return &Record{}
	}
	return rec
}

// ID returns the ID under which the log has the request.
func ID(r *http.Request) string { return RecordOf(r.Context()).id }

// Note adds an attribute to the request's log line. The value is never a secret, a
// code, a token, a query or a form.
func Note(ctx context.Context, key string, value any) {
	if value == "" || value == nil {
		return
	}
	rec := RecordOf(ctx)
	for i, attr := range rec.noted {
		if attr.Key == key {
			rec.noted[i].Value = slog.AnyValue(value)
			return
		}
	}
	rec.noted = append(rec.noted, slog.Any(key, value))
}

// inactive is the outcome of a request about a token that is not active.
const inactive = "inactive"

// Inactive records that the request was about a token that is not active. The log lines of such
// requests are limited, because strangers can cause them: they invent tokens.
func Inactive(ctx context.Context) { Outcome(ctx, inactive) }

// Outcome records the outcome of the request in one word.
func Outcome(ctx context.Context, outcome string) { RecordOf(ctx).outcome = outcome }
