package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Ask makes a target from the answers to a few questions. The clients that most rules need come first. It also says
// what is not finished in the target, or "".
func Ask(ctx context.Context, in io.Reader, out io.Writer, purpose Purpose, o wire.Options) (of *target.Target,
	unfinished string, err error) {
	q := newQuestions(ctx, in, out)
	t := &target.Target{Clients: map[need.Need]*target.Client{}, Endpoints: map[string]string{}}
	t.Issuer = q.ask("Issuer of the server, such as https://auth.example.org",
		func(text string) error { return target.CheckURL("issuer", text) })
	if q.err != nil {
		return nil, "", q.err
	}
	network := wire.NewNetwork(o)
	s, err := q.discover(t, network)
	if err != nil && !errors.Is(err, check.ErrNoMetadata) {
		return nil, "", err
	}
	q.endpoints(s, err != nil)
	q.origins(s)
	if published := s.Metadata.Text("issuer"); strings.TrimSuffix(published, "/") == strings.TrimSuffix(t.Issuer, "/") {
		t.Issuer = published // issuers are compared character by character
	}
	t.User.Username = q.ask("User name of somebody who can sign in (Enter: nobody)", nil)
	if t.User.Username != "" {
		t.User.Password = q.ask("Password (it is shown, and kept in the file)", required)
		q.scope(t, usualScope(s))
	}
	if s.Endpoint(need.Registration) != "" && !chosen(purpose.Format) {
		if q.yes("Register clients for each run, and remove them afterwards?", true) {
			t.Register = target.Once
		}
	}
	if t.Register != "" {
		t.InitialAccessToken = q.ask("Initial access token (Enter: registration is open)", nil)
	}
	if purpose.Format != "" {
		q.registration(s, purpose)
	}
	if !chosen(purpose.Format) {
		q.clients(s, purpose)
	}
	works := q.signIn(t, network)
	if q.err != nil {
		return nil, "", q.err
	}
	return t, unfinishedIn(t, purpose.Rules, works), t.Check()
}

// discover reads the metadata. The issuer in the metadata is the one that clients compare (RFC 8414 §3.3), so another
// answer is probably a mistake.
func (q *questions) discover(t *target.Target, n *wire.Network) (*check.Server, error) {
	for {
		s := check.NewServer(t, n)
		err := s.Discover(q.ctx)
		if err != nil && !errors.Is(err, check.ErrNoMetadata) {
			return nil, err
		}
		another := ""
		if err == nil {
			another = q.published(s)
		} else {
			q.say("There is no metadata (RFC 8414, OIDC Discovery) at %s.\n",
				strings.Join(check.MetadataAddresses(t.Issuer), " or "))
			another = q.ask("Another issuer (Enter: the server publishes no metadata)",
				target.Optional(func(text string) error { return target.CheckURL("issuer", text) }))
		}
		if another == "" {
			return s, err
		}
		t.Issuer = another
	}
}

// published returns the issuer that the metadata names, if it is another than that of the target and the person wants
// it.
func (q *questions) published(s *check.Server) string {
	named := s.Metadata.Text("issuer")
	same := strings.TrimSuffix(named, "/") == strings.TrimSuffix(s.Target.Issuer, "/")
	if same || target.CheckURL("issuer", named) != nil ||
		!q.yes(fmt.Sprintf("The metadata says that the issuer is %s. Use it?", wire.Printable(named)), true) {
		return ""
	}
	return named
}

// unfinishedIn says what is not finished in a target, and how many rules this concerns, or "".
func unfinishedIn(t *target.Target, rules []check.Rule, works bool) string {
	skipped, blocked := 0, 0
	for _, rule := range rules {
		lacking := func(n need.Need) bool {
			role, _ := need.RoleOf(n)
			return n == need.User && t.User.Username == "" || n.IsClient() && t.Clients[n] == nil &&
				!(t.Register != "" && role.Registrable())
		}
		switch {
		case rule.Check == nil:
		case slices.ContainsFunc(rule.Needs, lacking):
			skipped++
		case slices.Contains(rule.Needs, need.User):
			blocked++
		}
	}
	switch {
	case !works:
		return fmt.Sprintf("the sign-in does not work yet: about %d rules will be blocked. Correct user and clients.code "+
			"in the file, or remove the file and start again. It contains secrets.", blocked)
	case len(t.Clients) == 0 && t.Register == "":
		return fmt.Sprintf("it has no clients: %d rules will be skipped. Add clients to the file, or remove the file and "+
			"start again.", skipped)
	}
	return ""
}

