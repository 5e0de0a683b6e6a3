package resource

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// ordinary is the time that the servers of these tests allow for an ordinary answer.
const ordinary = 2 * time.Second

// newStreaming returns a proxy to an upstream that begins a response of this type and ends
// it when finish is closed, and the server in front of the proxy.
func newStreaming(t *testing.T, mediaType string, rule Rule, verifier Verifier, finish chan struct{}) (*Proxy,
	*httptest.Server) {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", mediaType)
		io.WriteString(w, "data: hello\n\n")
		http.NewResponseController(w).Flush()
		select {
		case <-r.Context().Done():
		case <-finish:
			io.WriteString(w, "data: bye\n\n")
		}
	}))
	t.Cleanup(api.Close)
	proxy, err := NewProxy(ProxyConfig{Upstream: parseURL(t, api.URL), Guard: newGuard(t, GuardConfig{Verifier: verifier}),
		Rules: []Rule{rule}, Recheck: 10 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(proxy)
	server.Config.WriteTimeout, server.Config.ReadTimeout = ordinary, ordinary
	server.Start()
	t.Cleanup(server.Close)
	return proxy, server
}

// opens returns an open response, after its first line.
func opens(t *testing.T, server *httptest.Server, method string) *bufio.Reader {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(stop)
	r, err := http.NewRequestWithContext(ctx, method, server.URL+"/mcp",
		strings.NewReader(map[string]string{"POST": "{}"}[method]))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer a")
	resp, err := server.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	reader := bufio.NewReader(resp.Body)
	line, err := reader.ReadString('\n')
	if err != nil || line != "data: hello\n" {
		t.Fatalf("%d: the stream begins with %q, %v", resp.StatusCode, line, err)
	}
	return reader
}

// An event stream ends in order when its token is not accepted any more.
func TestEventStreamEnd(t *testing.T) {
	for _, mediaType := range []string{"text/event-stream", "Text/Event-Stream; charset=utf-8"} {
		for _, method := range []string{"GET", "POST"} {
			t.Run(mediaType+" "+method, func(t *testing.T) {
				t.Parallel()
				var checks atomic.Int32
				_, server := newStreaming(t, mediaType, Rule{Path: "/mcp"},
					verifierFunc(func(context.Context, string) (*Token, error) {
						// Each check comes 10 ms after the one before it, so the last ones come after the
						// time for an ordinary answer.
						if checks.Add(1) > 300 {
							return nil, ErrInactive
						}
						return &Token{}, nil
					}), nil)
				_, err := io.ReadAll(opens(t, server, method))
				if err != nil || checks.Load() <= 300 {
					t.Errorf("the stream ended after %d checks: %v", checks.Load(), err)
				}
			})
		}
	}
}

func TestEventStreamOfExpiredToken(t *testing.T) {
	_, server := newStreaming(t, "text/event-stream", Rule{Path: "/mcp"}, live(time.Now().Add(50*time.Millisecond)), nil)
	_, err := io.ReadAll(opens(t, server, "GET"))
	if err != nil {
		t.Error(err)
	}
}

// A shutdown ends the streams that never end by themselves, and lets answers finish.
func TestEventStreamAtShutdown(t *testing.T) {
	finish := make(chan struct{})
	proxy, server := newStreaming(t, "text/event-stream", Rule{Path: "/mcp", Public: true}, live(time.Time{}), finish)
	stream, answer := opens(t, server, "GET"), opens(t, server, "POST")
	proxy.Close()
	_, err := io.ReadAll(stream)
	if err != nil {
		t.Error(err)
	}
	close(finish)
	rest, err := io.ReadAll(answer)
	if err != nil || !strings.Contains(string(rest), "bye") {
		t.Errorf("the answer ended with %q, %v", rest, err)
	}
}
