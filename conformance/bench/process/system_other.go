//go:build !linux

package process

import (
	"syscall"
	"time"
)

// Other systems than Linux do not tell the processor time and memory of processes, nor where a folder is stored.
// Children are stopped in order, but stay if this program is killed.

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// Unprivileged does nothing here.
func Unprivileged(...string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }

// CPUTime is unknown here.
func CPUTime(int, bool) time.Duration { return 0 }

// Parent is unknown here.
func Parent(int, string) int { return 0 }

// Memory is unknown here.
func Memory(int) int64 { return 0 }

// InMemory is unknown here.
func InMemory(string) bool { return false }

// Model is unknown here.
func Model() string { return "" }
