package clock

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mandate/testkit"
)

func TestClockThatDiffersFromTheDatabaseIsWrong(t *testing.T) {
	for _, c := range []struct {
		ahead time.Duration
		says  string
	}{
		{0, ""}, {time.Minute, ""}, {-time.Minute, ""},
		{61 * time.Second, "1m1s ahead of"}, {-61 * time.Second, "1m1s behind"}, {400 * 24 * time.Hour, "9600h0m0s ahead of"},
	} {
		synctest.Test(t, func(t *testing.T) {
			clock := New(false)
			asked := time.Now()
			time.Sleep(10 * time.Second) // a slow answer: the database told its time in the middle
			clock.Compare(asked, time.Now(), asked.Add(5*time.Second-c.ahead))
			time.Sleep(time.Hour) // no comparison since then
			err := clock.Err()
			if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) ||
				clock.Right() != (err == nil) {
				t.Errorf("%v ahead: %v, right %t", c.ahead, err, clock.Right())
			}
			if got := clock.Difference(); got != c.ahead {
				t.Errorf("%v ahead: it differs by %v", c.ahead, got)
			}
		})
	}
}

// set sets the clock of the machine to another time. The monotonic clock goes on.
func (c *Clock) set(by time.Duration) { c.right = c.right.Add(-by) }

// A machine whose clock was set by mistake, and soon after to the right time, has deleted nothing. A machine that
// started with a wrong clock, or was suspended, goes on after some time.
func TestClockThatWasSetIsRightAfterSomeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := New(true)
		hour := func(want bool) {
			t.Helper()
			for range 61 {
				clock.Settle()
				time.Sleep(time.Minute)
			}
			if clock.Right() != want {
				t.Errorf("right: %t", clock.Right())
			}
		}
		hour(true)
		clock.set(11 * time.Hour)
		clock.Settle()
		time.Sleep(59 * time.Minute)
		clock.Settle()
		if clock.Right() {
			t.Error("it is right at once")
		}
		clock.set(-11 * time.Hour)
		hour(true)
		clock.set(400 * 24 * time.Hour)
		if clock.Right() {
			t.Error("it is right at once, the second time")
		}
		hour(true)
	})
}

func TestClockAtOnce(t *testing.T) {
	clock, now := New(false), time.Now()
	testkit.AtOnce(func() { clock.Compare(now, now, now) }, clock.Settle, func() { clock.Difference() })
	if !clock.Right() {
		t.Error(clock.Err())
	}
}
