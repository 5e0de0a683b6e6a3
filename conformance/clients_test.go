package conformance

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/engine"
	"mandate/conformance/need"
	"mandate/conformance/servertest"
	"mandate/conformance/target"
)

// heredoc returns what a script passes to the standard input of its command.
func heredoc(t *testing.T, script string) string {
	t.Helper()
	_, rest, _ := strings.Cut(script, "<<'EOF'\n")
	text, _, found := strings.Cut(rest, "\nEOF\n")
	if !found {
		t.Fatalf("the script passes nothing: %s", script)
	}
	return text
}

// printed runs --clients for a target, and checks that a shell can read the output.
func printed(t *testing.T, format string, args ...string) string {
	t.Helper()
	r := servertest.Run(t, "", append([]string{"--clients", format}, args...)...)
	r.Want(t, 0)
	if format == "text" {
		return r.Stdout
	}
	shell := exec.CommandContext(t.Context(), "sh", "-n")
	shell.Stdin = strings.NewReader(r.Stdout)
	out, err := shell.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v: %s\n%s", format, err, out, r.Stdout)
	}
	return r.Stdout
}

// clientsIn reads the part for the target file from the comments at the end.
func clientsIn(t *testing.T, script string) map[need.Need]*target.Client {
	t.Helper()
	_, rest, _ := strings.Cut(script, "# Then add this to the target file:\n")
	path := targetText(t, "issuer: http://127.0.0.1:1\n"+strings.ReplaceAll("\n"+rest, "\n# ", "\n"))
	read, err := target.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	return read.Clients
}

const someTarget = "issuer: http://127.0.0.1:8080/realms/a%20realm\nuser: {username: o'hara, password: x}\nscope: " +
	"openid email\nbackchannel: 127.0.0.1:7070\nclients:\n  second: {id: other, secret: s, redirect_uris: " +
	"[https://client.example/second]}\n"

