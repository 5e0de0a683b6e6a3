package telemetry

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestShortened(t *testing.T) {
	for _, text := range []string{"", "400 Bad Request", strings.Repeat("x", maxError)} {
		if got := shortened(errors.New(text)); got != text {
			t.Errorf("%q became %q", text, got)
		}
	}
	long := shortened(errors.New("y" + strings.Repeat("é", maxError)))
	if len(long) > maxError+len("...") || !strings.HasSuffix(long, "é...") || !utf8.ValidString(long) {
		t.Errorf("got %d bytes that end with %q", len(long), long[len(long)-10:])
	}
}
