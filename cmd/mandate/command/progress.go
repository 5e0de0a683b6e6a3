package command

import (
	"cmp"
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
	until time.Time // when the check goes on that waits for the server
	limit string    // what the server limits, and why the check waits
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
				t.TellWaits(func(d time.Duration, of string) { p.wait(id, d, of) })
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
	p.running = append(p.running, runningRule{id: id, since: time.Now()})
}

// wait notes that a check waits because the server limits something.
func (p *progress) wait(id string, d time.Duration, of string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i := range p.running {
		if p.running[i].id == id {
			p.running[i].until, p.running[i].limit = time.Now().Add(d), of
		}
	}
	p.show(p.waits())
}

// waits says for how long checks wait for the server, or "".
func (p *progress) waits() string {
	text, longest := "", 500*time.Millisecond // it would be shown as 0 s
	for _, r := range p.running {
		if left := time.Until(r.until); left >= longest {
			longest = left
			text = fmt.Sprintf("waiting %.0f s: the server limits %s", left.Seconds(), r.limit)
		}
	}
	return text
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
	p.show(cmp.Or(p.waits(), r.Rule.ID))
}

// show writes the line of a terminal again.
func (p *progress) show(text string) {
	if !p.terminal {
		return
	}
	line := fmt.Sprintf("%.79s", fmt.Sprintf("%d of %d  %s", p.done, p.all, text)) // fits on one line of a terminal
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
	if waits := p.waits(); waits != "" {
		text += ", " + waits
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
