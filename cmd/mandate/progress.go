package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/engine"
)

// progress tells a person how far a conformance run is: on a terminal with one line that changes, in a file with a
// line every ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
	all      int

	mu           sync.Mutex
	done, failed int
	waiting      map[string]bool // rules whose check has ended, and whose result is not known: the check is repeated
	width        int             // of the line on the terminal
	running      []runningRule
	stop         chan struct{}
	stopped      sync.WaitGroup
}

type runningRule struct {
	id    string
	since time.Time
}

const progressInterval = 10 * time.Second

// newProgress starts to write, until the end.
func newProgress(out io.Writer, terminal bool, all int) *progress {
	p := &progress{out: out, terminal: terminal, all: all, waiting: map[string]bool{}, stop: make(chan struct{})}
	if !terminal {
		p.stopped.Go(p.tick)
	}
	return p
}

// watched returns the rules with checks that report when they begin and end.
func (p *progress) watched(rules []check.Rule) []check.Rule {
	watched := make([]check.Rule, 0, len(rules))
	for _, r := range rules {
		if try := r.Check; try != nil {
			id := r.ID
			r.Check = func(t *check.T) {
				p.begin(id)
				defer p.leave(id)
				try(t)
			}
		}
		watched = append(watched, r)
	}
	return watched
}

func (p *progress) begin(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running = append(p.running, runningRule{id, time.Now()})
}

func (p *progress) leave(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[id] = true
	for i, r := range p.running {
		if r.id == id {
			p.running = append(p.running[:i], p.running[i+1:]...)
			return
		}
	}
}

// add counts a result.
func (p *progress) add(r check.Result) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done++
	delete(p.waiting, r.Rule.ID)
	if engine.Counts(r) {
		p.failed++
	}
	if !p.terminal {
		return
	}
	line := fmt.Sprintf("%.79s", fmt.Sprintf("%d of %d  %s", p.done, p.all, r.Rule.ID)) // fits on one line of a terminal
	if p.done == p.all {
		line = ""
	}
	fmt.Fprintf(p.out, "\r%-*s\r%s", p.width, "", line)
	p.width = len(line)
}

func (p *progress) tick() {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-p.stop:
			return
		case <-ticker.C:
			fmt.Fprintln(p.out, "mandate: "+p.line())
		}
	}
}

// line names the check that has been running for the longest time.
func (p *progress) line() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	text := fmt.Sprintf("%d of %d rules, %d failed", p.done, p.all, p.failed)
	if n := len(p.waiting); n > 0 {
		text += fmt.Sprintf(", %d to be repeated", n)
	}
	if len(p.running) > 0 {
		first := p.running[0] // they are in the order in which they began
		text += fmt.Sprintf(", now %s (for %s)", first.id, time.Since(first.since).Round(time.Second))
	}
	return text
}

// end stops the writing.
func (p *progress) end() {
	close(p.stop)
	p.stopped.Wait()
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
