package conformance

import (
	"bytes"
	"net/url"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/servertest"
	"mandate/conformance/wire"
)

// If the server hangs, each report for people says so before the results.
func TestReportNamesTheHungRequest(t *testing.T) {
	r := hostileReport()
	r.Issuer, r.Hung = "https://issuer.example", "POST https://issuer.example/token"
	for format, before := range map[string]string{"text": "RFC 6749", "html": "<h2", "json": `"results"`} {
		var out bytes.Buffer
		err := engine.Formats()[format](r, &out)
		top, _, _ := strings.Cut(out.String(), before)
		if err != nil || !strings.Contains(top, r.Hung) {
			t.Errorf("%s: %v: %s", format, err, top)
		}
	}
}

// Each rule has the address of its clause, and not only of its document.
func TestClauseURL(t *testing.T) {
	for _, r := range rules.All() {
		address := engine.ClauseURL(r)
		u, err := url.Parse(address)
		if err != nil || !specification(address) || u.Fragment == "" && r.Document()+"/"+r.Clause() != "MCP/M10" {
			t.Errorf("%s: %q, %v", r.ID, address, err)
		}
	}
	for id, want := range map[string]string{
		"RFC6749/4.1.3/x":       "https://www.rfc-editor.org/rfc/rfc6749#section-4.1.3",
		"CIMD/4.1/x":            "https://datatracker.ietf.org/doc/html/draft-ietf-oauth-client-id-metadata-document-02#section-4.1",
		"RFC6749/A.1/x":         "https://www.rfc-editor.org/rfc/rfc6749#appendix-A.1",
		"OIDCCore/3.1.2.1/x":    "https://openid.net/specs/openid-connect-core-1_0.html#AuthRequest",
		"OIDCCore/3.1/x":        "https://openid.net/specs/openid-connect-core-1_0.html#CodeFlowAuth",
		"OIDCCore/99/x":         "https://openid.net/specs/openid-connect-core-1_0.html",
		"OIDCBackChannel/2.5/x": "https://openid.net/specs/openid-connect-backchannel-1_0.html#BCRequest",
		"MCP/M1/x":              "https://modelcontextprotocol.io/specification/2026-07-28/basic/authorization#overview",
		"TEST/1/x":              "",
	} {
		if got := engine.ClauseURL(check.Rule{ID: id}); got != want {
			t.Errorf("%s: %q, want %q", id, got, want)
		}
	}
}

// Every format links to the clause of a failed rule.
func TestReportsLinkToClauses(t *testing.T) {
	rule := rules.All()[0]
	report := &engine.Report{Documents: rules.Documents(),
		Results: []check.Result{{Rule: rule, Status: check.Fail, Reason: "the server is wrong"}}}
	for format, write := range engine.Formats() {
		var out bytes.Buffer
		err := write(report, &out)
		if err != nil || !strings.Contains(out.String(), engine.ClauseURL(rule)) {
			t.Errorf("%s: %v: %s", format, err, &out)
		}
	}
	var list bytes.Buffer
	err := engine.List(&list, []check.Rule{rule})
	if err != nil || !strings.Contains(list.String(), engine.ClauseURL(rule)) {
		t.Errorf("%v: %s", err, &list)
	}
}

// A report is about the server that was checked. What Mandate does, and where its tests are, is only in the list.
func TestReportsAreAboutTheServer(t *testing.T) {
	report := &engine.Report{Issuer: "https://issuer.example", Documents: rules.Documents()}
	for _, rule := range rules.All() {
		if strings.Contains(rule.Text, "Mandate") {
			t.Errorf("%s: the rule is about Mandate: %s", rule.ID, rule.Text)
		}
		result := check.Result{Rule: rule, Status: check.Pass}
		if rule.Check == nil {
			result.Status, result.Reason = rule.Unchecked()
		}
		report.Results = append(report.Results, result)
	}
	for format, write := range engine.Formats() {
		var out bytes.Buffer
		err := write(report, &out)
		for line := range strings.Lines(out.String()) {
			if err != nil || strings.Contains(line, "Mandate") || strings.Contains(line, "_test.go") {
				t.Errorf("%s: %v: %s", format, err, line)
				break
			}
		}
		if !strings.Contains(out.String(), "no request shows whether a server follows") {
			t.Errorf("%s: the report does not say why a rule was not observed", format)
		}
	}
	var list bytes.Buffer
	err := engine.List(&list, rules.All())
	if err != nil || !strings.Contains(list.String(), "_test.go:Test") {
		t.Errorf("%v: the list names no test", err)
	}
}

