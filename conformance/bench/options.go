package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// options are the flags of a command.
type options struct {
	stdout, stderr io.Writer

	dir, binary      string
	against          string
	databases        []string
	postgres         string
	postgresSettings []string
	settings         []string

	rounds            int
	seconds, warmUp   time.Duration
	wide, connections int
	tokens            []int
	only              []string
	issued, fill      int
	starts            int
	json, svg         string
	markdown          bool
	target            foreign
	withBare          bool

	lifetime, every time.Duration
	total           int
	rate            float64
	growth          float64
	attackers       int
}

// foreign is another provider, as the flags describe it.
type foreign struct {
	issuer, token, introspect, authorize, resource string
	id, secret, apiID, apiSecret                   string
	scope, redirect, cookieFile                    string
	inBody                                         bool
	pid                                            int
}

func (o *options) parse(command string, args []string, more func(*flag.FlagSet)) error {
	f := flag.NewFlagSet(strings.TrimSpace("bench "+command), flag.ContinueOnError)
	f.SetOutput(o.stderr)
	o.databases = []string{"postgres", "sqlite"}
	list(f, "databases", "`NAMES` of the databases: postgres,sqlite", &o.databases)
	f.StringVar(&o.postgres, "postgres", "", "`URL` of a PostgreSQL to use instead of starting one; databases are "+
		"created there, and dropped")
	f.Func("postgres-set", "`NAME=VALUE` of a setting of the PostgreSQL that is started; may be repeated",
		func(v string) error {
			o.postgresSettings = append(o.postgresSettings, v)
			return nil
		})
	f.Func("set", "`KEY=VALUE` of a setting of Mandate; may be repeated", func(v string) error {
		o.settings = append(o.settings, "MANDATE_"+v)
		return nil
	})
	f.StringVar(&o.binary, "binary", "", "`FILE` to measure, instead of building it from this tree")
	f.StringVar(&o.dir, "dir", "", "`FOLDER` on the disk to measure (default /var/tmp)")
	f.IntVar(&o.connections, "connections", 16, "connections")
	more(f)
	err := f.Parse(args)
	if err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	for _, name := range o.databases {
		if name != "postgres" && name != "sqlite" {
			return fmt.Errorf("--databases: %q is neither postgres nor sqlite", name)
		}
	}
	if o.connections < 1 || o.seconds < 0 || o.every < 0 {
		return fmt.Errorf("--connections and times must be positive")
	}
	return nil
}

// length is a flag for a duration: a plain number means seconds.
func length(f *flag.FlagSet, name string, into *time.Duration, by time.Duration, usage string) {
	*into = by
	f.Func(name, fmt.Sprintf("%s; a plain number is `SECONDS` (default %v)", usage, by), func(value string) error {
		if _, err := strconv.ParseFloat(value, 64); err == nil {
			value += "s"
		}
		parsed, err := time.ParseDuration(value)
		*into = parsed
		return err
	})
}

// list is a flag with words that are separated by commas.
func list(f *flag.FlagSet, name, usage string, into *[]string) {
	f.Func(name, usage, func(value string) error {
		*into = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
		return nil
	})
}

