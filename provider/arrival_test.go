package provider

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"mandate/provider/checkup"
	"mandate/provider/oauth"
)

// Which addresses a network has behind its proxy is nobody's business but the operator's: like the pages of other
// servers that tell everybody their headers (CWE-200).
func TestAttackArrival(t *testing.T) {
	f, other := begin(t), begin(t, func(c *Config) { c.ServerKey = bytes.Repeat([]byte{8}, 32) })
	at := checkup.Arrival{Peer: "10.0.0.1", Trusted: true, Forwarded: "10.0.0.9"}
	question, read := f.arrivalQuestion()
	answer, err := f.AnswerArrival(question, at)
	if err != nil || strings.Contains(answer, "10.0.0") {
		t.Fatal(answer, err)
	}
	got, err := read(answer)
	if err != nil || got != at {
		t.Error(got, err)
	}
	foreign, _ := other.arrivalQuestion()
	old, _ := json.Marshal(oauth.Now() - 100)
	early, _ := json.Marshal(oauth.Now() + 100)
	for name, text := range map[string]string{
		"none": "", "of a stranger": "AAAA", "of another installation": foreign, "the answer itself": answer,
		"too long":                  question + strings.Repeat("A", 300),
		"old":                       f.sealers.checks.Seal(old, "question"),
		"of the future":             f.sealers.checks.Seal(early, "question"),
		"sealed for something else": f.sealers.tickets.Seal(old, "question"),
	} {
		answer, err := f.AnswerArrival(text, at)
		if err != oauth.ErrNotFound || answer != "" {
			t.Errorf("a question that is %s gets %q, %v", name, answer, err)
		}
	}
	// The answer to one question is none to another.
	_, readAnother := f.arrivalQuestion()
	if _, err := readAnother(answer); err == nil {
		t.Error("the answer to another question is read")
	}
}
