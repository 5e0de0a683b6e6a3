package command

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
	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rulesRun contains the flags of a conformance run.
type rulesRun struct {
	target, profile, format, ca string
	clients                     string
	only, reports               []string
	list, ask                   bool
	known                       baselineRun
	outputs                     outputs
	log                         string
	options                     wire.Options
	screen                      io.Writer // standard error, for lines that have no text of a server
}

// maxWorkers limits how many checks run at the same time.
const maxWorkers = 16

const (
	conformanceHelp = `Checks the rules of the OAuth 2.0 and OpenID Connect documents on the server that
the target file names, and reports the result of each rule. Some checks send
invalid requests on purpose: run them against your own servers only.

The target file contains the issuer, a person who can sign in, and a client for each
role. --write-target asks for them and writes the file. A rule that needs something
that the file lacks is skipped.

Without --profile and --only, the rules of all documents are checked except those of
MCP, which concern only servers for clients of the Model Context Protocol: use
--profile mcp or --only MCP.

The exit code is 0 if the server satisfies every MUST that could be checked, 1 if it
violates one or a step before a check failed, and 2 if the rules were not checked
because of the command line, the target file or the server. With --baseline, the
exit code is 1 if a failure is not in that file, or a rule in the file passes. If the
server does not answer any more at the end of the run, the exit code is 2.`

	conformanceExamples = `  mandate conformance --target t.yaml --write-target   ask questions, and write the target file
  mandate conformance --target t.yaml                  check all rules except MCP
  mandate conformance --target t.yaml --only RFC6749/4.1 --only RFC7636
  mandate conformance --target t.yaml --profile oauth21 --report report.html
  mandate conformance --target t.yaml --write-baseline known.yaml
  mandate conformance --target t.yaml --baseline known.yaml
  mandate conformance --list --only RFC7009            the rules of a document`
)

func (p *program) conformanceCommand() *cobra.Command {
	run := &rulesRun{}
	c := &cobra.Command{Use: "conformance", Short: "Check the rules of the standards on any server", Args: arguments(),
		Long: conformanceHelp, Example: conformanceExamples,
		RunE: func(c *cobra.Command, _ []string) error { return p.conformance(c.Context(), run) }}
	f := c.Flags()
	f.StringVar(&run.target, "target", "", "the `FILE` that names the server, a person and clients")
	f.BoolVar(&run.ask, "write-target", false, "ask questions, and write the target file")
	f.StringVar(
		&run.clients, "clients", "", "print what to register at the server, in a `FORMAT`: "+names(engine.ClientFormats()),
	)
	f.StringArrayVar(
		&run.only, "only", nil, "a document, clause or `RULE`, such as RFC7636 or RFC6749/4.1; may be repeated",
	)
	f.StringVar(&run.profile, "profile", "", "a `PROFILE`: "+names(rules.Profiles()))
	f.StringVar(&run.format, "format", "text", "the `FORMAT` of the report: "+names(engine.Formats()))
	run.known.flags(c)
	f.StringArrayVar(
		&run.reports, "report", nil,
		"write the report to a `FILE` too, in the format of its ending: .html, .json, .xml (JUnit) or .txt; may be repeated",
	)
	f.BoolVar(&run.list, "list", false, "list the rules, and check none")
	f.StringVar(&run.ca, "ca", "", "a PEM `FILE` of certificate authorities to trust in addition to those of the system")
	f.StringVar(
		&run.log, "log", "", "keep every request and answer in this `FOLDER`, one file for each rule, with secrets masked",
	)
	run.options.Timeout = 15 * time.Second
	f.Var((*duration)(&run.options.Timeout), "timeout", "the time limit of one request, a `DURATION` such as 30s")
	f.IntVar(&run.options.Workers, "workers", wire.InFlight, "how many checks run at the same time, 1 to 16")
	f.BoolVar(
		&run.options.Owned, "i-own-this-server", false,
		"allow a server that is neither on this machine nor in a private network",
	)
	return c
}

func names[V any](table map[string]V) string {
	return strings.Join(slices.Sorted(maps.Keys(table)), ", ")
}

