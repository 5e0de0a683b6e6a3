package request

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"mandate/provider/mtls"
	"mandate/provider/origin"
)

// Observe wraps the router. It sets the limits, writes the log line, and answers if
// a handler panics.
func (o *Observer) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &Record{id: o.newID(r), began: time.Now(), route: unmatched, seen: o.unmatched, Fail: o.config.Fail}
		rec.origin = origin.Origin{Actor: origin.Actor{Kind: origin.Nobody}, Address: o.Address(r), UserAgent: r.UserAgent()}
		o.lookAtProxy(r)
		bounded := &lazyDeadline{Context: r.Context(), rec: rec}
		defer bounded.end()
		r = r.WithContext(bounded)
		if o.config.CertificateHeader != "" || r.TLS != nil && len(r.TLS.PeerCertificates) > 0 {
			sent, source := r, mtls.Source{Header: o.config.CertificateHeader, Proxies: o.config.TrustedProxies}
			r = r.WithContext(mtls.With(bounded, func() (*mtls.Certificate, error) { return source.Of(sent) }))
		}
		// The reader gets net/http's own writer. It then closes the connection if
		// the body is too large.
		r.Body = http.MaxBytesReader(w, r.Body, o.config.MaxBodyBytes)
		w.Header().Set("X-Request-Id", rec.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if o.config.OnlyHTTPS {
			// RFC 6797 §7.1.
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		out := &response{ResponseWriter: w}
		if o.config.Watch.Begin != nil {
			var ctx context.Context
			ctx, rec.trace, rec.end = o.config.Watch.Begin(r)
			r = r.WithContext(ctx)
		}
		defer o.report(out, r, rec)
		defer survive(out, r, rec)
		next.ServeHTTP(out, r)
	})
}

// survive answers the request if its handler panicked.
func survive(w *response, r *http.Request, rec *Record) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler {
		err := fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		if w.status == 0 {
			rec.Fail(w, r, err)
			return
		}
		Note(r.Context(), "error", err.Error())
		Outcome(r.Context(), "server_error")
	}
	// A part of the response is already sent. Abort the connection, so that the
	// client does not take that part for the whole response.
	Note(r.Context(), "aborted", true)
	panic(http.ErrAbortHandler)
}

// report updates the metrics, ends the trace and writes the log line.
func (o *Observer) report(w *response, r *http.Request, rec *Record) {
	seen := rec.sum(w, r)
	if rec.seen != nil {
		rec.seen(seen)
	}
	if rec.end != nil {
		rec.end(seen)
	}
	level := slog.LevelInfo
	switch {
	case seen.Status >= http.StatusInternalServerError:
		level = slog.LevelError
	case rec.Quiet:
		level = slog.LevelDebug
	}
	address := rec.origin.Address
	if !o.admit(r.Context(), &o.refusals, isRefusal(seen.Status), rec, seen.Status) {
		return
	}
	// Whoever sends an invented token to an API causes a request of the API to this server.
	if !o.admit(r.Context(), &o.inactive, seen.Outcome == inactive, rec, seen.Status) {
		return
	}
	attrs := append(seen.attrs(), slog.String("address", address))
	if rec.trace != "" {
		attrs = append(attrs, slog.String("trace", rec.trace))
	}
	attrs = append(attrs, rec.noted...)
	o.config.Log.LogAttrs(r.Context(), level, "request", attrs...)
}

// admit reports whether a request gets its log line within a limit, if the limit concerns it.
func (o *Observer) admit(ctx context.Context, limit *refusals, concerned bool, rec *Record, status int) bool {
	limit.roll(ctx, o.config.Log, concerned)
	return !concerned || rec.Quiet || limit.admit(rec.origin.Address, status)
}

// response records the status.
type response struct {
	http.ResponseWriter
	status int
}

// Status returns the status that a request has been answered with so far. 0: there is none yet.
func Status(w http.ResponseWriter) int {
	known, ok := w.(*response)
	if !ok {
		return 0
	}
	return known.status
}

func (w *response) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *response) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is used by http.ResponseController.
func (w *response) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// newID returns the ID that a trusted proxy has given to the request, so that the
// logs of both can be compared. It ignores an ID from anybody else and creates one.
func (o *Observer) newID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	odd := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("-_.", c)
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, odd) || !o.trusts(peer(r)) {
		return rand.Text()
	}
	return id
}

// sum describes the request after it has ended.
func (rec *Record) sum(w *response, r *http.Request) Seen {
	status := w.status
	switch {
	case status >= http.StatusInternalServerError && errors.Is(r.Context().Err(), context.Canceled):
		status = clientGone // no operator needs to act on it
	case status == 0:
		status = http.StatusOK
	}
	return Seen{ID: rec.id, Route: rec.route, Method: r.Method, Status: status, Took: time.Since(rec.began),
		Grant: rec.Grant, Outcome: rec.outcome}
}

// lookAtProxy warns of a proxy that is not trusted. Without the header it costs nothing.
func (o *Observer) lookAtProxy(r *http.Request) {
	if len(r.Header["X-Forwarded-For"]) == 0 {
		return
	}
	at := peer(r)
	if at.IsValid() && !o.trusts(at) {
		o.untrusted.warn(at, o.config.Log, ignored)
	}
}