func TestClientsForKeycloak(t *testing.T) {
	script := printed(t, "kcadm", "--target", targetText(t, someTarget))
	for _, want := range []string{"kcadm.sh create partialImport -r 'a realm' -f -",
		"--server http://127.0.0.1:8080 --realm master", `-s 'username=o'\''hara'`} {
		if !strings.Contains(script, want) {
			t.Errorf("the script lacks %s:\n%s", want, script)
		}
	}
	var sent struct {
		Clients []struct {
			ClientID, Secret, ClientAuthenticatorType                                  string
			PublicClient, StandardFlowEnabled, ServiceAccountsEnabled, ConsentRequired bool
			DirectAccessGrantsEnabled, FullScopeAllowed                                bool
			RedirectURIs                                                               []string
			Attributes                                                                 map[string]string
			ProtocolMappers                                                            []struct{ ProtocolMapper string }
		}
		Users []struct {
			ServiceAccountClientID string
			RealmRoles             []string
		}
	}
	err := json.Unmarshal([]byte(heredoc(t, script)), &sent)
	if err != nil {
		t.Fatal(err)
	}
	of := clientsIn(t, script)
	if len(sent.Clients) != len(need.Roles())-3 || len(of) != len(sent.Clients) || of["second"] != nil ||
		len(sent.Users) != 6 {
		t.Errorf("%d clients and %d accounts are registered, and %d stand in the target", len(sent.Clients),
			len(sent.Users), len(of))
	}
	for _, u := range sent.Users {
		if strings.Join(u.RealmRoles, " ") != "default-roles-a realm" {
			t.Errorf("the account of %s has the roles %q", u.ServiceAccountClientID, u.RealmRoles)
		}
	}
	for _, c := range sent.Clients {
		role, _ := need.RoleOf(need.Need(strings.TrimPrefix(c.ClientID, "conformance-")))
		in := of[role.Name]
		switch {
		case in == nil || in.ID != c.ClientID || in.Secret != c.Secret ||
			strings.Join(in.RedirectURIs, " ") != strings.Join(c.RedirectURIs, " "):
			t.Errorf("%s: the target has %+v, and Keycloak %+v", role.Name, in, c)
		case c.PublicClient != role.Public || c.StandardFlowEnabled != (role.Grant == need.GrantCode) ||
			c.DirectAccessGrantsEnabled != (role.Grant == need.GrantPassword):
			t.Errorf("%s: %+v", role.Name, c)
		case c.ServiceAccountsEnabled != (role.Grant == need.GrantMachine || role.Machine),
			(role.Pairwise || role.SignedAccess) != (len(c.ProtocolMappers) == 1):
			t.Errorf("%s: %+v", role.Name, c)
		case c.FullScopeAllowed,
			(role.Public && role.Grant == need.GrantCode ||
				role.Profile != "") != (c.Attributes["pkce.code.challenge.method"] == "S256"),
			(role.Profile != "") != (c.Attributes["dpop.bound.access.tokens"] == "true"),
			(role.Grant == need.GrantDevice) != (c.Attributes["oauth2.device.authorization.grant.enabled"] == "true"),
			role.HasSecret() != (len(c.Secret) >= 32):
			t.Errorf("%s: %+v", role.Name, c)
		case (c.Attributes["use.jwks.string"] == "true") != (role.Auth == need.PrivateKeyJWT),
			!strings.HasPrefix(c.ClientAuthenticatorType,
				map[string]string{need.PrivateKeyJWT: "client-jwt", need.SecretJWT: "client-secret-jwt"}[role.Auth]):
			t.Errorf("%s: %+v", role.Name, c)
		case (in.Signer == nil) != (c.Attributes["jwks.string"] == ""),
			in.Signer != nil && !strings.Contains(c.Attributes["jwks.string"], in.Signer.ID):
			t.Errorf("%s: the target has another key than Keycloak: %+v", role.Name, c)
		case in.Signer != nil && c.Attributes["request.object.signature.alg"] != in.Signer.Algorithm:
			t.Errorf("%s: request objects may have any algorithm: %v", role.Name, c.Attributes)
		case c.Attributes["id.token.signed.response.alg"] != role.IDTokenAlgorithm ||
			c.Attributes["user.info.response.signature.alg"] != role.UserInfoAlgorithm:
			t.Errorf("%s: %v", role.Name, c.Attributes)
		case role.Backchannel != (c.Attributes["backchannel.logout.url"] == "http://127.0.0.1:7070/logout"):
			t.Errorf("%s: %v", role.Name, c.Attributes)
		}
	}
}

func TestClientsForHydra(t *testing.T) {
	script := printed(t, "hydra", "--target", targetText(t, someTarget))
	for _, want := range []string{"hydra delete oauth2-client --endpoint http://127.0.0.1:4445 conformance-",
		"introspection_endpoint: http://127.0.0.1:4445/admin/oauth2/introspect",
		"hydra import oauth2-client --endpoint http://127.0.0.1:4445 <<'EOF'",
		"Left out, because Hydra has no such clients: hs256, secret-jwt, certificate, second-certificate, fapi2, " +
			"second-fapi2, fapi2-ms, password."} {
		if !strings.Contains(script, want) {
			t.Errorf("the script lacks %s:\n%s", want, script)
		}
	}
	var sent []struct {
		ClientID     string   `json:"client_id"`
		Secret       string   `json:"client_secret"`
		Scope        string   `json:"scope"`
		Strategy     string   `json:"access_token_strategy"`
		Type         string   `json:"application_type"`
		RedirectURIs []string `json:"redirect_uris"`
	}
	err := json.Unmarshal([]byte(heredoc(t, script)), &sent)
	if err != nil {
		t.Fatal(err)
	}
	of := clientsIn(t, script)
	if len(sent) != len(need.Roles())-9 || len(of) != len(sent) {
		t.Errorf("%d clients are registered, and %d stand in the target", len(sent), len(of))
	}
	for _, c := range sent {
		in := of[need.Need(strings.TrimPrefix(c.ClientID, "conformance-"))]
		if in == nil || in.Secret != c.Secret || c.Scope != "openid email" || c.Type != "" ||
			(in.ID == "conformance-jwt") != (c.Strategy == "jwt") {
			t.Errorf("%+v, and in the target %+v", c, in)
		}
	}
}

