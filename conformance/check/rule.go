// Package check is what a rule and its check are made of. T takes a check through the flows of OAuth 2.0 and OpenID
// Connect: requests, pages, codes, tokens, logouts.
package check

import (
	"strings"

	"mandate/conformance/need"
)

// Level is how strongly a document requires something. MUST NOT counts as MUST; SHOULD NOT and RECOMMENDED count as
// SHOULD. A MAY is a choice: the rule describes Mandate's choice, and a server that chooses otherwise is not wrong.
//
// A sentence without a keyword that defines the form of a message or of a value is a MUST: media type, JSON type of a
// member, place of parameters, name, syntax and calculation of a value, members that the definition requires. An
// optional member violates its definition only if it is present. A sentence without a keyword that describes behaviour,
// such as the status of an answer, is a SHOULD, unless a list or table that a MUST introduces contains it, or another
// clause of the same document states it with a keyword. Examples, notes, and what somebody "can" or "needs to" do are
// at most a SHOULD.
type Level string

const (
	Must   Level = "MUST"
	Should Level = "SHOULD"
	May    Level = "MAY"
)

// Rule is one requirement of a document for an authorization server. Exactly one of Check, TestedBy and Inapplicable
// is set.
type Rule struct {
	ID    string // document, clause and name: RFC6749/4.1.3/code-bound-to-client
	Level Level
	Text  string      // the requirement, in one sentence of our own
	Needs []need.Need // if the target lacks one of them, the check is skipped
	Check func(*T)

	// Binds is whom the clause binds: the server, the client, the resource server or everybody. Sentence is what it
	// says, word for word, or "". SentenceIn is its section, after the document if it is another one, where the ID says
	// another.
	Binds, Sentence, SentenceIn string
	// Security says that a server which violates the rule helps an attacker. The others keep clients from working, or
	// from understanding an answer.
	Security bool

	// Fact is what a failure shows about the server, if other rules fail because of the same.
	Fact string

	// TestedBy is the test of Mandate for a rule that no request shows, as file:Test.
	TestedBy string
	// Inapplicable says why the rule does not concern Mandate.
	Inapplicable string
	// Absent are members of the metadata, or words of their lists (member=word), with which Inapplicable would be
	// wrong.
	Absent []string
	// Waived says why Mandate does not do what the rule, a SHOULD, recommends.
	Waived string
	// Alone marks a check that must not run beside others. A check that revokes a token is one: some servers then
	// revoke everything that the client received for this person.
	Alone bool
}

// Unchecked returns the status of a rule without a check, and its reason.
func (r Rule) Unchecked() (Status, string) {
	switch {
	case r.Inapplicable != "":
		return Inapplicable, r.Inapplicable
	case r.TestedBy != "":
		return Unobservable, "Mandate's own test is " + r.TestedBy
	}
	return "", ""
}

// About is what a failure of the rule is about.
func (r Rule) About() string {
	if r.Security {
		return "security"
	}
	return "interoperability"
}

// Document is the part of the ID before the first slash.
func (r Rule) Document() string { return r.part(0) }

// Clause is the number of the section.
func (r Rule) Clause() string { return r.part(1) }

// Name distinguishes the rules of one clause.
func (r Rule) Name() string { return r.part(2) }

func (r Rule) part(n int) string {
	parts := strings.SplitN(r.ID, "/", 3)
	if n >= len(parts) {
		return ""
	}
	return parts[n]
}

// Under reports whether name is the rule's ID, its document, its clause, or a clause above it: RFC6749/4.1 covers
// 4.1.3.
func (r Rule) Under(name string) bool {
	if r.ID == name || strings.HasPrefix(r.ID, name+"/") {
		return true
	}
	document, clause, found := strings.Cut(name, "/")
	return found && document == r.Document() && strings.HasPrefix(r.Clause(), clause+".")
}

// Document is a specification with its rules, in the order of its sections.
type Document struct {
	ID    string // RFC6749
	Cited string // as comments cite it: RFC 6749
	Title string
	Rules []Rule
}
