// Command times shows where the time of tests goes. It reads what commands with `go test -json` write, prints what
// `go test` prints without -json, and then the slowest tests and packages. Each input ends with the exit code:
//
//	times -processor FILE <(go test -json -exec 'times -processor FILE -exec' ./...; echo "exit code $?")
//
// As the program that go test runs tests with (-exec), it adds the processor time of a package to FILE.
package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
)

func main() {
	file := flag.String("processor", "", "file that has the processor time of each package")
	exec := flag.Bool("exec", false, "run the tests of a package, and add their processor time to the file")
	flag.Parse()
	if *exec {
		os.Exit(run(*file, flag.Args()))
	}
	r := newReport(os.Stdout)
	var reading sync.WaitGroup
	for _, input := range flag.Args() {
		reading.Go(func() { r.readFile(input) })
	}
	reading.Wait()
	err := r.readProcessorTimes(*file)
	if err != nil {
		r.fail(err)
	}
	r.print()
	if r.failed {
		os.Exit(1)
	}
}

// readProcessorTimes reads the file of processor times. This program was built in the module whose packages are tested,
// and runs in its folder.
func (r *report) readProcessorTimes(file string) error {
	build, known := debug.ReadBuildInfo()
	root, err := os.Getwd()
	if err != nil || !known {
		return cmp.Or(err, errors.New("this program does not know its module"))
	}
	return r.processorTimes(file, build.Main.Path, root)
}

// run runs the binary of a package's tests, and returns its exit code.
func run(file string, command []string) int {
	folder, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	child := exec.Command(command[0], command[1:]...)
	child.Stdin, child.Stdout, child.Stderr = os.Stdin, os.Stdout, os.Stderr
	err = child.Start()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	// go test asks for the stacks of tests that hang.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGQUIT, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		for s := range signals {
			child.Process.Signal(s)
		}
	}()
	child.Wait()
	state := child.ProcessState
	err = appendLine(file, used{folder, state.UserTime() + state.SystemTime()})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if state.ExitCode() < 0 {
		return 2 // by a signal
	}
	return state.ExitCode()
}

func appendLine(name string, line used) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return closed(f, err)
}

func closed(f io.Closer, err error) error {
	end := f.Close()
	if err != nil {
		return err
	}
	return end
}
