// Package process starts the programs of the benchmark, stops them, and reads the processor time and memory that they
// use.
package process

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// Child is a program that was started here. It ends with this program.
type Child struct {
	cmd    *exec.Cmd
	log    *os.File
	exited chan struct{} // closed when the program has ended
}

// Start starts a program. Its output goes to a file in memory if possible, because a log on disk would slow down the
// commits that are measured.
func Start(cmd *exec.Cmd, dir string) (*Child, error) {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		dir = "/dev/shm"
	}
	log, err := os.CreateTemp(dir, "mandate-bench-*.log")
	if err != nil {
		return nil, err
	}
	name := log.Name()
	log.Close()
	log, err = os.OpenFile(name, os.O_RDWR|os.O_APPEND, 0) // can be truncated while the program writes to it
	if err != nil {
		return nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = childAttributes()
	}
	p := &Child{cmd, log, make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel ends the child when the thread that started it ends. So this thread has to stay.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait()
		}
		close(p.exited)
	}()
	err = <-started
	if err != nil {
		p.forget()
		return nil, fmt.Errorf("start %s: %w", filepath.Base(cmd.Path), err)
	}
	return p, nil
}

// PID returns the process ID.
func (p *Child) PID() int { return p.cmd.Process.Pid }

func (p *Child) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Trim limits the size of the log.
func (p *Child) Trim() {
	info, err := p.log.Stat()
	if err == nil && info.Size() > 32<<20 {
		_ = p.log.Truncate(0)
	}
}

// said returns the end of the program's output.
func (p *Child) said() string {
	info, err := p.log.Stat()
	if err != nil {
		return err.Error()
	}
	end := make([]byte, min(info.Size(), 8<<10))
	n, _ := p.log.ReadAt(end, info.Size()-int64(len(end)))
	return strings.TrimSpace(string(end[:n]))
}

// Stop sends a signal to the program, and kills it if it does not end within a minute.
func (p *Child) Stop(signal os.Signal) {
	if p == nil {
		return
	}
	err := p.cmd.Process.Signal(signal)
	if err == nil || errors.Is(err, os.ErrProcessDone) {
		select {
		case <-p.exited:
		case <-time.After(time.Minute):
		}
	}
	_ = p.cmd.Process.Kill()
	<-p.exited
	p.forget()
}

// End stops the program by SIGTERM.
func (p *Child) End() { p.Stop(syscall.SIGTERM) }

func (p *Child) forget() {
	p.log.Close()
	os.Remove(p.log.Name())
}

// Wait polls until another process has done something.
func (p *Child) Wait(what string, patience, between time.Duration, done func() bool) error {
	for deadline := time.Now().Add(patience); !done(); time.Sleep(between) {
		if !p.running() {
			return fmt.Errorf("%s ended before %s:\n%s", filepath.Base(p.cmd.Path), what, p.said())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("after %v, this has not happened: %s\n%s", patience, what, p.said())
		}
	}
	return nil
}