// A flaky result shows what was sent before, the failure, and the repetition. It is no failure.
func TestReportsShowFlakyResults(t *testing.T) {
	result := failure("a", check.Flaky, "the server was wrong once", "POST https://as.example/token\n\na=1",
		"500 Internal Server Error\n")
	result.Exchange.Repeat, result.Earlier, result.Steps = "curl first", 1,
		[]string{"GET https://as.example/authorize -> 302 Found"}
	result.Second = &wire.Exchange{Sent: "POST https://as.example/token\n\na=2", Got: "200 OK\n", Repeat: "curl second"}
	report := &engine.Report{Documents: rules.Documents(), Results: []check.Result{result}}
	if report.Failed() {
		t.Error("a flaky result is a failure")
	}
	for format, words := range map[string][]string{
		"text": {"flaky     MUST", "the server was wrong once", "after 1 other request:",
			"GET https://as.example/authorize -> 302 Found", "> a=1", "when it was repeated alone:", "> a=2", "< 200 OK",
			"1 flaky"},
		"json":  {`"status": "flaky"`, `"steps": [`, `"exchange": {`, `"second": {`, "a=2"},
		"junit": {`skipped="1"`, `<skipped message="flaky: MUST`, "a=1", "a=2"},
		"html": {"~</span>Flaky", "Sent, when the check was repeated alone", "a=2",
			"GET https://as.example/authorize -&gt; 302 Found"},
	} {
		var out bytes.Buffer
		err := engine.Formats()[format](report, &out)
		for _, word := range words {
			if err != nil || !strings.Contains(out.String(), word) {
				t.Errorf("%s: %v: the report lacks %q:\n%s", format, err, word, &out)
			}
		}
	}
}

// A result has an exchange if there is a log of the run. A report shows those of failures only.
func TestReportsShowNoRequestOfARuleThatHolds(t *testing.T) {
	result := failure("a", check.Pass, "", "POST https://as.example/token\n", "200 OK\n")
	result.Steps = []string{"GET https://as.example/authorize -> 302 Found"}
	for format, write := range engine.Formats() {
		var out bytes.Buffer
		err := write(&engine.Report{Results: []check.Result{result}}, &out)
		if err != nil || strings.Contains(out.String(), "as.example") {
			t.Errorf("%s: %v: %s", format, err, &out)
		}
	}
}

// A feature that the server announces and that no rule checks stands in each report for people and programs.
func TestReportsNameWhatIsNotChecked(t *testing.T) {
	report := hostileReport()
	report.Unruled = []engine.Advertised{{Name: "pushed authorization requests", Document: "RFC 9126",
		Member: "pushed_authorization_request_endpoint"},
		{Name: "the grant urn:example:dance", Member: "grant_types_supported: urn:example:dance"}}
	for format, words := range map[string][]string{
		"text": {"Advertised, not checked: pushed authorization requests (RFC 9126), by " +
			"pushed_authorization_request_endpoint the grant urn:example:dance, by grant_types_supported: urn:example:dance"},
		"json": {
			`"advertised_not_checked": [ { "name": "pushed authorization requests", "member": "pushed_authorization_request_endpoint", "document": "RFC 9126" }, {`},
		"html": {
			`<th scope="row">pushed authorization requests</th><td>RFC 9126</td><td><code>pushed_authorization_request_endpoint</code></td>`},
	} {
		var out bytes.Buffer
		err := engine.Formats()[format](report, &out)
		for _, word := range words {
			if err != nil || !strings.Contains(strings.Join(strings.Fields(out.String()), " "), word) {
				t.Errorf("%s: %v: the report lacks %q", format, err, word)
			}
		}
	}
}

func TestCommandNamesWhatIsNotChecked(t *testing.T) {
	server := newRegistrar(t)
	server.refused = "client_credentials"
	path := targetFile(t, server.target())
	servertest.Run(t, "", "--target", path, "--profile", "logout").Want(t, 0,
		"Advertised, not checked: backchannel authentication (OIDC CIBA), by backchannel_authentication_endpoint")
	if r := servertest.Run(t, "", "--target", path, "--only", "RFC7662/4"); strings.Contains(r.Stdout, "Advertised") {
		t.Errorf("the report on a few rules names features: %s", r.Stdout)
	}
}