func TestClientsByCurlAndText(t *testing.T) {
	path := targetText(t, someTarget+"endpoints: {registration_endpoint: 'http://127.0.0.1:8080/a "+
		"b'}\ninitial_access_token: verysecret\n")
	script := printed(t, "curl", "--target", path)
	if n := strings.Count(script, "\ncurl -sS 'http://127.0.0.1:8080/a b' -H 'Content-Type: application/json' -H "+
		"\"Authorization: Bearer $INITIAL_ACCESS_TOKEN\" -d '{"); n != len(need.Roles())-10 ||
		strings.Contains(script, "verysecret") || !strings.Contains(script, "If the server refuses the scope") {
		t.Errorf("%d clients:\n%s", n, script)
	}
	if text := printed(t, "text", "--target", path); strings.Contains(text, "second:") ||
		!strings.Contains(text, "backchannel_logout_uri http://127.0.0.1:7070/logout") ||
		!strings.Contains(text, "    scope openid email") {
		t.Error(text)
	}
	// Without a target it shows every client that needs no address of this machine.
	for format := range engine.ClientFormats() {
		if text := printed(t, format); !strings.Contains(text, "second") || strings.Contains(text, "backchannel") {
			t.Errorf("%s: %s", format, text)
		}
	}
	servertest.Run(t, "", "--clients", "ldap").Want(t, 2,
		`--clients: there is no format "ldap", only curl, hydra, kcadm, text`)
	servertest.Run(t, "", "--clients", "text", "--target", filepath.Join(t.TempDir(), "none.yaml")).Want(t, 0,
		"there is no target file", "yet", "code: a confidential client")
}

// With a profile, only the clients that its rules need are printed.
func TestClientsOfAProfile(t *testing.T) {
	for profile, want := range map[string]string{"fapi2": "fapi2, second-fapi2",
		"fapi2-ms": "fapi2, second-fapi2, fapi2-ms", "rfc9700": "code, second, public, machine, introspection, loopback"} {
		var names []string
		for line := range strings.Lines(printed(t, "text", "--profile", profile)) {
			if name, _, found := strings.Cut(line, ": "); found && !strings.HasPrefix(line, " ") {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, ", "); got != want {
			t.Errorf("--profile %s prints %s, want %s", profile, got, want)
		}
	}
}

// With --write-target, the target has the clients that were printed.
func TestAskPrintsWhatToRegister(t *testing.T) {
	bare := httptest.NewServer(http.NotFoundHandler())
	defer bare.Close()
	path := filepath.Join(t.TempDir(), "target.yaml")
	answers := []string{bare.URL, "", bare.URL + "/authorize", bare.URL + "/token", "", "", "", "", "127.0.0.1:7070", ""}
	r := servertest.Run(t, strings.Join(answers, "\n")+"\n", "--target", path, "--write-target", "--clients", "kcadm")
	r.Want(t, 0, "kcadm.sh create partialImport -r REALM", "Register these clients now.", "Wrote "+path)
	written, err := target.Load(path)
	if err != nil || len(written.Clients) != len(need.Roles())-2 {
		t.Fatalf("%v: %v", err, written)
	}
	for _, c := range written.Clients {
		if c.Secret != "" && !strings.Contains(r.Stderr, c.Secret) {
			t.Errorf("%s has another secret than the printed one", c.ID)
		}
	}
	// Nobody is asked whether clients shall register themselves too.
	server := newRegistrar(t)
	path = filepath.Join(t.TempDir(), "target.yaml")
	servertest.Run(t, strings.Join([]string{server.url, "", "", "", ""}, "\n")+"\n", "--target", path, "--write-target",
		"--clients", "hydra").Want(t, 0, "Wrote "+path)
	text, err := os.ReadFile(path)
	if err != nil || strings.Contains(string(text), "register: true") ||
		!strings.Contains(string(text), "conformance-code") {
		t.Errorf("%v:\n%s", err, text)
	}
	if strings.Contains(string(text), "role") || strings.Contains(string(text), "configuration") {
		t.Errorf("%v: the file has keys that it does not need:\n%s", err, text)
	}
}
