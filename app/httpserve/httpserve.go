// Package httpserve runs an HTTP server, with TLS or without: it limits what one
// client can occupy, and lets requests in progress finish when the program stops.
package httpserve

import (
	"context"
	"fmt"
	stdlog "log"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// New returns a server that limits the time and the memory that one client can
// occupy. Reading a request takes at most patience, and so does the answer.
func New(handler http.Handler, log *slog.Logger, patience time.Duration) *http.Server {
	return &http.Server{
		Handler:           prompt(handler),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience,
		WriteTimeout:      patience,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 100}, // RFC 9113 §6.5.2 advises no less
		ErrorLog:          stdlog.New(&errorLog{log: log}, "", 0),
	}
}

// Stop says how a server stops.
type Stop struct {
	Delay time.Duration // how long it still accepts connections after it was told to stop
	Grace time.Duration // how long requests in progress have to finish after that
}

// Run answers the requests of all listeners until ctx ends, and for the delay after that. During the
// delay each answer closes its connection, so that clients open the next one
// elsewhere. Then Run waits until the requests in progress are finished.
func Run(ctx context.Context, server *http.Server, how Stop, log *slog.Logger, listeners ...net.Listener) error {
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
	failed := make(chan error, len(listeners))
	for _, l := range listeners {
		go func() { failed <- server.Serve(l) }()
	}
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("shutting down")
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(how.Delay):
	}
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), how.Grace)
	defer stop()
	err := server.Shutdown(wait)
	if err != nil {
		log.Warn("some requests were aborted: they took longer than SHUTDOWN_SECONDS", "error", err)
		server.Close()
	}
	return nil
}
