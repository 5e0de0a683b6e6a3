package rules

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// rfc8414Document has the checks of the rules about the publication of the metadata.
var rfc8414Document = checks{
	"RFC8414/3/well-known": wantWellKnown,
	"RFC8414/3/https": func(t *T) {
		publishedMetadata(t)
		wantTLS(t, t.MetadataAddress())
	},
	"RFC8414/3/several-locations":          rfc8414SeveralLocations,
	"RFC8414/3.2/status-200":               func(t *T) { wantOK(t, get8414(t)) },
	"RFC8414/3.2/json":                     func(t *T) { wantJSON(t, get8414(t)) },
	"RFC8414/3.2/several-values-in-arrays": func(t *T) { wantArrays(t, publishedMetadata(t)) },
	"RFC8414/3.2/no-empty-claims":          func(t *T) { wantNothingEmpty(t, publishedMetadata(t)) },
	"RFC8414/3.2/error-status": func(t *T) {
		if issuer, a := getUnknown(t); a.Status/100 == 2 && a.JSON()["issuer"] == nil {
			t.Failf("there is no metadata of the issuer %s, but the status is %s", issuer, a)
		}
	},
	"RFC8414/3.3/issuer-identical": func(t *T) {
		if issuer := publishedMetadata(t).Text("issuer"); issuer != t.Issuer() {
			t.Failf("the issuer is %q, but the address was formed from %q: if that is a mistake in the target, correct issuer",
				issuer, t.Issuer())
		}
	},
	"RFC8414/3.3/issuers-apart": func(t *T) {
		issuer, a := getUnknown(t)
		if got := a.Text("issuer"); a.Status == http.StatusOK && got != "" && got != issuer {
			t.Failf("the address of the issuer %s returns metadata with the issuer %s", issuer, got)
		}
	},
	"RFC8414/5/both-addresses": wantBothAddresses,
}

