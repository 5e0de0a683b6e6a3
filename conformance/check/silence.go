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
	_, err = s.network.Do(ctx, request)
	return err == nil
}

// Hung names the first request that the server did not answer, or is empty.
func (s *Server) Hung() string {
	s.silence.mu.Lock()
	defer s.silence.mu.Unlock()
	return s.Plain(s.silence.first)
}
