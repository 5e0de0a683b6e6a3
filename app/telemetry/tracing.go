package telemetry

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mandate/handlers/request"
)

// Tracing sends spans to the endpoint that the environment variables of
// OpenTelemetry name. It keeps its span in the context under a key of its own: the
// OAuth framework creates spans of its own if it finds one there, and copies data
// from requests into them.
type Tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	w3c      propagation.TraceContext
}

const (
	maxAnswer = 64 << 10 // the largest response of a collector in bytes; a longer one is an error
	maxError  = 1000     // the longest text of an error in the log, in bytes
)

// NewTracing reads OTEL_TRACES_EXPORTER and related variables with lookup; the
// library reads the others. It returns nil if tracing is not enabled.
func NewTracing(ctx context.Context, lookup func(string) string, version string, log *slog.Logger) (*Tracing, error) {
	on, err := wanted(lookup)
	if err != nil || !on {
		return nil, err
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithMaxResponseSize(maxAnswer)) // it does not connect yet
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	// Attributes from the environment come later, and override these.
	described, err := resource.New(
		ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "mandate"), attribute.String("service.version", version)),
		resource.WithFromEnv(),
	)
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	made := sdktrace.NewTracerProvider(sdktrace.WithBatcher(reporting{exporter, log}), sdktrace.WithResource(described))
	return &Tracing{provider: made, tracer: made.Tracer("mandate", trace.WithInstrumentationVersion(version))}, nil
}

// reporting writes the errors of an exporter to a log. The library has one handler of errors for the whole process,
// where there may be several servers.
type reporting struct {
	sdktrace.SpanExporter
	log *slog.Logger
}

func (r reporting) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := r.SpanExporter.ExportSpans(ctx, spans)
	if err != nil {
		r.log.Warn("traces were not sent", "error", shortened(err))
	}
	return nil
}

// wanted is false unless an endpoint or an exporter is set. An exporter or a
// protocol that this program does not support is an error, since its traces would
// be missing.
func wanted(lookup func(string) string) (bool, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if value := strings.TrimSpace(lookup(name)); value != "" {
				return value
			}
		}
		return ""
	}
	exporter := first("OTEL_TRACES_EXPORTER")
	endpoint := first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
	protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	switch {
	case strings.EqualFold(first("OTEL_SDK_DISABLED"), "true"), exporter == "none", exporter == "" && endpoint == "":
		return false, nil
	case exporter != "" && exporter != "otlp":
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER: the exporter %q is not supported, only otlp and none", exporter)
	case protocol != "" && protocol != "http/protobuf":
		return false, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL: the protocol %q is not supported, only http/protobuf", protocol,
		)
	}
	return true, nil
}

// shortened is the text of an error, which may contain a whole response of a
// collector.
func shortened(err error) string {
	text := err.Error()
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "") + "..."
	}
	return text
}

// Close sends the remaining spans.
func (t *Tracing) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

type spanKey struct{}

// spanOf is the current span, or nil.
func spanOf(ctx context.Context) trace.Span {
	span, _ := ctx.Value(spanKey{}).(trace.Span)
	return span
}

// start begins a span, as a child of the current one if there is one.
func (t *Tracing) start(
	ctx context.Context,
	name string,
	kind trace.SpanKind,
	attributes ...attribute.KeyValue,
) (context.Context, trace.Span) {
	parent := context.Background()
	if above := spanOf(ctx); above != nil {
		parent = trace.ContextWithSpan(parent, above)
	}
	_, span := t.tracer.Start(parent, name, trace.WithSpanKind(kind), trace.WithAttributes(attributes...))
	return context.WithValue(ctx, spanKey{}, span), span
}

// Begin begins the span of a request, for request.Watch. It continues the trace of
// the caller (W3C Trace Context). OTEL_TRACES_SAMPLER decides whether the caller
// chooses what is sampled.
func (t *Tracing) Begin(r *http.Request) (context.Context, string, func(request.Seen)) {
	method := methods[place(methods[:], r.Method)]
	caller := t.w3c.Extract(context.Background(), propagation.HeaderCarrier(r.Header))
	_, span := t.tracer.Start(
		caller, method, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", method)),
	)
	end := func(seen request.Seen) {
		span.SetName(method + " " + seen.Route)
		span.SetAttributes(
			attribute.String("http.route", seen.Route), attribute.Int("http.response.status_code", seen.Status),
			attribute.String("mandate.request", seen.ID),
		)
		if seen.Grant != "" {
			span.SetAttributes(attribute.String("mandate.grant_type", seen.Grant))
		}
		if seen.Outcome != "" {
			span.SetAttributes(attribute.String("mandate.outcome", seen.Outcome))
		}
		if seen.Status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
	return context.WithValue(r.Context(), spanKey{}, span), span.SpanContext().TraceID().String(), end
}
