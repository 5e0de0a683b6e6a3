package mandate

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mandate/storage/postgrestest"
)

// The PostgreSQL primary fails, and a standby with all confirmed commits replaces it.

// switched records what the clients of a cluster observed during a failover.
type switched struct {
	mu       sync.Mutex
	access   []string // tokens that clients received
	good     map[*server][]time.Time
	failed   []failure
	relogins int // token families that a client could not refresh
}

type failure struct {
	at   time.Time
	what string
}

func (s *switched) answered(node *server, token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access = append(s.access, token)
	s.good[node] = append(s.good[node], time.Now())
}

func (s *switched) counts() (good, failed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.access), len(s.failed)
}

func (s *switched) fails(a answer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	what := fmt.Sprint(err)
	if err == nil {
		what = fmt.Sprintf("%d %s", a.Status, a.Body)
		// RFC 9110 §15.6.4: 503 is temporary, and Retry-After says when to try again.
		if a.Status == http.StatusServiceUnavailable && a.Header.Get("Retry-After") != "" {
			what = ""
		}
	}
	s.failed = append(s.failed, failure{time.Now(), what})
}

// foundIn is much shorter than the 20 seconds after which a silent server is abandoned.
const foundIn = 10 * time.Second

// TestFailover prints its measurements with -v.
func TestFailover(t *testing.T) {
	primary := postgrestest.New(t)
	address := primary.URL(t)
	standby := primary.Standby(t)
	// A client without the answer to a refresh repeats the request, and gets the answer
	// within the grace period.
	c := newCluster(t, options{database: database{name: "postgres", url: primary.Both(t, address, standby)},
		settings: []string{"LOG_LEVEL: warn"}, provider: []string{"REFRESH_TOKEN_GRACE_PERIOD_SECONDS: 60"}})
	c.other = c.node(t)
	nodes := []*server{c.server, c.other}
	c.web = c.client(t)

	s := &switched{good: map[*server][]time.Time{}}
	stop := make(chan struct{})
	var group sync.WaitGroup
	for i := range 4 {
		group.Go(func() { c.issues(s, nodes[i%2], stop) })
		family := c.signedIn(t, c.admin).family(t, c.web, c.admin, "scope", "read").RefreshToken
		group.Go(func() { c.refreshes(s, nodes, family, stop) })
	}
	waitFor(t, "there is load", func() bool { good, _ := s.counts(); return good > 1000 })
	before, _ := s.counts()
	killed := time.Now()
	primary.Kill(t)
	// A failover manager needs some time to detect the failure.
	waitFor(t, "the loss is felt", func() bool { _, failed := s.counts(); return failed > 20 })
	standby.Promote(t)
	promoted := time.Now()
	now, _ := s.counts()
	waitFor(t, "there is load on the other server", func() bool { good, _ := s.counts(); return good > now+1000 })
	close(stop)
	group.Wait()

	t.Logf("%d tokens answered, %d of them after the kill; %d requests failed; %d families ended", len(s.access),
		len(s.access)-before, len(s.failed), s.relogins)
	t.Logf("the standby was promoted %v after the primary was killed", promoted.Sub(killed))
	for i, n := range nodes {
		back := firstAfter(s.good[n], promoted)
		t.Logf("node %d answers again %v after the kill, %v after the promotion", i, back.Sub(killed), back.Sub(promoted))
		if back.IsZero() || back.Sub(promoted) > foundIn {
			t.Errorf("node %d does not find the new server", i)
		}
	}
	for _, f := range s.failed {
		if f.what != "" || f.at.Before(killed) || f.at.Sub(promoted) > foundIn {
			t.Errorf("%v after the kill: failed, %s", f.at.Sub(killed), f.what)
		}
	}
	if s.relogins > 0 {
		t.Errorf("%d clients could not go on", s.relogins)
	}
	var lost atomic.Int64
	for i := range 8 {
		group.Go(func() {
			for n := i; n < len(s.access); n += 8 {
				a, err := nodes[n%2].tryPost("/o/introspect/", c.asker.auth(), params("token", s.access[n]))
				if err != nil || a.Status != http.StatusOK || !strings.Contains(a.Body, `"active":true`) {
					lost.Add(1)
				}
			}
		})
	}
	group.Wait()
	if lost.Load() > 0 {
		t.Errorf("%d of %d tokens that were answered are lost", lost.Load(), len(s.access))
	}
	t.Run("nodes_hear_each_other", func(t *testing.T) { c.hears(t, everyNews[:1]) })
}

func firstAfter(times []time.Time, t time.Time) time.Time {
	for _, one := range times {
		if one.After(t) {
			return one
		}
	}
	return time.Time{}
}

func ended(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// issues requests tokens of the client credentials grant at one node.
func (c *cluster) issues(s *switched, node *server, stop <-chan struct{}) {
	for !ended(stop) {
		a, err := node.tryPost("/o/token/", c.web.auth(), params("grant_type", "client_credentials", "scope", "read"))
		if err != nil || a.Status != http.StatusOK {
			s.fails(a, err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		s.answered(node, c.granted(a).AccessToken)
	}
}

// refreshes refreshes a token family at any node, and repeats requests without an
// answer.
func (c *cluster) refreshes(s *switched, nodes []*server, token string, stop <-chan struct{}) {
	for n := 0; !ended(stop); n++ {
		node := nodes[n%len(nodes)]
		a, err := node.tryPost("/o/token/", c.web.auth(), refreshForm(token))
		switch {
		case err == nil && a.Status == http.StatusOK:
			got := c.granted(a)
			token = got.RefreshToken
			s.answered(node, got.AccessToken)
		case err == nil && a.Status == http.StatusBadRequest:
			s.mu.Lock()
			s.relogins++
			s.mu.Unlock()
			return
		default:
			s.fails(a, err)
			time.Sleep(10 * time.Millisecond)
		}
	}
}
