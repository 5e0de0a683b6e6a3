package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"mandate/cmd/mandate/telemetry"
	"mandate/handlers"
	"mandate/provider"
	"mandate/storage"
)

// A profile is taken for as long as somebody asks, and answered at its end.
const opsPatience = 5 * time.Minute

// serveOps answers at OPS_LISTEN until the function that it gives is called:
// that is after the last request, so that a node that stops can be watched.
func (p *program) serveOps(c *Config, ops handlers.Ops, log *slog.Logger) (func(), error) {
	listener, err := listen(c.OpsListen, "OPS_LISTEN")
	if err != nil {
		return nil, err
	}
	ops.Pprof, ops.Log = c.OpsPprof, log
	server := httpServer(handlers.NewOps(ops), log, opsPatience)
	go func() {
		err := server.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics are not answered any more", "error", err)
		}
	}()
	fmt.Fprintf(p.stdout, "Health, readiness and metrics are at http://%s\n", listener.Addr())
	return func() { server.Close() }, nil
}

// tracing is by OpenTelemetry's variables, as every program has them: they are
// no settings of ours.
func (p *program) tracing(ctx context.Context, log *slog.Logger) (*telemetry.Tracing, error) {
	return telemetry.NewTracing(ctx, func(name string) string { return lookup(p.environ, name) }, programVersion(), log)
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

// watch is what the handlers are to tell.
func (o *opened) watch() handlers.Watch {
	var w handlers.Watch
	if o.metrics != nil {
		w.Route = o.metrics.Route
	}
	if o.tracing != nil {
		w.Begin = o.tracing.Begin
	}
	return w
}

// traceCalls has statements and calls to others traced, if anything is.
func (o *opened) traceCalls(c provider.Config) provider.Config {
	if o.tracing != nil {
		o.store.Trace(o.tracing.Statements(databaseSystem(o.store)))
		c.TraceOutbound = o.tracing.Calls
	}
	return c
}

// databaseSystem is OpenTelemetry's word for it.
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
	return o.tracing.OwnCalls(transport)
}
