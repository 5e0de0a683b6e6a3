package engine

import (
	"encoding/json"
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
	About    string         `json:"about"`            // security or interoperability
	Binds    string         `json:"binds,omitempty"`
	Sentence string         `json:"sentence,omitempty"` // of the clause, word for word
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
		one := jsonResult{ID: x.Rule.ID, Level: x.Rule.Level, Text: x.Rule.Text, Clause: ClauseURL(x.Rule),
			About: x.Rule.About(),
			Binds: x.Rule.Binds, Sentence: x.Rule.Sentence, Status: x.Status, Reason: reasonOf(x), Seconds: x.Duration.Seconds()}
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
	}{r.Issuer, r.Began.Format(time.RFC3339), r.Duration.Seconds(), r.Summary(), r.Failed(), r.Hung, r.Baseline.json(),
		r.jsonCauses(), r.Unruled, results})
}
