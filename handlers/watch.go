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

// Watch is who is told of requests, to count and to trace them. What is nil is
// not called.
type Watch struct {
	// Route is told of each route when the routes are made. What it gives is told
	// of each request there, and must be quick.
	Route func(pattern string) func(Seen)
	// Begin is told of a request that has come. It gives the request's context,
	// the name of its trace, and who is told of its end.
	Begin func(r *http.Request) (context.Context, string, func(Seen))
}

// Seen is what became of a request.
type Seen struct {
	ID      string
	Route   string // its pattern, never the path: that may hold anything
	Method  string
	Status  int
	Took    time.Duration
	Grant   string // at the token endpoint: a grant type, or otherGrant
	Outcome string // ok, active, inactive, or the code of the error; empty at most pages
}

const (
	unmatched  = "unmatched" // the route of what has none
	otherGrant = "other"

	// clientGone is nginx's number for a client that did not wait for the answer.
	clientGone = 499
)

// sum is taken when all is over.
func (rec *record) sum(w *response, r *http.Request) Seen {
	status := w.status
	switch {
	case status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled):
		status = clientGone // nobody needs to look after it
	case status == 0:
		status = http.StatusOK
	}
	return Seen{ID: rec.id, Route: rec.route, Method: r.Method, Status: status, Took: time.Since(rec.began), Grant: rec.grant, Outcome: rec.outcome}
}

// attrs begin the log line.
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

// watched is a route whose requests are told of under its pattern.
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

// ended notes how a request went, in a word.
func ended(ctx context.Context, outcome string) { recordOf(ctx).outcome = outcome }

// grantOf gives the grant type, if it is one: the line of a log and the name of
// a counter are no place for what a client made up.
func grantOf(r *http.Request) string {
	switch asked := r.PostForm.Get("grant_type"); asked {
	case provider.GrantCode, provider.GrantClient, provider.GrantPassword, provider.GrantRefresh:
		return asked
	}
	return otherGrant
}
