package telemetry

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"mandate/handlers/request"
	"mandate/provider/policy"
)

// Label values are looked up when a route is registered or first gives such a
// response, not at each request.
type requests struct {
	total, tokens, introspections *prometheus.CounterVec
	duration                      *prometheus.HistogramVec

	granted      [][len(outcomes)]prometheus.Counter // by grant
	introspected [len(verdicts)]prometheus.Counter
}

// The values of labels. The last method, grant and outcome stands for all that the
// list does not contain.
var (
	methods = [...]string{
		http.MethodGet,
		http.MethodPost,
		http.MethodHead,
		http.MethodOptions,
		http.MethodPut,
		http.MethodDelete,
		"other",
	}
	classes  = [...]string{"1xx", "2xx", "3xx", "4xx", "5xx"}
	grants   = append(policy.TokenGrants(), "other")
	outcomes = [...]string{
		"ok",
		"invalid_request",
		"invalid_client",
		"invalid_grant",
		"invalid_scope",
		"unauthorized_client",
		"unsupported_grant_type",
		"authorization_pending",
		"slow_down",
		"access_denied",
		"expired_token",
		"temporarily_unavailable",
		"server_error",
		"other",
	}
	verdicts = [...]string{"active", "inactive", "refused", "failed"}
	buckets  = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
)

func newRequests() *requests {
	r := &requests{
		granted:        make([][len(outcomes)]prometheus.Counter, len(grants)),
		total:          requestsTotal.counters(),
		tokens:         tokenRequests.counters(),
		introspections: introspections.counters(),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    requestDuration.name,
			Help:    requestDuration.help,
			Buckets: buckets,
		}, requestDuration.labels),
	}
	// Each counter exists from the start with the value 0, so that the first event
	// is visible as an increase.
	for i, grant := range grants {
		for j, outcome := range outcomes {
			r.granted[i][j] = r.tokens.WithLabelValues(grant, outcome)
		}
	}
	for i, verdict := range verdicts {
		r.introspected[i] = r.introspections.WithLabelValues(verdict)
	}
	return r
}

// cell counts the requests of a route with one method and one class of status.
type cell struct {
	count prometheus.Counter
	took  prometheus.Observer
}

func (r *requests) route(pattern string) func(request.Seen) {
	var cells [len(methods)][len(classes)]atomic.Pointer[cell]
	count := func(seen request.Seen) {
		method, class := place(methods[:], seen.Method), max(0, min(seen.Status/100-1, len(classes)-1))
		c := cells[method][class].Load()
		if c == nil {
			c = &cell{r.total.WithLabelValues(
				pattern, methods[method], classes[class],
			), r.duration.WithLabelValues(pattern, methods[method])}
			cells[method][class].Store(c) // if two requests store one at the same time, either works: both are the same counter
		}
		c.count.Inc()
		c.took.Observe(seen.Took.Seconds())
	}
	switch {
	case strings.HasSuffix(pattern, "/o/token/"):
		return func(seen request.Seen) {
			count(seen)
			r.granted[place(grants, seen.Grant)][place(outcomes[:], seen.Outcome)].Inc()
		}
	case strings.HasSuffix(pattern, "/o/introspect/"):
		return func(seen request.Seen) {
			count(seen)
			r.introspected[verdict(seen)].Inc()
		}
	}
	return count
}

// place is the index of a word, or the last index.
func place(words []string, word string) int {
	for i, known := range words[:len(words)-1] {
		if known == word {
			return i
		}
	}
	return len(words) - 1
}

func verdict(seen request.Seen) int {
	switch {
	case seen.Outcome == "active":
		return 0
	case seen.Outcome == "inactive":
		return 1
	case seen.Status < http.StatusInternalServerError:
		return 2
	}
	return 3
}
