package handlers

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"mandate/provider"
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
	Grant   string // at the token endpoint: a grant type, or otherGrant
	Outcome string // ok, active, inactive, or the code of the error; empty at most pages
}

const (
	unmatched  = "unmatched" // the route of a request that matches none
	otherGrant = "other"

	// clientGone is nginx's status for a client that did not wait for the response.
	clientGone = 499
)

// sum describes the request after it has ended.
func (rec *record) sum(w *response, r *http.Request) Seen {
	status := w.status
	switch {
	case status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled):
		status = clientGone // no operator needs to act on it
	case status == 0:
		status = http.StatusOK
	}
	return Seen{ID: rec.id, Route: rec.route, Method: r.Method, Status: status, Took: time.Since(rec.began), Grant: rec.grant, Outcome: rec.outcome}
}

// attrs returns the first attributes of the log line.
func (s Seen) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 16)
	attrs = append(attrs, slog.String("request", s.ID), slog.String("method", oauth.Clip(s.Method, 16)), slog.String("route", s.Route),
		slog.Int("status", s.Status), slog.Duration("duration", s.Took))
	if s.Grant != "" {
		attrs = append(attrs, slog.String("grant_type", s.Grant))
	}
	if s.Outcome != "" {
		attrs = append(attrs, slog.String("outcome", s.Outcome))
	}
	return attrs
}

// watched adds the pattern of the route to the record of each request.
func (s *server) watched(pattern string, h http.Handler) http.Handler {
	seen := s.watch(pattern)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := recordOf(r.Context())
		rec.route, rec.seen = pattern, seen
		h.ServeHTTP(w, r)
	})
}

func (s *server) watch(pattern string) func(Seen) {
	if s.config.Watch.Route == nil {
		return nil
	}
	return s.config.Watch.Route(pattern)
}

// ended records the outcome of the request in one word.
func ended(ctx context.Context, outcome string) { recordOf(ctx).outcome = outcome }

// grantOf returns the grant type, or otherGrant if it is unknown. A client must not
// be able to put text of its own into the log or into the name of a metric.
func grantOf(r *http.Request) string {
	switch asked := r.PostForm.Get("grant_type"); asked {
	case provider.GrantCode, provider.GrantClient, provider.GrantPassword, provider.GrantRefresh:
		return asked
	}
	return otherGrant
}
