package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// register registers the clients that the target lacks (RFC 7591 §3.1). If the server refuses one of them, for
// example because of its grant type, the checks that need it are skipped. If there is no client at all, this is an
// error.
func (r *Runner) register(ctx context.Context) error {
	address := r.Endpoint(need.Registration)
	if address == "" {
		return errors.New("the target contains register, but the metadata of the server has no registration_endpoint: if " +
			"it has one, name it in the target under endpoints")
	}
	var refused error
	for _, role := range need.Roles() {
		if r.Target.Clients[role.Name] != nil || !role.Registrable() || role.Backchannel && r.Target.Backchannel == "" {
			continue
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// If the request were cancelled, a client could remain that nobody knows of.
		c, err := r.registerOne(context.WithoutCancel(ctx), address, role)
		if err != nil {
			refused = cmp.Or(refused, fmt.Errorf("register the client %s: %w", role.Name, err))
			r.Refusals[role.Name] = fmt.Errorf("the server did not register the client %s: %w", role.Name, err)
			continue
		}
		r.Target.Clients[role.Name] = c
		r.made = append(r.made, c)
	}
	switch {
	case len(r.Target.Clients) > 0:
		return nil
	case refused != nil && r.Target.InitialAccessToken == "":
		return fmt.Errorf("%w. If the server requires an initial access token, name it in the target as initial_access_token",
			refused)
	}
	return refused
}

// secretMethod returns the method of client authentication: HTTP Basic, unless the server lists only
// client_secret_post (RFC 8414 §2).
func secretMethod(s *check.Server) string {
	const methods = "token_endpoint_auth_methods_supported"
	if s.Metadata.Lists(methods, need.SecretPost) && !s.Metadata.Lists(methods, need.SecretBasic) {
		return need.SecretPost
	}
	return need.SecretBasic
}

func (r *Runner) registerOne(ctx context.Context, address string, role need.Role) (*target.Client, error) {
	c := target.NewClient(role, "", "")
	var metadata map[string]any
	var a *wire.Answer
	var err error
	for _, metadata = range r.bodies(role, c) {
		a, err = r.askForClient(ctx, address, metadata)
		if err != nil || a.Status != http.StatusBadRequest && a.Status != http.StatusForbidden {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if a.Status/100 != 2 || a.Text("client_id") == "" {
		return nil, errors.New(r.Said(a))
	}
	c.ID, c.Secret, c.Audience = a.Text("client_id"), a.Text("client_secret"), r.Target.Issuer
	c.Auth, _ = metadata["token_endpoint_auth_method"].(string)
	if given := a.Text("token_endpoint_auth_method"); given != "" {
		c.Auth = given
	}
	c.Registration = a
	c.Configuration, c.RegistrationAT = a.Text("registration_client_uri"), a.Text("registration_access_token")
	lost := dropped(metadata, a.JSON())
	if role.Auth != "" && c.Auth != role.Auth {
		lost = "token_endpoint_auth_method " + role.Auth
	}
	if lost != "" {
		return nil, errors.Join(fmt.Errorf("it registered the client without %s (RFC 7591 §3.2.1)", lost), r.remove(ctx, c))
	}
	return c, nil
}

// bodies returns the metadata with which a client of a role is registered, and what is tried if the server refuses it.
func (r *Runner) bodies(role need.Role, c *target.Client) []map[string]any {
	first := role.Metadata(secretMethod(r.Server), r.Target.Backchannel)
	if keys := c.Keys(); keys != nil {
		first["jwks"] = keys
	}
	// A grant that the server does not have would be refused, and is not what the role is for.
	if listed, known := r.Metadata.List("grant_types_supported"); known {
		grants, _ := first["grant_types"].([]string)
		first["grant_types"] = slices.DeleteFunc(grants,
			func(grant string) bool { return grant != role.Grant && !slices.Contains(listed, grant) })
	}
	all := []map[string]any{first}
	// RFC 7591 §2: without a scope, the server registers the client with its own choice. Some servers know openid as a
	// scope of requests, and not as a scope of clients.
	if r.Target.Scope != "" {
		scoped := maps.Clone(first)
		scoped["scope"] = r.Target.Scope
		all = []map[string]any{scoped, first}
	}
	// OIDC Registration §2: redirect_uris is required, also of a client that has no use for them.
	if first["redirect_uris"] == nil {
		with := maps.Clone(first)
		with["redirect_uris"] = []string{"https://client.example/" + string(role.Name)}
		delete(with, "response_types")
		all = append(all, with)
	}
	return all
}

// askForClient sends a registration request (RFC 7591 §3.1).
func (r *Runner) askForClient(ctx context.Context, address string, metadata map[string]any) (*wire.Answer, error) {
	body, err := json.Marshal(metadata)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequest(http.MethodPost, address, strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if r.Target.InitialAccessToken != "" {
		request.Header.Set("Authorization", "Bearer "+r.Target.InitialAccessToken)
	}
	return r.Send(ctx, request)
}

// dropped names the first member that the server registered otherwise than requested, or not at all. A server may do
// so, and says what it registered in its answer (RFC 7591 §3.2.1). A client that is not what its role describes would
// show nothing.
func dropped(requested, registered map[string]any) string {
	for _, name := range slices.Sorted(maps.Keys(requested)) {
		if slices.Contains([]string{"client_name", "scope", "token_endpoint_auth_method", "response_types",
			"application_type", "jwks", "backchannel_logout_session_required"}, name) {
			continue
		}
		want, err := json.Marshal(requested[name])
		if err != nil {
			return name
		}
		got, _ := json.Marshal(registered[name]) // it was JSON before
		_, given := registered[name]
		if !given && slices.Contains([]string{"redirect_uris", "grant_types"}, name) || includes(got, want) {
			continue
		}
		return fmt.Sprintf("%s %s", name, want)
	}
	return ""
}

// includes reports whether a value is as requested. A list may be longer, and in another order.
func includes(got, want []byte) bool {
	var wanted, given []any
	if json.Unmarshal(want, &wanted) != nil || json.Unmarshal(got, &given) != nil {
		return string(got) == string(want)
	}
	return !slices.ContainsFunc(wanted, func(one any) bool { return !slices.Contains(given, one) })
}

// dropMachine removes the client machine from the target if the server has no client credentials grant: its metadata
// does not list the grant, and its token endpoint refuses it. The client code takes the place of the client then.
func (r *Runner) dropMachine(ctx context.Context) {
	listed, known := r.Metadata.List("grant_types_supported")
	if !known || slices.Contains(listed, need.GrantMachine) {
		return
	}
	r.Check(ctx, check.Rule{Needs: []need.Need{need.Machine, need.Token}, Check: func(t *check.T) {
		if t.AsMachine(t.Client(need.Machine).Credentials()).Text("error") == "unsupported_grant_type" {
			delete(r.Target.Clients, need.Machine)
			r.Refusals[need.Machine] = errors.New("the server does not support the client credentials grant: its metadata " +
				"does not list it, and its token endpoint answers unsupported_grant_type")
		}
	}})
}

// learnScope gives the clients of the client credentials grant a scope if the server issues no token without one, and
// the target names none. RFC 6749 §3.3 lets a server require the parameter; how it refuses is a rule of its own.
func (r *Runner) learnScope(ctx context.Context) {
	machine := r.Target.Clients[need.Machine]
	if machine == nil || machine.Scope != "" {
		return
	}
	wanted := ""
	r.Check(ctx, check.Rule{Needs: []need.Need{need.Machine, need.Token}, Check: func(t *check.T) {
		if t.AsMachine(machine.Credentials()).Granted() {
			return
		}
		listed, _ := r.Metadata.List("scopes_supported")
		for _, scope := range append(strings.Fields(r.Target.Scope), listed...) {
			if scope != "openid" && t.AsMachine(machine.Credentials(), "scope", scope).Granted() {
				wanted = scope
				return
			}
		}
	}})
	if wanted == "" {
		return
	}
	for _, role := range need.Roles() {
		if c := r.Target.Clients[role.Name]; c != nil && c.Scope == "" && role.Grant == need.GrantMachine {
			as := *c
			as.Scope = wanted
			r.Target.Clients[role.Name] = &as
		}
	}
}

// learnAssertions finds out how the server wants the assertions of each client: without or with client_id beside them,
// and for the issuer or for the token endpoint. Rules of their own are about that. The checks of all others would be
// blocked, or take a refusal because of it for one because of their mistake.
func (r *Runner) learnAssertions(ctx context.Context, rules []check.Rule) {
	for _, role := range need.Roles() {
		c := r.Target.Clients[role.Name]
		needed := slices.ContainsFunc(rules, func(rule check.Rule) bool { return slices.Contains(rule.Needs, role.Name) })
		if c == nil || !needed || c.Auth != need.PrivateKeyJWT && c.Auth != need.SecretJWT {
			continue
		}
		r.Check(ctx, check.Rule{Needs: []need.Need{need.Token}, Check: func(t *check.T) {
			for _, audience := range []string{c.Audience, t.Endpoint(need.Token)} {
				for _, names := range []bool{false, true} {
					as := *c
					as.Audience, as.NamesItself = audience, names
					if authenticated(t.ByCredentials(c, as.Credentials())) {
						if audience != c.Audience || names {
							r.Target.Clients[role.Name] = &as
						}
						return
					}
				}
			}
		}})
	}
}

// authenticated reports whether an answer of the token endpoint shows that the server accepts the credentials.
func authenticated(a *wire.Answer) bool {
	return a.Granted() || a.Status == http.StatusBadRequest &&
		!slices.Contains([]string{"", "invalid_client", "invalid_request"}, a.Text("error"))
}

// introspectOwn lets the client machine introspect tokens if no other client of the target may, and if the server
// accepts this for the client's own tokens.
func (r *Runner) introspectOwn(ctx context.Context) {
	if r.Target.Clients[need.Introspect] != nil {
		return
	}
	r.Check(ctx, check.Rule{Needs: []need.Need{need.Machine, need.Token, need.Introspection}, Check: func(t *check.T) {
		machine := *t.Client(need.Machine)
		if t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access),
			machine.Credentials()).JSON()["active"] != true {
			r.Refusals[need.Introspect] = errors.New("the target has no client introspection under clients: a confidential " +
				"client that may introspect tokens. The client machine may not introspect its own token")
			return
		}
		machine.Role = need.Introspect
		r.Target.Clients[need.Introspect], r.IntrospectsOwn = &machine, true
	}})
}

// Staying says how many clients will stay registered, because the server gives no address to delete them (RFC 7592), or
// returns "". Rules register further ones.
func (r *Runner) Staying(rules []check.Rule) string {
	staying := 0
	for _, c := range r.made {
		if c.Configuration == "" {
			staying++
		}
	}
	if staying == 0 {
		return ""
	}
	registering := 0
	for _, rule := range rules {
		if rule.Check != nil && slices.Contains(rule.Needs, need.Registration) {
			registering++
		}
	}
	return fmt.Sprintf("the server returns no registration_client_uri (RFC 7592), so that nobody can delete the %d "+
		"clients of this run, nor those that %d of the rules register. Their names begin with conformance. To register "+
		"none in the next run, write register: reuse into the target, which keeps those of this run, or name clients in it",
		staying, registering)
}

// Keep hands over the clients that were registered, so that later runs use them. If that fails, Close deletes them.
func (r *Runner) Keep(add func([]*target.Client) error) error {
	err := add(r.made)
	if err == nil {
		r.made = nil
	}
	return err
}

// Close deletes the clients that were registered (RFC 7592 §2.3). It also tries if the server has stopped answering
// before.
func (r *Runner) Close(ctx context.Context) error {
	var all error
	var forgotten []string
	r.Reset()
	for _, c := range r.made {
		err := r.remove(ctx, c)
		if errors.Is(err, errForgotten) {
			forgotten = append(forgotten, string(c.Role))
			continue
		}
		if err != nil {
			all = errors.Join(all,
				errors.New(r.Plain(fmt.Sprintf("the client %s (%s) stays registered: %s", c.ID, c.Role, err))))
		}
	}
	r.made = nil
	for _, text := range r.LeftBehind() {
		all = errors.Join(all, errors.New(r.Plain(text)))
	}
	if all != nil {
		all = errors.Join(all,
			errors.New("delete these clients in the administration of the server: their names begin with conformance"))
	}
	if len(forgotten) > 0 {
		all = errors.Join(all,
			fmt.Errorf("%w: %s. It may have lost them during the run, and then results that need them say nothing", errForgotten,
				strings.Join(forgotten, ", ")))
	}
	return errors.Join(all, r.StopListener(), r.StopDocuments())
}

// errForgotten says that a client is unknown to the server, although nobody has deleted it.
var errForgotten = errors.New("the server does not know these clients any more, which it registered for the run")

func (r *Runner) remove(ctx context.Context, c *target.Client) error {
	if c.Configuration == "" {
		return errors.New("the server returned no registration_client_uri, which is needed to delete it")
	}
	err := r.Manages(c.Configuration)
	if err != nil {
		return err
	}
	request, err := http.NewRequest(http.MethodDelete, c.Configuration, nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.RegistrationAT)
	a, err := r.Send(ctx, request)
	if err != nil {
		return err
	}
	// RFC 7592 §2.3: a client that does not exist
	if a.Status == http.StatusUnauthorized || a.Status == http.StatusNotFound {
		return errForgotten
	}
	if a.Status/100 != 2 {
		return errors.New(r.Said(a, c.RegistrationAT, c.Secret))
	}
	return nil
}
