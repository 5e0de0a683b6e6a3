package registration

import (
	"net/http"
	"sync"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/places"
)

// sectors limits how many lists of sectors are read at one moment: anybody can name any host.
type sectors struct {
	mu     sync.Mutex
	places *places.Places
}

func newSectors() *sectors { return &sectors{places: places.New()} }

// enter takes a place for reading an address. who names it. The returned function gives the place back, and notes
// whether the address could be read.
func (s *sectors) enter(uri, who string) (leave func(read bool), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	release, began := s.places.Enter(uri, who), time.Now()
	if release == nil {
		return nil, oauth.Later(http.StatusTooManyRequests, 5*time.Second,
			"The server is reading as many lists at sector_identifier_uri as it may. Try again in a moment.")
	}
	return func(read bool) {
		s.mu.Lock()
		defer s.mu.Unlock()
		release()
		s.places.Note(uri, who, read, time.Since(began))
	}, nil
}
