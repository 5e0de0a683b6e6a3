package engine

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/url"
	"strings"

	"go.yaml.in/yaml/v3"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// Registration is the clients that somebody has to register for a target.
type Registration struct {
	target   *target.Target
	endpoint string // for RFC 7591
	roles    []need.Role
	clients  map[need.Need]*target.Client
}

// NewRegistration plans a client for each of the roles that the target lacks. The IDs and secrets are made up, so that
// the target can have them before the clients are registered.
func NewRegistration(t *target.Target, roles []need.Role) *Registration {
	r := &Registration{target: t, endpoint: t.Endpoints[string(need.Registration)],
		clients: map[need.Need]*target.Client{}}
	for _, role := range roles {
		if t.Clients[role.Name] != nil || role.Backchannel && t.Backchannel == "" {
			continue
		}
		c := target.NewClient(role, "conformance-"+string(role.Name), "")
		switch {
		case role.Public:
			c.Auth = need.NoAuthentication
		case role.HasSecret():
			// OIDC Core §16.19: the key of HS256 has at least 256 bits; one text has 130.
			c.Secret, c.Auth = rand.Text()+rand.Text(), cmp.Or(role.Auth, need.SecretBasic)
		}
		r.roles, r.clients[role.Name] = append(r.roles, role), c
	}
	return r
}

// ClientFormats are the ways to say which clients to register.
func ClientFormats() map[string]func(*Registration, io.Writer) error {
	return map[string]func(*Registration, io.Writer) error{
		"text": (*Registration).Text, "curl": (*Registration).Curl, "kcadm": (*Registration).Keycloak,
		"hydra": (*Registration).Hydra,
	}
}

// chosen are the formats whose clients have the planned IDs and secrets.
func chosen(format string) bool { return format == "kcadm" || format == "hydra" }

// Text describes the clients for somebody who registers them by hand.
func (r *Registration) Text(w io.Writer) error {
	out := &lines{w: w}
	for _, role := range r.roles {
		out.printf("%s: %s\n", role.Name, role.Is)
		for part := range strings.SplitSeq(role.Description(), "; ") {
			out.printf("    %s\n", r.local(part))
		}
		if scope := r.target.Scope; scope != "" && role.Grant == need.GrantCode {
			out.printf("    scope %s\n", scope)
		}
	}
	return out.err
}

// local replaces the example of the back-channel address by that of the target.
func (r *Registration) local(text string) string {
	return strings.ReplaceAll(text, "HOST:PORT", cmp.Or(r.target.Backchannel, "HOST:PORT"))
}

// Curl writes a request for each client that can be registered by RFC 7591.
func (r *Registration) Curl(w io.Writer) error {
	out := &lines{w: w}
	out.printf("# RFC 7591: each answer has the client_id and the client_secret for the target file.\n")
	out.printf("# \"register: true\" in the target file does the same for each run, and removes the clients afterwards.\n")
	if r.target.Scope != "" {
		out.printf("# If the server refuses the scope, leave it out: some know openid only as a scope of requests.\n")
	}
	authorization := ""
	if r.endpoint == "" {
		out.printf("# Replace the address by the registration_endpoint of the server.\n")
	}
	if r.target.InitialAccessToken != "" {
		out.printf("# Set INITIAL_ACCESS_TOKEN first.\n")
		authorization = ` -H "Authorization: Bearer $INITIAL_ACCESS_TOKEN"`
	}
	for _, role := range r.roles {
		if !role.Registrable() {
			out.printf("\n# %s cannot be registered in this way: %s.\n", role.Name, role.Is)
			continue
		}
		metadata := role.Metadata(need.SecretBasic, r.target.Backchannel)
		if keys := r.clients[role.Name].Keys(); keys != nil {
			out.printf("\n# jwk of %s in the target file: %s\n", role.Name, private(r.clients[role.Name]))
			metadata["jwks"] = keys
		}
		if r.target.Scope != "" {
			metadata["scope"] = r.target.Scope
		}
		text, err := encode(metadata)
		if err != nil {
			return err
		}
		out.printf("\n# %s: %s\ncurl -sS %s -H 'Content-Type: application/json'%s -d %s\n", role.Name, role.Is,
			wire.ShellWord(cmp.Or(r.endpoint, "https://auth.example.org/register")), authorization, wire.ShellWord(text))
	}
	return out.err
}

