// Package bell wakes a goroutine that waits for work.
package bell

// Bell wakes the goroutine that receives from it. However often it rings before that, it wakes it once.
type Bell chan struct{}

// New returns a bell that has not rung.
func New() Bell { return make(Bell, 1) }

// Ring rings the bell. It never waits.
func (b Bell) Ring() {
	select {
	case b <- struct{}{}:
	default: // it has rung, and nobody has heard it yet
	}
}
