//go:build foreign

package foreign

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/target"
)

const (
	realmName     = "conformance"
	administrator = "admin"

	// The client of Keycloak that stands for its administration API. Everybody who may use the API has both roles. A
	// token has the second one only if its request had the scope of the same name.
	realmManagement = "realm-management"
	anyRole         = "query-users"
	apiRole         = "view-clients"
)

// keycloak is a running Keycloak, and the target that describes it.
type keycloak struct {
	url, password string
	target        *target.Target
}

func (k *keycloak) admin() string { return k.url + "/admin/realms/" + realmName }

type object = map[string]any

// writeRealm writes the realm that Keycloak imports at its start: that of testdata, and a client for each role.
func (k *keycloak) writeRealm(t *testing.T, path string) {
	t.Helper()
	realm := readObject(t, "realm.json")
	profile, err := json.Marshal(readObject(t, "profile.json"))
	if err != nil {
		t.Fatal(err)
	}
	realm["components"] = object{"org.keycloak.userprofile.UserProfileProvider": []object{
		{"providerId": "declarative-user-profile", "config": object{"kc.user.profile.config": []string{string(profile)}}}}}
	roles := object{"realmRoles": []string{"default-roles-" + realmName}, "clientRoles": object{realmManagement: []string{anyRole, apiRole}}}
	users := realm["users"].([]any)
	person := users[0].(object)
	person["credentials"] = []object{{"type": "password", "value": k.target.User.Password, "temporary": false}}
	person["realmRoles"], person["clientRoles"] = roles["realmRoles"], roles["clientRoles"]
	var clients, mappings []object
	for _, role := range need.Roles() {
		client := k.client(role)
		clients = append(clients, client)
		mappings = append(mappings, object{"client": client["clientId"], "roles": []string{anyRole}})
		if client["serviceAccountsEnabled"] == true {
			users = append(users, object{"username": "service-account-" + client["clientId"].(string), "enabled": true, "serviceAccountClientId": client["clientId"],
				"realmRoles": roles["realmRoles"], "clientRoles": roles["clientRoles"]})
		}
	}
	realm["users"], realm["clients"], realm["clientScopeMappings"] = users, clients, object{realmManagement: mappings}
	text, err := json.MarshalIndent(realm, "", "  ")
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func readObject(t *testing.T, name string) object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "keycloak", name))
	if err != nil {
		t.Fatal(err)
	}
	var o object
	err = json.Unmarshal(text, &o)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// client returns the client of a role as Keycloak represents it, and adds it to the target. It asks the person for
// consent, except in the password grant, where Keycloak has no page to ask on.
func (k *keycloak) client(r need.Role) object {
	c := target.NewClient(r, "conformance-"+string(r.Name), "")
	k.target.Clients[r.Name] = c
	attributes := object{}
	client := object{"clientId": c.ID, "name": "conformance " + string(r.Name), "enabled": true, "protocol": "openid-connect", "attributes": attributes,
		"publicClient": r.Public, "standardFlowEnabled": r.Grant == need.GrantCode, "implicitFlowEnabled": false,
		"directAccessGrantsEnabled": r.Grant == need.GrantPassword, "serviceAccountsEnabled": r.Grant == need.GrantMachine || r.SignedAccess,
		"consentRequired": r.Grant == need.GrantCode, "fullScopeAllowed": false, "redirectUris": append([]string{}, r.RedirectURIs...), "webOrigins": []string{}}
	if r.Public {
		attributes["pkce.code.challenge.method"] = "S256"
		client["webOrigins"] = []string{"+"} // the origins of its redirect URIs
	} else {
		c.Secret = rand.Text() + rand.Text()
		client["clientAuthenticatorType"], client["secret"] = "client-secret", c.Secret
	}
	if len(r.AfterLogout) > 0 {
		attributes["post.logout.redirect.uris"] = strings.Join(r.AfterLogout, "##")
	}
	if r.Backchannel {
		attributes["backchannel.logout.url"], attributes["backchannel.logout.session.required"] = "http://"+k.target.Backchannel+"/logout", "true"
	}
	if r.IDTokenAlgorithm != "" {
		attributes["id.token.signed.response.alg"] = r.IDTokenAlgorithm
	}
	if r.UserInfoAlgorithm != "" {
		attributes["user.info.response.signature.alg"] = r.UserInfoAlgorithm
	}
	if r.SignedAccess {
		attributes["access.token.header.type.rfc9068"] = "true"
	}
	if r.Pairwise {
		client["protocolMappers"] = []object{{"name": "pairwise subject", "protocol": "openid-connect", "protocolMapper": "oidc-sha256-pairwise-sub-mapper",
			"config": object{"pairwiseSubAlgorithmSalt": rand.Text()}}}
	}
	return client
}

// addScope adds the scope that the restricted part of the API requires. An imported realm that names a scope would
// lose those that Keycloak adds by itself.
func (k *keycloak) addScope(t *testing.T) {
	t.Helper()
	var token struct {
		Access string `json:"access_token"`
	}
	k.ask(t, http.MethodPost, k.url+"/realms/master/protocol/openid-connect/token", "application/x-www-form-urlencoded", "",
		url.Values{"grant_type": {"password"}, "client_id": {"admin-cli"}, "username": {administrator}, "password": {k.password}}.Encode(), &token)
	send := func(method, path string, body, answer any) {
		t.Helper()
		var text []byte
		if body != nil {
			var err error
			text, err = json.Marshal(body)
			if err != nil {
				t.Fatal(err)
			}
		}
		k.ask(t, method, k.admin()+path, "application/json", token.Access, string(text), answer)
	}
	type named struct{ ID, ClientID, Name string }
	send(http.MethodPost, "/client-scopes", object{"name": apiRole, "protocol": "openid-connect",
		"attributes": object{"include.in.token.scope": "true", "display.on.consent.screen": "true", "consent.screen.text": "View the clients"}}, nil)
	var scopes, clients []named
	send(http.MethodGet, "/client-scopes", nil, &scopes)
	send(http.MethodGet, "/clients", nil, &clients)
	ids := map[string]string{}
	for _, x := range scopes {
		ids[x.Name] = x.ID
	}
	for _, x := range clients {
		ids[x.ClientID] = x.ID
	}
	var role object
	send(http.MethodGet, "/clients/"+ids[realmManagement]+"/roles/"+apiRole, nil, &role)
	send(http.MethodPost, "/client-scopes/"+ids[apiRole]+"/scope-mappings/clients/"+ids[realmManagement], []object{role}, nil)
	for _, client := range k.target.Clients {
		send(http.MethodPut, "/clients/"+ids[client.ID]+"/optional-client-scopes/"+ids[apiRole], nil, nil)
	}
}

// ask sends a request, and reads the JSON in the answer, if answer is not nil.
func (k *keycloak) ask(t *testing.T, method, address, contentType, token, body string, answer any) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err == nil && got.StatusCode/100 != 2 {
		err = fmt.Errorf("%s %s: %s", method, address, got.Status)
	}
	if err == nil && answer != nil {
		err = json.NewDecoder(bytes.NewReader(text)).Decode(answer)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}
