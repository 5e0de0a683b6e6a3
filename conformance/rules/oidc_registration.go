package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// oidcRegistration returns the rules of OpenID Connect Dynamic Client Registration.
func oidcRegistration() []Rule {
	return slices.Concat(oidcClientMetadata(), oidcRegistrationEndpoint(), oidcRegistrationSecurity())
}

// oidcClientMetadata returns the rules about client metadata (OIDC Registration §2).
func oidcClientMetadata() []Rule {
	return []Rule{
		sameCheckAs(oidcRequest(), "OIDCCore/3.1.2.1/redirect-uri-registered", Rule{
			ID: "OIDCRegistration/2/redirect-uris", Level: Must,
			Text: "A client of the code flow registers redirect URIs, and the server compares them exactly.",
		}),
		sameCheckAs(oidcMandatory(), "OIDCCore/15.1/rs256-by-default", Rule{
			ID: "OIDCRegistration/2/id-token-rs256", Level: Must,
			Text: "ID tokens are signed with RS256 if the client registered no other algorithm.",
		}),
		{
			// The document allows it for a client of the code flow alone.
			ID: "OIDCRegistration/2/id-token-not-unsigned", Level: May,
			Text:  "A client cannot register none for ID tokens.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "none"}) },
		},
		sameCheckAs(oidcUserInfo(), "OIDCCore/5.3.2/content-type", Rule{
			ID: "OIDCRegistration/2/userinfo-plain", Level: Must,
			Text: "UserInfo returns JSON if the client registered no algorithm.",
		}),
		sameCheckAs(oidcUserInfoSigned(), "OIDCCore/5.3.2/signed-signature", Rule{
			ID: "OIDCRegistration/2/userinfo-signed", Level: Must,
			Text: "UserInfo returns a JWT with the registered algorithm.",
		}),
		{
			// OIDC Core §10.1 forbids the HMAC, which OIDCCore/10.1/no-hmac-for-public checks. No clause says that the
			// server refuses to register it.
			ID: "OIDCRegistration/2/secret-for-hmac", Level: Should,
			Text:  "HS256 requires a client secret, which a public client does not have.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				wantNotRegistered(t, map[string]any{"id_token_signed_response_alg": "HS256", "token_endpoint_auth_method": "none"})
			},
		},
		sameCheckAs(oidcSubjects(), "OIDCCore/8/pairwise-differs", Rule{
			ID: "OIDCRegistration/2/subject-type", Level: Should,
			Text: "A client gets public or pairwise subjects, as registered.",
		}),
		{
			ID: "OIDCRegistration/2/default-acr-values", Level: May,
			Text:     "A request that names no acr is for the default_acr_values of the client, as voluntary ones; others replace them.",
			TestedBy: "conformance/mandate/default_acr_test.go:TestOIDCRegistration2DefaultACRValues",
		},
		{
			ID: "OIDCRegistration/2/request-objects", Level: Must,
			Text:     "The server respects request_object_signing_alg and request_uris of a client.",
			TestedBy: objectTest,
		},
		{
			ID: "OIDCRegistration/2/encryption", Level: Must,
			Text:         "If a client registers encryption, its ID tokens and UserInfo responses are signed and then encrypted.",
			Inapplicable: "Mandate does not encrypt.",
		},
		{
			ID: "OIDCRegistration/2/policy-and-terms", Level: Should,
			Text:  "The page for login or for consent shows the policy and the terms of a client.",
			Needs: append(registrationNeeds(), need.Authorization, need.User),
			Check: func(t *T) {
				m := plainClient(t)
				m["policy_uri"], m["tos_uri"] = ownPage(m, "policy"), ownPage(m, "terms")
				pages := pagesFor(t, m)
				for _, name := range []string{"policy_uri", "tos_uri"} {
					if address, _ := m[name].(string); !strings.Contains(pages, address) {
						t.Errorf("neither the login page nor the consent page has a link to the %s of the client", name)
					}
				}
			},
		},
		{
			ID: "OIDCRegistration/2.1/languages", Level: May,
			Text:     "A client can have names and pages in several languages.",
			TestedBy: registrationTest,
		},
	}
}

// oidcRegistrationSecurity returns the rules about sector identifiers and impersonation (OIDC Registration §5, §9).
func oidcRegistrationSecurity() []Rule {
	return []Rule{
		{
			ID: "OIDCRegistration/5/sector-identifier", Level: Must,
			Text:     "The redirect URIs are listed in the file at sector_identifier_uri.",
			TestedBy: "conformance/mandate/initial_token_test.go:TestRegistrationSector",
		},
		{
			ID: "OIDCRegistration/9.1/impersonation", Level: Should,
			Text:     "The server shows names and logos that strangers registered with care.",
			TestedBy: "conformance/mandate/registration_consent_test.go:TestRegistrationPagesAtConsent",
		},
	}
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
		scopes := slices.DeleteFunc(strings.Fields(r.Params.Get("scope")), func(name string) bool { return !slices.Contains(may, name) })
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
	if a.Status/100 == 2 && same && (metadata["id_token_signed_response_alg"] != "HS256" || a.Text("client_secret") == "") {
		t.Errorf("the server registered a client with %s", Quoted(metadata))
	}
}
