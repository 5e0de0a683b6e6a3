package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// print writes who is there and what to try. Each command is one line that
// works by itself, in any shell of the Unix kind. All is written at once: a
// reader that goes away in between would kill the demo before it can clean up.
func (d *demoCast) print(out io.Writer, file string) {
	w := &bytes.Buffer{}
	defer w.WriteTo(out)
	fmt.Fprintf(w, `Mandate demo at %s
Its database is thrown away when it ends (Ctrl-C).

  alice   %s
  admin   %s   (administrator)

Walk the code flow in the browser, as alice, with or without OpenID Connect:

  %s/demo/

Or paste these lines into another shell:
`, d.base, d.alice.Password, d.admin.Password, d.base)
	for _, try := range d.tries() {
		fmt.Fprintf(w, "\n# %s\n%s\n", try.what, try.line)
	}
	program, err := os.Executable() // under go run it is nowhere on the path
	if err == nil {
		fmt.Fprintf(w, "\n# The other commands work on this server too\n%s --config %s application list\n", program, file)
		fmt.Fprintf(w, "\n# Check this server, rule by rule\n%s conformance --target %s\n", program, filepath.Join(filepath.Dir(file), demoTargetFile))
	}
}

type demoTry struct{ what, line string }

func (d *demoCast) tries() []demoTry {
	robot := d.post(d.robot, "/o/token/", "grant_type=client_credentials")
	alice := d.post(d.legacy, "/o/token/", "grant_type=password", "username="+d.alice.Username, "password="+d.alice.Password)
	// A form writes spaces as +, which also needs no quotes within.
	signedIn := d.post(d.legacy, "/o/token/", "grant_type=password", "username="+d.alice.Username, "password="+d.alice.Password, "scope=openid+profile+email")
	with := func(answer string) string {
		return "curl -s -H \"Authorization: Bearer " + within(answer, "access_token") + "\" "
	}
	return []demoTry{
		{"Client credentials: a token for the application Robot itself", robot},
		{"Client credentials, with one scope", d.post(d.robot, "/o/token/", "grant_type=client_credentials", "scope=read")},
		{"Password: a token for alice, who gives her password to the application Legacy", alice},
		{"Refresh: a new token for alice, for a refresh token", d.post(d.legacy, "/o/token/", "grant_type=refresh_token", "refresh_token="+within(alice, "refresh_token"))},
		{"Introspection: Robot asks about a token of alice", d.post(d.robot, "/o/introspect/", "token="+within(alice, "access_token"))},
		{"Sample API: list the people (scope read)", with(robot) + d.base + "/users/"},
		{"Sample API: add somebody (scope write)", with(robot) + "-d username=carol-$$ -d password=" + demoPassword() + " " + d.base + "/users/"},
		{"Sample API: list the groups (scope groups)", with(robot) + d.base + "/groups/"},
		{"Sample API without a token: 401", "curl -si " + d.base + "/users/"},
		{"OpenID Connect: the description of the server, with which a client begins", "curl -s " + d.issuer + "/.well-known/openid-configuration"},
		{"OpenID Connect: the public keys that ID tokens are checked with", "curl -s " + d.issuer + "/.well-known/jwks.json"},
		{"OpenID Connect: what Legacy may know of alice (scope openid)", with(signedIn) + d.issuer + "/userinfo/"},
	}
}

// post is a request of an application that shows who it is.
func (d *demoCast) post(as credentials, path string, form ...string) string {
	line := "curl -s -u '" + as.id + ":" + as.secret + "'"
	for _, pair := range form {
		line += " -d \"" + pair + "\""
	}
	return line + " " + d.base + path
}

// within takes one member out of what a command answers.
func within(line, member string) string {
	line = strings.ReplaceAll(line, `"`, "")
	return `$(` + line + ` | sed 's/.*"` + member + `": *"\([^"]*\)".*/\1/')`
}
