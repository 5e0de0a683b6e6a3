package telemetry

import (
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"mandate/handlers"
	"mandate/provider"
)

// Metrics is a registry of its own: nothing that a library does by itself is in
// it.
type Metrics struct {
	registry *prometheus.Registry
	requests *requests
}

// NewMetrics has the metrics of the process and of its requests.
func NewMetrics(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), requests: newRequests()}
	build := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: buildInfo.name, Help: buildInfo.help}, buildInfo.labels)
	build.WithLabelValues(version, runtime.Version()).Set(1)
	m.registry.MustRegister(build, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// OfServer adds what only the authorization server has.
func (m *Metrics) OfServer(p *provider.Provider) {
	m.registry.MustRegister(newCollector(p), m.requests.total, m.requests.duration, m.requests.tokens, m.requests.introspections)
}

// Route is told of a route, as handlers.Watch has it.
func (m *Metrics) Route(pattern string) func(handlers.Seen) { return m.requests.route(pattern) }

// Handler answers a scrape. What of it fails is left out and logged: the rest is
// needed most when something is wrong.
func (m *Metrics) Handler(log *slog.Logger) http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn), ErrorHandling: promhttp.ContinueOnError,
		MaxRequestsInFlight: 4, Timeout: 10 * time.Second, EnableOpenMetrics: true})
}
