package limits

import (
	"testing"
	"testing/synctest"
	"time"
)

// Two addresses of one IPv4 /24 use up the attempts of their site at a username, and those of nobody else.
func TestNeighboursUseUpTheAttemptsOfTheirSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := NewThrottle(Size)
		waits := func(name, address string) time.Duration {
			_, wait := tries.Take(GuessAt(AtPage, name, address)...)
			return wait
		}
		for _, address := range []string{"192.0.2.1", "192.0.2.2"} {
			for range Of(OfPair).Tries {
				if wait := waits("alice", address); wait != 0 {
					t.Fatal(address, wait)
				}
			}
		}
		if wait := waits("alice", "192.0.2.3"); wait != 10*time.Second {
			t.Error("the same site waits for", wait)
		}
		for _, other := range [][2]string{{"alice", "198.51.100.1"}, {"bob", "192.0.2.3"}} {
			if wait := waits(other[0], other[1]); wait != 0 {
				t.Error(other, "waits for", wait)
			}
		}
	})
}
