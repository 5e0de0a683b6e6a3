package engine

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"mandate/conformance/check"
)

// Baseline lists the results that are known, so that a run fails only because of others.
type Baseline struct {
	File    string // where it stands, for the report
	Entries []Entry
}

// Entry is one known result. In the file, results with the same cause share an entry.
type Entry struct {
	Rule   string
	Cause  string       // what other rules fail because of too, as CauseOf returns it; or ""
	Result check.Status // fail, blocked or broken
	Reason string       // why it is accepted, in the words of a person

	Line int // in the file
}

// writtenEntry is an entry in the file: of one rule, or of a cause with its rules.
type writtenEntry struct {
	Rule   string       `yaml:"rule,omitempty"`
	Cause  string       `yaml:"cause,omitempty"`
	Rules  []string     `yaml:"rules,omitempty"`
	Result check.Status `yaml:"result,omitempty"`
	Reason string       `yaml:"reason"`
}

// unexplained begins the reason of an entry for which no person has written one.
const unexplained = "Not explained yet: "

// Explained reports whether a person has written the reason.
func (e Entry) Explained() bool { return !strings.HasPrefix(e.Reason, unexplained) }

const maxBaseline = 4 << 20

// LoadBaseline reads a baseline file. The rules are all that an entry may name.
func LoadBaseline(path string, rules []check.Rule) (*Baseline, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBaseline+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBaseline {
		return nil, fmt.Errorf("%s: is larger than four mebibytes", path)
	}
	b, err := ReadBaseline(text, rules)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	b.File = path
	return b, nil
}

// ReadBaseline reads the text of a baseline file. An error names the line.
func ReadBaseline(text []byte, rules []check.Rule) (*Baseline, error) {
	var root yaml.Node
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	err := decoder.Decode(&root)
	if errors.Is(err, io.EOF) {
		return &Baseline{}, nil // no failure is known
	}
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
	}
	if decoder.Decode(&yaml.Node{}) != io.EOF {
		return nil, errors.New("contains more than one document")
	}
	list := root.Content[0]
	if list.Kind != yaml.SequenceNode {
		return nil, fmt.Errorf("line %d: must be a list of entries, each with rule and reason", list.Line)
	}
	b, lines := &Baseline{}, map[string]int{}
	for _, node := range list.Content {
		entries, err := readEntry(node, rules)
		if err != nil {
			return nil, err
		}
		for _, e := range entries {
			if first := lines[e.Rule]; first > 0 {
				return nil, wrongLine(e.Line, "the rule %s stands in line %d too", e.Rule, first)
			}
			lines[e.Rule] = e.Line
		}
		b.Entries = append(b.Entries, entries...)
	}
	return b, nil
}

func wrongLine(line int, format string, args ...any) error {
	return fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
}

// readEntry reads an entry of the file: one for each of its rules.
func readEntry(node *yaml.Node, rules []check.Rule) ([]Entry, error) {
	e := Entry{Result: check.Fail, Line: node.Line}
	if node.Kind != yaml.MappingNode {
		return nil, wrongLine(node.Line, "an entry has the keys rule and reason")
	}
	seen, named := map[string]bool{}, []*yaml.Node{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if seen[key.Value] {
			return nil, wrongLine(key.Line, "%s stands twice in an entry", key.Value)
		}
		seen[key.Value] = true
		if key.Value == "rules" && value.Kind == yaml.SequenceNode {
			named = append(named, value.Content...)
			continue
		}
		if value.Kind != yaml.ScalarNode || key.Value == "rules" {
			return nil, wrongLine(value.Line, "%s must be a %s", key.Value, kindOf(key.Value))
		}
		switch key.Value {
		case "rule":
			named = append(named, value)
		case "cause":
			e.Cause = strings.TrimSpace(value.Value)
		case "reason":
			e.Reason = strings.TrimSpace(value.Value)
		case "result":
			e.Result = check.Status(value.Value)
		default:
			return nil, wrongLine(key.Line, "unknown key %s: an entry has rule, or cause and rules, and reason and result",
				key.Value)
		}
	}
	switch {
	case seen["rules"] != (e.Cause != "") || seen["rule"] && e.Cause != "":
		return nil, wrongLine(node.Line, "an entry has either rule, or both cause and rules")
	case len(named) == 0:
		return nil, wrongLine(node.Line, "rule is missing")
	}
	entries := make([]Entry, len(named))
	for i, name := range named {
		entries[i] = e
		entries[i].Rule, entries[i].Line = name.Value, name.Line
		err := entries[i].check(rules)
		if err != nil {
			return nil, err
		}
	}
	return entries, nil
}

// kindOf says what the value of a key is.
func kindOf(key string) string {
	if key == "rules" {
		return "list"
	}
	return "text"
}

