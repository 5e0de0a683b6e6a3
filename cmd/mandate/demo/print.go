package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Print writes who is there and what to try. Each command is one line that
// works by itself, in any shell of the Unix kind. All is written at once: a
// reader that goes away in between would kill the demo before it can clean up.
func (c *Cast) Print(out io.Writer, configFile, targetFile string) {
	w := &bytes.Buffer{}
	defer w.WriteTo(out)
	fmt.Fprintf(w, `Mandate demo at %s
Its database is thrown away when it ends (Ctrl-C).

  alice   %s
  admin   %s   (administrator)

Walk the code flow in the browser, as alice, with or without OpenID Connect:

  %s/demo/

Or paste these lines into another shell:
`, c.base, c.alice.Password, c.admin.Password, c.base)
	for _, try := range c.tries() {
		fmt.Fprintf(w, "\n# %s\n%s\n", try.what, try.line)
	}
	program, err := os.Executable() // under go run it is nowhere on the path
	if err == nil {
		fmt.Fprintf(w, "\n# The other commands work on this server too\n%s --config %s application list\n", program, configFile)
		fmt.Fprintf(w, "\n# Check this server, rule by rule\n%s conformance --target %s\n", program, targetFile)
	}
}

type example struct{ what, line string }

func (c *Cast) tries() []example {
	robot := c.post(c.robot, "/o/token/", "grant_type=client_credentials")
	alice := c.post(c.legacy, "/o/token/", "grant_type=password", "username="+c.alice.Username, "password="+c.alice.Password)
	// A form writes spaces as +, which also needs no quotes within.
	signedIn := c.post(c.legacy, "/o/token/", "grant_type=password", "username="+c.alice.Username, "password="+c.alice.Password, "scope=openid+profile+email")
	with := func(answer string) string {
		return "curl -s -H \"Authorization: Bearer " + within(answer, "access_token") + "\" "
	}
	return []example{
		{"Client credentials: a token for the application Robot itself", robot},
		{"Client credentials, with one scope", c.post(c.robot, "/o/token/", "grant_type=client_credentials", "scope=read")},
		{"Password: a token for alice, who gives her password to the application Legacy", alice},
		{"Refresh: a new token for alice, for a refresh token", c.post(c.legacy, "/o/token/", "grant_type=refresh_token", "refresh_token="+within(alice, "refresh_token"))},
		{"Introspection: Robot asks about a token of alice", c.post(c.robot, "/o/introspect/", "token="+within(alice, "access_token"))},
		{"Sample API: list the people (scope read)", with(robot) + c.base + "/users/"},
		{"Sample API: add somebody (scope write)", with(robot) + "-d username=carol-$$ -d password=" + newPassword() + " " + c.base + "/users/"},
		{"Sample API: list the groups (scope groups)", with(robot) + c.base + "/groups/"},
		{"Sample API without a token: 401", "curl -si " + c.base + "/users/"},
		{"OpenID Connect: the description of the server, with which a client begins", "curl -s " + c.issuer + "/.well-known/openid-configuration"},
		{"OpenID Connect: the public keys that ID tokens are checked with", "curl -s " + c.issuer + "/.well-known/jwks.json"},
		{"OpenID Connect: what Legacy may know of alice (scope openid)", with(signedIn) + c.issuer + "/userinfo/"},
	}
}

// post is a request of an application that shows who it is.
func (c *Cast) post(as credentials, path string, form ...string) string {
	line := "curl -s -u '" + as.id + ":" + as.secret + "'"
	for _, pair := range form {
		line += " -d \"" + pair + "\""
	}
	return line + " " + c.base + path
}

// within takes one member out of what a command answers.
func within(line, member string) string {
	line = strings.ReplaceAll(line, `"`, "")
	return `$(` + line + ` | sed 's/.*"` + member + `": *"\([^"]*\)".*/\1/')`
}