// Keycloak writes a command of kcadm, the administration program of Keycloak 26.
func (r *Registration) Keycloak(w io.Writer) error {
	base, realm := keycloakRealm(r.target.Issuer)
	clients, accounts := []map[string]any{}, []map[string]any{}
	without := []string{}
	for _, role := range r.roles {
		if lacks("kcadm", role) {
			without = append(without, string(role.Name))
			continue
		}
		client := r.keycloakClient(role)
		clients = append(clients, client)
		if client["serviceAccountsEnabled"] == true {
			// An import does not add the account of a client that acts on its own, with the roles that each account has.
			accounts = append(accounts, map[string]any{"username": "service-account-" + r.clients[role.Name].ID, "enabled": true,
				"serviceAccountClientId": r.clients[role.Name].ID,
				"realmRoles":             []string{"default-roles-" + strings.ToLower(realm)}})
		}
	}
	list, err := encodeList(clients)
	if err != nil {
		return err
	}
	people, err := encodeList(accounts)
	if err != nil {
		return err
	}
	text := `{"ifResourceExists": "OVERWRITE", "clients": ` + list + `, "users": ` + people + "}"
	out := &lines{w: w}
	out.printf("# For Keycloak 26. kcadm.sh stands in the folder bin of Keycloak. Sign in once:\n")
	out.printf("#   kcadm.sh config credentials --server %s --realm master --user admin\n", wire.ShellWord(base))
	out.printf("# If nobody can sign in yet, add a person:\n")
	name := cmp.Or(r.target.User.Username, "alice")
	out.printf("#   kcadm.sh create users -r %s -s %s -s enabled=true -s email=conformance@example.com -s "+
		"emailVerified=true -s firstName=A -s lastName=B\n",
		wire.ShellWord(realm), wire.ShellWord("username="+name))
	out.printf("#   kcadm.sh set-password -r %s --username %s\n", wire.ShellWord(realm), wire.ShellWord(name))
	out.printf("kcadm.sh create partialImport -r %s -f - <<'EOF'\n%s\nEOF\n", wire.ShellWord(realm), text)
	if len(without) > 0 {
		out.printf("# Left out, because an authority has to issue their certificates first: %s.\n",
			strings.Join(without, ", "))
	}
	return out.err
}

// keycloakRealm returns the address of a Keycloak and the name of its realm.
func keycloakRealm(issuer string) (base, realm string) {
	base, realm, found := strings.Cut(issuer, "/realms/")
	if !found {
		return "http://127.0.0.1:8080", "REALM"
	}
	plain, err := url.PathUnescape(strings.Trim(realm, "/"))
	if err != nil {
		return base, realm
	}
	return base, plain
}

// keycloakClient returns a client as Keycloak represents it. Keycloak has no consent page for the password grant.
func (r *Registration) keycloakClient(role need.Role) map[string]any {
	c, attributes := r.clients[role.Name], map[string]string{}
	client := map[string]any{"clientId": c.ID, "protocol": "openid-connect", "publicClient": role.Public,
		"redirectUris":        append([]string{}, role.RedirectURIs...),
		"standardFlowEnabled": role.Grant == need.GrantCode, "consentRequired": role.Grant == need.GrantCode,
		"directAccessGrantsEnabled": role.Grant == need.GrantPassword,
		"serviceAccountsEnabled":    role.Grant == need.GrantMachine || role.Machine, "fullScopeAllowed": false,
		"attributes": attributes}
	switch {
	case role.Grant == need.GrantDevice:
		attributes["oauth2.device.authorization.grant.enabled"] = "true"
	case role.Public:
		// RFC 8252 §8.1: Keycloak can require PKCE of a client, and not of all
		attributes["pkce.code.challenge.method"] = "S256"
	case role.Auth == need.PrivateKeyJWT:
		client["clientAuthenticatorType"] = "client-jwt"
		attributes["use.jwks.string"], attributes["token.endpoint.auth.signing.alg"] = "true", c.Signer.Algorithm
		attributes["jwks.string"], _ = encode(c.Keys())                 // it has only texts
		attributes["request.object.signature.alg"] = c.Signer.Algorithm // without it Keycloak accepts none too
		if role.Profile != "" {
			attributes["require.pushed.authorization.requests"], attributes["dpop.bound.access.tokens"],
				attributes["pkce.code.challenge.method"] = "true", "true", "S256"
		}
		if role.Profile == need.ProfileMessages {
			attributes["request.object.required"], attributes["authorization.signed.response.alg"] = "request only", "PS256"
		}
	default:
		client["secret"] = c.Secret
	}
	if role.Auth == need.SecretJWT {
		client["clientAuthenticatorType"] = "client-secret-jwt"
	}
	if len(role.AfterLogout) > 0 {
		attributes["post.logout.redirect.uris"] = strings.Join(role.AfterLogout, "##")
	}
	if role.Backchannel {
		attributes["backchannel.logout.url"], attributes["backchannel.logout.session.required"] = "http://"+
			r.target.Backchannel+"/logout", "true"
	}
	if role.IDTokenAlgorithm != "" {
		attributes["id.token.signed.response.alg"] = role.IDTokenAlgorithm
	}
	if role.UserInfoAlgorithm != "" {
		attributes["user.info.response.signature.alg"] = role.UserInfoAlgorithm
	}
	if role.SignedAccess { // RFC 9068 §3: a token has a default audience, which Keycloak has for each client
		attributes["access.token.header.type.rfc9068"] = "true"
		client["protocolMappers"] = keycloakMapper("oidc-audience-mapper", "included.custom.audience", "https://api.example",
			"access.token.claim", "true")
	}
	if role.Pairwise {
		client["protocolMappers"] = keycloakMapper("oidc-sha256-pairwise-sub-mapper", "pairwiseSubAlgorithmSalt", rand.Text())
	}
	return client
}