func (p *program) conformance(ctx context.Context, run *rulesRun) error {
	// Errors and questions have texts of the server.
	run.screen, p.Stderr = p.Stderr, wire.HarmlessWriter{To: p.Stderr}
	write, known := engine.Formats()[run.format]
	if !known {
		return wrongUsage("--format: there is no format %q, only %s", run.format, names(engine.Formats()))
	}
	if run.options.Timeout <= 0 {
		return wrongUsage("--timeout: must be greater than 0")
	}
	if run.options.Workers < 1 || run.options.Workers > maxWorkers {
		return wrongUsage("--workers: must be between 1 and %d", maxWorkers)
	}
	all := rules.All()
	rules, err := rules.Select(run.profile, run.only)
	switch {
	case err != nil:
		return wrongUsage("%s", err)
	case run.list && run.format != "text":
		return wrongUsage("--format: a list is always text")
	case run.list && run.profile == "" && len(run.only) == 0:
		return engine.List(p.Stdout, all)
	case run.list:
		return engine.List(p.Stdout, rules)
	case run.clients != "" && engine.ClientFormats()[run.clients] == nil:
		return wrongUsage("--clients: there is no format %q, only %s", run.clients, names(engine.ClientFormats()))
	case run.clients != "" && !run.ask:
		return p.printClients(run, rules)
	case run.target == "":
		return wrongUsage("--target is missing: name the file that describes the server to check; --write-target writes it")
	}
	if run.ask {
		return p.writeTarget(ctx, run, rules)
	}
	err = run.known.open(&run.outputs)
	if err == nil {
		err = run.claimReports()
	}
	if err != nil {
		return errors.Join(err, run.outputs.abandon())
	}
	report, err := p.tryRules(ctx, run, rules)
	if report == nil {
		return &untriedError{errors.Join(err, run.outputs.abandon())}
	}
	report.Target, report.Selection, report.Version = run.target, run.selection(), "mandate "+p.build().Version
	if err != nil {
		// The results so far are written, but they are no baseline: most rules were not checked.
		report.Selection += ", until an interrupt"
		run.outputs.keep(run.reports)
		err = errors.New("interrupted: the report has the results so far")
		return &untriedError{errors.Join(err, run.writeReports(report), write(report, p.Stdout), run.outputs.abandon())}
	}
	if report.Stopped {
		return p.serverStopped(run, report, write)
	}
	err = errors.Join(
		run.known.compare(report), run.writeReports(report), write(report, p.Stdout),
	) // one that fails keeps no result from the others
	if err != nil {
		return err
	}
	if run.format == "text" {
		p.sayWritten(run)
	}
	switch {
	case report.Failed() && report.Baseline != nil:
		return errors.New("the server differs from the baseline: " + report.Baseline.Summary())
	case report.Failed():
		return errors.New("the server does not satisfy every MUST: see the rules that failed or were blocked")
	}
	return nil
}

// sayWritten names the files that the run has written.
func (p *program) sayWritten(run *rulesRun) {
	for _, path := range run.reports {
		fmt.Fprintf(p.Stdout, "Wrote %s.\n", path)
	}
	if run.known.write != "" {
		fmt.Fprintf(
			p.Stdout,
			"Wrote %s. With --write-baseline the exit code is 0, also if a MUST failed: the failures are in the file.\n",
			run.known.write,
		)
	}
}

// serverStopped writes the reports of a run at whose end the server did not answer. Nothing is known about the rules
// that were not reached, so that no baseline is compared or written.
func (p *program) serverStopped(
	run *rulesRun,
	report *engine.Report,
	write func(*engine.Report, io.Writer) error,
) error {
	err := errors.Join(run.writeReports(report), write(report, p.Stdout))
	blocked := report.Count(check.Blocked, "")
	return untried(errors.Join(
		err,
		fmt.Errorf(
			"the server has stopped answering, and %d of %d rules are blocked: start it, and run the check again", blocked,
			len(report.Results),
		),
	))
}

// selection describes the chosen rules.
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

// tryRules runs the checks. Afterwards, also after an interruption, it removes what
// they registered. After an interruption it returns the results so far with the error.
func (p *program) tryRules(ctx context.Context, run *rulesRun, selected []check.Rule) (*engine.Report, error) {
	var err error
	run.options.CA, err = authorities(run.ca)
	if err != nil {
		return nil, err
	}
	of, err := loadTarget(run.target)
	if err != nil {
		return nil, err
	}
	var kept *target.Kept
	if of.Register == target.Reuse {
		kept, err = of.LoadKept(run.target)
		if err != nil {
			return nil, err
		}
	}
	log, err := engine.NewLog(run.log)
	if err != nil {
		return nil, fmt.Errorf("--log: %w", err)
	}
	runner, err := conformance.NewRunner(ctx, of, run.options)
	if err != nil {
		return nil, err
	}
	if kept != nil {
		err = runner.Keep(kept.Add)
		if err != nil {
			return nil, errors.Join(err, runner.Close(context.WithoutCancel(ctx)))
		}
	}
	runner.KeepLog = log != nil
	if staying := runner.Staying(selected); staying != "" {
		fmt.Fprintf(p.Stderr, "mandate: %s\n", staying)
	}
	progress := newProgress(run.screen, isTerminal(run.screen), len(selected))
	report := runner.Run(ctx, progress.watched(selected), func(r check.Result) {
		progress.add(r)
		log.Keep(r)
	})
	progress.end()
	if len(run.only) == 0 {
		for _, a := range rules.Unchecked(runner.Metadata) {
			report.Unruled = append(report.Unruled, engine.Advertised(a))
		}
	}
	if log.Err() != nil {
		fmt.Fprintf(p.Stderr, "mandate: --log: %s\n", log.Err())
	}
	err = runner.Close(context.WithoutCancel(ctx))
	if err != nil {
		fmt.Fprintf(p.Stderr, "mandate: %s\n", err)
	}
	return report, ctx.Err()
}

