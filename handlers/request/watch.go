package request

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"mandate/provider/oauth"
)

// Watch observes requests, for metrics and traces. A field that is nil is not
// called.
type Watch struct {
	// Route is called once for each route when the routes are made. The function
	// that it returns is called after each request of the route, and must be fast.
	Route func(pattern string) func(Seen)
	// Begin is called when a request arrives. It returns the request's context, its
	// trace ID, and a function that is called at the end of the request.
	Begin func(r *http.Request) (context.Context, string, func(Seen))
}

// Seen describes a request that has ended.
type Seen struct {
	ID      string
	Route   string // its pattern; never the path, which may contain anything
	Method  string
	Status  int
	Took    time.Duration
	Grant   string // at the token endpoint: the grant type
	Outcome string // ok, active, inactive, or the code of the error; empty at most pages
}

const (
	unmatched = "unmatched" // the route of a request that matches none

	// clientGone is nginx's status for a client that did not wait for the response.
	clientGone = 499
)

// attrs returns the first attributes of the log line.
func (s Seen) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("request", s.ID), slog.String("method", oauth.Clip(s.Method, 16)),
		slog.String("route", s.Route),
		slog.Int("status", s.Status), slog.Duration("duration", s.Took))
	if s.Grant != "" {
		attrs = append(attrs, slog.String("grant_type", s.Grant))
	}
	if s.Outcome != "" {
		attrs = append(attrs, slog.String("outcome", s.Outcome))
	}
	return attrs
}
