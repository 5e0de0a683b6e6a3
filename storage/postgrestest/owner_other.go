//go:build !linux

package postgrestest

import (
	"os"
	"syscall"
)

// owner is the user that runs PostgreSQL: on this system always the user of the tests.
type owner struct{}

func unprivileged() (*owner, error) { return &owner{}, nil }

func (*owner) tempDir() (string, error) { return os.MkdirTemp("", "mandate-postgres-") }

func (*owner) own(string) error { return nil }

func (*owner) attributes() *syscall.SysProcAttr { return nil }

func detached() *syscall.SysProcAttr { return nil }
