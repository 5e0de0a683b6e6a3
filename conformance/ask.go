package conformance

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Ask makes a target from the answers to a few questions.
func Ask(ctx context.Context, in io.Reader, out io.Writer, o Options) (*Target, error) {
	q := &questions{in: bufio.NewReader(in), out: out}
	t := &Target{Clients: map[Need]*Client{}}
	t.Issuer = strings.TrimSuffix(q.ask("Issuer of the server, such as https://auth.example.org"), "/")
	err := checkURL("issuer", t.Issuer)
	if q.err != nil || err != nil {
		return nil, errors.Join(q.err, err)
	}
	r := &Runner{Target: t, Metadata: map[string]any{}, network: newNetwork(o)}
	t.Endpoints = map[string]string{}
	err = r.discover(ctx)
	if err != nil && !errors.Is(err, errNoMetadata) {
		return nil, err
	}
	if err != nil {
		// Nothing published is no reason to give up: the endpoints are asked for.
		fmt.Fprintf(out, "The server %s.\n", errNoMetadata)
		for _, name := range []Need{NeedAuthorization, NeedToken, NeedIntrospection, NeedRevocation} {
			if address := q.ask(string(name) + " (empty if there is none)"); address != "" {
				t.Endpoints[string(name)] = address
			}
		}
	}
	t.User.Username = q.ask("User name of somebody who can sign in (empty if nobody)")
	if t.User.Username != "" {
		t.User.Password = q.ask("Password (it is shown, and kept in the file)")
		q.scope(t, r.usualScope())
	}
	if r.endpoint(NeedRegistration) != "" {
		t.Register = q.yes("Register clients for each run, and remove them afterwards?")
	}
	if t.Register {
		t.InitialAccessToken = q.ask("Initial access token (empty if registration is open)")
	} else {
		q.clients(t)
	}
	if q.err != nil {
		return nil, q.err
	}
	return t, t.check()
}

// usualScope is what clients of an OpenID Provider ask for most, as far as the server lists it.
func (r *Runner) usualScope() string {
	listed, _ := r.Metadata["scopes_supported"].([]any)
	var usual []string
	for _, name := range []string{"openid", "profile", "email", offlineAccess} {
		if slices.Contains(listed, any(name)) {
			usual = append(usual, name)
		}
	}
	return strings.Join(usual, " ")
}

const offlineAccess = "offline_access"

// scope asks for the scope of the authorization requests.
func (q *questions) scope(t *Target, usual string) {
	without := "leaves it to the server"
	if usual != "" {
		without = "is " + usual
	}
	t.Scope = cmp.Or(q.ask(fmt.Sprintf("Scope to ask for (empty %s)", without)), usual)
	if slices.Contains(strings.Fields(t.Scope), offlineAccess) {
		// OIDC Core §11: without being asked nobody gives offline access.
		t.Parameters = map[string]string{"prompt": "consent"}
	}
}

// clients asks for those that most rules are tried with; the file can name more.
func (q *questions) clients(t *Target) {
	for _, role := range []Need{NeedCode, NeedSecond, NeedPublic, NeedMachine, NeedIntrospect} {
		id := q.ask(fmt.Sprintf("Client ID of %s (empty if there is none)", roles[role]))
		if id == "" {
			continue
		}
		c := &Client{ID: id}
		if role != NeedPublic {
			c.Secret = q.ask("Its secret (it is shown, and kept in the file)")
		}
		if slices.Contains([]Need{NeedCode, NeedSecond, NeedPublic}, role) {
			c.RedirectURIs = strings.Fields(q.ask("Its redirect URI"))
		}
		t.Clients[role] = c
	}
}

// questions asks until the first error, which it keeps.
type questions struct {
	in  *bufio.Reader
	out io.Writer
	err error
}

func (q *questions) ask(question string) string {
	if q.err != nil {
		return ""
	}
	fmt.Fprintf(q.out, "%s: ", question)
	line, err := q.in.ReadString('\n')
	if err != nil && line == "" {
		q.err = errors.New("standard input ended before all questions were answered")
	}
	return strings.TrimSpace(line)
}

func (q *questions) yes(question string) bool {
	answer := strings.ToLower(q.ask(question + " [Y/n]"))
	return answer == "" || strings.HasPrefix(answer, "y")
}
