package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// childAttributes make the kernel stop a child if this program is killed. The child has a process group of its own,
// so that Ctrl-C reaches only this program, which then stops the child.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// Unprivileged changes the owner of files to a user as whom PostgreSQL can run, which refuses to run as root. It
// returns the attributes of that process. SIGQUIT stops the server and its children.
func Unprivileged(files ...string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGQUIT}
	if os.Getuid() != 0 {
		return attributes, nil
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
		attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
		for _, file := range files {
			err = os.Chown(file, int(uid), int(gid))
			if err != nil {
				return nil, err
			}
		}
		return attributes, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

// ticks is the number of units of time per second in /proc. It is 100 on all Linux systems.
const ticks = 100

// processStat returns the fields of /proc/PID/stat after the name, which can contain spaces.
func processStat(pid int) ([]string, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil, false
	}
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	return fields, len(fields) > 15
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64) // the kernel wrote it
	return n
}

// CPUTime returns the processor time that a process has used. With family it includes the children, the ended ones
// too.
func CPUTime(pid int, family bool) time.Duration {
	fields, ok := processStat(pid)
	if !ok {
		return 0
	}
	sum := number(fields[11]) + number(fields[12])
	if family {
		sum += number(fields[13]) + number(fields[14])
		for _, child := range children(pid) {
			if fields, ok := processStat(child); ok {
				sum += number(fields[11]) + number(fields[12])
			}
		}
	}
	return time.Duration(sum) * time.Second / ticks
}

func children(pid int) []int {
	var found []int
	folders, _ := filepath.Glob("/proc/[0-9]*") // the pattern is well formed
	for _, folder := range folders {
		child := int(number(filepath.Base(folder)))
		fields, ok := processStat(child)
		if ok && int(number(fields[1])) == pid {
			found = append(found, child)
		}
	}
	return found
}

// Parent returns the process that started another one if it has this name, or 0.
func Parent(pid int, name string) int {
	fields, ok := processStat(pid)
	if !ok {
		return 0
	}
	above := int(number(fields[1]))
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", above))
	if err != nil || strings.TrimSpace(string(text)) != name {
		return 0
	}
	return above
}

// Memory returns the resident memory of a process in bytes.
func Memory(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(text)) {
		value, found := strings.CutPrefix(line, "VmRSS:")
		if found {
			return number(strings.TrimSuffix(strings.TrimSpace(value), " kB")) << 10
		}
	}
	return 0
}

// InMemory reports whether a folder is in memory, and not on a disk.
func InMemory(dir string) bool {
	const tmpfs, ramfs = 0x01021994, 0x858458f6
	var about syscall.Statfs_t
	err := syscall.Statfs(dir, &about)
	return err == nil && (about.Type == tmpfs || about.Type == ramfs)
}

// Model returns the model of the processor, or "".
func Model() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // without this file the model is unknown
	for line := range strings.Lines(string(text)) {
		name, value, found := strings.Cut(line, ":")
		if found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
