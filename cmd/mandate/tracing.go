package main

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"mandate/cmd/mandate/config"
	"mandate/cmd/mandate/telemetry"
	"mandate/provider"
	"mandate/storage"
)

// tracing reads the environment variables of OpenTelemetry, which are the same for
// every program.
func (p *program) tracing(ctx context.Context, log *slog.Logger) (*telemetry.Tracing, error) {
	return telemetry.NewTracing(ctx, func(name string) string { return config.Lookup(p.environ, name) }, programVersion(), log)
}

func closeTracing(ctx context.Context, t *telemetry.Tracing, log *slog.Logger) {
	if t == nil {
		return
	}
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer stop()
	err := t.Close(wait)
	if err != nil {
		log.Warn("the last traces were not sent", "error", err)
	}
}

// traceCalls adds traces of SQL statements and outbound requests, if tracing is on.
func (o *opened) traceCalls(c provider.Config) provider.Config {
	if o.tracing != nil {
		o.store.Trace(o.tracing.Statements(databaseSystem(o.store)))
		c.TraceOutbound = o.tracing.Calls
	}
	return c
}

// databaseSystem is the name of the database in OpenTelemetry's conventions.
func databaseSystem(s *storage.Store) string {
	if s.Embedded() {
		return "sqlite"
	}
	return "postgresql"
}

func (o *opened) traced(transport http.RoundTripper) http.RoundTripper {
	if o.tracing == nil {
		return transport
	}
	return o.tracing.PropagateTrace(transport)
}
