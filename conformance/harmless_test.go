package conformance

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"mandate/conformance/check"
	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// wantHarmless asserts that a text controls neither a terminal nor a build system.
func wantHarmless(t *testing.T, where, text string) {
	t.Helper()
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "::") || strings.Contains(line, "##[") ||
			strings.Contains(line, "##vso[") || strings.ContainsAny(line, "\x1b\u009b\u202e\u2028") {
			t.Errorf("%s has the line %q", where, line)
		}
	}
}

// What a server wrote reaches no terminal and no build log as a command, in any format.
func TestReportIsHarmless(t *testing.T) {
	const hostile = "it says\n::error title=x::y\n ##[add-mask]z ##vso[task.complete] \x1b[2J\u009b\u202e\u2028 and a " +
		"long text, which is wrapped so that a line could begin with ::warning::x"
	result := failure("a", check.Fail, hostile, "GET https://as.example/"+hostile, hostile)
	result.Exchange.Repeat, result.Steps, result.Earlier = hostile, []string{hostile}, 1
	r := &engine.Report{Issuer: "https://as.example", Hung: hostile,
		Results: []check.Result{result, failure("b", check.Skip, hostile, "", "")},
		Unruled: []engine.Advertised{{Name: hostile, Member: "x"}}}
	for format, write := range engine.Formats() {
		var out bytes.Buffer
		err := write(r, &out)
		if err != nil || !strings.Contains(out.String(), "add-mask") {
			t.Errorf("%s: %v: %s", format, err, &out)
		}
		wantHarmless(t, format, out.String())
	}
	for format, write := range engine.ClientFormats() {
		var out bytes.Buffer
		of := &target.Target{Issuer: "https://as.example/realms/x",
			Endpoints: map[string]string{"registration_endpoint": hostile}, Scope: hostile, User: target.User{Username: hostile}}
		err := write(engine.NewRegistration(of, need.Roles()), &out)
		if err != nil {
			t.Errorf("%s: %v", format, err)
		}
		wantHarmless(t, format, out.String())
	}
}

// The errors of the command are harmless too.
func TestCommandErrorsAreHarmless(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintln(w, `{"error":"x","error_description":"a\n::error::b ##[add-mask]c \u001b[2J\u202e"}`)
	}))
	defer server.Close()
	of := &target.Target{Issuer: server.URL, Register: target.Once,
		Endpoints: map[string]string{"registration_endpoint": server.URL + "/register", "token_endpoint": server.URL + "/t"}}
	r := servertest.Run(t, "", "--target", targetFile(t, of), "--only", "RFC7636")
	r.Want(t, 2, "a ::error::b # #[add-mask]c")
	wantHarmless(t, "stderr", r.Stdout+r.Stderr)
}
