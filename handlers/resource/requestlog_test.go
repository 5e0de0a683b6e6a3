package resource

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// uncovered returns a Proxy whose rules cover /api only, and its log.
func uncovered(t *testing.T) (*Proxy, *bytes.Buffer) {
	var b bytes.Buffer
	p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, "http://api.example"),
		Guard: newGuard(t, GuardConfig{Verifier: &counter{}}),
		Rules: []Rule{{Path: "/api"}}, Logger: slog.New(slog.NewJSONHandler(&b, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return p, &b
}

// The client chooses the path, and needs no token.
func TestPathIsEscapedAndClippedInTheLog(t *testing.T) {
	p, log := uncovered(t)
	for path, want := range map[string]string{
		"/users/7":                         `"path":"/users/7"`,
		"/%E2%80%AEx%C2%9B":                `"path":"/\\u202ex\\u009b"`,
		"/" + strings.Repeat("x", 100_000): `"path":"/` + strings.Repeat("x", 199) + `..."`,
		"/" + strings.Repeat("é", 100_000): `\\u00e9..."`,
	} {
		log.Reset()
		p.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		if !strings.Contains(log.String(), want) || strings.Count(log.String(), "\n") != 1 {
			t.Errorf("%.20q: got %.400s", path, log)
		}
	}
}

// The same holds for a covered path whose upstream switches to another protocol.
func TestPathOfASwitchedResponseIsEscapedInTheLog(t *testing.T) {
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Connection", "Upgrade")
		w.Header().Set("Upgrade", "other")
		w.WriteHeader(http.StatusSwitchingProtocols)
	}))
	defer upstream.Close()
	var log bytes.Buffer
	p, err := NewProxy(ProxyConfig{Upstream: parseURL(t, upstream.URL),
		Guard: newGuard(t, GuardConfig{Verifier: &counter{}}),
		Rules: []Rule{{Path: "/", Public: true}}, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, httptest.NewRequest("GET", "/a%C2%9Bb", nil))
	if w.Code != http.StatusBadGateway || !strings.Contains(log.String(), `"path":"/a\\u009bb"`) {
		t.Errorf("%d %s", w.Code, &log)
	}
}

// A flood of one network leaves lines for others, and its requests are counted.
func TestLinesAboutUncoveredRequestsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, log := uncovered(t)
		lines := func(from string, requests int) int {
			log.Reset()
			for range requests {
				r := httptest.NewRequest("GET", "/", nil)
				r.RemoteAddr = from
				p.ServeHTTP(httptest.NewRecorder(), r)
			}
			return strings.Count(log.String(), "\n")
		}
		if n := lines("192.0.2.1:1", 1000); n != 30 {
			t.Errorf("%d lines, want 30", n)
		}
		if n := lines("198.51.100.1:1", 1); n != 1 || !strings.Contains(log.String(), `"left_out":970`) {
			t.Errorf("another network: %s", log)
		}
		time.Sleep(10 * time.Second)
		if n := lines("192.0.2.1:2", 1000); n != 30 {
			t.Errorf("%d lines after 10 seconds, want 30", n)
		}
	})
}
