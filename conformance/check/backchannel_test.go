package check

import (
	"context"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"mandate/conformance/jose"
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
	if !check.concerns(&BackchannelRequest{Token: "no token"}, []*Visit{own}) {
		t.Error("what is no token is kept from the check")
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
		l.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, "POST", "/told", nil))
		if took := time.Since(began); took != time.Second {
			t.Errorf("the answer ended after %s", took)
		}
	})
}
