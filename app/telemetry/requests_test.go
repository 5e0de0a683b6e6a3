package telemetry

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"mandate/handlers/request"
	"mandate/provider/policy"
)

// Counting adds far less than a microsecond to a request, and allocates no memory.
func BenchmarkSeen(b *testing.B) {
	seen := request.Seen{
		Route:   "/o/token/",
		Method:  "POST",
		Status:  200,
		Took:    400 * time.Microsecond,
		Grant:   "client_credentials",
		Outcome: "ok",
	}
	told := newRequests().route(seen.Route)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			told(seen)
		}
	})
}

// Each grant type of the token endpoint has series of its own, and each outcome too.
func TestTokenRequestsAreCountedByGrantAndOutcome(t *testing.T) {
	r := newRequests()
	count := r.route("/o/token/")
	for _, grant := range append(policy.TokenGrants(), "other", "surprising") {
		count(request.Seen{Route: "/o/token/", Grant: grant, Outcome: "ok"})
		count(request.Seen{Route: "/o/token/", Grant: grant, Outcome: "surprising"})
	}
	for _, grant := range append(policy.TokenGrants(), "other") {
		want := 1.
		if grant == "other" {
			want = 2
		}
		for _, outcome := range []string{"ok", "other"} {
			if got := value(t, r.tokens.WithLabelValues(grant, outcome)); got != want {
				t.Errorf("%s, %s: %v, want %v", grant, outcome, got, want)
			}
		}
		if got := value(t, r.tokens.WithLabelValues(grant, "invalid_grant")); got != 0 {
			t.Errorf("%s, invalid_grant: %v", grant, got)
		}
	}
}

func value(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	err := c.Write(&m)
	if err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}
