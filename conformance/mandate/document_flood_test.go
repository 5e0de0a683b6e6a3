package mandate

import (
	crand "crypto/rand"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// A flood of invented URLs, whose host never answers: other requests are as fast as before,
// approved clients still get their documents, and nothing is stored.
func TestDocumentFlood(t *testing.T) {
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

	// ask introspects on several connections, and returns the 99th percentile of the latencies.
	ask := func() time.Duration {
		var asking sync.WaitGroup
		took := make([][]time.Duration, 8)
		for i := range took {
			asking.Go(func() {
				for end := time.Now().Add(time.Second); time.Now().Before(end); {
					began := time.Now()
					a, err := v.tryPost("/o/introspect/", v.asker.auth(), params("token", token))
					if err != nil || a.Status != http.StatusOK {
						t.Error(a.Status, err)
						return
					}
					took[i] = append(took[i], time.Since(began))
				}
			})
		}
		asking.Wait()
		all := slices.Sorted(slices.Values(slices.Concat(took...)))
		return all[len(all)*99/100]
	}
	var statuses sync.Map
	flood := func(until <-chan struct{}) {
		for n := 0; ; n++ {
			select {
			case <-until:
				return
			case <-time.After(10 * time.Millisecond):
			}
			go func() {
				address, _ := v.authorizeURL(application{ClientID: fmt.Sprintf("https://%s/%s", silent.Addr(), crand.Text()), RedirectURI: agentURI})
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
	quiet, flooded := time.Hour, time.Hour
	for range 5 {
		quiet = min(quiet, ask())
		until := make(chan struct{})
		var running sync.WaitGroup
		for range 2 {
			running.Go(func() { flood(until) })
		}
		flooded = min(flooded, ask())
		close(until)
		running.Wait()
	}
	t.Logf("p99 of introspection: %s, during the flood %s", quiet, flooded)
	if flooded >= 2*quiet {
		t.Errorf("p99 of introspection: %s, during the flood %s, want less than twice", quiet, flooded)
	}
	if _, busy := statuses.Load(http.StatusTooManyRequests); !busy {
		t.Error("no request was refused because of too many fetches")
	}
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
