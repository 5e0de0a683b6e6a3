package engine

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// jsonResult is a result in the JSON report.
type jsonResult struct {
	ID       string         `json:"id"`
	Level    check.Level    `json:"level"`
	Text     string         `json:"text"`
	Clause   string         `json:"clause,omitempty"` // its address
	Status   check.Status   `json:"status"`
	Reason   string         `json:"reason,omitempty"`
	Known    string         `json:"known,omitempty"` // the reason in the baseline
	Seconds  float64        `json:"seconds"`
	Steps    []string       `json:"steps,omitempty"` // the requests before the exchange
	Exchange *wire.Exchange `json:"exchange,omitempty"`
	Second   *wire.Exchange `json:"second,omitempty"` // of a flaky result: when it was repeated alone
}

// JSON writes the report for a program.
func (r *Report) JSON(w io.Writer) error {
	results := make([]jsonResult, 0, len(r.Results))
	for _, x := range r.Results {
		one := jsonResult{ID: x.Rule.ID, Level: x.Rule.Level, Text: x.Rule.Text, Clause: ClauseURL(x.Rule), Status: x.Status, Reason: reasonOf(x), Seconds: x.Duration.Seconds()}
		if e, known, _ := r.entry(x); known {
			one.Known = e.Reason
		}
		if shows(x) {
			one.Steps, one.Exchange, one.Second = x.Steps, x.Exchange, x.Second
		}
		results = append(results, one)
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Issuer   string        `json:"issuer"`
		Began    string        `json:"began"`
		Seconds  float64       `json:"seconds"`
		Summary  string        `json:"summary"`
		Failed   bool          `json:"failed"`
		Hung     string        `json:"hung,omitempty"`
		Baseline *jsonBaseline `json:"baseline,omitempty"`
		Causes   []jsonCause   `json:"causes"`
		Unruled  []Advertised  `json:"advertised_not_checked,omitempty"`
		Results  []jsonResult  `json:"results"`
	}{r.Issuer, r.Began.Format(time.RFC3339), r.Duration.Seconds(), r.Summary(), r.Failed(), r.Hung, r.Baseline.json(), r.jsonCauses(), r.Unruled, results})
}

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
	text := &junitText{Message: string(x.Rule.Level) + " " + x.Rule.Text, Text: reasonOf(x) + "\n" + ClauseURL(x.Rule)}
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
