package load

import (
	"math/bits"
	"slices"
	"time"
)

// Histogram counts durations in steps of less than one percent, so that millions of them take little
// memory and none is lost to an average.
type Histogram struct {
	counts []uint64
	total  uint64
	Max    time.Duration
}

const fine = 7 // 2^7 steps between a number and its double

// step is the index of a duration: below 2^8 ns it is the number itself, above it the first eight bits and
// how many follow.
func step(d time.Duration) int {
	n := uint64(max(0, d))
	shift := bits.Len64(n) - (fine + 1)
	if shift <= 0 {
		return int(n)
	}
	return shift<<fine + int(n>>shift)
}

// middle is the duration in the middle of a step.
func middle(i int) time.Duration {
	if i < 2<<fine {
		return time.Duration(i)
	}
	shift := i>>fine - 1
	first := uint64(i-shift<<fine) << shift
	return time.Duration(first + (uint64(1)<<shift)/2)
}

func (h *Histogram) add(d time.Duration) {
	i := step(d)
	if i >= len(h.counts) {
		h.counts = slices.Grow(h.counts, i+1-len(h.counts))[:i+1]
	}
	h.counts[i]++
	h.total++
	h.Max = max(h.Max, d)
}

func (h *Histogram) Merge(other Histogram) {
	if len(other.counts) > len(h.counts) {
		h.counts = slices.Grow(h.counts, len(other.counts)-len(h.counts))[:len(other.counts)]
	}
	for i, n := range other.counts {
		h.counts[i] += n
	}
	h.total += other.total
	h.Max = max(h.Max, other.Max)
}

// Quantile is the duration that the given share, 0 to 1, of all did not exceed.
func (h *Histogram) Quantile(share float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(share * float64(h.total))
	if float64(rank) < share*float64(h.total) || rank == 0 {
		rank++ // the smallest number of durations that are at least that share
	}
	var seen uint64
	for i, n := range h.counts {
		seen += n
		if seen >= rank {
			return min(middle(i), h.Max)
		}
	}
	return h.Max
}

// Median of an even number of values is the mean of the two in the middle.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	half := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[half]
	}
	return (sorted[half-1] + sorted[half]) / 2
}

// Spread is the median, the least and the greatest of ratios, each of two figures of the same round.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Ratios compares pair by pair. A machine that is slow for a while is slow for both of a pair; ratios of
// medians would put it into the result.
func Ratios(ours, theirs []float64) Spread {
	var each []float64
	for i := range min(len(ours), len(theirs)) {
		if theirs[i] > 0 {
			each = append(each, ours[i]/theirs[i])
		}
	}
	if len(each) == 0 {
		return Spread{}
	}
	return Spread{Median(each), slices.Min(each), slices.Max(each)}
}