// endpoints asks for the endpoints that the metadata does not name. A server without metadata can be checked too.
func (q *questions) endpoints(s *check.Server, noMetadata bool) {
	var missing []string
	for _, name := range []need.Need{need.Authorization, need.Token, need.Introspection, need.Revocation,
		need.Registration} {
		if s.Endpoint(name) == "" {
			missing = append(missing, string(name))
		}
	}
	switch {
	case len(missing) == 0, len(missing) == 1 && missing[0] == string(need.Registration): // most servers do without it
		return
	case noMetadata: // somebody has just said so
	case !q.yes(fmt.Sprintf("The metadata does not name %s. Does the server have one of these?",
		strings.Join(missing, ", ")), false):
		return
	}
	for _, name := range missing {
		address := q.ask(name+" (Enter: there is none)",
			target.Optional(func(text string) error { return target.CheckURL(name, text) }))
		if address != "" {
			s.Target.Endpoints[name] = address
		}
	}
}

// origins asks whether the origins of the metadata belong to the server, because the password and the secrets of
// clients are sent only to origins of the target.
func (q *questions) origins(s *check.Server) {
	for _, name := range []need.Need{need.Authorization, need.Token, need.Registration, need.Introspection,
		need.Revocation, need.EndSession} {
		address := s.Endpoint(name)
		if address == "" || s.Owns(address) {
			continue
		}
		origin := wire.Origin(address)
		if q.yes(fmt.Sprintf("The metadata names %s at %s. Does this origin belong to the server?", name,
			wire.Printable(origin)), false) {
			s.Target.Origins = append(s.Target.Origins, origin)
		}
	}
}

// registration prints what to register. The clients of some formats have the printed IDs and secrets.
func (q *questions) registration(s *check.Server, purpose Purpose) {
	t := s.Target
	t.Backchannel = q.listen()
	planned, format := NewRegistration(t, purpose.Roles()), purpose.Format
	planned.endpoint = s.Endpoint(need.Registration)
	q.say("\n")
	if q.err == nil {
		q.err = ClientFormats()[format](planned, q.out)
	}
	if !chosen(format) {
		return
	}
	maps.Copy(t.Clients, planned.planned(format))
	q.ask("\nRegister these clients now. They will be in the target file. Then press Enter", nil)
}

// listen asks for the address at which logout tokens arrive.
func (q *questions) listen() string {
	return q.ask("host:port of this machine that the server can call when somebody logs out (Enter: there is none)",
		target.Optional(target.CheckListen))
}

// usualScope returns the scopes that most clients of an OpenID Provider request, as far as the server lists them.
func usualScope(s *check.Server) string {
	usual := []string{"openid", "profile", "email", offlineAccess}
	return strings.Join(slices.DeleteFunc(usual,
		func(scope string) bool { return !s.Metadata.Lists("scopes_supported", scope) }), " ")
}

const offlineAccess = "offline_access"

// scope asks for the scope of the authorization requests.
func (q *questions) scope(t *target.Target, usual string) {
	t.Scope = cmp.Or(q.ask(fmt.Sprintf("Scope to ask for (Enter: %s)", cmp.Or(usual, "the server chooses")), nil), usual)
	if slices.Contains(strings.Fields(t.Scope), offlineAccess) {
		// OIDC Core §11: offline access needs the person's consent.
		t.Parameters = map[string]string{"prompt": "consent"}
		q.say("  offline_access needs the person's consent (OIDC Core §11), so each request will have prompt=consent: see " +
			"parameters in the file.\n")
	}
}

