package mandate

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// balancer sends each request to the next node that is ready. It repeats a request only
// if no connection was established, so that no node has received it (RFC 9110 §9.2.2: a
// request that is not idempotent is not repeated).
type balancer struct {
	nodes []*server
	ready []atomic.Bool
	next  atomic.Int64
	again atomic.Int64 // requests that went to another node
}

func newBalancer(t testing.TB, nodes ...*server) (*balancer, string) {
	t.Helper()
	b := &balancer{nodes: nodes, ready: make([]atomic.Bool, len(nodes))}
	stop := make(chan struct{})
	var watchers sync.WaitGroup
	for i, n := range nodes {
		b.ready[i].Store(true)
		watchers.Go(func() {
			for !ended(stop) {
				a, err := n.tryGet("/readyz", nobody)
				b.ready[i].Store(err == nil && a.Status == http.StatusOK)
				time.Sleep(10 * time.Millisecond)
			}
		})
	}
	front := httptest.NewServer(b)
	t.Cleanup(func() { front.Close(); close(stop); watchers.Wait() })
	return b, front.URL
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	first := int(b.next.Add(1))
	for try := range 2 * len(b.nodes) {
		i := (first + try) % len(b.nodes)
		if !b.ready[i].Load() && try < len(b.nodes) {
			continue
		}
		answer, err := b.pass(b.nodes[i], r, body)
		if o, ok := errors.AsType[*net.OpError](err); ok && o.Op == "dial" {
			b.again.Add(1)
			continue
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		w.WriteHeader(answer.Status)
		_, _ = io.WriteString(w, answer.Body)
		return
	}
	http.Error(w, "no node is there", http.StatusBadGateway)
}

// pass sends a request on a new connection.
func (b *balancer) pass(n *server, r *http.Request, body []byte) (answer, error) {
	out, err := http.NewRequest(r.Method, n.URL+r.URL.RequestURI(), nil)
	if err != nil {
		return answer{}, err
	}
	out.Header, out.Close = r.Header.Clone(), true
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return n.do(out)
}

// TestRollingRestart: nodes are restarted one after the other, and no request fails.
func TestRollingRestart(t *testing.T) {
	c := newCluster(t, options{database: newPostgres(t),
		settings: []string{"LOG_LEVEL: warn", "SHUTDOWN_DELAY_SECONDS: 1"}})
	c.web = c.client(t)
	c.other = c.node(t)
	b, front := newBalancer(t, c.server, c.other)
	through := &server{URL: front, secrets: c.secrets,
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}

	var good atomic.Int64
	stop := make(chan struct{})
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for !ended(stop) {
				a, err := through.tryPost("/o/token/", c.web.auth(), params("grant_type", "client_credentials", "scope", "read"))
				if err == nil && a.Status == http.StatusOK {
					token := c.granted(a).AccessToken
					a, err = through.tryPost("/o/introspect/", c.asker.auth(), params("token", token))
				}
				if err != nil || a.Status != http.StatusOK || a.Body == `{"active":false}` {
					t.Errorf("a request is lost: %v, %d %s", err, a.Status, a.Body)
					return
				}
				good.Add(2)
			}
		})
	}
	for range 2 {
		for i, n := range b.nodes {
			from := good.Load()
			waitFor(t, "there is load", func() bool { return good.Load() > from+400 || t.Failed() })
			n.process.end()
			<-n.process.exited
			if code := n.process.code; code != 0 {
				t.Errorf("it exited with %d", code)
			}
			from = good.Load()
			waitFor(t, "the other one serves", func() bool { return good.Load() > from+400 || t.Failed() })
			n.start(t)
			waitFor(t, "it is in again", func() bool { return b.ready[i].Load() })
		}
	}
	close(stop)
	group.Wait()
	t.Logf("%d requests answered; %d found a door closed and went to the other node", good.Load(), b.again.Load())
}
