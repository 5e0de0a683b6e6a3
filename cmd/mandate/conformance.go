package main

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mandate/conformance"
)

// rulesRun is what the command line says of a run.
type rulesRun struct {
	target, profile, format, ca string
	only                        []string
	list, ask                   bool
	options                     conformance.Options
}

const (
	conformanceHelp = `Tries the rules of the OAuth 2.0 and OpenID Connect documents on the server that
the target file names, and says rule by rule what holds. The checks send requests
that are wrong on purpose: point them at your own servers only.

The target file has the issuer, somebody who can sign in, and clients by their
role; --write-target asks for them and writes it. What it does not have is skipped.

The exit code is 0 when every MUST that could be tried holds, 1 when one does not
or a step before it failed, and 2 when the rules were not tried: the command line,
the target file or the server is not as it must be.`

	conformanceExamples = `  mandate conformance --target t.yaml --write-target   ask, and write the target file
  mandate conformance --target t.yaml                  try all rules
  mandate conformance --target t.yaml --only RFC6749/4.1 --only RFC7636
  mandate conformance --target t.yaml --profile oauth21 --format html > report.html
  mandate conformance --list --only RFC7009            the rules of a document`
)

func (p *program) conformanceCommand() *cobra.Command {
	run := &rulesRun{}
	c := &cobra.Command{Use: "conformance", Short: "Try the rules of the standards on any server, and say what holds", Args: arguments(),
		Long: conformanceHelp, Example: conformanceExamples,
		RunE: func(c *cobra.Command, _ []string) error { return p.conformance(c.Context(), run) }}
	f := c.Flags()
	f.StringVar(&run.target, "target", "", "the `FILE` that says which server is checked, and with what")
	f.BoolVar(&run.ask, "write-target", false, "ask a few questions, and write the target file")
	f.StringArrayVar(&run.only, "only", nil, "a document, clause or `RULE`, such as RFC7636 or RFC6749/4.1; may be repeated")
	f.StringVar(&run.profile, "profile", "", "a `PROFILE`: "+names(conformance.Profiles()))
	f.StringVar(&run.format, "format", "text", "the `FORMAT` of the report: "+names(conformance.Formats()))
	f.BoolVar(&run.list, "list", false, "list the rules, and try none")
	f.StringVar(&run.ca, "ca", "", "a PEM `FILE` of the authorities to trust beside those of the system")
	f.DurationVar(&run.options.Timeout, "timeout", 15*time.Second, "how long one request may take")
	f.BoolVar(&run.options.Owned, "i-own-this-server", false, "check a server that is neither on this machine nor in a private network")
	return c
}

func names[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

func (p *program) conformance(ctx context.Context, run *rulesRun) error {
	write, known := conformance.Formats()[run.format]
	if !known {
		return wrongUsage("--format: there is no format %q, only %s", run.format, names(conformance.Formats()))
	}
	if run.options.Timeout <= 0 {
		return wrongUsage("--timeout: must be longer than nothing")
	}
	rules, err := conformance.Select(run.profile, run.only)
	switch {
	case err != nil:
		return wrongUsage("%s", err)
	case run.list && run.format != "text":
		return wrongUsage("--format: a list is text")
	case run.list:
		return conformance.List(p.stdout, rules)
	case run.target == "":
		return wrongUsage("--target is missing: the file that says which server is checked; with --write-target it is written")
	}
	if run.ask {
		return p.writeTarget(ctx, run)
	}
	report, err := p.tryRules(ctx, run, rules)
	if err != nil {
		return &untriedError{err}
	}
	report.Target, report.Selection, report.Version = run.target, run.selection(), "mandate "+programVersion()
	err = write(report, p.stdout)
	if err != nil {
		return err
	}
	if report.Failed() {
		return errors.New("not every MUST holds: see what failed or was blocked")
	}
	return nil
}

// selection says which rules were chosen.
func (r *rulesRun) selection() string {
	chosen := "all"
	if r.profile != "" {
		chosen = "the profile " + r.profile
	}
	if len(r.only) > 0 {
		chosen += ", of these " + strings.Join(r.only, ", ")
	}
	return chosen
}

// tryRules runs the checks, and removes what they registered even where they were interrupted.
func (p *program) tryRules(ctx context.Context, run *rulesRun, rules []conformance.Rule) (*conformance.Report, error) {
	var err error
	run.options.CA, err = authorities(run.ca)
	if err != nil {
		return nil, err
	}
	target, err := conformance.LoadTarget(run.target)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("there is no target file %s: mandate conformance --target %s --write-target asks a few questions and writes it", run.target, run.target)
	}
	if err != nil {
		return nil, err
	}
	runner, err := conformance.NewRunner(ctx, target, run.options)
	if err != nil {
		return nil, err
	}
	progress := p.progress(len(rules))
	report := runner.Run(ctx, rules, progress)
	err = runner.Close(context.WithoutCancel(ctx))
	if err != nil {
		fmt.Fprintf(p.stderr, "mandate: %s\n", err)
	}
	return report, ctx.Err()
}

// progress writes one line over and over, for somebody who watches.
func (p *program) progress(all int) func(conformance.Result) {
	if !isTerminal(p.stderr) {
		return func(conformance.Result) {}
	}
	done, width := 0, 0
	return func(r conformance.Result) {
		done++
		line := fmt.Sprintf("%.79s", fmt.Sprintf("%d of %d  %s", done, all, r.Rule.ID)) // in one line of a terminal
		if done == all {
			line = ""
		}
		fmt.Fprintf(p.stderr, "\r%-*s\r%s", width, "", line)
		width = len(line)
	}
}

func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

func (p *program) writeTarget(ctx context.Context, run *rulesRun) error {
	// Whether the file can be written is known before the questions, not after them.
	file, err := os.OpenFile(run.target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return &untriedError{fmt.Errorf("%s is there already: remove it first, or name another file", run.target)}
	case err != nil:
		return &untriedError{err}
	}
	file.Close()
	err = p.askTarget(ctx, run)
	if err != nil {
		return &untriedError{errors.Join(err, os.Remove(run.target))}
	}
	_, err = fmt.Fprintf(p.stdout, "\nWrote %s. It holds secrets. Now run: mandate conformance --target %s\n", run.target, run.target)
	return err
}

func (p *program) askTarget(ctx context.Context, run *rulesRun) error {
	var err error
	run.options.CA, err = authorities(run.ca)
	if err != nil {
		return err
	}
	target, err := conformance.Ask(ctx, p.stdin, p.stderr, run.options)
	if err != nil {
		return err
	}
	return target.Write(run.target)
}

// authorities are those of the system and those of a file; nil is the system's alone.
func authorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca: %s holds no certificate in PEM", path)
	}
	return pool, nil
}
