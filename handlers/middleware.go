package handlers

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"mandate/provider"
)

// record collects what is known about a request while it is handled. Only one
// goroutine at a time uses it.
type record struct {
	id    string
	began time.Time
	trace string     // the trace ID, empty without tracing
	end   func(Seen) // ends the trace
	seen  func(Seen) // updates the metrics of the route
	route string

	grant, outcome string
	noted          []slog.Attr
	level          slog.Level
	fail           failure // writes an error in the format of the route

	// The session is looked up once per request.
	looked   bool
	signedIn *provider.SignedIn
	err      error
}

type recordKey struct{}

func recordOf(ctx context.Context) *record {
	rec, ok := ctx.Value(recordKey{}).(*record)
	if !ok {
		return &record{}
	}
	return rec
}

// note adds an attribute to the request's log line. The value is never a secret, a
// code, a token, a query or a form.
func note(ctx context.Context, key string, value any) {
	if value == "" || value == nil {
		return
	}
	rec := recordOf(ctx)
	for i, attr := range rec.noted {
		if attr.Key == key {
			rec.noted[i].Value = slog.AnyValue(value)
			return
		}
	}
	rec.noted = append(rec.noted, slog.Any(key, value))
}

// requestID returns the ID under which the log has the request.
func requestID(r *http.Request) string { return recordOf(r.Context()).id }

// observe wraps all routes. It sets the limits, writes the log line, and answers if
// a handler panics.
func (s *server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &record{id: s.newRequestID(r), began: time.Now(), route: unmatched, seen: s.nowhere, level: slog.LevelInfo, fail: s.pageError}
		bounded := &patient{Context: r.Context(), rec: rec}
		defer bounded.end()
		r = r.WithContext(bounded)
		// The reader gets net/http's own writer. It then closes the connection if
		// the body is too large.
		r.Body = http.MaxBytesReader(w, r.Body, s.config.MaxBodyBytes)
		w.Header().Set("X-Request-Id", rec.id)
		w.Header().Set("X-Content-Type-Options", "nosniff")
		if s.secure {
			// RFC 6797 §7.1.
			w.Header().Set("Strict-Transport-Security", "max-age=31536000")
		}
		out := &response{ResponseWriter: w}
		if s.config.Watch.Begin != nil {
			var ctx context.Context
			ctx, rec.trace, rec.end = s.config.Watch.Begin(r)
			r = r.WithContext(ctx)
		}
		defer s.report(out, r, rec)
		defer s.survive(out, r, rec)
		next.ServeHTTP(out, r)
	})
}

// survive answers the request if its handler panicked.
func (s *server) survive(w *response, r *http.Request, rec *record) {
	cause := recover()
	if cause == nil {
		return
	}
	if cause != http.ErrAbortHandler {
		e := refusal(r, fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		ended(r.Context(), e.Code)
		if w.status == 0 {
			rec.fail(w, r, e)
			return
		}
	}
	// A part of the response is already sent. Abort the connection, so that the
	// client does not take that part for the whole response.
	note(r.Context(), "aborted", true)
	panic(http.ErrAbortHandler)
}

func (s *server) report(w *response, r *http.Request, rec *record) {
	told := rec.sum(w, r)
	if rec.seen != nil {
		rec.seen(told)
	}
	if rec.end != nil {
		rec.end(told)
	}
	level := rec.level
	if told.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	refused, address := isRefusal(told.Status), s.address(r)
	s.refusals.roll(r.Context(), s.log, refused)
	if refused && !s.refusals.admit(address, told.Status) {
		return
	}
	attrs := append(told.attrs(), slog.String("address", address))
	if rec.trace != "" {
		attrs = append(attrs, slog.String("trace", rec.trace))
	}
	attrs = append(attrs, rec.noted...)
	s.log.LogAttrs(r.Context(), level, "request", attrs...)
}

// response records the status.
type response struct {
	http.ResponseWriter
	status int
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

// newRequestID returns the ID that a trusted proxy has given to the request, so that
// the logs of both can be compared. It ignores an ID from anybody else and creates
// one.
func (s *server) newRequestID(r *http.Request) string {
	id := r.Header.Get("X-Request-Id")
	odd := func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("-_.", c)
	}
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, odd) || !s.trusted(peer(r)) {
		return rand.Text()
	}
	return id
}

// anyOrigin lets scripts of every site read the response. It is for endpoints that
// use no cookie. With the origin * a browser also hides the response to a request
// with cookies from the script (Fetch, CORS check).
func anyOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		h.Set("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After")
		if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
			h.Set("Access-Control-Allow-Methods", "GET, POST")
			h.Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
			h.Set("Access-Control-Max-Age", "7200")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// sameOrigin refuses a form that a page of another site has sent with the person's
// cookies.
func sameOrigin(allowed *http.CrossOriginProtection, h handle) handle {
	return func(w http.ResponseWriter, r *http.Request) error {
		err := allowed.Check(r)
		if err != nil {
			return &provider.Error{Status: http.StatusForbidden, Code: "access_denied",
				Description: "This form was sent from another site, so nothing was done. Open the page here and send it again."}
		}
		return h(w, r)
	}
}
