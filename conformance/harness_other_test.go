//go:build !linux

package conformance

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
