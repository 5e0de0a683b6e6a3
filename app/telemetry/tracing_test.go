package telemetry

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"mandate/handlers/request"
)

// Several servers may be in one process. Each has the errors of its own traces in its log.
func TestErrorsOfTracesAreInTheLogOfTheirServer(t *testing.T) {
	collector := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadRequest) }))
	defer collector.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.URL)
	var logs [2]bytes.Buffer
	var servers [2]*Tracing
	for i := range servers {
		var err error
		servers[i], err = NewTracing(t.Context(), os.Getenv, "v1", slog.New(slog.NewTextHandler(&logs[i], nil)))
		if err != nil {
			t.Fatal(err)
		}
	}
	for i, server := range servers {
		_, _, end := server.Begin(httptest.NewRequest("GET", "/", nil))
		end(request.Seen{})
		err := server.Close(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(logs[i].String(), "traces were not sent"); n != 1 {
			t.Errorf("server %d: %d errors in its log: %s", i, n, logs[i].String())
		}
	}
}

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
