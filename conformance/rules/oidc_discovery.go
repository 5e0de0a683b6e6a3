package rules

import (
	"net/http"
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// OpenID Connect Discovery.
func oidcDiscovery() []Rule {
	return slices.Concat(oidcDiscoveryEndpoints(), oidcDiscoveryValues(), oidcDiscoveryDocument())
}

var discovering = []Need{need.OpenID}

// oidcDiscoveryEndpoints is where the metadata says that everything is.
func oidcDiscoveryEndpoints() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/2/webfinger", Level: May,
			Text:  "Nobody is told by WebFinger who the provider of a person is: clients are configured with it.",
			Needs: discovering,
			Check: func(t *T) {
				query := wire.Params("resource", t.Issuer(), "rel", "http://openid.net/specs/connect/1.0/issuer")
				if a := t.Get(wire.Origin(t.Issuer()) + "/.well-known/webfinger?" + query.Encode()); a.Status/100 == 2 {
					t.Failf("WebFinger answers %s", a)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/issuer", Level: Must,
			Text:  "The issuer is a URL with https, and without query and fragment.",
			Needs: discovering,
			Check: func(t *T) { wantIssuerURL(t, discoveredMetadata(t).Text("issuer")) },
		},
		{
			ID: "OIDCDiscovery/3/issuer-in-id-token", Level: Must,
			Text:  "The issuer is, letter by letter, the iss of ID tokens.",
			Needs: signIn(),
			Check: func(t *T) { wantIssOfIDToken(t, discoveredMetadata(t).Text("issuer")) },
		},
		{
			ID: "OIDCDiscovery/3/authorization-endpoint", Level: Must,
			Text:  "The authorization endpoint is named, and reached by TLS.",
			Needs: discovering,
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.Authorization) },
		},
		{
			ID: "OIDCDiscovery/3/token-endpoint", Level: Must,
			Text:  "The token endpoint is named, and reached by TLS.",
			Needs: discovering,
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.Token) },
		},
		{
			ID: "OIDCDiscovery/3/userinfo-endpoint", Level: Should,
			Text:  "The UserInfo endpoint is named.",
			Needs: discovering,
			Check: func(t *T) { wantNamed(t, discoveredMetadata(t), need.UserInfo) },
		},
		{
			ID: "OIDCDiscovery/3/userinfo-endpoint-https", Level: Must,
			Text:  "The UserInfo endpoint is reached by TLS.",
			Needs: []Need{need.OpenID, need.UserInfo},
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.UserInfo) },
		},
		{
			ID: "OIDCDiscovery/3/endpoints-are-there", Level: Must,
			Text:  "Each endpoint that is named is there.",
			Needs: discovering,
			Check: func(t *T) { wantEndpointsThere(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-uri", Level: Must,
			Text:  "The place of the keys is named, and they are fetched by TLS.",
			Needs: discovering,
			Check: func(t *T) { wantSecure(t, discoveredMetadata(t), need.Keys) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-signing-keys", Level: Must,
			Text:  "jwks_uri has the keys by which the provider's signatures are checked: an RSA key, as RS256 needs one.",
			Needs: discovering,
			Check: func(t *T) {
				for _, key := range keySet(t, discoveredMetadata(t).Text("jwks_uri")) {
					if use := key["use"]; key["kty"] == "RSA" && (use == nil || use == "sig") {
						return
					}
				}
				t.Failf("no RSA key is for signatures")
			},
		},
		{
			ID: "OIDCDiscovery/3/jwks-public-only", Level: Must,
			Text:  "The set of keys has no private key, and no symmetric one.",
			Needs: discovering,
			Check: func(t *T) {
				for _, key := range keySet(t, discoveredMetadata(t).Text("jwks_uri")) {
					for _, secret := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
						if key[secret] != nil {
							t.Errorf("the key %v has %s", key["kid"], secret)
						}
					}
					if key["kty"] == "oct" {
						t.Errorf("the key %v is symmetric", key["kid"])
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/jwks-use", Level: Must,
			Text:  "Where some keys are for encryption, each key says what it is for.",
			Needs: discovering,
			Check: func(t *T) { wantUseOfKeys(t, discoveredMetadata(t).Text("jwks_uri")) },
		},
		{
			ID: "OIDCDiscovery/3/jwks-one-use", Level: Should,
			Text:         "No key is both for signatures and for encryption.",
			Inapplicable: "Nothing is encrypted.",
		},
		{
			ID: "OIDCDiscovery/3/jwks-bare-keys", Level: Must,
			Text:  "A key that comes with a certificate comes by itself too.",
			Needs: discovering,
			Check: func(t *T) {
				values := map[any]string{"RSA": "n", "EC": "x", "OKP": "x"}
				for _, key := range keySet(t, discoveredMetadata(t).Text("jwks_uri")) {
					if value := values[key["kty"]]; key["x5c"] != nil && value != "" && key[value] == nil {
						t.Errorf("the key %v is in its certificate only", key["kid"])
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/jwks-certificates", Level: Must,
			Text:         "A key is the one of its certificate.",
			Inapplicable: "The keys come without certificates.",
		},
		{
			ID: "OIDCDiscovery/3/registration-endpoint", Level: Should,
			Text:   "An endpoint for dynamic registration is named.",
			Needs:  discovering,
			Check:  func(t *T) { wantNamed(t, discoveredMetadata(t), need.Registration) },
			Waived: "Applications are registered by people, who answer for them.",
		},
		{
			ID: "OIDCDiscovery/3/pages", Level: May,
			Text:  "Each page for people that is named (documentation, policy, terms) is there.",
			Needs: discovering,
			Check: func(t *T) { wantPages(t, discoveredMetadata(t)) },
		},
	}
}

// oidcDiscoveryDocument is how the metadata is published.
func oidcDiscoveryDocument() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/4/well-known", Level: Must,
			Text:  "The metadata is where the issuer and then /.well-known/openid-configuration lead.",
			Needs: discovering,
			Check: func(t *T) {
				if a := getDiscovery(t); a.Status/100 != 2 || a.JSON() == nil {
					t.Failf("there is no JSON object: %s", a)
				}
			},
		},
		{
			ID: "OIDCDiscovery/4/json", Level: Must,
			Text:  "The metadata comes as application/json.",
			Needs: discovering,
			Check: func(t *T) {
				a := getDiscovery(t)
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				if a.MediaType() != "application/json" {
					t.Failf("it is of the type %q", a.MediaType())
				}
			},
		},
		{
			ID: "OIDCDiscovery/4.2/status-200", Level: Must,
			Text:  "The metadata comes with the status 200.",
			Needs: discovering,
			Check: func(t *T) {
				a := getDiscovery(t)
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				t.WantStatus(a, http.StatusOK)
			},
		},
		{
			ID: "OIDCDiscovery/4.2/several-values-in-arrays", Level: Must,
			Text:  "What has several values is an array.",
			Needs: discovering,
			Check: func(t *T) { wantArrays(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/4.2/no-empty-claims", Level: Must,
			Text:  "What has no elements is left out.",
			Needs: discovering,
			Check: func(t *T) { wantNothingEmpty(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/4.3/issuer-identical", Level: Must,
			Text:  "The issuer in the metadata is, letter by letter, the one by which it was found.",
			Needs: discovering,
			Check: func(t *T) {
				if issuer := discoveredMetadata(t).Text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer is %q, found by %q", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "OIDCDiscovery/4.3/issuer-in-id-token", Level: Must,
			Text:  "The issuer by which the metadata was found is the iss of ID tokens.",
			Needs: signIn(),
			Check: func(t *T) { wantIssOfIDToken(t, t.Issuer()) },
		},
		{
			ID: "OIDCDiscovery/7.1/tls", Level: Must,
			Text:  "The metadata is fetched by TLS.",
			Needs: discovering,
			Check: func(t *T) { wantTLS(t, discoveryAddress(t)) },
		},
	}
}

func discoveryAddress(t *T) string {
	return strings.TrimSuffix(t.Issuer(), "/") + "/.well-known/openid-configuration"
}

// getDiscovery fetches the metadata by the path of OpenID Connect, which a provider may leave out.
func getDiscovery(t *T) *wire.Answer {
	t.Require(need.OpenID)
	a := t.Get(discoveryAddress(t))
	if a.Status == http.StatusNotFound && t.MetadataAddress() != discoveryAddress(t) && t.MetadataAddress() != "" {
		t.Skipf("the server publishes its metadata at %s only", t.MetadataAddress())
	}
	return a
}

// discoveredMetadata is the metadata of OpenID Connect Discovery.
func discoveredMetadata(t *T) check.Metadata {
	a := getDiscovery(t)
	if a.Status != http.StatusOK || a.JSON() == nil {
		t.Blockedf("could not read the metadata: %s", a)
	}
	return a.JSON()
}

func wantIssOfIDToken(t *T, issuer string) {
	if iss := t.SignIn(t.Client(need.Code)).Claims["iss"]; iss != issuer {
		t.Failf("iss of the ID token is %v, and the issuer %s", iss, issuer)
	}
}

// claimScopes are those listed scopes that bring claims (OIDC Core §5.4).
func claimScopes(m check.Metadata) []string {
	return slices.DeleteFunc(slices.Clone(allScopes), func(s string) bool { return !m.Lists("scopes_supported", s) })
}

// claimByClaims looks for a claim that a scope brings and the scope openid alone does not, and says whether
// the claims parameter brings it.
func claimByClaims(t *T, m check.Metadata) bool {
	told := func(r *check.Request) map[string]any { return t.UserClaims(t.GrantFor(r).Access) }
	c := t.Client(need.Code)
	few := told(t.OpenID(c))
	for name, value := range told(t.OpenID(c, claimScopes(m)...)) {
		if few[name] == nil {
			r := t.OpenID(c).Set("claims", `{"userinfo":{"`+name+`":{"essential":true}}}`)
			return reflect.DeepEqual(told(r)[name], value)
		}
	}
	t.Skipf("the user has no claim that a scope would bring")
	return false
}
