package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"time"

	"mandate/cmd/mandate/config"
)

func listen(address, setting string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("%w: change %s, or free that address", err, setting)
	}
	return l, nil
}

// httpServer bounds what one client may hold on to.
func httpServer(handler http.Handler, log *slog.Logger, patience time.Duration) *http.Server {
	return &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       patience,
		WriteTimeout:      patience,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    32 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// serveUntil answers requests until ctx ends and for the delay after it, in which
// clients are asked to come back by another connection; then it lets those in
// flight finish.
func serveUntil(ctx context.Context, server *http.Server, listener net.Listener, settings *config.Config, log *slog.Logger) error {
	next := server.Handler
	server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if ctx.Err() != nil {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	log.Info("shutting down")
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-time.After(settings.ShutdownDelay):
	}
	wait, stop := context.WithTimeout(context.WithoutCancel(ctx), settings.Shutdown)
	defer stop()
	err := server.Shutdown(wait)
	if err != nil {
		log.Warn("some requests were cut off, since they took longer than SHUTDOWN_SECONDS", "error", err)
		server.Close()
	}
	return nil
}

// local is where this machine reaches a listener.
func local(l net.Listener) string {
	at, err := netip.ParseAddrPort(l.Addr().String())
	if err != nil {
		return l.Addr().String()
	}
	if at.Addr().IsUnspecified() {
		at = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), at.Port())
	}
	return at.String()
}
