package engine

import (
	"encoding/xml"
	"fmt"
	"io"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// The elements of a JUnit report, which build servers read.
type (
	junitSuites struct {
		XMLName xml.Name     `xml:"testsuites"`
		Suites  []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name     string      `xml:"name,attr"`
		Tests    int         `xml:"tests,attr"`
		Failures int         `xml:"failures,attr"`
		Errors   int         `xml:"errors,attr"`
		Skipped  int         `xml:"skipped,attr"`
		Time     float64     `xml:"time,attr"`
		Cases    []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Time    float64    `xml:"time,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// JUnit writes the report for a build server, with one suite per document. A SHOULD that failed and a known failure are
// reported as skipped, with the reason, because a failure would stop a build.
func (r *Report) JUnit(w io.Writer) error {
	var all junitSuites
	for _, x := range r.Results {
		name := x.Rule.Document()
		if len(all.Suites) == 0 || all.Suites[len(all.Suites)-1].Name != name {
			all.Suites = append(all.Suites, junitSuite{Name: name})
		}
		all.Suites[len(all.Suites)-1].add(r, x)
	}
	_, err := io.WriteString(w, xml.Header)
	if err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	err = e.Encode(all)
	if err != nil {
		return err
	}
	_, err = io.WriteString(w, "\n")
	return err
}

func (s *junitSuite) add(r *Report, x check.Result) {
	c := junitCase{Class: x.Rule.Document() + "." + x.Rule.Clause(), Name: x.Rule.ID, Time: x.Duration.Seconds()}
	text := &junitText{Message: string(x.Rule.Level) + " " + x.Rule.Text,
		Text: reasonOf(x) + "\nAbout " + x.Rule.About() + ". " + x.Rule.Sentence + "\n" + ClauseURL(x.Rule)}
	for _, shown := range []*wire.Exchange{x.Exchange, x.Second} {
		if shown != nil && shows(x) {
			text.Text += "\n\n" + shown.Sent + "\n" + shown.Got + "\n" + shown.Repeat
		}
	}
	e, known, leftover := r.entry(x)
	switch {
	case known:
		c.Skipped = &junitText{Message: "known: " + e.Reason, Text: text.Text}
		s.Skipped++
	case leftover:
		text.Text = fmt.Sprintf("The rule passes now: remove its entry in line %d of %s.", e.Line, r.Baseline.File)
		c.Failure = text
		s.Failures++
	case Counts(x) && x.Status == check.Fail:
		c.Failure = text
		s.Failures++
	case Counts(x):
		c.Error = text
		s.Errors++
	case x.Status != check.Pass:
		text.Message = outcomeOf(x).word() + ": " + text.Message
		c.Skipped = text
		s.Skipped++
	}
	s.Tests++
	s.Time += x.Duration.Seconds()
	s.Cases = append(s.Cases, c)
}
