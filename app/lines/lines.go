// Package lines buffers log lines to save system calls.
package lines

import (
	"io"
	"sync"
	"time"
)

// Writer collects the lines that arrive during a write, and writes them together
// afterwards: at many requests a second, one write for each line would be a good
// part of the work. A line that arrives while nothing is being written is written
// at once. If the destination is too slow, Write waits, but not for ever: whoever
// reads the log must not be able to stop the server.
type Writer struct {
	to      io.Writer
	resumed func(lost int64)

	mu      sync.Mutex
	waiting []byte
	writing bool
	moved   chan struct{} // closed when a write ends
	stalled bool          // the destination has taken nothing for patience
	lost    int64
	told    int64 // of lost, those of which resumed knows
}

const (
	// maxLines is the number of bytes that may wait before Write waits.
	maxLines = 1 << 20
	// patience is how long Write and Close wait for a destination that takes nothing.
	patience = time.Second
)

// New returns a Writer that writes to to.
func New(to io.Writer) *Writer {
	return &Writer{to: to, resumed: func(int64) {}, moved: make(chan struct{})}
}

// OnResumed sets what is called when the destination takes lines again after some were lost. Call it before the first
// Write.
func (l *Writer) OnResumed(resumed func(lost int64)) { l.resumed = resumed }

// Lost returns how many lines were lost.
func (l *Writer) Lost() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lost
}

// Write keeps a copy of line, which is written soon, or lost if the destination has taken nothing for a second.
func (l *Writer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > maxLines && !l.stalled {
		l.stalled = !l.moves()
	}
	if len(l.waiting) > maxLines {
		l.lost++
		return len(line), nil
	}
	l.waiting = append(l.waiting, line...)
	if !l.writing {
		l.writing = true
		go l.work()
	}
	return len(line), nil
}

// moves waits until a write ends, and reports whether one has ended in time. The caller holds the lock.
func (l *Writer) moves() bool {
	moved := l.moved
	l.mu.Unlock()
	defer l.mu.Lock()
	wait := time.NewTimer(patience)
	defer wait.Stop()
	select {
	case <-moved:
		return true
	case <-wait.C:
		return false
	}
}

// work writes until no line waits.
func (l *Writer) work() {
	var spare []byte
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		taken := l.waiting
		l.waiting = spare[:0]
		l.mu.Unlock()
		_, _ = l.to.Write(taken) // an error cannot be reported: the log is what failed
		l.mu.Lock()
		spare = taken
		l.move()
	}
	l.writing = false
}

// move notes that a write has ended.
func (l *Writer) move() {
	close(l.moved)
	l.moved, l.stalled = make(chan struct{}), false
	if l.lost > l.told {
		go l.resumed(l.lost - l.told) // it writes a line
		l.told = l.lost
	}
}

// Close waits until everything is written, or until the destination has taken nothing for a second.
func (l *Writer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 || l.writing {
		if !l.moves() {
			return nil
		}
	}
	return nil
}
