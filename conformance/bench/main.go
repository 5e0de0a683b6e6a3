// Command bench measures the speed of Mandate, compared with handlers that do the minimum for the same work,
// in the same run, on the same computer and the same database. Such ratios are meaningful on any
// machine; rates alone are not. With --target it measures another provider with the same paths.
//
//	go run ./conformance/bench [flags]         the table
//	go run ./conformance/bench soak [flags]    short-lived tokens: do the tables grow?
//	go run ./conformance/bench flood [flags]   introspection while passwords are tried, URLs are
//	                                            invented, or clients register
//
// It knows nothing about the code of the server: it builds the binary, and sends HTTP requests to it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"mandate/conformance/bench/process"
)

const bareCommand = "bare"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case err == nil:
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(os.Stderr, "bench: interrupted; all programs that were started are stopped")
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	command := ""
	if len(args) > 0 && args[0] != "" && args[0][0] != '-' {
		command, args = args[0], args[1:]
	}
	if command == bareCommand {
		return serveBare(ctx, args)
	}
	o := &options{stdout: stdout, stderr: stderr}
	commands := map[string]struct {
		flags func(*flag.FlagSet)
		do    func(context.Context, *options) error
	}{
		"":      {o.benchFlags, compare},
		"soak":  {o.soakFlags, soak},
		"flood": {o.floodFlags, flood},
	}
	chosen, known := commands[command]
	if !known {
		return fmt.Errorf("there is no command %q: soak, flood, or none for the benchmark", command)
	}
	err := o.parse(command, args, chosen.flags)
	if err != nil {
		return err
	}
	remove, err := o.workFolder()
	if err != nil {
		return err
	}
	defer remove()
	if o.target.issuer == "" && o.binary == "" {
		o.say("Building the server ...")
		o.binary, err = build(ctx, o.dir)
		if err != nil {
			return err
		}
	}
	if o.binary != "" {
		o.binary, err = filepath.Abs(o.binary)
		if err != nil {
			return err
		}
	}
	return chosen.do(ctx, o)
}

// workFolder returns the folder of the databases. It is on a disk, because commits are measured.
func (o *options) workFolder() (func(), error) {
	if o.dir == "" {
		// FHS §5.15: /var/tmp survives a restart, so it is not in memory; /tmp may be.
		o.dir = "/var/tmp"
		if info, err := os.Stat(o.dir); err != nil || !info.IsDir() {
			o.dir = os.TempDir()
		}
	}
	dir, err := os.MkdirTemp(o.dir, "mandate-bench-")
	if err != nil {
		return nil, err
	}
	o.dir = dir
	if process.InMemory(dir) {
		o.say("ATTENTION: %s is in memory. No commit waits for a disk there, so the figures are meaningless; use --dir.", dir)
	}
	// PostgreSQL can run as another user, with a folder of its own inside.
	err = os.Chmod(dir, 0o711)
	return func() {
		err := os.RemoveAll(dir)
		if err != nil {
			o.say("remove %s: %v", dir, err)
		}
	}, err
}

// say reports progress on the terminal. Results go to the standard output.
func (o *options) say(format string, args ...any) { fmt.Fprintf(o.stderr, format+"\n", args...) }
