package mandate

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// misbehaving is a collector that answers traces with a given status and body size,
// until the server closes the connection. It counts the completed answers, and records
// the most bytes that it could send in one answer.
type misbehaving struct {
	*httptest.Server
	ended, most atomic.Int64
}

func misbehave(t testing.TB, status int, size int64) *misbehaving {
	t.Helper()
	m := &misbehaving{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer m.ended.Add(1)
		w.Header().Set("Content-Type", "application/x-protobuf")
		w.WriteHeader(status)
		chunk := bytes.Repeat([]byte("x"), 64<<10)
		for sent := int64(0); sent < size; {
			n, err := w.Write(chunk[:min(size-sent, int64(len(chunk)))])
			sent += int64(n)
			m.most.Store(max(m.most.Load(), sent))
			if err != nil {
				return
			}
		}
	}))
	t.Cleanup(m.Close)
	return m
}

// The server reads a limited part of a collector's answer and closes the connection if
// the answer does not end.
func TestAttackEndlessAnswerOfACollector(t *testing.T) {
	attack(t, "memory exhausted by an answer that is read without a limit",
		"CVE-2026-39882 (GHSA-w8rr-5gcm-pp58), OpenTelemetry-Go before 1.43")
	const endless, bearable = 128 << 20, 16 << 20 // the second number includes the socket buffers of both sides
	for _, status := range []int{http.StatusOK, http.StatusBadRequest, http.StatusServiceUnavailable} {
		t.Run(strconv.Itoa(status), func(t *testing.T) {
			t.Parallel()
			m := misbehave(t, status, endless)
			s := startServer(t, options{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + m.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}})
			s.get(t, "/login/", nobody)
			waitFor(t, "an answer has ended", func() bool { return m.ended.Load() > 0 })
			if most := m.most.Load(); most > bearable {
				t.Errorf("the server took %d MiB of the collector's answer", most>>20)
			}
			s.stop(t)
		})
	}
}

// A collector that refuses traces with long messages does not fill the log.
func TestAttackLongAnswerOfACollector(t *testing.T) {
	attack(t, "the log filled by another party's words", "")
	m := misbehave(t, http.StatusBadRequest, 60<<10)
	s := startServer(t, options{env: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + m.URL, "OTEL_BSP_SCHEDULE_DELAY=50"}})
	s.get(t, "/login/", nobody)
	waitFor(t, "the log says that the traces were refused",
		func() bool { return strings.Contains(s.log.String(), "traces were not sent") })
	s.get(t, "/login/", nobody)
	s.stop(t) // sends the second trace, if the server has not
	for line := range strings.Lines(s.log.String()) {
		if len(line) > 2000 {
			t.Errorf("a line of the log has %d bytes: %.300s", len(line), line)
		}
	}
}
