package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"mandate/conformance/check"
)

// Log keeps every exchange of a run in a folder, with a file for each rule. Secrets are masked. The files are private
// all the same: they show what the server answers, also about the person.
type Log struct {
	dir string

	mu  sync.Mutex
	err error // the first one
}

// NewLog creates the folder if there is none. A file of an earlier run is replaced when its rule is checked again.
// Without a folder there is no log: nil.
func NewLog(dir string) (*Log, error) {
	if dir == "" {
		return nil, nil
	}
	err := os.MkdirAll(dir, 0o700)
	if err != nil {
		return nil, err
	}
	probe, err := os.CreateTemp(dir, "probe")
	if err != nil {
		return nil, err
	}
	probe.Close()
	return &Log{dir: dir}, os.Remove(probe.Name())
}

// Keep writes the exchanges of one rule. A rule without exchanges gets no file.
func (l *Log) Keep(result check.Result) {
	if l == nil || len(result.Log) == 0 {
		return
	}
	path := filepath.Join(l.dir, LogName(result.Rule.ID))
	err := writeNew(path, logText(result))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// Err returns the first error, or nil.
func (l *Log) Err() error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// writeNew writes a private file. It does not follow a link that stands there.
func writeNew(path, text string) error {
	err := os.Remove(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	closed := file.Close()
	if err != nil {
		return err
	}
	return closed
}

// LogName returns the name of the file of a rule. It has only characters that every file system accepts, and two rules
// do not have names that differ only in upper and lower case.
func LogName(rule string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
			return r
		}
		return '_'
	}, rule) + ".txt"
}

// inside returns a text of a section. A line that would look like the heading of another section begins with a space.
func inside(text string) string {
	return strings.TrimPrefix(strings.ReplaceAll("\n"+text, "\n===", "\n ==="), "\n")
}

func logText(r check.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s: %s\n", r.Rule.ID, r.Rule.Level, r.Rule.Text)
	if address := ClauseURL(r.Rule); address != "" {
		fmt.Fprintln(&b, address)
	}
	fmt.Fprintf(&b, "\n%s in %.1f s\n", outcomeOf(r).word(), r.Duration.Seconds())
	if r.Reason != "" {
		fmt.Fprintln(&b, inside(r.Reason))
	}
	for i, x := range r.Log {
		fmt.Fprintf(&b, "\n=== Request %d of %d\n\n%s\n=== Answer\n\n%s\n=== To repeat it\n\n%s\n", i+1, len(r.Log),
			inside(x.Sent), inside(x.Got), inside(x.Repeat))
	}
	return b.String()
}
