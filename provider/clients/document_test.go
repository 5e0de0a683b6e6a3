package clients

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

func TestCIMD02_3_client_identifier_URL(t *testing.T) {
	for raw, want := range map[string]bool{
		"https://client.example/c":                           true,
		"https://client.example/":                            true,
		"https://client.example:8443/oauth/client.json":      true,
		"https://xn--bcher-kva.example/c":                    true,
		"https://192.0.2.7/c":                                true,
		"https://[2001:db8::7]:8443/c":                       true,
		"https://client.example/a..b/.well-known/c":          true,
		"https://client.example/%41":                         true,
		"https://client.example":                             false, // no path
		"http://client.example/c":                            false,
		"HTTPS://client.example/c":                           false,
		"https:client.example/c":                             false,
		"https:///c":                                         false,
		"https://client.example/c#f":                         false,
		"https://client.example/c#":                          false,
		"https://client.example/c?":                          false,
		"https://client.example/c?a=b":                       false,
		"https://user@client.example/c":                      false,
		"https://@client.example/c":                          false,
		"https://user:password@client.example/c":             false,
		"https://client.example/./c":                         false,
		"https://client.example/a/../c":                      false,
		"https://client.example/%2e/c":                       false,
		"https://client.example/a/%2E%2e/c":                  false,
		"https://client.example/a/.%2e":                      false,
		"https://client.example/..":                          false,
		"https://Client.example/c":                           false,
		"https://client.example./c":                          false,
		"https://client.example:/c":                          false,
		"https://client.example:x/c":                         false,
		"https://cl%69ent.example/c":                         false,
		"https://bücher.example/c":                           false,
		"https://client.example/ü":                           false,
		"https://client.example/a b":                         false,
		"https://client.example\\@evil.example/c":            false,
		"https://client.example/c\n":                         false,
		"https://client.example/" + strings.Repeat("a", 477): true,
		"https://client.example/" + strings.Repeat("a", 478): false,
		"": false,
	} {
		u, wrong := documentURL(raw)
		if (wrong == "") != want {
			t.Errorf("%q: %q", raw, wrong)
		}
		if wrong == "" && u.String() != raw {
			t.Errorf("%q becomes %q", raw, u)
		}
	}
}

func TestAllowsDocument(t *testing.T) {
	on := OpenConfig{Clients: []string{OpenDocuments}, Hosts: []string{"claude.ai", "*.example.com"}}
	for clientID, want := range map[string]bool{
		"https://claude.ai/oauth/claude-code-client-metadata": true,
		"https://a.example.com/c":                             true,
		"https://example.com/c":                               false,
		"https://claude.ai.evil.example/c":                    false,
		"https://claude.ai?/c":                                false,
		"claude.ai":                                           false,
		"":                                                    false,
	} {
		if got := on.AllowsDocument(clientID); got != want {
			t.Errorf("%q: %v", clientID, got)
		}
	}
	if (OpenConfig{Clients: []string{OpenRegistration}}).AllowsDocument("https://claude.ai/c") {
		t.Error("a document is allowed although only registration is")
	}
}

const documentID = "https://client.example/c"

// documentOf returns the JSON of a valid document with these members in addition.
func documentOf(members string) string {
	return `{"client_id":"` + documentID + `","redirect_uris":["https://client.example/cb"]` + members + `}`
}

