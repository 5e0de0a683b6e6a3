package main

import (
	"bufio"
	"net"
	"net/http"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// outlives starts a server whose output nobody reads beyond the first line, and hangs up: outlives URL mandate serve.
// The server must answer after both, and end with 0 for SIGTERM.
func outlives(ts *testscript.TestScript, _ bool, args []string) {
	read, write, err := os.Pipe()
	ts.Check(err)
	program := exec.Command("/bin/sh", append([]string{"-c", `exec "$0" "$@"`}, args[1:]...)...)
	program.Dir, program.Env = ts.MkAbs("."),
		append(os.Environ(), "PATH="+ts.Getenv("PATH"), "MANDATE_LISTEN="+ts.Getenv("MANDATE_LISTEN"))
	program.Stdout, program.Stderr = write, write
	ts.Check(program.Start())
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	write.Close()
	_, err = bufio.NewReader(read).ReadString('\n')
	ts.Check(err)
	ts.Check(read.Close())
	answers := func() {
		for range 3 { // each is a line of the log, which is lost
			answersAt(ts, args[0], ended)
		}
	}
	answers()
	ts.Check(program.Process.Signal(syscall.SIGHUP))
	answers()
	ts.Check(program.Process.Signal(syscall.SIGTERM))
	select {
	case err = <-ended:
	case <-time.After(30 * time.Second):
		_ = program.Process.Kill()
		err = <-ended
	}
	if err != nil {
		ts.Fatalf("the server ended with %v, want exit code 0", err)
	}
}

// answersAt waits until a server answers.
func answersAt(ts *testscript.TestScript, at string, ended <-chan error) {
	for deadline := time.Now().Add(20 * time.Second); ; {
		answer, err := http.Get(at)
		if err == nil {
			answer.Body.Close()
			return
		}
		select {
		case err = <-ended:
			ts.Fatalf("the server ended: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			ts.Fatalf("no answer: %v", err)
		}
	}
}

// activated starts a server with a socket that this test has opened, as systemd does: activated mandate serve. It must
// answer there.
func activated(ts *testscript.TestScript, _ bool, args []string) {
	l, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	ts.Check(err)
	file, err := l.File()
	ts.Check(err)
	l.Close()
	program := exec.Command("/bin/sh", append([]string{"-c", `LISTEN_PID=$$ exec "$0" "$@"`}, args...)...)
	program.Dir, program.ExtraFiles = ts.MkAbs("."), []*os.File{file}
	program.Env = append(os.Environ(), "PATH="+ts.Getenv("PATH"), "LISTEN_FDS=1", "LISTEN_FDNAMES=http",
		"MANDATE_LISTEN=systemd:http", "MANDATE_BASE_URL=https://auth.example")
	program.Stderr = ts.Stderr()
	ts.Check(program.Start())
	file.Close()
	ended := make(chan error, 1)
	go func() { ended <- program.Wait() }()
	answersAt(ts, "http://"+l.Addr().String()+"/healthz", ended)
	ts.Check(program.Process.Signal(syscall.SIGTERM))
	ts.Check(<-ended)
}
