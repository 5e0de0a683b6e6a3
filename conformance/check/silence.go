package check

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"mandate/conformance/wire"
)

// silence is the first request that the server did not answer.
type silence struct {
	mu    sync.Mutex
	first string

	gateway string // the first request that was answered with 502, 503 or 504
}

// note keeps a request of a rule. A step outside of a rule has no ID: a rule that comes after it asks again.
func (s *silence) note(rule Rule, r *http.Request, err error) {
	if _, is := errors.AsType[*wire.NoAnswerError](err); !is || rule.ID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == "" {
		s.first = fmt.Sprintf("%s %s (rule %s): %v", r.Method, wire.Bare(r.URL), rule.ID, err)
	}
}

// Answers reports whether the server answers now, to a request for its metadata.
func (s *Server) Answers(ctx context.Context) bool {
	addresses := MetadataAddresses(s.Target.Issuer)
	if s.found != "" {
		addresses = []string{s.found}
	}
	if len(addresses) == 0 {
		return false
	}
	s.Reset()
	request, err := http.NewRequest(http.MethodGet, addresses[0], nil)
	if err != nil {
		return false
	}
	a, err := s.network.Do(ctx, request)
	return err == nil && !isGateway(a.Status)
}

// isGateway reports whether a status is that of a proxy whose server does not answer (RFC 9110 §15.6.3 to §15.6.5).
func isGateway(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable ||
		status == http.StatusGatewayTimeout
}

// noteGateway keeps a request of a rule that a proxy answers instead of the server.
func (s *silence) noteGateway(rule Rule, r *http.Request, a *wire.Answer) {
	if !isGateway(a.Status) || rule.ID == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.gateway == "" {
		s.gateway = fmt.Sprintf("%s %s (rule %s): %s", r.Method, wire.Bare(r.URL), rule.ID, a)
	}
}

// Gateway names the first request that a proxy answered because the server did not, or is empty. One such answer can be
// a fault of the server at one endpoint.
func (s *Server) Gateway() string {
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	return s.Plain(s.silence.gateway)
}

// Hung names the first request that the server did not answer, or is empty.
func (s *Server) Hung() string {
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	return s.Plain(s.silence.first)
}