func (p *program) writeTarget(ctx context.Context, run *rulesRun, selected []check.Rule) error {
	// Whether the file can be written must be known before the questions.
	file, err := os.OpenFile(run.target, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	switch {
	case errors.Is(err, os.ErrExist):
		return &untriedError{fmt.Errorf("%s already exists: remove it first, or name another file", run.target)}
	case err != nil:
		return &untriedError{err}
	}
	// The answers are written to this open file: another one could stand at its path by then.
	unfinished, err := p.askTarget(ctx, run, selected, file)
	err = errors.Join(err, file.Close())
	if err != nil {
		return &untriedError{errors.Join(err, os.Remove(run.target))}
	}
	check := run.again()
	if unfinished != "" {
		_, err = fmt.Fprintf(p.Stdout, "\nWrote %s, but %s\nThen run: %s\n", run.target, unfinished, check)
		return err
	}
	_, err = fmt.Fprintf(p.Stdout, "\nWrote %s. It contains secrets. Now run: %s\n", run.target, check)
	return err
}

// again returns the command that checks the server of the written target in the same way.
func (r *rulesRun) again() string {
	words := []string{"mandate conformance --target", wire.ShellWord(r.target)}
	if r.profile != "" {
		words = append(words, "--profile", r.profile)
	}
	for _, rule := range r.only {
		words = append(words, "--only", wire.ShellWord(rule))
	}
	if r.ca != "" {
		words = append(words, "--ca", wire.ShellWord(r.ca))
	}
	if r.options.Owned {
		words = append(words, "--i-own-this-server")
	}
	return strings.Join(words, " ")
}

// purpose returns what the clients are registered for. Without --profile and --only it is every rule.
func (r *rulesRun) purpose(selected []check.Rule) engine.Purpose {
	if r.profile == "" && len(r.only) == 0 {
		return engine.Purpose{Rules: rules.All(), Format: r.clients}
	}
	return engine.Purpose{Rules: selected, Chosen: true, Format: r.clients}
}

// askTarget writes the target file, and says what is not finished in it.
func (p *program) askTarget(
	ctx context.Context,
	run *rulesRun,
	selected []check.Rule,
	to io.Writer,
) (unfinished string, err error) {
	run.options.CA, err = authorities(run.ca)
	if err != nil {
		return "", err
	}
	answered, unfinished, err := engine.Ask(ctx, p.Stdin, p.Stderr, run.purpose(selected), run.options)
	if err != nil {
		return "", err
	}
	return unfinished, answered.Encode(to)
}

// loadTarget reads the target file.
func loadTarget(path string) (*target.Target, error) {
	of, err := target.Load(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf(
			"there is no target file %s: mandate conformance --target %s --write-target asks questions and writes it", path,
			wire.ShellWord(path),
		)
	}
	if _, is := errors.AsType[*os.PathError](err); is {
		return nil, fmt.Errorf("--target: %w", err)
	}
	return of, err
}

// printClients prints what to register for the target, or for any server.
func (p *program) printClients(run *rulesRun, selected []check.Rule) error {
	of := &target.Target{}
	if run.target != "" {
		var err error
		of, err = target.Load(run.target)
		switch {
		case errors.Is(err, os.ErrNotExist): // it will be written when the clients are registered
			fmt.Fprintf(
				p.Stderr,
				"mandate: there is no target file %s yet, so that these are the clients for any server. Register them, and then "+
					"write it: %s --write-target\n",
				run.target, run.again(),
			)
			of = &target.Target{}
		case err != nil:
			_, err = loadTarget(run.target)
			return untried(err)
		}
	}
	return engine.NewRegistration(of, run.purpose(selected).Roles()).Print(p.Stdout, run.clients)
}

// authorities returns the certificate authorities of the system and those of a
// file. nil means those of the system only.
func authorities(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		return nil, err
	}
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca: %s contains no certificate in PEM", path)
	}
	return pool, nil
}
