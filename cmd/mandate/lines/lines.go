// Package lines buffers log lines to save system calls.
package lines

import (
	"io"
	"sync"
)

// Writer collects the lines that arrive during a write, and writes them together
// afterwards: at many requests a second, one write for each line would be a good
// part of the work. A line that arrives while nothing is being written is written
// at once. If the destination is too slow, Write blocks.
type Writer struct {
	to      io.Writer
	mu      sync.Mutex
	written sync.Cond
	waiting []byte
	writing bool
}

// maxLines is the number of bytes that may wait before Write blocks.
const maxLines = 1 << 20

// New returns a Writer that writes to to.
func New(to io.Writer) *Writer {
	l := &Writer{to: to}
	l.written.L = &l.mu
	return l
}

// Write keeps a copy of line, which is written soon.
func (l *Writer) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > maxLines {
		l.written.Wait()
	}
	l.waiting = append(l.waiting, line...)
	if !l.writing {
		l.writing = true
		go l.work()
	}
	return len(line), nil
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
		l.written.Broadcast()
	}
	l.writing = false
	l.written.Broadcast()
}

// Close waits until everything is written.
func (l *Writer) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		l.written.Wait()
	}
	return nil
}
