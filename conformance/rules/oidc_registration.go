package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/target"
)

// oidcClientMetadata has the checks of the rules about client metadata (OIDC Registration §2).
var oidcClientMetadata = checks{
	"OIDCRegistration/2/id-token-not-unsigned": func(t *T) {
		wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "none"})
	},
	"OIDCRegistration/2/secret-for-hmac": func(t *T) {
		wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "HS256", "token_endpoint_auth_method": "none"})
	},
	"OIDCRegistration/2/policy-and-terms": func(t *T) {
		m := plainClient(t)
		m["policy_uri"], m["tos_uri"] = ownPage(m, "policy"), ownPage(m, "terms")
		pages := pagesFor(t, m)
		for _, name := range []string{"policy_uri", "tos_uri"} {
			if address, _ := m[name].(string); !strings.Contains(pages, address) {
				t.Errorf("neither the login page nor the consent page has a link to the %s of the client", name)
			}
		}
	},
}

// ownPage returns the address of a page of a client, on the host of its redirect URI.
func ownPage(m map[string]any, path string) string {
	uris, _ := m["redirect_uris"].([]string)
	return uris[0] + "/" + path
}

// pagesFor registers a client, and returns the HTML of the login page and of the consent page for it.
func pagesFor(t *T, m map[string]any) string {
	var pages string
	uris, _ := m["redirect_uris"].([]string)
	t.WithClient(m, func(a *check.Made) {
		c := &target.Client{ID: a.Text("client_id"), Secret: a.Text("client_secret"), RedirectURIs: uris}
		login, b := t.LoginPage(registeredRequest(t, c, a)), t.SignedIn()
		t.ConsentForm(b, registeredRequest(t, c, a))
		t.At(b.Page)
		pages = string(login.Page.Body) + string(b.Page.Body)
	})
	return pages
}

// registeredRequest returns a request with those scopes of the target that the client may use.
func registeredRequest(t *T, c *target.Client, a *check.Made) *check.Request {
	r := t.Request(c)
	// RFC 7591 §2, §3.2.1: the answer says which scopes the client can use.
	if registered, has := a.JSON()["scope"].(string); has && r.Params.Has("scope") {
		may := strings.Fields(registered)
		scopes := slices.DeleteFunc(strings.Fields(r.Params.Get("scope")),
			func(name string) bool { return !slices.Contains(may, name) })
		r.Set("scope", strings.Join(scopes, " "))
		if len(scopes) == 0 {
			r.Del("scope") // the server chooses
		}
	}
	return r
}

// wantNotRegistered asserts that a value of the metadata is refused, or replaced by another one.
func wantNotRegistered(t *T, metadata map[string]any) {
	a := registerWith(t, metadata)
	same := true
	for name, value := range metadata {
		same = same && Quoted(a.JSON()[name]) == Quoted(value)
	}
	// A server may give a secret to a client whose method is none, so that it can sign.
	if a.Status/100 == 2 && same &&
		(metadata["id_token_signed_response_alg"] != "HS256" || a.Text("client_secret") == "") {
		t.Errorf("the server registered a client with %s", Quoted(metadata))
	}
}
