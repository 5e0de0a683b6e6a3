package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"mandate/conformance/bench/load"
)

// report contains all results.
type report struct {
	Machine   machine    `json:"machine"`
	Summaries []summary  `json:"summaries"`
	Singles   []single   `json:"others,omitempty"`
	Figures   []*figures `json:"figures"`

	options *options
}

// write prints the tables and writes the requested files.
func (r *report) write() error {
	for _, database := range []string{onPostgres, onSQLite, elsewhere} {
		for _, p := range allPaths(r.options) {
			s, measured := summarize(database, p, r.Figures)
			if measured {
				r.Summaries = append(r.Summaries, s)
			}
		}
	}
	r.print(r.options.stdout, r.options.markdown)
	if r.options.json != "" {
		err := writeJSON(r.options.json, r)
		if err != nil {
			return err
		}
	}
	if r.options.svg != "" {
		return r.draw(r.options.svg)
	}
	return nil
}

func writeJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

func (r *report) print(w io.Writer, markdown bool) {
	fmt.Fprintf(w, "%s\n", r.Machine)
	for _, database := range []string{onPostgres, onSQLite, elsewhere} {
		table, lines := r.table(database)
		if len(table) > 1 {
			fmt.Fprintf(w, "\n%s\n\n", r.heading(database))
			write(w, table, markdown)
			for _, line := range lines {
				fmt.Fprintln(w, line)
			}
		}
	}
	if len(r.Singles) > 0 {
		fmt.Fprintln(w)
		table := [][]string{{"Other figures", "median", "smallest to largest", "goal"}}
		for _, s := range r.Singles {
			table = append(table, s.row())
		}
		write(w, table, markdown)
	}
	if len(r.Summaries) > 0 {
		fmt.Fprint(w, `
Rates are valid responses per second in a closed loop. The ratio is the median of the ratios of
all rounds, with the smallest and the largest. Latencies are from an open loop at half of that
rate, measured from the time at which a request was due. If the bare handlers have a long tail
too, the machine causes it. CPU is the processor time for one request of the closed loop. For the
generator it is its largest share of all processors.
`)
	}
}

func (r *report) heading(database string) string {
	switch database {
	case onPostgres:
		return "PostgreSQL " + r.Machine.Postgres + ", fsync and synchronous_commit on"
	case onSQLite:
		return "SQLite, WAL, synchronous=FULL"
	}
	return r.options.target.issuer
}

// table has a row for each path, and a line for each kind of error and for each doubt.
func (r *report) table(database string) ([][]string, []string) {
	table := [][]string{{"Path", "conn.", "per second", r.options.other(), "ratio", "goal", "p50", "p99",
		"p99.9", "p99/p50",
		"server CPU", "database CPU", "generator", "errors"}}
	var lines []string
	for _, s := range r.Summaries {
		if s.Database != database {
			continue
		}
		ratio, goal, bare := "-", "-", "-"
		if s.Bare > 0 {
			bare = strings.TrimSpace(s.Yardstick + " " + grouped(int(s.Bare)))
			ratio = fmt.Sprintf("%.2f (%.2f to %.2f)", s.Ratio.Median, s.Ratio.Min, s.Ratio.Max)
		}
		if s.Goal > 0 && s.Bare > 0 {
			goal = fmt.Sprintf("%.2f %s", s.Goal, met(s.Ratio.Median >= s.Goal))
		}
		tail := "-"
		if s.P50 > 0 {
			tail = fmt.Sprintf("%.1f", s.P99/s.P50)
			if s.BareP50 > 0 {
				tail += fmt.Sprintf(" (%s %.1f)", r.options.other(), s.BareP99/s.BareP50)
			}
			if s.Goal > 0 {
				tail += " " + met(s.P99 < 10*s.P50)
			}
		}
		count := 0
		for _, n := range s.Errors {
			count += n
		}
		table = append(table, []string{s.Title, strconv.Itoa(s.Connections), grouped(int(s.Rate)), bare, ratio, goal,
			milliseconds(s.P50), milliseconds(s.P99), milliseconds(s.P999), tail,
			microseconds(s.ServerCPU), microseconds(s.DatabaseCPU), fmt.Sprintf("%.0f %%", 100*s.Generator), grouped(count)})
		lines = append(lines, errorLines(s.Title, s.Errors)...)
		lines = append(lines, errorLines(s.Title+", "+r.options.other(), s.BareErrors)...)
		if s.LateP99 > s.P50 {
			lines = append(lines,
				fmt.Sprintf("NOTE: %s: the generator itself was late by %s or more with one request of a hundred. Something else "+
					"uses the processors: the p99 is not reliable.",
					s.Title, milliseconds(s.LateP99)))
		}
	}
	return table, lines
}

func errorLines(title string, errors map[string]int) []string {
	var lines []string
	for _, kind := range slices.Sorted(maps.Keys(errors)) {
		lines = append(lines, fmt.Sprintf("ERRORS: %s: %s x %s", title, grouped(errors[kind]), kind))
	}
	return lines
}

func met(yes bool) string {
	if yes {
		return "met"
	}
	return "MISSED"
}

func (s single) row() []string {
	show := func(v float64) string {
		if s.Unit == "x" {
			return fmt.Sprintf("%.2f x", v)
		}
		return grouped(int(v+0.5)) + " " + s.Unit
	}
	goal := "-"
	if s.Goal > 0 {
		goal = show(s.Goal) + " " + met(s.met())
	}
	between := "-"
	if len(s.Values) > 1 {
		between = show(slices.Min(s.Values)) + " to " + show(slices.Max(s.Values))
	}
	return []string{s.Name, show(load.Median(s.Values)), between, goal}
}

// grouped separates each three digits by a comma.
func grouped(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func milliseconds(micro float64) string {
	if micro == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", micro/1000)
}

func microseconds(micro float64) string {
	if micro <= 0 {
		return "-"
	}
	return fmt.Sprintf("%.0f µs", micro)
}

// write aligns a table for the terminal, or writes it as Markdown.
func write(w io.Writer, table [][]string, markdown bool) {
	if !markdown {
		aligned := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		for _, row := range table {
			fmt.Fprintln(aligned, strings.Join(row, "\t"))
		}
		_ = aligned.Flush() // without a terminal nobody reads the error
		return
	}
	widths := make([]int, len(table[0]))
	for _, row := range table {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for n, row := range table {
		line, rule := "|", "|"
		for i, cell := range row {
			line += " " + cell + strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)) + " |"
			rule += strings.Repeat("-", widths[i]+2) + "|"
		}
		fmt.Fprintln(w, line)
		if n == 0 {
			fmt.Fprintln(w, rule)
		}
	}
}