// clients asks for the clients that will not be registered: first for the most needed, then, if wanted, for the
// others and for what belongs to them. It asks for clients of FAPI 2.0 only if the rules were chosen, and then first.
func (q *questions) clients(s *check.Server, purpose Purpose) {
	var first, rest []need.Role
	rules, forFAPI := purpose.Rules, purpose.forFAPI()
	for _, role := range need.Roles() {
		switch {
		case s.Target.Register != "" && role.Registrable(), role.Profile != "" && !forFAPI,
			purpose.Chosen && Needing(rules, role) == 0:
		case role.Profile != "", role.First && s.Target.Register == "" && !forFAPI:
			first = append(first, role)
		default:
			rest = append(rest, role)
		}
	}
	if len(first) > 0 {
		q.say("\nNow the clients, as you have registered them at the server. No program needs to answer at their redirect " +
			"URIs.\n")
	}
	for _, role := range first {
		q.client(s, role, Needing(rules, role))
	}
	others := "an API, a listener for logouts, or "
	if forFAPI { // nearly all of its rules use an API
		q.api(s.Target)
		others = ""
	}
	if forFAPI && len(rest) == 0 {
		return
	}
	q.say("\nFurther rules need %sone of %d more clients: %s.\n", others, len(rest), need.Names(rest))
	if !q.yes("Answer the questions about these too?", false) {
		return
	}
	for _, role := range rest {
		q.client(s, role, Needing(rules, role))
	}
	if !forFAPI {
		q.api(s.Target)
	}
	if s.Target.Register != "" && s.Target.Backchannel == "" && !forFAPI {
		s.Target.Backchannel = q.listen()
	}
}

// api asks for an API.
func (q *questions) api(t *target.Target) {
	t.API.URL = q.ask("URL of an API that accepts the server's access tokens (Enter: there is none)",
		target.Optional(func(text string) error { return target.CheckURL("the API", text) }))
	if t.API.URL != "" {
		t.API.Restricted = q.ask("URL of this API that requires a certain scope (Enter: there is none)",
			target.Optional(func(text string) error { return target.CheckURL("the API", text) }))
	}
	if t.API.Restricted != "" {
		t.API.Scope = q.ask("The required scope", required)
	}
}

// client asks for one client.
func (q *questions) client(s *check.Server, role need.Role, rules int) {
	q.say("\n%s, for %d rules: %s.\n  %s.\n", role.Name, rules, role.Is, role.Description())
	c := target.NewClient(role, "", "")
	if keys := c.Keys(); keys != nil { // some servers register no such client without its keys
		text, _ := encode(keys) // it has only texts
		q.say("  Register these keys for it. The file will have the private key: %s\n", text)
	}
	c.ID = q.ask("Client ID (Enter: there is none)", nil)
	if c.ID == "" {
		return
	}
	switch {
	case role.Auth == need.CertificateAuth:
		c.CertificateFile, c.KeyFile = q.ask("Its certificate, a PEM file", readable),
			q.ask("The private key of the certificate, a PEM file", readable)
	case role.HasSecret():
		c.Secret, c.Auth = q.ask("Its secret (it is shown, and kept in the file)", required),
			cmp.Or(role.Auth, secretMethod(s))
	}
	if n := len(role.RedirectURIs); n > 0 {
		c.RedirectURIs = q.uris("Its redirect URI", role.RedirectURIs)
	}
	if len(role.AfterLogout) > 0 {
		c.PostLogoutRedirectURIs = q.uris("Its post-logout redirect URI", role.AfterLogout)
	}
	if role.Backchannel {
		s.Target.Backchannel = q.ask("host:port of this machine that its backchannel_logout_uri leads to", target.CheckListen)
	}
	s.Target.Clients[role.Name] = c
}

// uris asks for as many addresses as are suggested.
func (q *questions) uris(question string, suggested []string) []string {
	if len(suggested) > 1 {
		question = fmt.Sprintf("%ss, %d of them, separated by spaces", question, len(suggested))
	}
	all := strings.Join(suggested, " ")
	answer := q.ask(fmt.Sprintf("%s (Enter: %s)", question, all), target.Optional(func(text string) error {
		if len(strings.Fields(text)) < len(suggested) {
			return fmt.Errorf("%d are needed", len(suggested))
		}
		for _, uri := range strings.Fields(text) {
			if u, err := url.Parse(uri); err != nil || u.Scheme == "" { // RFC 6749 §3.1.2
				return fmt.Errorf("%q is no absolute URI", uri)
			}
		}
		return nil
	}))
	return strings.Fields(cmp.Or(answer, all))
}

func required(text string) error {
	if text == "" {
		return errors.New("this cannot be empty")
	}
	return nil
}

// readable accepts the name of a file that can be read.
func readable(text string) error {
	file, err := os.Open(text)
	if err != nil {
		return err
	}
	return file.Close()
}
