package command

import (
	"strings"
	"testing"
)

// A cell cannot move the cursor, end the line or reorder the text of a table.
func TestTableShowsWhatHasNoGlyph(t *testing.T) {
	var b strings.Builder
	err := writeTable(
		&b,
		[][]string{{"NAME", "EMAIL"}, {"Ελένη \"q\" \\", "a\x1b[2Jb\tc\nd"}, {"ad\u200bmin", "\u202ex\x9b\xff"}, {"x", ""}},
	)
	want := "NAME       EMAIL\nΕλένη \"q\" \\  a\\x1b[2Jb\\tc\\nd\nad\\u200bmin  \\u202ex\ufffd\ufffd\nx\n"
	squeezed := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	if err != nil || squeezed(b.String()) != squeezed(want) || strings.Count(b.String(), "\n") != 4 {
		t.Errorf("got %q, %v", b.String(), err)
	}
}
