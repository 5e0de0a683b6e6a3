package rules

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcDiscovery returns the rules of OpenID Connect Discovery.
func oidcDiscovery() []Rule {
	return slices.Concat(oidcDiscoveryEndpoints(), oidcDiscoveryValues(), oidcDiscoveryDocument())
}

// discoveryNeeds returns what a check of the metadata of an OpenID Provider needs.
func discoveryNeeds() []Need { return []Need{need.OpenID} }

// oidcDiscoveryEndpoints returns the rules about addresses in the metadata.
func oidcDiscoveryEndpoints() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/2/webfinger", Level: May,
			Text:  "WebFinger tells nobody which provider a person uses: clients are configured with the provider.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				query := wire.Params("resource", t.Issuer(), "rel", "http://openid.net/specs/connect/1.0/issuer")
				if a := t.Get(wire.Origin(t.Issuer()) + "/.well-known/webfinger?" + query.Encode()); a.Status/100 == 2 {
					t.Failf("WebFinger answers %s", a)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/issuer", Level: Must,
			Text:  "The issuer is an https URL without query and fragment.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantIssuerURL(t, discoveredMetadata(t).Text("issuer")) },
		},
		{
			ID: "OIDCDiscovery/3/issuer-in-id-token", Level: Must,
			Text:  "The issuer equals iss of ID tokens, character by character.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantIssOfIDToken(t, discoveredMetadata(t).Text("issuer")) },
		},
		{
			ID: "OIDCDiscovery/3/authorization-endpoint", Level: Must,
			Text:  "The metadata has the authorization endpoint, which uses TLS.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.Authorization) },
		},
		{
			ID: "OIDCDiscovery/3/token-endpoint", Level: Must,
			Text:  "Unless the server supports the implicit flow only, the metadata has the token endpoint, which uses TLS.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				types, _ := m.List("response_types_supported")
				if code := func(kind string) bool { return strings.Contains(kind, "code") }; len(types) > 0 && !slices.ContainsFunc(types, code) {
					t.Skipf("the rule applies to a server with a flow that has a token endpoint: response_types_supported is %q, so it supports the implicit flow only", types)
				}
				wantSecure(t, m, need.Token)
			},
		},
		{
			ID: "OIDCDiscovery/3/userinfo-endpoint", Level: Should,
			Text:  "The metadata has the UserInfo endpoint.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantNamed(t, discoveredMetadata(t), need.UserInfo) },
		},
		{
			ID: "OIDCDiscovery/3/userinfo-endpoint-https", Level: Must,
			Text:  "The UserInfo endpoint uses TLS.",
			Needs: []Need{need.OpenID, need.UserInfo},
			Check: func(t *T) { wantSecureIfNamed(t, discoveredMetadata(t), need.UserInfo) },
		},
		{
			// The document defines each member as the address of an endpoint, without a keyword.
			ID: "OIDCDiscovery/3/endpoints-are-there", Level: Should,
			Text:  "Each endpoint in the metadata exists.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantEndpointsThere(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-uri", Level: Must,
			Text:  "The metadata has jwks_uri, which uses TLS.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.Keys) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-signing-keys", Level: Must,
			Text:  "jwks_uri has the keys that verify the provider's signatures, among them an RSA key if RS256 is listed.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				if algorithms, _ := m.List("id_token_signing_alg_values_supported"); rsaAlgorithms(algorithms) {
					wantSigningKey(t, m, "RSA")
					return
				}
				wantSigningKey(t, m)
			},
		},
		{
			ID: "OIDCDiscovery/3/jwks-public-only", Level: Must,
			Text:  "The published keys contain no private and no symmetric key.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantNoSecretKeys(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-use", Level: Must,
			Text:  "If some keys are for encryption, each key has use.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantUseOfKeys(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-one-use", Level: Should,
			Text:  "No key is used both for signatures and for encryption.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantOneUse(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-bare-keys", Level: Must,
			Text:  "A key with a certificate is also present as a bare key.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantBareKeys(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-certificates", Level: Must,
			Text:  "A key matches its certificate.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantCertificates(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/registration-endpoint", Level: Should,
			Text:  "The metadata has a registration endpoint.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantNamed(t, discoveredMetadata(t), need.Registration) },
		},
		{
			ID: "OIDCDiscovery/3/pages", Level: May,
			Text:  "Each page for people in the metadata (documentation, policy, terms) exists.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantPages(t, discoveredMetadata(t)) },
		},
	}
}

