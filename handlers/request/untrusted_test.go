package request

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestProxyThatIsNotTrustedIsNamedOnce(t *testing.T) {
	var log bytes.Buffer
	o := NewObserver(Config{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.1/32")},
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	served := o.Observe(http.NotFoundHandler())
	send := func(peer, forwarded string) {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = peer
		if forwarded != "" {
			r.Header.Set("X-Forwarded-For", forwarded)
		}
		served.ServeHTTP(httptest.NewRecorder(), r)
	}
	warnings := func() int { return strings.Count(log.String(), "TRUSTED_PROXIES") }
	send("10.0.0.1:1", "192.0.2.1")
	send("10.0.0.2:1", "")
	if warnings() != 0 {
		t.Fatalf("a trusted proxy, or nobody's: %s", &log)
	}
	for port := range 3 {
		send(fmt.Sprintf("10.0.0.2:%d", port+1), "192.0.2.1")
	}
	if warnings() != 1 || !strings.Contains(log.String(), "peer=10.0.0.2") ||
		strings.Contains(log.String(), "192.0.2.1 ") {
		t.Fatalf("%d warnings: %s", warnings(), &log)
	}
	for i := range 3 * mostUntrusted {
		send(fmt.Sprintf("[2001:db8::%x]:1", i+1), "192.0.2.1")
	}
	if warnings() != 1+mostUntrusted {
		t.Errorf("a network of strangers wrote %d warnings", warnings()-1)
	}
	for i := range 3 * mostUntrusted {
		send(fmt.Sprintf("10.1.0.%d:1", i+1), "192.0.2.1")
	}
	if warnings() != 2*mostUntrusted || !strings.Contains(log.String(), "peer=10.1.0.1\n") {
		t.Errorf("after strangers, proxies of the private network: %d warnings", warnings())
	}
}
