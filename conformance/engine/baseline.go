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

// Entry is one known result.
type Entry struct {
	Rule   string       `yaml:"rule"`
	Result check.Status `yaml:"result,omitempty"` // fail, blocked or broken
	Reason string       `yaml:"reason"`           // why it is accepted, in the words of a person

	Line int `yaml:"-"` // in the file
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
		e, err := readEntry(node, rules)
		if err != nil {
			return nil, err
		}
		if first := lines[e.Rule]; first > 0 {
			return nil, fmt.Errorf("line %d: the rule %s stands in line %d too", e.Line, e.Rule, first)
		}
		lines[e.Rule] = e.Line
		b.Entries = append(b.Entries, e)
	}
	return b, nil
}

func readEntry(node *yaml.Node, rules []check.Rule) (Entry, error) {
	e := Entry{Result: check.Fail, Line: node.Line}
	wrong := func(line int, format string, args ...any) (Entry, error) {
		return e, fmt.Errorf("line %d: %s", line, fmt.Sprintf(format, args...))
	}
	if node.Kind != yaml.MappingNode {
		return wrong(node.Line, "an entry has the keys rule and reason")
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if value.Kind != yaml.ScalarNode {
			return wrong(value.Line, "%s must be a text", key.Value)
		}
		if seen[key.Value] {
			return wrong(key.Line, "%s stands twice in an entry", key.Value)
		}
		seen[key.Value] = true
		switch key.Value {
		case "rule":
			e.Rule, e.Line = value.Value, value.Line
		case "reason":
			e.Reason = strings.TrimSpace(value.Value)
		case "result":
			e.Result = check.Status(value.Value)
		default:
			return wrong(key.Line, "unknown key %s: an entry has rule, reason and result", key.Value)
		}
	}
	known := slices.IndexFunc(rules, func(r check.Rule) bool { return r.ID == e.Rule })
	switch {
	case e.Rule == "":
		return wrong(e.Line, "rule is missing")
	case known < 0:
		return wrong(e.Line, "there is no rule %q: mandate conformance --list shows all", e.Rule)
	case rules[known].Check == nil:
		return wrong(e.Line, "the rule %s is not checked, so that it cannot fail", e.Rule)
	case rules[known].Level == check.May:
		return wrong(e.Line, "the rule %s is a MAY, so that it cannot fail", e.Rule)
	case e.Reason == "":
		return wrong(e.Line, "the reason is missing: write why the result of %s is accepted", e.Rule)
	case !slices.Contains([]check.Status{check.Fail, check.Blocked, check.Broken}, e.Result):
		return wrong(e.Line, "result is %q: it must be fail, blocked or broken", e.Result)
	}
	return e, nil
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
			e = Entry{Rule: rule.ID, Result: result.Status, Reason: unexplained + firstSentence(result.Reason)}
		case !listed:
			continue
		case stuck && e.Result != check.Fail:
			e.Result = result.Status
		}
		updated.Entries = append(updated.Entries, e)
	}
	return updated
}

// Write writes the baseline as YAML.
func (b *Baseline) Write(w io.Writer, issuer string) error {
	out := &lines{w: w}
	out.printf("# Known results of %s, for mandate conformance --baseline.\n", oneLine(issuer))
	for _, e := range b.Entries {
		if e.Result == check.Fail {
			e.Result = ""
		}
		text, err := yaml.Marshal([]Entry{e})
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

// longestReason is the length of what a baseline repeats of a failure.
const longestReason = 300

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

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
