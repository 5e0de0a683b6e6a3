//go:build !linux

package mandate

import "syscall"

func childAttributes() *syscall.SysProcAttr { return nil }
