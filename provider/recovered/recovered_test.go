package recovered

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
)

func TestDo(t *testing.T) {
	var logged strings.Builder
	log := slog.New(slog.NewTextHandler(&logged, nil))
	wrong := errors.New("wrong")
	for name, f := range map[string]func() error{
		"no error": func() error { return nil }, "wrong": func() error { return wrong }} {
		if err := Do(log, name, f); err != f() {
			t.Errorf("%s: %v", name, err)
		}
	}
	if logged.Len() > 0 {
		t.Error(logged.String())
	}
	var none []int
	for _, l := range []*slog.Logger{log, nil} {
		err := Do(l, "read the keys", func() error { none[1]++; return nil })
		if err == nil || !strings.Contains(err.Error(), "read the keys: panic: ") ||
			!strings.Contains(err.Error(), "index out of range") {
			t.Error(err)
		}
	}
	// The stack says where.
	for _, want := range []string{"read the keys", "index out of range", "recovered_test.go"} {
		if strings.Count(logged.String(), "level=ERROR") != 1 || !strings.Contains(logged.String(), want) {
			t.Errorf("%q is not in %s", want, logged.String())
		}
	}
}
