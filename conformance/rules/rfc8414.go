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

// rfc8414 returns the rules about Authorization Server Metadata.
func rfc8414() []Rule { return slices.Concat(rfc8414Values(), rfc8414Document()) }

// rfc8414Document returns the rules about the publication of the metadata.
func rfc8414Document() []Rule {
	return []Rule{
		{
			ID: "RFC8414/3/well-known", Level: Must,
			Text:  "If the server publishes its metadata for OAuth, it is at the issuer's host, followed by the well-known part and the issuer's path.",
			Check: wantWellKnown,
		},
		{
			ID: "RFC8414/3/https", Level: Must,
			Text: "The metadata uses TLS.",
			Check: func(t *T) {
				publishedMetadata(t)
				wantTLS(t, t.MetadataAddress())
			},
		},
		{
			ID: "RFC8414/3/several-locations", Level: May,
			Text:  "An OpenID Provider publishes the same values at the address of OpenID Connect Discovery.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
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
			},
		},
		{
			ID: "RFC8414/3.2/status-200", Level: Must,
			Text:  "The metadata has the status 200.",
			Check: func(t *T) { wantOK(t, get8414(t)) },
		},
		{
			ID: "RFC8414/3.2/json", Level: Must,
			Text:  "The metadata has the type application/json.",
			Check: func(t *T) { wantJSON(t, get8414(t)) },
		},
		{
			ID: "RFC8414/3.2/several-values-in-arrays", Level: Must,
			Text:  "A member with several values is an array.",
			Check: func(t *T) { wantArrays(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/3.2/no-empty-claims", Level: Must,
			Text:  "A member without values is left out.",
			Check: func(t *T) { wantNothingEmpty(t, publishedMetadata(t)) },
		},
		{
			// The document says this without a keyword.
			ID: "RFC8414/3.2/error-status", Level: Should,
			Text: "An error has a matching HTTP status: 404 for an unknown issuer.",
			Check: func(t *T) {
				if issuer, a := getUnknown(t); a.Status/100 == 2 && a.JSON()["issuer"] == nil {
					t.Failf("there is no metadata of the issuer %s, but the status is %s", issuer, a)
				}
			},
		},
		{
			ID: "RFC8414/3.3/issuer-identical", Level: Must,
			Text: "The issuer in the metadata equals the issuer from which its address was formed, character by character.",
			Check: func(t *T) {
				if issuer := publishedMetadata(t).Text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer is %q, but the address was formed from %q: if that is a mistake in the target, correct issuer", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "RFC8414/3.3/issuers-apart", Level: Must,
			Text: "The address of another issuer does not return the metadata of this one.",
			Check: func(t *T) {
				issuer, a := getUnknown(t)
				if got := a.Text("issuer"); a.Status == http.StatusOK && got != "" && got != issuer {
					t.Failf("the address of the issuer %s returns metadata with the issuer %s", issuer, got)
				}
			},
		},
		{
			ID: "RFC8414/5/both-addresses", Level: May,
			Text:  "If the issuer has a path, the document of OpenID Connect Discovery is also at the address that RFC 8414 forms.",
			Needs: []Need{need.OpenID},
			Check: wantBothAddresses,
		},
		{
			ID: "RFC8414/6.1/tls-12", Level: Must,
			Text:     "The server supports TLS 1.2.",
			TestedBy: "app/httpserve/certificate_test.go:TestVersionsAndSuites",
		},
	}
}

// rfc8414Values returns the rules that compare the metadata with what the server does.
func rfc8414Values() []Rule {
	return []Rule{
		{
			ID: "RFC8414/2/issuer", Level: Must,
			Text:  "The issuer is an https URL without query and fragment.",
			Check: func(t *T) { wantIssuerURL(t, publishedMetadata(t).Text("issuer")) },
		},
		{
			ID: "RFC8414/2/authorization-endpoint", Level: Must,
			Text:  "The metadata has the authorization endpoint, if a grant uses it.",
			Needs: []Need{need.Code},
			Check: func(t *T) { wantNamed(t, publishedMetadata(t), need.Authorization) },
		},
		{
			ID: "RFC8414/2/token-endpoint", Level: Must,
			Text:  "The metadata has the token endpoint.",
			Needs: []Need{need.Code},
			Check: func(t *T) { wantNamed(t, publishedMetadata(t), need.Token) },
		},
		{
			// The document defines each member as the address of an endpoint. That an endpoint answers there is behaviour,
			// for which the document has no keyword.
			ID: "RFC8414/2/endpoints-are-there", Level: Should,
			Text:  "Each endpoint in the metadata exists.",
			Check: func(t *T) { wantEndpointsThere(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/jwks-uri-https", Level: Must,
			Text:  "jwks_uri uses TLS.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantSecureIfNamed(t, publishedMetadata(t), need.Keys) },
		},
		{
			ID: "RFC8414/2/jwks-signing-keys", Level: Must,
			Text:  "jwks_uri, if present, has the keys that verify the server's signatures.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantSigningKey(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/jwks-use", Level: Must,
			Text:  "If some keys are for encryption, each key has use.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantUseOfKeys(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/scopes-supported", Level: Should,
			Text:  "The metadata lists the scopes.",
			Check: func(t *T) { wantList(t, publishedMetadata(t), "scopes_supported") },
		},
		{
			ID: "RFC8414/2/scopes-whole", Level: May,
			Text:  "The list contains each scope that a request without scope gets.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { wantScopesListed(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/scopes-can-be-had", Level: May,
			Text:  "Each listed scope can be requested, by a client of the code grant or by one that may introspect.",
			Needs: authorizationNeeds(need.Token, need.Introspect),
			Check: func(t *T) { wantScopesKnown(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/response-types-supported", Level: Must,
			Text:  "The metadata lists the response types.",
			Check: func(t *T) { wantList(t, publishedMetadata(t), "response_types_supported") },
		},
		{
			ID: "RFC8414/2/response-types-true", Level: Must,
			Text:  "The response types include code if the server issues codes, and response types that are not listed return nothing.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantResponseTypes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/response-modes-true", Level: Should,
			Text:  "Each listed response mode returns the response to the client.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantResponseModes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/other-response-modes", Level: May,
			Text:  "The server refuses a response mode that is not listed, and does not use another one instead.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				t.Code(t.Request(t.Client(need.Code)))
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", "conformance"))
				t.WantNoCode(r, "the response mode is not listed")
			},
		},
		{
			ID: "RFC8414/2/grant-types-true", Level: Should,
			Text:  "If the metadata lists grant types, the token endpoint knows each of them, and issues no token for others.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { wantGrantTypes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/token-auth-methods-true", Level: Should,
			Text:  "If the metadata lists authentication methods of the token endpoint, they include the one with which a client authenticates.",
			Needs: machineNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Machine)
				known := t.ByCredentials(c, c.Credentials()).Granted()
				wantMethodListed(t, publishedMetadata(t), "token", c, known)
			},
		},
		{
			ID: "RFC8414/2/token-auth-methods-any", Level: May,
			Text:  "A client with a secret can use each listed method for secrets.",
			Needs: machineNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "RFC8414/2/token-auth-none", Level: May,
			Text:  "The method none shows that the server supports public clients.",
			Needs: []Need{need.Public},
			Check: func(t *T) {
				t.Client(need.Public)
				if !publishedMetadata(t).Lists("token_endpoint_auth_methods_supported", need.NoAuthentication) {
					t.Failf("none is not listed")
				}
			},
		},
		{
			ID: "RFC8414/2/token-auth-algorithms", Level: Must,
			Text:  "If clients can authenticate by JWT at the token endpoint, the metadata lists the algorithms.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "token") },
		},
		{
			ID: "RFC8414/2/token-auth-algorithms-rs256", Level: Should,
			Text:  "If clients can authenticate by JWT, the listed algorithms include RS256.",
			Check: func(t *T) { wantRS256OfClients(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/token-auth-algorithms-not-none", Level: Must,
			Text: "The algorithms for the token endpoint, if they are listed, do not include none.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/revocation-auth-methods-true", Level: Should,
			Text:  "If the metadata lists authentication methods of the revocation endpoint, they include the one with which a client authenticates there.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				a := t.Revoke(c, "conformance-"+t.Random())
				wantMethodListed(t, publishedMetadata(t), "revocation", c, a.Status/100 == 2)
			},
		},
		{
			ID: "RFC8414/2/revocation-auth-algorithms", Level: Must,
			Text:  "If clients can authenticate by JWT at the revocation endpoint, the metadata lists the algorithms.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "revocation") },
		},
		{
			ID: "RFC8414/2/revocation-auth-algorithms-not-none", Level: Must,
			Text: "The algorithms for the revocation endpoint, if they are listed, do not include none.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "revocation_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/introspection-auth-methods-true", Level: Should,
			Text:  "If the metadata lists authentication methods of the introspection endpoint, they include the one with which a client authenticates there.",
			Needs: []Need{need.Introspection, need.Introspect},
			Check: func(t *T) {
				c := t.Client(need.Introspect)
				a := introspectAs(t, wire.Params("token", "conformance-"+t.Random()))
				wantMethodListed(t, publishedMetadata(t), "introspection", c, a.Status == http.StatusOK)
			},
		},
		{
			ID: "RFC8414/2/introspection-auth-bearer", Level: May,
			Text:  "If the server has the scope introspection, the list includes Bearer, and an access token with this scope is accepted.",
			Needs: introspectionNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "RFC8414/2/introspection-auth-algorithms", Level: Must,
			Text:  "If clients can authenticate by JWT at the introspection endpoint, the metadata lists the algorithms.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "introspection") },
		},
		{
			ID: "RFC8414/2/introspection-auth-algorithms-not-none", Level: Must,
			Text: "The algorithms for the introspection endpoint, if they are listed, do not include none.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "introspection_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/challenge-methods-true", Level: Should,
			Text:  "The server supports each listed PKCE method, and verifies it.",
			Needs: codeFlowNeeds(),
			Check: func(t *T) { wantChallengeMethods(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/pages", Level: May,
			Text:  "Each page for people in the metadata (documentation, policy, terms) exists.",
			Check: func(t *T) { wantPages(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2.1/signed", Level: Must,
			Text: "Signed metadata, if there is any, is a JWS with an iss.",
			Check: func(t *T) {
				j := signedMetadata(t)
				if alg := j.Algorithm(); alg == "" || strings.EqualFold(alg, "none") {
					t.Errorf("alg of signed_metadata is %q", alg)
				}
				if j.Text("iss") == "" {
					t.Errorf("signed_metadata has no iss")
				}
			},
		},
		{
			ID: "RFC8414/2.1/not-in-itself", Level: Should,
			Text: "Signed metadata does not contain signed metadata.",
			Check: func(t *T) {
				if signedMetadata(t).Claims["signed_metadata"] != nil {
					t.Failf("signed_metadata has a claim signed_metadata")
				}
			},
		},
	}
}
