package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"mandate/cmd/mandate/httpserve"
	"mandate/handlers"
	"mandate/handlers/request"
)

// opsPatience is long because a profile is sent when it is complete, after the time
// that the request asks for.
const opsPatience = 5 * time.Minute

// serveOps serves OPS_LISTEN until the returned function is called. That is after
// the last request of the other listener, so that a node can be observed while it
// stops.
func (p *program) serveOps(listener net.Listener, ops handlers.Ops) func() {
	log := ops.Log
	server := httpserve.New(handlers.NewOps(ops), log, opsPatience)
	go func() {
		err := server.Serve(listener)
		if !errors.Is(err, http.ErrServerClosed) {
			log.Error("health and metrics are no longer served", "error", err)
		}
	}()
	fmt.Fprintf(p.stdout, "Health, readiness and metrics are at %s\n", httpserve.Place(listener))
	return func() { server.Close() }
}

// watch is what the handlers report to metrics and traces.
func (o *opened) watch() request.Watch {
	var w request.Watch
	if o.metrics != nil {
		w.Route = o.metrics.Route
	}
	if o.tracing != nil {
		w.Begin = o.tracing.Begin
	}
	return w
}
