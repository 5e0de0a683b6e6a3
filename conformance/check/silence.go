package check

import (
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

// Hung names the first request that the server did not answer, or is empty.
func (s *Server) Hung() string {
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	return s.silence.first
}