func rfc8414SeveralLocations(t *T) {
	one, other := bothDocuments(t)
	for _, name := range slices.Sorted(maps.Keys(one)) {
		switch {
		case other[name] == nil:
			t.Errorf("%s is not at the address of OpenID Connect Discovery", name)
		case !reflect.DeepEqual(one[name], other[name]):
			t.Errorf("%s is %s, but %s at the address of OpenID Connect Discovery", name, Quoted(one[name]), Quoted(other[name]))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(other)) {
		if one[name] == nil {
			t.Errorf("%s is only at the address of OpenID Connect Discovery", name)
		}
	}
}

// rfc8414Values has the checks of the rules that compare the metadata with what the server does.
var rfc8414Values = checks{
	"RFC8414/2/issuer":                   func(t *T) { wantIssuerURL(t, publishedMetadata(t).Text("issuer")) },
	"RFC8414/2/authorization-endpoint":   func(t *T) { wantNamed(t, publishedMetadata(t), need.Authorization) },
	"RFC8414/2/token-endpoint":           func(t *T) { wantNamed(t, publishedMetadata(t), need.Token) },
	"RFC8414/2/endpoints-are-there":      func(t *T) { wantEndpointsThere(t, publishedMetadata(t)) },
	"RFC8414/2/jwks-uri-https":           func(t *T) { wantSecureIfNamed(t, publishedMetadata(t), need.Keys) },
	"RFC8414/2/jwks-signing-keys":        func(t *T) { wantSigningKey(t, publishedMetadata(t)) },
	"RFC8414/2/jwks-use":                 func(t *T) { wantUseOfKeys(t, publishedMetadata(t)) },
	"RFC8414/2/scopes-supported":         func(t *T) { wantList(t, publishedMetadata(t), "scopes_supported") },
	"RFC8414/2/scopes-whole":             func(t *T) { wantScopesListed(t, publishedMetadata(t)) },
	"RFC8414/2/scopes-can-be-had":        func(t *T) { wantScopesKnown(t, publishedMetadata(t)) },
	"RFC8414/2/response-types-supported": func(t *T) { wantList(t, publishedMetadata(t), "response_types_supported") },
	"RFC8414/2/response-types-true":      func(t *T) { wantResponseTypes(t, publishedMetadata(t)) },
	"RFC8414/2/response-modes-true":      func(t *T) { wantResponseModes(t, publishedMetadata(t)) },
	"RFC8414/2/other-response-modes": func(t *T) {
		t.Code(t.Request(t.Client(need.Code)))
		r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", "conformance"))
		t.WantNoCode(r, "the response mode is not listed")
	},
	"RFC8414/2/grant-types-true": func(t *T) { wantGrantTypes(t, publishedMetadata(t)) },
	"RFC8414/2/token-auth-methods-true": func(t *T) {
		c := t.Client(need.Machine)
		known := t.ByCredentials(c, c.Credentials()).Granted()
		wantMethodListed(t, publishedMetadata(t), "token", c, known)
	},
	"RFC8414/2/token-auth-methods-any": func(t *T) {
		m, c := publishedMetadata(t), withSecret(t, t.Client(need.Machine))
		t.Machine()
		for _, method := range []string{need.SecretBasic, need.SecretPost} {
			if !m.Lists("token_endpoint_auth_methods_supported", method) {
				continue
			}
			if a := t.ByCredentials(c, secretMethods(c)[method]); !a.Granted() {
				t.At(a)
				t.Errorf("%s is listed, but the client machine cannot use it: %s", method, a.Failure())
			}
		}
	},
	"RFC8414/2/token-auth-none": func(t *T) {
		t.Client(need.Public)
		if !publishedMetadata(t).Lists("token_endpoint_auth_methods_supported", need.NoAuthentication) {
			t.Failf("none is not listed")
		}
	},
	"RFC8414/2/token-auth-algorithms":       func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "token") },
	"RFC8414/2/token-auth-algorithms-rs256": func(t *T) { wantRS256OfClients(t, publishedMetadata(t)) },
	"RFC8414/2/token-auth-algorithms-not-none": func(t *T) {
		wantNoUnsigned(t, publishedMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
	},
	"RFC8414/2/revocation-auth-methods-true": func(t *T) {
		c := t.Client(need.Code)
		a := t.Revoke(c, "conformance-"+t.Random())
		wantMethodListed(t, publishedMetadata(t), "revocation", c, a.Status/100 == 2)
	},
	"RFC8414/2/revocation-auth-algorithms": func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "revocation") },
	"RFC8414/2/revocation-auth-algorithms-not-none": func(t *T) {
		wantNoUnsigned(t, publishedMetadata(t), "revocation_endpoint_auth_signing_alg_values_supported")
	},
	"RFC8414/2/introspection-auth-methods-true": func(t *T) {
		c := t.Client(need.Introspect)
		a := introspectAs(t, wire.Params("token", "conformance-"+t.Random()))
		wantMethodListed(t, publishedMetadata(t), "introspection", c, a.Status == http.StatusOK)
	},
	"RFC8414/2/introspection-auth-bearer": func(t *T) {
		m := publishedMetadata(t)
		if !m.Lists("scopes_supported", "introspection") {
			t.Skipf("the rule applies to a server that lists a scope introspection")
		}
		if !m.Lists("introspection_endpoint_auth_methods_supported", "Bearer") {
			t.Failf("Bearer is not listed")
		}
		form := wire.Params("grant_type", "client_credentials", "scope", "introspection")
		caller := t.Granted(t.Token(t.Client(need.Introspect), form)).Access
		a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), wire.Bearer(caller))
		if a.JSON()["active"] != true {
			t.Failf("Bearer is listed, but refused: %s", a)
		}
	},
	"RFC8414/2/introspection-auth-algorithms": func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "introspection") },
	"RFC8414/2/introspection-auth-algorithms-not-none": func(t *T) {
		wantNoUnsigned(t, publishedMetadata(t), "introspection_endpoint_auth_signing_alg_values_supported")
	},
	"RFC8414/2/challenge-methods-true": func(t *T) { wantChallengeMethods(t, publishedMetadata(t)) },
	"RFC8414/2/pages":                  func(t *T) { wantPages(t, publishedMetadata(t)) },
	"RFC8414/2.1/signed": func(t *T) {
		j := signedMetadata(t)
		if alg := j.Algorithm(); alg == "" || strings.EqualFold(alg, "none") {
			t.Errorf("alg of signed_metadata is %q", alg)
		}
		if j.Text("iss") == "" {
			t.Errorf("signed_metadata has no iss")
		}
	},
	"RFC8414/2.1/not-in-itself": func(t *T) {
		if signedMetadata(t).Claims["signed_metadata"] != nil {
			t.Failf("signed_metadata has a claim signed_metadata")
		}
	},
}
