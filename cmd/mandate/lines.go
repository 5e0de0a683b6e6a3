package main

import (
	"io"
	"sync"
)

// lines lets log lines that come at once share a write: at many requests a
// second the writes would be a good part of the work. Nothing waits where nothing
// is being written, and whoever logs faster than somebody reads waits.
type lines struct {
	to      io.Writer
	mu      sync.Mutex
	written sync.Cond
	waiting []byte
	writing bool
}

const maxLines = 1 << 20

func newLines(to io.Writer) *lines {
	l := &lines{to: to}
	l.written.L = &l.mu
	return l
}

func (l *lines) Write(line []byte) (int, error) {
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

// work writes until nothing waits.
func (l *lines) work() {
	var spare []byte
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.waiting) > 0 {
		taken := l.waiting
		l.waiting = spare[:0]
		l.mu.Unlock()
		_, _ = l.to.Write(taken) // there is nowhere to say that the log is gone
		l.mu.Lock()
		spare = taken
		l.written.Broadcast()
	}
	l.writing = false
	l.written.Broadcast()
}

// Close waits until everything is written.
func (l *lines) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.writing {
		l.written.Wait()
	}
	return nil
}
