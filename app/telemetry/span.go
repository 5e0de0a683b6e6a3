package telemetry

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"mandate/storage"
)

// Statements traces the SQL statements of requests and of calls. Statements of
// background work, such as the clean-up, are not traced.
func (t *Tracing) Statements(system string) storage.Tracer {
	return func(ctx context.Context, statement string) (context.Context, func(error)) {
		above := spanOf(ctx)
		if above == nil || !above.IsRecording() {
			return ctx, func(error) {}
		}
		ctx, span := t.start(
			ctx, statementName(statement), trace.SpanKindClient, attribute.String("db.system.name", system),
			attribute.String("db.query.text", strings.Join(strings.Fields(statement), " ")),
		)
		return ctx, func(err error) {
			if word := failure(err); word != "" {
				span.SetAttributes(attribute.String("error.type", word))
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}
	}
}

// statementName is the verb and the table of a statement.
func statementName(statement string) string {
	words := strings.Fields(statement)
	for i, word := range words {
		switch strings.TrimLeft(word, "(") {
		case "FROM", "INTO", "UPDATE":
			if i+1 < len(words) && !strings.HasPrefix(words[i+1], "(") {
				return words[0] + " " + words[i+1]
			}
		}
	}
	return words[0]
}

// failure is a word for an error, whose text may contain data from a request. A row
// that is missing or already used is no error.
func failure(err error) string {
	switch {
	case err == nil, errors.Is(
		err, storage.ErrNotFound,
	), errors.Is(err, storage.ErrSpent), errors.Is(err, storage.ErrConflict):
		return ""
	case errors.Is(err, storage.ErrBusy):
		return "busy"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "database"
}

// Calls traces HTTP calls. Of a registered URL the span shows the host only: the
// rest may contain a secret.
func (t *Tracing) Calls(next http.RoundTripper) http.RoundTripper { return &calls{t, next, false} }

// PropagateTrace also sends the trace context to the called server.
func (t *Tracing) PropagateTrace(next http.RoundTripper) http.RoundTripper {
	return &calls{t, next, true}
}

type calls struct {
	tracing *Tracing
	next    http.RoundTripper
	tell    bool
}

func (c *calls) RoundTrip(r *http.Request) (*http.Response, error) {
	method := methods[place(methods[:], r.Method)]
	ctx, span := c.tracing.start(
		r.Context(), method, trace.SpanKindClient, attribute.String("http.request.method", method),
		attribute.String("server.address", r.URL.Hostname()),
	)
	defer span.End()
	r = r.Clone(ctx)
	if c.tell {
		c.tracing.w3c.Inject(trace.ContextWithSpan(ctx, span), propagation.HeaderCarrier(r.Header))
	}
	response, err := c.next.RoundTrip(r)
	if err != nil {
		span.SetStatus(codes.Error, "")
		return nil, err
	}
	span.SetAttributes(attribute.Int("http.response.status_code", response.StatusCode))
	if response.StatusCode >= http.StatusBadRequest {
		span.SetStatus(codes.Error, "")
	}
	return response, nil
}
