package app

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"mandate/app/config"
	"mandate/app/telemetry"
	"mandate/provider"
	"mandate/storage"
)

// tracing reads the environment variables of OpenTelemetry, which are the same for
// every program.
func (p Process) tracing(ctx context.Context) (*telemetry.Tracing, error) {
	return telemetry.NewTracing(ctx, func(name string) string { return config.Lookup(p.Environ, name) }, p.Version, p.Log)
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
func (a *App) traceCalls(c provider.Config) provider.Config {
	if a.tracing != nil {
		a.Store.Trace(a.tracing.Statements(databaseSystem(a.Store)))
		c.TraceOutbound = a.tracing.Calls
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

func (a *App) traced(transport http.RoundTripper) http.RoundTripper {
	if a.tracing == nil {
		return transport
	}
	return a.tracing.PropagateTrace(transport)
}
