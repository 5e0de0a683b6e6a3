package postgrestest

import (
	"errors"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// owner is the user that runs PostgreSQL. PostgreSQL refuses to run as root.
type owner struct {
	credential *syscall.Credential // nil: the user of the tests
}

// unprivileged returns the user of the tests, or another user if that is root.
func unprivileged() (*owner, error) {
	if os.Getuid() != 0 {
		return &owner{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return &owner{&syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// tempDir creates a folder that belongs to the owner, in a place that the owner can
// enter.
func (o *owner) tempDir() (string, error) {
	parent := os.TempDir()
	if o.credential != nil && !reachable(parent) {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "mandate-postgres-")
	if err != nil {
		return "", err
	}
	return dir, o.own(dir)
}

func (o *owner) own(path string) error {
	if o.credential == nil {
		return nil
	}
	return os.Chown(path, int(o.credential.Uid), int(o.credential.Gid))
}

// attributes returns the attributes of PostgreSQL's processes. The kernel sends SIGQUIT
// if the test process dies without stopping the server; the signal ends the server and
// its child processes.
func (o *owner) attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Credential: o.credential, Setsid: true, Pdeathsig: syscall.SIGQUIT}
}

// detached returns the attributes of a process that outlives the tests.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// reachable reports whether every user may enter the folder and its parent folders.
func reachable(dir string) bool {
	for {
		info, err := os.Stat(dir)
		if err != nil || info.Mode()&1 == 0 {
			return false
		}
		if dir == filepath.Dir(dir) {
			return true
		}
		dir = filepath.Dir(dir)
	}
}