// check returns an error if an entry does not fit its rule.
func (e Entry) check(rules []check.Rule) error {
	known := slices.IndexFunc(rules, func(r check.Rule) bool { return r.ID == e.Rule })
	switch {
	case e.Rule == "":
		return wrongLine(e.Line, "rule is missing")
	case known < 0:
		return wrongLine(e.Line, "there is no rule %q: mandate conformance --list shows all", e.Rule)
	case rules[known].Check == nil:
		return wrongLine(e.Line, "the rule %s is not checked, so that it cannot fail", e.Rule)
	case rules[known].Level == check.May:
		return wrongLine(e.Line, "the rule %s is a MAY, so that it cannot fail", e.Rule)
	case e.Reason == "":
		return wrongLine(e.Line, "the reason is missing: write why the result of %s is accepted", e.Rule)
	case !slices.Contains([]check.Status{check.Fail, check.Blocked, check.Broken}, e.Result):
		return wrongLine(e.Line, "result is %q: it must be fail, blocked or broken", e.Result)
	}
	return nil
}

// byCause returns an entry with the cause of a result, which also explains a rule that it does not list.
func (b *Baseline) byCause(r check.Result) (Entry, bool) {
	cause := CauseOf(r)
	at := slices.IndexFunc(b.Entries, func(e Entry) bool {
		return e.Cause == cause && (e.Result == check.Fail) == (r.Status == check.Fail)
	})
	if cause == "" || at < 0 {
		return Entry{}, false
	}
	return b.Entries[at], true
}

// Updated returns the baseline as it has to be for a later run with the same results to succeed. It keeps the reasons
// of the entries that stay, and the entries of rules about which the report says nothing.
func (b *Baseline) Updated(r *Report, rules []check.Rule) *Baseline {
	old, results, updated := map[string]Entry{}, map[string]check.Result{}, &Baseline{}
	for _, e := range b.Entries {
		old[e.Rule] = e
	}
	for _, result := range r.Results {
		results[result.Rule.ID] = result
	}
	for _, rule := range rules {
		e, listed := old[rule.ID]
		result, tried := results[rule.ID]
		stuck := result.Status == check.Blocked || result.Status == check.Broken
		switch {
		case tried && result.Status == check.Pass:
			continue
		case tried && !listed && Counts(result), tried && listed && result.Status == check.Fail && e.Result != check.Fail:
			e = b.newEntry(result)
		case !listed:
			continue
		case stuck && e.Result != check.Fail:
			e.Result = result.Status
		}
		updated.Entries = append(updated.Entries, e)
	}
	updated.share(results)
	return updated
}

// newEntry returns the entry of a result that is not listed.
func (b *Baseline) newEntry(result check.Result) Entry {
	e, known := b.byCause(result)
	if !known {
		e = Entry{Cause: CauseOf(result), Reason: unexplained + CauseOf(result)}
	}
	e.Rule, e.Result = result.Rule.ID, result.Status
	return e
}

// share removes the cause of new entries that have it alone.
func (b *Baseline) share(results map[string]check.Result) {
	for i, e := range b.Entries {
		others := slices.ContainsFunc(b.Entries, func(other Entry) bool { return other.Rule != e.Rule && other.with(e) })
		if !others && e.Reason == unexplained+e.Cause {
			b.Entries[i].Cause, b.Entries[i].Reason = "", unexplained+firstSentence(results[e.Rule].Reason)
		}
	}
}

// with reports whether two entries are one in the file.
func (e Entry) with(other Entry) bool {
	return e.Cause != "" && e.Cause == other.Cause && e.Result == other.Result && e.Reason == other.Reason
}

// Write writes the baseline as YAML.
func (b *Baseline) Write(w io.Writer, issuer string) error {
	out := &lines{w: w}
	out.printf("# Known results of %s, for mandate conformance --baseline.\n", oneLine(issuer))
	for i, e := range b.Entries {
		if slices.ContainsFunc(b.Entries[:i], e.with) {
			continue // it is written
		}
		entry := writtenEntry{Rule: e.Rule, Result: e.Result, Reason: e.Reason}
		if e.Result == check.Fail {
			entry.Result = ""
		}
		if e.Cause != "" {
			entry.Rule, entry.Cause = "", e.Cause
			for _, other := range b.Entries[i:] {
				if e.with(other) {
					entry.Rules = append(entry.Rules, other.Rule)
				}
			}
		}
		text, err := yaml.Marshal([]writtenEntry{entry})
		if err != nil {
			return err
		}
		out.printf("%s", text)
	}
	if len(b.Entries) == 0 {
		out.printf("[]\n")
	}
	return out.err
}

// firstSentence returns the beginning of a reason, up to the end of its first sentence or line.
func firstSentence(text string) string {
	text, _, _ = strings.Cut(text, "\n")
	if at := strings.Index(text, ". "); at >= 0 {
		text = text[:at+1]
	}
	if runes := []rune(text); len(runes) > longestReason {
		text = string(runes[:longestReason]) + "…"
	}
	return text
}
