// Package main is the program. Only it reads the environment, and only it ends the process.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"mandate/cmd/mandate/command"
)

// version is for packagers: -ldflags "-X main.version=v1.2.3". If it is empty,
// the version is the one that the Go command recorded.
var version string

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// The second signal ends the process without waiting. In the first second a
	// further signal has no effect, since some senders, such as timeout(1), send it
	// twice.
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second, stop) })
	process := command.Process{
		Environ: os.Environ(),
		Stdin:   os.Stdin,
		Stdout:  os.Stdout,
		Stderr:  os.Stderr,
		Version: version,
	}
	code := command.Run(ctx, process, os.Args[1:])
	stop()
	os.Exit(code)
}