func TestCIMD02_4_document(t *testing.T) {
	p := &Clients{
		Checks: clientauth.New(clientauth.Config{}, clientauth.Parts{}, clientauth.Applications{}),
		people: &people.People{},
		config: Config{Open: OpenConfig{Schemes: []string{"cursor"}, Hosts: []string{"client.example", "vscode.dev"}}},
		rules: policy.New(policy.Settings{
			Scopes:     []policy.Scope{{Name: "read"}, {Name: "write"}},
			KeyMethods: clientauth.OpenMethods(),
		}),
	}
	const cb = "https://client.example/cb"
	for _, test := range []struct {
		rule, document string
		want           described
	}{
		{"the least", documentOf(``), described{name: "client.example", redirects: cb}},
		{"a name", documentOf(`,"client_name":"Example"`), described{name: "Example", redirects: cb}},
		{"a public client", documentOf(`,"token_endpoint_auth_method":"none"`), described{
			name:      "client.example",
			redirects: cb,
		}},
		{
			"a client that may authenticate",
			documentOf(
				`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"],"jwks_uri":"https://client.example/jwks"`),
			described{name: "client.example", redirects: cb, method: "private_key_jwt", jwksURI: "https://client.example/jwks"},
		},
		{
			"a client that prefers no authentication",
			documentOf(
				`,"token_endpoint_auth_method":"client_secret_post","token_endpoint_auth_methods_supported":["client_secret_post","none","private_key_jwt"]`),
			described{name: "client.example", redirects: cb},
		},
		{
			"a client that may authenticate, without keys",
			documentOf(
				`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_methods_supported":["none","private_key_jwt"]`),
			described{name: "client.example", redirects: cb},
		},
		{
			"private_key_jwt alone",
			documentOf(
				`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_signing_alg":"ES256","jwks_uri":"https://client.example/jwks"`),
			described{
				name:      "client.example",
				redirects: cb,
				method:    "private_key_jwt",
				algorithm: "ES256",
				jwksURI:   "https://client.example/jwks",
			},
		},
		{
			"grants that this server does not have",
			documentOf(`,"grant_types":["authorization_code","refresh_token","urn:example:grant"],"response_types":["code"]`),
			described{
				name:      "client.example",
				redirects: cb,
			},
		},
		{"scopes that this server does not have", documentOf(`,"scope":"profile read unknown"`), described{
			name:      "client.example",
			redirects: cb,
			scopes:    "read",
		}},
		{"public keys", documentOf(`,"jwks":{"keys":[{"kty":"EC","crv":"P-256","x":"a","y":"b"}]}`), described{
			name:      "client.example",
			redirects: cb,
			jwks:      `{"keys":[{"crv":"P-256","kty":"EC","x":"a","y":"b"}]}`,
		}},
		{"unknown members", documentOf(`,"@context":["https://example.org"],"x":{}`), described{
			name:      "client.example",
			redirects: cb,
		}},
		{
			"redirect URIs of which this server accepts some",
			`{"client_id":"` + documentID +
				`","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback","http://localhost/callback","http://127.0.0.1/","https://vscode.dev/redirect","https://elsewhere.example/cb","http://client.example/cb","other://x/y","javascript:alert(1)","` + cb + `#f"]}`,
			described{
				name:      "client.example",
				redirects: "cursor://anysphere.cursor-mcp/oauth/callback\nhttp://localhost/callback\nhttp://127.0.0.1/\nhttps://vscode.dev/redirect",
			},
		},
	} {
		got, err := p.readDocument(documentID, []byte(test.document))
		if err != nil {
			t.Errorf("%s: %v", test.rule, err)
			continue
		}
		test.want.grants, test.want.metadata = policy.GrantCode, got.metadata
		if d := cmp.Diff(test.want, got, cmp.AllowUnexported(described{})); d != "" {
			t.Error(test.rule, d)
		}
	}
	for rule, test := range map[string]struct{ document, says string }{
		"no JSON":      {`<html>`, "JSON object"},
		"no client_id": {`{"redirect_uris":["` + cb + `"]}`, "client_id"},
		"another client_id": {
			`{"client_id":"https://client.example/C","redirect_uris":["` + cb + `"]}`,
			"https://client.example/C",
		},
		"client_id normalised": {
			`{"client_id":"https://client.example:443/c","redirect_uris":["` + cb + `"]}`,
			"character by character",
		},
		"a client secret":     {documentOf(`,"client_secret":"x"`), "client_secret"},
		"its expiry":          {documentOf(`,"client_secret_expires_at":0`), "client_secret_expires_at"},
		"client_secret_basic": {documentOf(`,"token_endpoint_auth_method":"client_secret_basic"`), "client_secret_basic"},
		"client_secret_jwt":   {documentOf(`,"token_endpoint_auth_method":"client_secret_jwt"`), "client_secret_jwt"},
		"no keys":             {documentOf(`,"token_endpoint_auth_method":"private_key_jwt"`), "jwks"},
		"keys of no allowed host": {
			documentOf(`,"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"https://elsewhere.example/jwks"`),
			"OPEN_HOSTS",
		},
		"an impossible algorithm": {
			documentOf(
				`,"token_endpoint_auth_method":"private_key_jwt","token_endpoint_auth_signing_alg":"HS256","jwks_uri":"https://client.example/jwks"`),
			"token_endpoint_auth_signing_alg",
		},
		"a private key":    {documentOf(`,"jwks":{"keys":[{"kty":"EC","d":"x"}]}`), "private key"},
		"a symmetric key":  {documentOf(`,"jwks":{"keys":[{"kty":"oct","k":"x"}]}`), "symmetric key"},
		"no redirect_uris": {`{"client_id":"` + documentID + `"}`, "redirect_uris"},
		"no usable redirect": {
			`{"client_id":"` + documentID + `","redirect_uris":["https://elsewhere.example/cb","http://client.example/"]}`,
			"OPEN_HOSTS",
		},
		"no code grant":    {documentOf(`,"grant_types":["client_credentials"]`), "authorization_code"},
		"a hidden name":    {documentOf(`,"client_name":"Exa\u202emple"`), "client_name"},
		"a long name":      {documentOf(`,"client_name":"` + strings.Repeat("a", 151) + `"`), "150 characters"},
		"a script as logo": {documentOf(`,"logo_uri":"javascript:alert(1)"`), "logo_uri"},
		"a member twice":   {documentOf(`,"redirect_uris":["https://evil.example/"]`), "twice"},
	} {
		_, err := p.readDocument(documentID, []byte(test.document))
		refused, ok := errors.AsType[*oauth.Error](err)
		if !ok || refused.Code != "invalid_client" || refused.Status != http.StatusBadRequest {
			t.Errorf("%s: %v", rule, err)
			continue
		}
		if !strings.Contains(refused.Description, test.says) {
			t.Errorf("%s: %q does not say %q", rule, refused.Description, test.says)
		}
	}
}

// CIMD-02 §7.2: a client id that somebody registered is not a document's, however it looks.
func TestWhoFollowsADocument(t *testing.T) {
	for _, test := range []struct {
		origin, responsible string
		want                bool
	}{
		{storage.FromDocument, storage.ByNobody, true},
		{storage.FromDocument, storage.ByOperator, false},
		{storage.FromDocument, storage.ByOwner, false},
		{storage.FromCommand, storage.ByOperator, false},
		{storage.FromRegistration, storage.ByNobody, false},
		{"", storage.ByNobody, false},
	} {
		if policy.FollowsDocument(storage.Application{Origin: test.origin, Responsible: test.responsible}) != test.want {
			t.Errorf("%+v", test)
		}
	}
}
