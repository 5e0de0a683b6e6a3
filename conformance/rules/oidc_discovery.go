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

// oidcDiscoveryEndpoints has the checks of the rules about addresses in the metadata.
var oidcDiscoveryEndpoints = checks{
	"OIDCDiscovery/2/webfinger": func(t *T) {
		query := wire.Params("resource", t.Issuer(), "rel", "http://openid.net/specs/connect/1.0/issuer")
		if a := t.Get(wire.Origin(t.Issuer()) + "/.well-known/webfinger?" + query.Encode()); a.Status/100 == 2 {
			t.Failf("WebFinger answers %s", a)
		}
	},
	"OIDCDiscovery/3/issuer":                 func(t *T) { wantIssuerURL(t, discoveredMetadata(t).Text("issuer")) },
	"OIDCDiscovery/3/issuer-in-id-token":     func(t *T) { wantIssOfIDToken(t, discoveredMetadata(t).Text("issuer")) },
	"OIDCDiscovery/3/authorization-endpoint": func(t *T) { wantSecure(t, discoveredMetadata(t), need.Authorization) },
	"OIDCDiscovery/3/token-endpoint": func(t *T) {
		m := discoveredMetadata(t)
		types, _ := m.List("response_types_supported")
		if code := func(kind string) bool { return strings.Contains(kind, "code") }; len(types) > 0 &&
			!slices.ContainsFunc(types, code) {
			t.Skipf("the rule applies to a server with a flow that has a token endpoint: response_types_supported is %q, so "+
				"it supports the implicit flow only", types)
		}
		wantSecure(t, m, need.Token)
	},
	"OIDCDiscovery/3/userinfo-endpoint":       func(t *T) { wantNamed(t, discoveredMetadata(t), need.UserInfo) },
	"OIDCDiscovery/3/userinfo-endpoint-https": func(t *T) { wantSecureIfNamed(t, discoveredMetadata(t), need.UserInfo) },
	"OIDCDiscovery/3/endpoints-are-there":     func(t *T) { wantEndpointsThere(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/jwks-uri":                func(t *T) { wantSecure(t, discoveredMetadata(t), need.Keys) },
	"OIDCDiscovery/3/jwks-signing-keys": func(t *T) {
		m := discoveredMetadata(t)
		if algorithms, _ := m.List("id_token_signing_alg_values_supported"); rsaAlgorithms(algorithms) {
			wantSigningKey(t, m, "RSA")
			return
		}
		wantSigningKey(t, m)
	},
	"OIDCDiscovery/3/jwks-public-only":      func(t *T) { wantNoSecretKeys(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/jwks-use":              func(t *T) { wantUseOfKeys(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/jwks-one-use":          func(t *T) { wantOneUse(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/jwks-bare-keys":        func(t *T) { wantBareKeys(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/jwks-certificates":     func(t *T) { wantCertificates(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/registration-endpoint": func(t *T) { wantNamed(t, discoveredMetadata(t), need.Registration) },
	"OIDCDiscovery/3/pages":                 func(t *T) { wantPages(t, discoveredMetadata(t)) },
}

// oidcDiscoveryDocument has the checks of the rules about the publication of the metadata.
var oidcDiscoveryDocument = checks{
	"OIDCDiscovery/4/well-known": func(t *T) {
		if a := getDiscovery(t); a.Status/100 != 2 || a.JSON() == nil {
			t.Failf("GET %s is answered with %s and no JSON object", wire.Bare(a.URL), a)
		}
	},
	"OIDCDiscovery/4/json":                       func(t *T) { wantJSON(t, getDiscovery(t)) },
	"OIDCDiscovery/4.2/status-200":               func(t *T) { wantOK(t, getDiscovery(t)) },
	"OIDCDiscovery/4.2/several-values-in-arrays": func(t *T) { wantArrays(t, discoveredMetadata(t)) },
	"OIDCDiscovery/4.2/no-empty-claims":          func(t *T) { wantNothingEmpty(t, discoveredMetadata(t)) },
	"OIDCDiscovery/4.3/issuer-identical": func(t *T) {
		if issuer := discoveredMetadata(t).Text("issuer"); issuer != t.Issuer() {
			t.Failf("the issuer is %q, but the address was formed from %q: if that is a mistake in the target, correct issuer",
				issuer, t.Issuer())
		}
	},
	"OIDCDiscovery/4.3/issuer-in-id-token": func(t *T) { wantIssOfIDToken(t, t.Issuer()) },
	"OIDCDiscovery/7.1/tls": func(t *T) {
		discoveredMetadata(t)
		wantTLS(t, discoveryAddress(t))
	},
}

func discoveryAddress(t *T) string {
	return strings.TrimSuffix(t.Issuer(), "/") + "/.well-known/openid-configuration"
}

// getDiscovery fetches the metadata at the address of OpenID Connect Discovery, which a provider may leave out.
func getDiscovery(t *T) *wire.Answer {
	t.Require(need.OpenID)
	a := t.Get(discoveryAddress(t))
	if found := t.MetadataAddress(); found != discoveryAddress(t) && found != "" && a.JSON()["issuer"] == nil &&
		a.Status < http.StatusInternalServerError {
		t.Skipf("the rule applies to a server that publishes metadata for OpenID Connect: the metadata is only at %s, and "+
			"not at %s", found, discoveryAddress(t))
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

// claimByClaims requests all claims that the scopes return, and the scope openid alone does not, by the parameter
// claims. It returns the names of these claims, and of those that came.
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
		t.Skipf("no scope returns a claim that the scope openid does not return too: give the person of the target a name " +
			"or an email address")
	}
	got := told(t.OpenID(c).Set("claims", asks("userinfo", request)))
	for _, name := range asked {
		if reflect.DeepEqual(got[name], many[name]) {
			came = append(came, name)
		}
	}
	return asked, came
}