// oidcDiscoveryDocument returns the rules about the publication of the metadata.
func oidcDiscoveryDocument() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/4/well-known", Level: Must,
			Text:  "The metadata is at the issuer followed by /.well-known/openid-configuration.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				if a := getDiscovery(t); a.Status/100 != 2 || a.JSON() == nil {
					t.Failf("GET %s is answered with %s and no JSON object", wire.Bare(a.URL), a)
				}
			},
		},
		{
			ID: "OIDCDiscovery/4/json", Level: Must,
			Text:  "The metadata has the type application/json.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantJSON(t, getDiscovery(t)) },
		},
		{
			ID: "OIDCDiscovery/4.2/status-200", Level: Must,
			Text:  "The metadata has the status 200.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantOK(t, getDiscovery(t)) },
		},
		{
			ID: "OIDCDiscovery/4.2/several-values-in-arrays", Level: Must,
			Text:  "A member with several values is an array.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantArrays(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/4.2/no-empty-claims", Level: Must,
			Text:  "A member without values is left out.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantNothingEmpty(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/4.3/issuer-identical", Level: Must,
			Text:  "The issuer in the metadata equals the issuer from which its address was formed, character by character.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				if issuer := discoveredMetadata(t).Text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer is %q, but the address was formed from %q: if that is a mistake in the target, correct issuer", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "OIDCDiscovery/4.3/issuer-in-id-token", Level: Must,
			Text:  "The issuer from which the address of the metadata was formed is iss of ID tokens.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantIssOfIDToken(t, t.Issuer()) },
		},
		{
			ID: "OIDCDiscovery/7.1/tls", Level: Must,
			Text:  "The metadata uses TLS.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				discoveredMetadata(t)
				wantTLS(t, discoveryAddress(t))
			},
		},
	}
}

func discoveryAddress(t *T) string {
	return strings.TrimSuffix(t.Issuer(), "/") + "/.well-known/openid-configuration"
}

// getDiscovery fetches the metadata at the address of OpenID Connect Discovery, which a provider may leave out.
func getDiscovery(t *T) *wire.Answer {
	t.Require(need.OpenID)
	a := t.Get(discoveryAddress(t))
	if found := t.MetadataAddress(); found != discoveryAddress(t) && found != "" && a.JSON()["issuer"] == nil && a.Status < http.StatusInternalServerError {
		t.Skipf("the rule applies to a server that publishes metadata for OpenID Connect: the metadata is only at %s, and not at %s", found, discoveryAddress(t))
	}
	return a
}

// discoveredMetadata returns the metadata of OpenID Connect Discovery.
func discoveredMetadata(t *T) check.Metadata { return metadataIn(t, getDiscovery(t)) }

func wantIssOfIDToken(t *T, issuer string) {
	if iss := t.SignIn(t.Client(need.Code)).Claims["iss"]; iss != issuer {
		t.Failf("iss of the ID token is %v, but the issuer is %s", iss, issuer)
	}
}

// claimScopes returns the listed scopes with claims (OIDC Core §5.4).
func claimScopes(m check.Metadata) []string {
	return slices.DeleteFunc(slices.Clone(allScopes), func(s string) bool { return !m.Lists("scopes_supported", s) })
}

// claimByClaims requests all claims that the scopes return, and the scope openid alone does not, by the parameter claims.
// It returns the names of these claims, and of those that came.
func claimByClaims(t *T, m check.Metadata) (asked, came []string) {
	c := t.Client(need.Code)
	told := func(r *check.Request) map[string]any { return t.UserClaims(t.GrantFor(r).Access) }
	few, many := told(t.OpenID(c)), told(t.OpenID(c, claimScopes(m)...))
	request := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(many)) {
		if few[name] == nil {
			asked = append(asked, name)
			request[name] = map[string]any{"essential": true}
		}
	}
	if len(asked) == 0 {
		t.Skipf("no scope returns a claim that the scope openid does not return too: give the person of the target a name or an email address")
	}
	got := told(t.OpenID(c).Set("claims", asks("userinfo", request)))
	for _, name := range asked {
		if reflect.DeepEqual(got[name], many[name]) {
			came = append(came, name)
		}
	}
	return asked, came
}
