package telemetry

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mandate/app/eventlog"
	"mandate/handlers/request"
	"mandate/provider"
)

// Metrics is a registry that contains only the metrics of this package.
type Metrics struct {
	registry *prometheus.Registry
	requests *requests
}

// NewMetrics returns the metrics of the process and of its requests.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: newRequests()}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.name, Help: buildInfo.help}, buildInfo.labels)
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(
		build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

// OfServer adds the metrics of the authorization server. events is nil if EVENT_LOG is off. lost returns how
// many lines of the log were lost.
func (m *Metrics) OfServer(p *provider.Provider, events *eventlog.Writer, lost func() int64) {
	m.registry.MustRegister(
		newCollector(p, events, lost), m.requests.total, m.requests.duration, m.requests.tokens, m.requests.introspections,
	)
}

// Route counts the requests of a route, for request.Watch.
func (m *Metrics) Route(pattern string) func(request.Seen) { return m.requests.route(pattern) }

// Handler serves a scrape. A metric that fails is left out and logged: the others
// are needed most when something fails.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second, EnableOpenMetrics: true})
}
