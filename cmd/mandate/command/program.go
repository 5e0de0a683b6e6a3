// Package command is the commands of the program. Only it reads flags. It gets the rest of the process, such as the
// environment, from its caller: the program, or a test.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
)

// Process is what a command uses of its process.
type Process struct {
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Version        string // of the program; empty: the one that the Go command recorded
}

// Run runs one command and returns the exit code.
func Run(ctx context.Context, in Process, args []string) int {
	return (&program{Process: in}).run(ctx, args)
}

// program is one run of the command line.
type program struct {
	Process

	args    []string // the words of the command line
	config  string   // the flag --config
	asJSON  bool     // the flag --json of a command that withJSON has made
	started bool     // the command line is valid
}

// The exit codes of all commands.
const (
	exitDone  = 0
	exitError = 1
	exitUsage = 2
)

// exitUntried is the exit code of a conformance run that checked no rule. There
// exit code 1 means that the server violates a MUST.
const exitUntried = exitUsage

// untriedError says that the rules were not checked.
type untriedError struct{ error }

func (e *untriedError) Unwrap() error { return e.error }

// usageError says that the command line is wrong. Other errors have other causes.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func wrongUsage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// run runs one command and returns the exit code.
func (p *program) run(ctx context.Context, args []string) int {
	p.args = args
	root := p.root()
	root.SetArgs(args)
	root.SetIn(p.Stdin)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return exitDone
	}
	text, code := explain(err), exitError
	_, wrong := errors.AsType[*usageError](err)
	if wrong || !p.started {
		// Errors of cobra about flags and arguments occur before a command starts.
		text, _, _ = strings.Cut(text, "\n")
		text += " (see: " + command.CommandPath() + " --help)"
		code = exitUsage
	}
	_, untried := errors.AsType[*untriedError](err)
	if untried {
		code = exitUntried
	}
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(p.Stderr, "mandate: "+line)
	}
	return code
}

// stopped is for commands that run until they are stopped: if that happens while
// they start, it is no error.
func stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}

// plainly says what the value of a flag must be, in place of the function that could not read it.
func plainly(err error) error {
	before, function, found := strings.Cut(err.Error(), ": strconv.")
	switch {
	case !found:
		return err
	case strings.HasPrefix(function, "ParseBool"):
		return errors.New(before + ": write true or false")
	default:
		return errors.New(before + ": write a whole number")
	}
}

// settingFor returns the setting that the unknown flag of a server stands for, or "".
func settingFor(c *cobra.Command, unknown string) string {
	if c.Name() != "serve" && c.Name() != "resource-server" {
		return ""
	}
	return map[string]string{
		"port":     "LISTEN",
		"listen":   "LISTEN",
		"host":     "LISTEN",
		"address":  "LISTEN",
		"bind":     "LISTEN",
		"url":      "BASE_URL",
		"base-url": "BASE_URL",
		"issuer":   "BASE_URL",
		"database": "DATABASE_URL",
		"db":       "DATABASE_URL",
	}[unknown]
}

// group is a command that only contains other commands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	g := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	g.AddCommand(commands...)
	g.RunE = func(c *cobra.Command, args []string) error {
		var names []string
		for _, known := range commands {
			names = append(names, known.Name())
		}
		if len(args) == 0 {
			return wrongUsage("choose a command: %s", strings.Join(names, ", "))
		}
		return noCommand(c, args[0], names)
	}
	return g
}

// helpCommand replaces that of cobra, which accepts commands that do not exist.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{Use: "help [COMMAND]", Short: "Print the help of a command", Args: cobra.ArbitraryArgs,
		RunE: func(_ *cobra.Command, args []string) error {
			found, rest, err := root.Find(args)
			if err != nil {
				return err
			}
			if len(rest) > 0 && found.HasSubCommands() {
				return found.RunE(found, rest)
			}
			if len(rest) > 0 {
				return wrongUsage("there is no command %q", strings.Join(args, " "))
			}
			return found.Help()
		}}
}