func (o *options) benchFlags(f *flag.FlagSet) {
	f.IntVar(&o.rounds, "rounds", 5, "number of rounds; each round measures every path, on the bare handlers and on "+
		"Mandate")
	length(f, "seconds", &o.seconds, 2*time.Second, "how long each measurement takes")
	length(f, "warm-up", &o.warmUp, 2*time.Second, "how long each path runs before the first round")
	f.IntVar(&o.wide, "client-connections", 64, "connections for client credentials")
	o.tokens = []int{1, 10_000}
	f.Func("introspect", "`NUMBERS` of tokens to introspect (default 1,10000)", func(value string) error {
		o.tokens = nil
		for word := range strings.SplitSeq(value, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 || n > bareRows {
				return fmt.Errorf("%q is not a number from 1 to %d", word, bareRows)
			}
			o.tokens = append(o.tokens, n)
		}
		return nil
	})
	f.StringVar(&o.against, "against", "",
		"`FILE`, another binary of Mandate, to measure in place of the bare handlers")
	list(f, "only", "`NAMES` of what to measure: client, introspect, resource, assertion, push, refresh, code, device, "+
		"register, guard, dpop, sample, proxy, start, memory, fill (default all)", &o.only)
	f.IntVar(&o.issued, "tokens", 100_000, "`NUMBER` of tokens after which the memory is read again")
	f.IntVar(&o.fill, "fill", 0, "`NUMBER` of live tokens in a table that is compared with an empty one, on PostgreSQL "+
		"(default none)")
	f.IntVar(&o.starts, "starts", 5, "how often the start is timed")
	f.StringVar(&o.json, "json", "", "`FILE` for all figures")
	f.StringVar(&o.svg, "svg", "", "`FILE` for a chart of the ratios")
	f.BoolVar(&o.markdown, "markdown", false, "print the tables as Markdown")

	t := &o.target
	f.StringVar(&t.issuer, "target", "", "`ISSUER` of another provider to measure instead, whose metadata is read")
	f.BoolVar(&o.withBare, "bare", false, "with --target: measure the bare handlers too")
	f.StringVar(&t.id, "client-id", "", "with --target: `ID` of a client; its secret is read from BENCH_CLIENT_SECRET")
	f.StringVar(&t.apiID, "introspect-id", "", "with --target: `ID` of the client that introspects tokens, if it is "+
		"another one; its secret is read from BENCH_INTROSPECT_SECRET")
	f.StringVar(&t.scope, "scope", "", "with --target: `SCOPE` to request")
	f.BoolVar(&t.inBody, "secret-in-body", false, "with --target: send the client's secret in the form instead of by "+
		"HTTP Basic")
	f.StringVar(&t.token, "token-url", "", "with --target: `URL` of the token endpoint, instead of the one in the "+
		"metadata")
	f.StringVar(&t.introspect, "introspect-url", "", "with --target: `URL` of the introspection endpoint, likewise")
	f.StringVar(&t.authorize, "authorize-url", "", "with --target: `URL` of the authorization endpoint, likewise")
	f.StringVar(&t.resource, "resource-url", "", "with --target: `URL` of an API that accepts its access tokens")
	f.StringVar(&t.redirect, "redirect-uri", "http://127.0.0.1/callback", "with --target: redirect `URI` of the client")
	f.StringVar(&t.cookieFile, "cookie-file", "", "with --target: `FILE` with Cookie headers of signed-in browsers that "+
		"get no consent page, one per line; refresh and code need it")
	f.IntVar(&t.pid, "target-pid", 0, "with --target: `PID` of the process whose processor time is measured, with its "+
		"children")
	t.secret, t.apiSecret = os.Getenv("BENCH_CLIENT_SECRET"), os.Getenv("BENCH_INTROSPECT_SECRET")
}

func (o *options) soakFlags(f *flag.FlagSet) {
	length(f, "lifetime", &o.lifetime, 10*time.Second, "lifetime of a token")
	length(f, "every", &o.every, 5*time.Second, "how often a line is printed")
	f.IntVar(&o.total, "tokens", 1_000_000, "`NUMBER` of tokens to issue")
	f.Float64Var(&o.rate, "rate", 0, "tokens a second (default: as many as possible)")
	f.Float64Var(&o.growth, "growth", 0.25, "the `SHARE` by which the table may be larger in the second half of the "+
		"time than in the first")
}

func (o *options) floodFlags(f *flag.FlagSet) {
	f.IntVar(&o.rounds, "rounds", 3, "number of rounds; each round measures without passwords, with wrong ones and with "+
		"right ones")
	length(f, "seconds", &o.seconds, 2*time.Second, "how long each measurement takes")
	f.Float64Var(&o.rate, "rate", 0, "introspections a second (default: a quarter of the maximum)")
	f.IntVar(&o.attackers, "attackers", 32, "connections that try passwords")
}

// other names the column of what Mandate is compared with.
func (o *options) other() string {
	if o.against != "" {
		return "before"
	}
	return "bare"
}

// wants reports whether something is measured: by its name, or by the part of it before a dash.
func (o *options) wants(name string) bool {
	kind, _, _ := strings.Cut(name, "-")
	return len(o.only) == 0 || slices.Contains(o.only, name) || slices.Contains(o.only, kind)
}
