package clientauth

import (
	"sync"

	"mandate/provider/jose"
)

// maxParsed is how many key sets parsedSets keeps.
const maxParsed = 1000

// maxParsedBytes is the size of the largest text of which the parsed set is kept. It is that of an application
// of which a copy is kept, because the owner decides the size.
const maxParsedBytes = 4096

// parsedSets keeps the key sets that applications registered as text, parsed. A set depends on its
// text alone, so it is never out of date. To parse one takes a tenth of the time that the signature
// of an assertion takes.
type parsedSets struct {
	mu   sync.RWMutex
	sets map[string]jose.JWKSet
}

// set returns the parsed text of a key set. It keeps no text that is larger than an application
// of which a copy is kept, so that an owner cannot fill the memory.
func (p *parsedSets) set(text string) (jose.JWKSet, error) {
	p.mu.RLock()
	set, ok := p.sets[text]
	p.mu.RUnlock()
	if ok {
		return set, nil
	}
	set, err := jose.ParseSet([]byte(text))
	if err != nil || len(text) > maxParsedBytes {
		return set, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.sets == nil {
		p.sets = map[string]jose.JWKSet{}
	}
	for other := range p.sets {
		if len(p.sets) < maxParsed {
			break
		}
		delete(p.sets, other) // any one
	}
	p.sets[text] = set
	return set, nil
}
