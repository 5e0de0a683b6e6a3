package check

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// A late logout token for a session of another check does not concern this check.
func TestNoticeOfAnotherVisit(t *testing.T) {
	check := &T{server: &Server{}}
	visitTo := func(sid string) *Visit {
		check.server.visited.Store(sid, true)
		return &Visit{ID: &jose.JWT{Claims: map[string]any{"sid": sid}}}
	}
	own := visitTo("own")
	visitTo("another")
	visitTo("") // a session without sid
	for sid, want := range map[string]bool{"own": true, "another": false, "never seen": true, "": true} {
		n := &BackchannelRequest{Token: jose.Unsigned("." + jose.Encoded(map[string]any{"sid": sid}) + ".")[0]}
		if got := check.concerns(n, []*Visit{own}); got != want {
			t.Errorf("%q: %t, want %t", sid, got, want)
		}
	}
	if check.concerns(&BackchannelRequest{Token: "no token"}, []*Visit{own}) {
		t.Error("what is no token counts for a visit")
	}
}

// What is no token reaches the check if no token arrives, and not before: anybody can send it.
func TestNoticeThatIsNoToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Listener{more: make(chan struct{})}
		s := serverOf("https://as.example", Metadata{})
		s.Target.Backchannel, s.listens = "127.0.0.1:0", l
		s.Target.Clients[need.Backchannel] = &target.Client{ID: "told"}
		token := jose.Unsigned("." + jose.Encoded(map[string]any{"sid": "own"}) + ".")[0]
		visit := &Visit{ID: &jose.JWT{Claims: map[string]any{"sid": "own"}}}
		send := func(token string) { post(l, http.MethodPost, logoutPath, "logout_token="+token) }
		for want, later := range map[string]bool{token: true, "garbage": false} {
			var got *BackchannelRequest
			result := s.Check(t.Context(), Rule{ID: "TEST/1/notice", Level: Must, Check: func(t *T) {
				got = t.LogoutTokenDuring(func() {
					send("garbage")
					if later {
						time.AfterFunc(time.Second, func() { send(token) })
					}
				}, visit)
			}})
			if got == nil || got.Token != want {
				t.Errorf("%+v, want %q: %s", got, want, result.Reason)
			}
		}
	})
}

func post(l *Listener, method, path, body string) int {
	w, r := httptest.NewRecorder(), httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	l.ServeHTTP(w, r)
	return w.Code
}

// Anybody who reaches the listener can send requests to it. It keeps those that can be logout tokens, and not too many.
func TestListenerLimits(t *testing.T) {
	l := &Listener{more: make(chan struct{})}
	token := "logout_token=" + jose.Unsigned("." + jose.Encoded(map[string]any{"sid": "s"}) + ".")[0]
	for _, c := range []struct {
		method, path, body string
		status, kept       int
	}{
		{"POST", "/logout", token, 200, 1},
		{"POST", "/logout?from=server", token, 200, 2},
		{"POST", "/logout", "garbage", 200, 3},
		{"PUT", "/logout", token, 200, 4},
		{"PUT", "/logout", "garbage", 405, 4},
		{"GET", "/logout", "", 405, 4},
		{"POST", "/", token, 404, 4},
		{"POST", "/logout", "x=" + strings.Repeat("x", maxNotice), 200, 5},
	} {
		if got := post(l, c.method, c.path, c.body); got != c.status || len(l.heard) != c.kept {
			t.Errorf("%s %s: %d and %d requests, want %d and %d", c.method, c.path, got, len(l.heard), c.status, c.kept)
		}
	}
	if got := l.heard[4].Form; len(got["x"]) > 0 {
		t.Error("a body without a limit is kept")
	}
	for range maxHeard {
		post(l, "POST", "/logout", token)
	}
	if got := post(l, "POST", "/logout", token); got != 503 || len(l.heard) != maxHeard {
		t.Errorf("%d after %d requests", got, len(l.heard))
	}
}

// A delayed answer ends with its request, for example when the listener is closed.
func TestDelayEndsWithTheRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Listener{more: make(chan struct{})}
		l.Slow(time.Hour)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		l.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/logout", nil))
		if took := time.Since(began); took != time.Second {
			t.Errorf("the answer ended after %s", took)
		}
	})
}
