package demo

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
)

// Print writes the people of the demo and the commands to try. Each command is one
// line that works by itself in any Unix shell. Everything is written at once: if
// the reader ended between two writes, the demo would be killed before it can
// delete its files.
func (c *Cast) Print(out io.Writer, configFile, targetFile string) {
	w := &bytes.Buffer{}
	defer w.WriteTo(out)
	fmt.Fprintf(w, `Mandate demo at %s
Its database is deleted when the demo ends (Ctrl-C).

  alice   %s
  admin   %s   (administrator)

Try the authorization code flow in the browser, as alice: OAuth 2.0, OpenID Connect or FAPI 2.0:

  %s/demo/

Give an agent the tools of the demo. It comes by itself, and asks you in the browser:

  claude mcp add --transport http mandate-demo %s

Or paste these commands into another shell:
`, c.base, c.alice.Password, c.admin.Password, c.base, c.base+mcpPath)
	for _, try := range c.tries() {
		fmt.Fprintf(w, "\n# %s\n%s\n", try.what, try.line)
	}
	program, err := os.Executable() // with go run it is not on the path
	if err == nil {
		fmt.Fprintf(w, "\n# The other commands also work on this server\n%s --config %s application list\n", program,
			configFile)
		fmt.Fprintf(w, "\n# Check this server, rule by rule\n%s conformance --target %s\n", program, targetFile)
	}
}

type example struct{ what, line string }

func (c *Cast) tries() []example {
	robot := c.post(c.robot, "/o/token/", "grant_type=client_credentials")
	alice := c.post(c.legacy, "/o/token/", "grant_type=password", "username="+c.alice.Username,
		"password="+c.alice.Password)
	// In a form a space is +, which needs no quotes.
	signedIn := c.post(c.legacy, "/o/token/", "grant_type=password", "username="+c.alice.Username,
		"password="+c.alice.Password, "scope=openid+profile+email")
	with := func(answer string) string {
		return "curl -s -H \"Authorization: Bearer " + within(answer, "access_token") + "\" "
	}
	return []example{
		{"Client credentials: an access token for the application Robot itself", robot},
		{"Client credentials, with one scope", c.post(c.robot, "/o/token/", "grant_type=client_credentials", "scope=read")},
		{"Password: an access token for alice, who gives her password to the application Legacy", alice},
		{"Refresh: a new access token for alice, in exchange for a refresh token",
			c.post(c.legacy, "/o/token/", "grant_type=refresh_token", "refresh_token="+within(alice, "refresh_token"))},
		{"Introspection: Robot introspects an access token of alice",
			c.post(c.robot, "/o/introspect/", "token="+within(alice, "access_token"))},
		{"Sample API: list the people (scope read)", with(robot) + c.base + "/users/"},
		{"Sample API: add a person (scope write)", with(robot) + "-d username=carol-$$ -d password=" + newPassword() + " " +
			c.base + "/users/"},
		{"Sample API: list the groups (scope groups)", with(robot) + c.base + "/groups/"},
		{"Sample API without a token: 401", "curl -si " + c.base + "/users/"},
		{"OpenID Connect: the metadata of the server, which a client loads first",
			"curl -s " + c.issuer + "/.well-known/openid-configuration"},
		{"OpenID Connect: the public keys that verify ID tokens", "curl -s " + c.issuer + "/.well-known/jwks.json"},
		{"OpenID Connect: the claims about alice that Legacy may read (scope openid)",
			with(signedIn) + c.issuer + "/userinfo/"},
	}
}

// post is the command for a request that authenticates an application.
func (c *Cast) post(as credentials, path string, form ...string) string {
	line := "curl -s -u '" + as.id + ":" + as.secret + "'"
	for _, pair := range form {
		line += " -d \"" + pair + "\""
	}
	return line + " " + c.base + path
}

// within is the command that extracts one member of the response of another
// command.
func within(line, member string) string {
	line = strings.ReplaceAll(line, `"`, "")
	return `$(` + line + ` | sed 's/.*"` + member + `": *"\([^"]*\)".*/\1/')`
}
