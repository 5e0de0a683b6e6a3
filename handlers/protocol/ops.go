package protocol

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/pprof"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
)

type health struct {
	Status string `json:"status"`
}

// healthy reports that this process answers requests.
func (s *server) healthy(w http.ResponseWriter, r *http.Request) error {
	// Load balancers send this request every few seconds.
	request.RecordOf(r.Context()).Quiet = true
	return web.WriteJSON(w, http.StatusOK, health{"ok"})
}

// ready reports that the server can handle requests.
func (s *server) ready(w http.ResponseWriter, r *http.Request) error {
	request.RecordOf(r.Context()).Quiet = true
	err := readiness(r.Context(), s.Config.Stopping, s.Provider.Ready)
	if err != nil {
		return err
	}
	return web.WriteJSON(w, http.StatusOK, health{"ready"})
}

// readiness fails as soon as the node begins to shut down. The node still accepts
// connections at that time, so that a load balancer can select another node.
func readiness(ctx context.Context, stopping <-chan struct{}, ready func(context.Context) error) error {
	select {
	case <-stopping:
		return &oauth.Error{
			Status:      http.StatusServiceUnavailable,
			Code:        "temporarily_unavailable",
			Description: "This node is shutting down.",
		}
	default:
		return ready(ctx)
	}
}

// Ops contains what the operations listener serves.
type Ops struct {
	Ready    func(context.Context) error
	Stopping <-chan struct{}
	Metrics  http.Handler
	Pprof    bool // serves profiles, which take time and reveal what the program does
	Log      *slog.Logger
}

// NewOps returns the handler of the operations listener. Only operators can reach
// that listener.
func NewOps(o Ops) http.Handler {
	r := http.NewServeMux()
	r.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { o.write(w, http.StatusOK, health{"ok"}) })
	r.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		err := readiness(r.Context(), o.Stopping, o.Ready)
		if err != nil {
			o.write(w, http.StatusServiceUnavailable, health{"not ready"})
			return
		}
		o.write(w, http.StatusOK, health{"ready"})
	})
	r.Handle("GET /metrics", o.Metrics)
	if o.Pprof {
		r.HandleFunc("GET /debug/pprof/", pprof.Index)
		r.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
		r.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		r.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		r.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return r
}

func (o Ops) write(w http.ResponseWriter, status int, h health) {
	web.Uncached(w.Header())
	err := web.WriteJSON(w, status, h)
	if err != nil {
		o.Log.Warn("cannot write the readiness response", "error", err)
	}
}
