package engine

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"mandate/conformance/check"
)

// A failure says what it is about, and what the clause says to whom. Failures that help an attacker come first.
func TestFailureSaysTheClause(t *testing.T) {
	failed := func(r check.Rule) check.Result {
		r.Level, r.Check = check.Must, func(*check.T) {}
		return check.Result{Rule: r, Status: check.Fail, Reason: "it does not"}
	}
	report := &Report{Documents: []check.Document{{ID: "DOC", Cited: "Document 1", Title: "A document"}},
		Results: []check.Result{
			failed(check.Rule{ID: "DOC/2/json", Text: "Answers are JSON.", Binds: "the server",
				Sentence: "Answers MUST be JSON."}),
			failed(check.Rule{ID: "DOC/3/once", Text: "A code works once.", Binds: "the server",
				Sentence: "Codes MUST NOT be used twice.", SentenceIn: "4.1", Security: true}),
			failed(check.Rule{ID: "DOC/3/elsewhere", Text: "It is in an RFC.", Binds: "the client",
				Sentence: "A \"thing\" MUST be.", SentenceIn: "RFC6749 2.3"}),
			failed(check.Rule{ID: "DOC/4/silent", Text: "The document has no sentence.", Binds: "the client"}),
		}}
	for name, write := range Formats() {
		var text bytes.Buffer
		err := write(report, &text)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range map[string][]string{
			"text": {
				`About interoperability. Document 1 §2, to the server: "Answers MUST be JSON."`,
				`About security. Document 1 §4.1, to the server: "Codes MUST NOT be used twice."`,
				"Document 1 §4 binds the client.", `RFC 6749 §2.3, to the client: "A "thing" MUST be."`,
				"4 MUST failed (1 about security) FAIL MUST DOC/3/once, security: it does not FAIL MUST DOC/2/json, " +
					"interoperability: it does not",
			},
			"html":  {"Codes MUST NOT be used twice.", "about security", "(1 about security)"},
			"json":  {`"about": "security"`, `"sentence": "Codes MUST NOT be used twice."`, `"binds": "the client"`},
			"junit": {"About security. Codes MUST NOT be used twice."},
		}[name] {
			if !strings.Contains(strings.Join(strings.Fields(text.String()), " "), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, text.String())
			}
		}
		if name == "json" && !json.Valid(text.Bytes()) {
			t.Error("it is not JSON")
		}
	}
}
