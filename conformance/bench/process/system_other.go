//go:build !linux

package process

import (
	"syscall"
	"time"
)

// What only Linux tells is left out elsewhere: the time and memory that processes take, and where the data
// lies. Children are stopped in order, and stay if we are killed.

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func Unprivileged(...string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }

func CPUTime(int, bool) time.Duration { return 0 }

func Parent(int, string) int { return 0 }

func Memory(int) int64 { return 0 }

func InMemory(string) bool { return false }

func Model() string { return "" }
