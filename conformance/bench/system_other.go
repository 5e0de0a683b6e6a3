//go:build !linux

package main

import (
	"syscall"
	"time"
)

// What only Linux tells is left out elsewhere: the time and memory that processes take, and where the data
// lies. Children are stopped in order, and stay if we are killed.

func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

func unprivileged(...string) (*syscall.SysProcAttr, error) { return &syscall.SysProcAttr{}, nil }

func processor(int, bool) time.Duration { return 0 }

func parent(int, string) int { return 0 }

func resident(int) int64 { return 0 }

func inMemory(string) bool { return false }

func processorModel() string { return "" }
