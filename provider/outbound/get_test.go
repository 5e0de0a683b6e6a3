package outbound

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	at := httptest.NewServer(h)
	t.Cleanup(at.Close)
	return at.URL
}

func TestGet(t *testing.T) {
	f := allowing("127.0.0.0/8")
	at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.Header.Get("Accept") != "application/json" || r.Header.Get("Cookie") != "" {
			t.Error(r.Method, r.Header)
		}
		w.Header().Set("Cache-Control", "max-age=5")
		_, _ = w.Write([]byte("12345"))
	})
	d, err := f.Get(t.Context(), at, "application/json", 5)
	if err != nil || string(d.Body) != "12345" || d.Header.Get("Cache-Control") != "max-age=5" {
		t.Errorf("%q, %v", d.Body, err)
	}
	_, err = f.Get(t.Context(), at, "application/json", 4)
	if size, ok := errors.AsType[*SizeError](err); !ok || size.Most != 4 {
		t.Error(err)
	}
}

func TestGetWantsTheStatus200(t *testing.T) {
	f := allowing("127.0.0.0/8")
	for _, status := range []int{201, 203, 204, 206, 301, 302, 303, 307, 308, 304, 400, 401, 403, 404, 410, 429,
		500, 503} {
		at := serve(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/document" {
				t.Error("a redirect was followed")
			}
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		})
		_, err := f.Get(t.Context(), at+"/document", "*/*", 10)
		if other, ok := errors.AsType[*StatusError](err); !ok || other.Status != status {
			t.Errorf("%d: %v", status, err)
		}
	}
}

// A small response can become a large one: the size after the decompression counts.
func TestGetLimitsWhatItDecompresses(t *testing.T) {
	var small bytes.Buffer
	z := gzip.NewWriter(&small)
	if _, err := z.Write(make([]byte, 10<<20)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = w.Write(small.Bytes())
	})
	_, err := allowing("127.0.0.0/8").Get(t.Context(), at, "*/*", 5<<10)
	if _, ok := errors.AsType[*SizeError](err); !ok {
		t.Error(err)
	}
}

func TestGetEndsWithTheContext(t *testing.T) {
	done := make(chan struct{})
	at := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		<-done
	})
	defer close(done)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := allowing("127.0.0.0/8").Get(ctx, at, "*/*", 10)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// CVE-2026-4874 and CVE-2026-56739: requests to internal addresses through a URL that
// somebody registered. The name may resolve to any address, and to several.
func TestGetRefusesNamesOfInternalHosts(t *testing.T) {
	called := false
	at := serve(t, func(http.ResponseWriter, *http.Request) { called = true })
	port := at[strings.LastIndex(at, ":"):]
	for rule, addresses := range map[string][]string{
		"an internal address":                  {"10.0.0.7"},
		"a loopback address":                   {"127.0.0.1"},
		"the metadata of a cloud":              {"169.254.169.254"},
		"a public and an internal address":     {"93.184.216.34", "127.0.0.1"},
		"an internal address as IPv6":          {"::ffff:127.0.0.1"},
		"an internal address behind NAT64":     {"64:ff9b::7f00:1"},
		"a unique local address":               {"fd00::1"},
		"a public address that is a multicast": {"224.0.0.1"},
	} {
		f := New(Config{})
		f.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
			var list []netip.Addr
			for _, a := range addresses {
				list = append(list, netip.MustParseAddr(a))
			}
			return list, nil
		}
		_, err := f.Get(t.Context(), "http://client.example"+port+"/", "*/*", 10)
		if err == nil || !strings.Contains(err.Error(), "special-use address") {
			t.Errorf("%s: %v", rule, err)
		}
	}
	// The name resolves to a public address when it is checked, and to a loopback address
	// when the connection is made.
	f := New(Config{})
	f.lookup = func(context.Context, string, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	_, err := f.Get(t.Context(), "http://localhost"+port+"/", "*/*", 10)
	if err == nil || !strings.Contains(err.Error(), "special-use address") {
		t.Error("a name that resolves anew:", err)
	}
	if called {
		t.Error("it was called")
	}
}

func TestNoLoopback(t *testing.T) {
	f := New(Config{Networks: prefixes("0.0.0.0/0", "::/0"), NoLoopback: true})
	for address, want := range map[string]bool{"10.0.0.1": true, "127.0.0.1": false, "127.8.8.8": false, "::1": false,
		"::ffff:127.0.0.1": false, "0.0.0.0": false, "::": false, "64:ff9b::7f00:1": false} {
		if f.Allows(netip.MustParseAddr(address)) != want {
			t.Errorf("%s: %v", address, !want)
		}
	}
}

func TestIsJSON(t *testing.T) {
	for media, want := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "APPLICATION/JSON": true,
		"application/client+json": true,
		"":                        false, "text/json": false, "text/html": false, "application/jsonp": false,
		"text/plain+json": false,
		"image/svg+json":  false, "application/json;;": false,
	} {
		d := Document{Header: http.Header{"Content-Type": {media}}}
		if d.IsJSON() != want {
			t.Errorf("%q: %v", media, !want)
		}
	}
}
