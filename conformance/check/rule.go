package check

import (
	"strings"

	"mandate/conformance/need"
)

// Level is how strongly a document asks for something. A MUST NOT is a MUST, a SHOULD NOT and a
// RECOMMENDED are a SHOULD. A MAY is a choice: the row says what Mandate chose, and that another server
// chose otherwise is no fault of it.
type Level string

const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Rule is one thing that a document asks of an authorization server. It is checked, or not observable from
// outside, or not applicable: exactly one of Check, Elsewhere and Inapplicable is set.
type Rule struct {
	ID    string // document, clause and name: RFC6749/4.1.3/code-bound-to-client
	Level Level
	Text  string      // what is required, in one sentence of ours
	Needs []need.Need // without which the check is skipped
	Check func(*T)

	// Elsewhere is the test of Mandate that holds what is not observable from outside: file:Test.
	Elsewhere string
	// Inapplicable says why the rule asks nothing of Mandate.
	Inapplicable string
	// Waived says why Mandate does not do what the rule, a SHOULD, asks for.
	Waived string
	// Alone is for a check that disturbs others, or is disturbed by them, while it runs. One that revokes a token
	// does: some servers end all that the client has of the person with it.
	Alone bool
}

// Unchecked is the status of a rule without a check, and what there is to say of it.
func (r Rule) Unchecked() (Status, string) {
	switch {
	case r.Inapplicable != "":
		return Inapplicable, r.Inapplicable
	case r.Elsewhere != "":
		return Unobservable, "Mandate's own test is " + r.Elsewhere
	}
	return "", ""
}

// Document is the part of the ID before the first slash.
func (r Rule) Document() string { return r.part(0) }

// Clause is the number of the section.
func (r Rule) Clause() string { return r.part(1) }

// Name tells the rules of one clause apart.
func (r Rule) Name() string { return r.part(2) }

func (r Rule) part(n int) string {
	parts := strings.SplitN(r.ID, "/", 3)
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}

// Under says whether the rule is the one named, or in the document or clause named: RFC6749/4.1 names
// 4.1 and all below it.
func (r Rule) Under(name string) bool {
	if r.ID == name || strings.HasPrefix(r.ID, name+"/") {
		return true
	}
	document, clause, found := strings.Cut(name, "/")
	return found && document == r.Document() && strings.HasPrefix(r.Clause(), clause+".")
}

// Document is a specification with its rules, in its own order.
type Document struct {
	ID    string // RFC6749
	Cited string // as comments cite it: RFC 6749
	Title string
	Rules []Rule
}
