package testkit

import (
	"syscall"
	"testing"
	"time"
)

// ThreadTime returns the processor time of this thread: other programs and other goroutines do not count.
func ThreadTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	err := syscall.Getrusage(1, &used) // RUSAGE_THREAD of Linux
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
