package clientauth

import (
	"crypto/sha256"
	"sync"
	"time"

	"mandate/provider/mtls"
	"mandate/storage"
)

// maxVerified is how many certificates are remembered.
const maxVerified = 10_000

// verified remembers the certificates with which clients have authenticated, so that their chains are verified once
// and not at each request. The authorities are the same as long as the process runs.
type verified struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]time.Time // until when the whole chain is valid
}

// chainName is the digest of an application and the chain that was shown for it.
func chainName(a storage.Application, shown *mtls.Certificate) [sha256.Size]byte {
	hash := sha256.New()
	hash.Write([]byte(a.ID + "\x00"))
	hash.Write(shown.Raw)
	for _, one := range shown.Chain {
		hash.Write(one.Raw)
	}
	return [sha256.Size]byte(hash.Sum(nil))
}

func (v *verified) has(name [sha256.Size]byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return !time.Now().After(v.kept[name])
}

// add remembers a chain. It displaces any other one if there is no room: that one is verified again.
func (v *verified) add(name [sha256.Size]byte, until time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.kept == nil {
		v.kept = map[[sha256.Size]byte]time.Time{}
	}
	if len(v.kept) >= maxVerified {
		for other := range v.kept {
			delete(v.kept, other)
			break
		}
	}
	v.kept[name] = until
}

// drop removes what has expired.
func (v *verified) drop() {
	v.mu.Lock()
	defer v.mu.Unlock()
	for name, until := range v.kept {
		if time.Now().After(until) {
			delete(v.kept, name)
		}
	}
}
