package app

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"mandate/app/httpserve"
	"mandate/handlers"
	"mandate/handlers/request"
)

// opsPatience is long because a profile is sent when it is complete, after the time
// that the request asks for.
const opsPatience = 5 * time.Minute

// serveOps serves OPS_LISTEN until the returned function is called. That is after
// the last request of the other listener, so that a node can be observed while it
// stops.
func (p Process) serveOps(listener net.Listener, ops handlers.Ops) func() {
	log := ops.Log
	server := httpserve.New(handlers.NewOps(ops), log, opsPatience)
	go func() {
		err := server.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics are no longer served", "error", err)
		}
	}()
	fmt.Fprintf(p.Stdout, "Health, readiness and metrics are at %s\n", httpserve.Place(listener))
	return func() { server.Close() }
}

// watch is what the handlers report to metrics and traces.
func (a *App) watch() request.Watch {
	var w request.Watch
	if a.metrics != nil {
		w.Route = a.metrics.Route
	}
	if a.tracing != nil {
		w.Begin = a.tracing.Begin
	}
	return w
}
