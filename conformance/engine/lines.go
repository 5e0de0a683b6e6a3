package engine

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"mandate/conformance/wire"
)

const (
	columns = 80               // of a terminal
	below   = "              " // indentation of the reason for a result
)

// lines writes until the first error, and keeps it. What it writes can come from the server, and is harmless.
type lines struct {
	w   io.Writer
	err error
}

func (l *lines) printf(format string, args ...any) {
	if l.err == nil {
		_, l.err = io.WriteString(l.w, wire.Harmless(fmt.Sprintf(format, args...)))
	}
}

func (l *lines) indented(before, text string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		l.printf("%s\n", strings.TrimRight(before+line, " "))
	}
}

// wrapped breaks a sentence at the width of a terminal, and indents the following lines. Requests and commands are
// not broken, so that they can be copied.
func (l *lines) wrapped(before, text string) {
	line := before
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
			line += word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > columns:
			l.printf("%s\n", line)
			line = strings.Repeat(" ", len(before)) + word
		default:
			line += " " + word
		}
	}
	l.printf("%s\n", line)
}

func number(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}
