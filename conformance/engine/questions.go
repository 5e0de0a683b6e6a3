package engine

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// questions asks until the first error, and keeps it.
type questions struct {
	ctx   context.Context
	lines chan string // closed at the end of the input
	out   io.Writer
	err   error
}

func newQuestions(ctx context.Context, in io.Reader, out io.Writer) *questions {
	q := &questions{ctx: ctx, lines: make(chan string), out: out}
	go func() { // an interrupt does not wait for the end of a line
		defer close(q.lines)
		for s := bufio.NewScanner(in); s.Scan(); {
			select {
			case q.lines <- strings.TrimSpace(s.Text()):
			case <-ctx.Done():
				return
			}
		}
	}()
	return q
}

func (q *questions) say(format string, args ...any) {
	if q.err == nil {
		fmt.Fprintf(q.out, format, args...)
	}
}

// ask repeats a question until the answer passes the check.
func (q *questions) ask(question string, check func(string) error) string {
	for q.err == nil {
		q.say("%s: ", question)
		select {
		case line, open := <-q.lines:
			if !open {
				q.err = cmp.Or(q.ctx.Err(), errors.New("standard input ended before all questions were answered"))
				return ""
			}
			if check == nil {
				return line
			}
			err := check(line)
			if err == nil {
				return line
			}
			q.say("  %s\n", err)
		case <-q.ctx.Done():
			q.err = q.ctx.Err()
		}
	}
	return ""
}

func (q *questions) yes(question string, otherwise bool) bool {
	keys := "[y/N]"
	if otherwise {
		keys = "[Y/n]"
	}
	answer := strings.ToLower(q.ask(question+" "+keys, nil))
	return answer == "" && otherwise || strings.HasPrefix(answer, "y")
}
