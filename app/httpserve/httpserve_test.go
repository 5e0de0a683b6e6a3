package httpserve

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener without a network, so that the time of a test is virtual.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	once        sync.Once
}

func newPipes() *pipes { return &pipes{connections: make(chan net.Conn), closed: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.connections:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { p.once.Do(func() { close(p.closed) }); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) client() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		p.connections <- server
		return client, nil
	}}}
}

// running runs a server, and returns how to stop it and its result.
func running(l net.Listener, how Stop, handler http.HandlerFunc) (context.CancelFunc, chan error) {
	log := slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	result := make(chan error, 1)
	go func() { result <- Run(ctx, New(handler, log, time.Hour), how, log, l) }()
	return stop, result
}

// After the stop the server accepts requests for the delay, and asks clients to
// leave. A request in progress then has the grace to finish.
func TestRunStops(t *testing.T) {
	for name, test := range map[string]struct {
		takes time.Duration
		runs  time.Duration
		ok    bool
	}{
		"no request in progress":      {0, 10 * time.Second, true},
		"a request ends in the grace": {15 * time.Second, 15 * time.Second, true},
		"a request takes too long":    {time.Minute, 40 * time.Second, false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPipes()
				stop, result := running(p, Stop{
					Delay: 10 * time.Second,
					Grace: 30 * time.Second,
				}, func(_ http.ResponseWriter, r *http.Request) {
					if r.URL.Path == "/slow" {
						select {
						case <-time.After(test.takes):
						case <-r.Context().Done():
						}
					}
				})
				stop()
				begin := time.Now()
				synctest.Wait()
				response, err := p.client().Get("http://server/")
				if err != nil || !response.Close {
					t.Errorf("during the delay: %v, %v", response, err)
				}
				if test.takes > 0 {
					slow := make(chan error, 1)
					go func() {
						response, err := p.client().Get("http://server/slow")
						if err == nil {
							_, err = io.ReadAll(response.Body)
						}
						slow <- err
					}()
					defer func() {
						if err := <-slow; (err == nil) != test.ok {
							t.Errorf("the request in progress: %v", err)
						}
					}()
				}
				err = <-result
				if err != nil {
					t.Error(err)
				}
				// http.Server.Shutdown looks every half second at most.
				if ran := time.Since(begin); ran < test.runs || ran > test.runs+time.Second {
					t.Errorf("the server stopped after %s, want %s", ran, test.runs)
				}
			})
		})
	}
}

func TestRunReportsAListenerThatFails(t *testing.T) {
	p := newPipes()
	p.Close()
	stop, result := running(p, Stop{}, nil)
	defer stop()
	err := <-result
	if !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
}

func TestAddress(t *testing.T) {
	for listen, want := range map[string]string{"127.0.0.1:0": "127.0.0.1", "0.0.0.0:0": "127.0.0.1", ":0": "127.0.0.1"} {
		l, err := Listen(listen, "LISTEN", nil)
		if err != nil {
			t.Fatal(err)
		}
		host, _, err := net.SplitHostPort(Address(l))
		if host != want {
			t.Errorf("%s: %q %v, want %s", listen, host, err, want)
		}
		_, err = Listen(l.Addr().String(), "LISTEN", nil)
		if err == nil {
			t.Errorf("%s can be bound twice", l.Addr())
		}
		l.Close()
	}
}
