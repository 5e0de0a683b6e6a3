// Package otelx has what fosite calls of the package of that name in github.com/ory/x, which go.mod replaces by this
// module. docs/decisions.md says why.
package otelx

import (
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// End ends a span when its function returns or panics. The status of the span does not have the text of the error,
// which may repeat what a client has sent.
func End(span trace.Span, err *error) {
	defer span.End()
	if cause := recover(); cause != nil {
		span.SetStatus(codes.Error, "panic")
		panic(cause)
	}
	if err != nil && *err != nil {
		span.SetStatus(codes.Error, "error")
	}
}
