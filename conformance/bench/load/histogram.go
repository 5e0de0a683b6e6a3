package load

import (
	"math/bits"
	"slices"
	"time"
)

// Histogram counts durations in steps of less than one percent. Millions of durations take little memory, and no
// outlier is lost in an average.
type Histogram struct {
	counts []uint64
	total  uint64
	Max    time.Duration
}

const fine = 7 // 2^7 steps up to twice a number

// step returns the index of a duration. Below 2^8 ns this is the number itself. Above, it consists of the first eight
// bits and the number of the bits after them.
func step(d time.Duration) int {
	n := uint64(max(0, d))
	shift := bits.Len64(n) - (fine + 1)
	if shift <= 0 {
		return int(n)
	}
	return shift<<fine + int(n>>shift)
}

// middle returns the duration in the middle of a step.
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

// Merge adds the counts of another histogram.
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

// Quantile returns the duration that the given share, 0 to 1, of all durations did not exceed.
func (h *Histogram) Quantile(share float64) time.Duration {
	if h.total == 0 {
		return 0
	}
	rank := uint64(share * float64(h.total))
	if float64(rank) < share*float64(h.total) || rank == 0 {
		rank++ // the smallest number of durations that makes this share
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

// Median returns the median. For an even number of values it is the mean of the two in the middle.
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

// Spread is the median, the minimum and the maximum of ratios.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// Ratios divides pair by pair. If a machine is slow for a while, both values of a pair are affected; a ratio of
// medians would not show this.
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
