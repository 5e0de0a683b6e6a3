package provider

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

func newThrottle() *throttle { return &throttle{buckets: map[string]*bucket{}} }

func TestThrottle(t *testing.T) {
	three := limit{3, 10 * time.Second}
	t.Run("tries run out, and come back one by one", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle()
			for range 3 {
				_, err := th.take(try{"a", three})
				wantError(t, err, "no error")
			}
			for wait := 10; wait > 0; wait-- {
				_, err := th.take(try{"a", three})
				wantError(t, err, "429 temporarily_unavailable")
				if e, _ := errors.AsType[*Error](err); e.RetryAfter < wait || e.RetryAfter > wait+1 {
					t.Errorf("come again in %d s, want %d", e.RetryAfter, wait)
				}
				time.Sleep(time.Second)
			}
			_, err := th.take(try{"a", three})
			wantError(t, err, "no error")
			_, err = th.take(try{"a", three})
			wantError(t, err, "429 temporarily_unavailable")
		})
	})
	t.Run("no more tries are saved up than the limit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle()
			_, _ = th.take(try{"a", three})
			time.Sleep(time.Hour)
			n := 0
			for ; n < 10; n++ {
				if _, err := th.take(try{"a", three}); err != nil {
					break
				}
			}
			if n != 3 {
				t.Error(n, "tries after an hour")
			}
		})
	})
	t.Run("who is refused takes from no other bucket", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle()
			for range 3 {
				_, _ = th.take(try{"a", three})
			}
			for range 20 {
				_, err := th.take(try{"a", three}, try{"b", three})
				wantError(t, err, "429 temporarily_unavailable")
			}
			for range 3 {
				_, err := th.take(try{"b", three})
				wantError(t, err, "no error")
			}
		})
	})
	t.Run("success gives back, and never more than was there", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle()
			for range 100 {
				giveBack, err := th.take(try{"a", three}, try{"b", three})
				if err != nil {
					t.Fatal(err)
				}
				giveBack()
				giveBack()
			}
			n := 0
			for ; n < 10; n++ {
				if _, err := th.take(try{"a", three}); err != nil {
					break
				}
			}
			if n != 3 {
				t.Error(n, "tries")
			}
		})
	})
	t.Run("the memory is bounded", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			th := newThrottle()
			_, _ = th.take(try{"spent", limit{1, time.Hour}})
			fill := func(left float64) {
				for i := 0; len(th.buckets) < throttleSize; i++ {
					th.buckets[fmt.Sprint(i)] = &bucket{left: left, at: time.Now(), limit: three}
				}
			}
			fill(2)
			time.Sleep(time.Minute)
			// All but one are full again: those go, and the spent one stays.
			_, _ = th.take(try{"one more", three})
			if n := len(th.buckets); n != 2 {
				t.Error(n, "buckets are kept of those that are full again")
			}
			if _, err := th.take(try{"spent", limit{1, time.Hour}}); err == nil {
				t.Error("what was spent is forgotten")
			}
			// None is full: half of them go, whichever.
			fill(0)
			for i := range 1000 {
				_, err := th.take(try{fmt.Sprint("new ", i), three})
				wantError(t, err, "no error")
			}
			if n := len(th.buckets); n != throttleSize/2+1000 {
				t.Error(n, "buckets after the half went")
			}
			if n := len(th.buckets); n > throttleSize {
				t.Error(n, "buckets")
			}
		})
	})
	t.Run("who gives back to a bucket that is forgotten harms nothing", func(t *testing.T) {
		th := newThrottle()
		giveBack, _ := th.take(try{"a", three})
		clear(th.buckets)
		giveBack()
	})
}

func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1": "192.0.2.1", "::ffff:192.0.2.1": "192.0.2.1", "2001:db8::1": "2001:db8::/64", "2001:db8:0:0:ffff::1": "2001:db8::/64",
		"2001:db8:0:1::1": "2001:db8:0:1::/64", "fe80::1%eth0": "fe80::/64", "::1": "::/64", "": "", "@": "@", "192.0.2.1:80": "192.0.2.1:80",
	} {
		if got := network(address); got != want {
			t.Errorf("network(%q) = %q, want %q", address, got, want)
		}
	}
}
