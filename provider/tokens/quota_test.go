package tokens

import (
	"sync/atomic"
	"testing"

	"mandate/testkit"
)

// A part of a quota that is known to be free is used once, also if all of it is taken at the same time.
func TestQuotaIsTakenOnce(t *testing.T) {
	const left = 150
	var q quotas
	q.keep("a", left*budgetDivisor)
	var taken atomic.Int64
	take := func() {
		if ok, _ := q.take("a"); ok {
			taken.Add(1)
		}
	}
	testkit.AtOnce(take, take, take, func() { q.keep("another", budgetDivisor) })
	if taken.Load() != left {
		t.Errorf("%d of %d places were taken", taken.Load(), left)
	}
}