// keycloakMapper returns a mapper, which puts claims into tokens. The names of its settings alternate with their
// values.
func keycloakMapper(kind string, settings ...string) []map[string]any {
	config := map[string]string{}
	for i := 0; i+1 < len(settings); i += 2 {
		config[settings[i]] = settings[i+1]
	}
	return []map[string]any{{"name": kind, "protocol": "openid-connect", "protocolMapper": kind, "config": config}}
}

// Hydra writes a command of Ory Hydra 2.
func (r *Registration) Hydra(w io.Writer) error {
	clients, without := []map[string]any{}, []string{}
	for _, role := range r.roles {
		if lacks("hydra", role) {
			without = append(without, string(role.Name))
			continue
		}
		c := r.clients[role.Name]
		client := role.Metadata(need.SecretBasic, r.target.Backchannel)
		delete(client, "application_type")
		client["client_id"], client["scope"] = c.ID, cmp.Or(r.target.Scope, "openid offline_access")
		if role.HasSecret() {
			client["client_secret"] = c.Secret
		}
		if keys := c.Keys(); keys != nil {
			client["jwks"] = keys
		}
		if role.Grant == need.GrantMachine {
			delete(client, "response_types")
		}
		if role.SignedAccess {
			client["access_token_strategy"] = "jwt"
		}
		clients = append(clients, client)
	}
	text, err := encodeList(clients)
	if err != nil {
		return err
	}
	out := &lines{w: w}
	const admin = "http://127.0.0.1:4445"
	ids := []string{}
	for _, c := range clients {
		ids = append(ids, fmt.Sprint(c["client_id"]))
	}
	out.printf("# For Ory Hydra 2.3 and later. The endpoint is that of the administration API.\n")
	out.printf("# If clients with these IDs exist, delete them first:\n#   hydra delete oauth2-client --endpoint %s %s\n",
		admin, strings.Join(ids, " "))
	out.printf("hydra import oauth2-client --endpoint %s <<'EOF'\n%s\nEOF\n", admin, text)
	if len(without) > 0 {
		out.printf("# Left out, because Hydra has no such clients: %s.\n", strings.Join(without, ", "))
	}
	out.printf("# Pairwise subjects need oidc.subject_identifiers.supported_types: [public, pairwise] in the " +
		"configuration.\n")
	out.printf("# Tokens are introspected by the administration API, which asks callers for no credentials by itself.\n")
	if r.target.Endpoints[string(need.Introspection)] == "" {
		out.printf("# Add to the target file:\n#   endpoints: {introspection_endpoint: %s/admin/oauth2/introspect}\n", admin)
	}
	return out.err
}

// lacks reports whether a format cannot register a client of a role. An authority has to issue a certificate first.
// Hydra signs ID tokens with one algorithm for all clients, and has neither the password grant nor client_secret_jwt,
// nor what FAPI 2.0 requires.
func lacks(format string, role need.Role) bool {
	hydra := format == "hydra" &&
		(role.IDTokenAlgorithm != "" || role.Grant == need.GrantPassword || role.Auth == need.SecretJWT)
	return hydra || role.Auth == need.CertificateAuth
}

// planned returns the clients that a format registers with the planned IDs and secrets.
func (r *Registration) planned(format string) map[need.Need]*target.Client {
	all := maps.Clone(r.clients)
	maps.DeleteFunc(all, func(name need.Need, _ *target.Client) bool {
		role, _ := need.RoleOf(name)
		return lacks(format, role)
	})
	return all
}

// YAML writes the clients as the target file has them, as comments.
func (r *Registration) YAML(w io.Writer, format string) error {
	text, err := yaml.Marshal(map[string]any{"clients": r.planned(format)})
	if err != nil {
		return err
	}
	out := &lines{w: w}
	out.printf("\n# Then add this to the target file:\n")
	out.indented("# ", string(text))
	return out.err
}

// Print writes what to register, and what to write into the target file.
func (r *Registration) Print(w io.Writer, format string) error {
	err := ClientFormats()[format](r, w)
	if err != nil || !chosen(format) {
		return err
	}
	return r.YAML(w, format)
}

// private returns the private key of a client as it stands in the target file.
func private(c *target.Client) string {
	text, _ := encode(c.JWK) // it has only texts
	return text
}

func encode(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return strings.TrimSpace(b.String()), err
}

// encodeList writes a client in each line.
func encodeList(clients []map[string]any) (string, error) {
	var all []string
	for _, c := range clients {
		text, err := encode(c)
		if err != nil {
			return "", err
		}
		all = append(all, "  "+text)
	}
	return "[\n" + strings.Join(all, ",\n") + "\n]", nil
}
