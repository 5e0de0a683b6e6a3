package mandate

import (
	crand "crypto/rand"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// A flood of invented URLs, whose host never answers: other requests are answered, approved
// clients still get their documents, and nothing is stored.
func TestDocumentFlood(t *testing.T) {
	ownProcesses(t)
	h := newDocumentHost(t)
	v := newFixture(t, h.options(options{}))
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	alice := v.signedIn(t, v.alice)
	app := h.client("/approved", agentURI, nil)
	token := alice.family(t, app, v.alice).AccessToken
	before := v.rows(t)

	var statuses sync.Map
	refused := func() bool {
		_, busy := statuses.Load(http.StatusTooManyRequests)
		return busy
	}
	flood := func(until <-chan struct{}) {
		for n := 0; ; n++ {
			select {
			case <-until:
				return
			case <-time.After(10 * time.Millisecond):
			}
			go func() {
				address, _ := v.authorizeURL(application{ClientID: fmt.Sprintf("https://%s/%s", silent.Addr(), crand.Text()),
					RedirectURI: agentURI})
				request, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
				if err != nil {
					t.Error(err)
					return
				}
				afar(nobody)(request, nil)
				a, err := v.do(request)
				if err == nil {
					statuses.Store(a.Status, true)
				}
			}()
		}
	}
	until := make(chan struct{})
	var running sync.WaitGroup
	for range 2 {
		running.Go(func() { flood(until) })
	}
	// The benchmark measures how long other requests take. Here each must succeed.
	waitFor(t, "a request is refused because of too many fetches", func() bool {
		if !v.active(t, v.asker.auth(), token) {
			t.Error("a live token is not active")
		}
		return refused()
	})
	close(until)
	running.Wait()
	// The document of an approved client has a place of its own, although another URL does not.
	two := v.node(t)
	address, _ := two.authorizeURL(app)
	if a := two.get(t, strings.TrimPrefix(address, two.URL), nobody); a.Status != http.StatusSeeOther {
		t.Errorf("an approved client is answered with %d", a.Status)
	}
	if after := v.rows(t); after != before {
		t.Errorf("the flood changed the tables: %s, before %s", after, before)
	}
}

// rows returns how many rows the tables have that a flood could fill.
func (v *fixture) rows(t testing.TB) string {
	t.Helper()
	pool := v.database.open(t)
	var counts []string
	for _, table := range []string{"applications", "grants", "tokens", "consents", "sessions"} {
		var n int
		err := pool.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		counts = append(counts, fmt.Sprint(table, " ", n))
	}
	return strings.Join(counts, ", ")
}
