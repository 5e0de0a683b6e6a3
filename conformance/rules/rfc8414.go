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

// Authorization server metadata.
func rfc8414() []Rule { return slices.Concat(rfc8414Values(), rfc8414Document()) }

// rfc8414Document is how the metadata is published.
func rfc8414Document() []Rule {
	return []Rule{
		{
			ID: "RFC8414/3/well-known", Level: Must,
			Text: "The metadata is where the issuer's host, /.well-known/oauth-authorization-server and the issuer's path lead in this order.",
			Check: func(t *T) {
				if a := get8414(t); a.Status/100 != 2 || a.JSON() == nil {
					t.Failf("there is no JSON object: %s", a)
				}
			},
		},
		{
			ID: "RFC8414/3/https", Level: Must,
			Text: "The metadata is fetched by TLS.",
			Check: func(t *T) {
				publishedMetadata(t)
				wantTLS(t, check.MetadataAddresses(t.Issuer())[0])
			},
		},
		{
			ID: "RFC8414/3/several-locations", Level: May,
			Text:  "An OpenID Provider says the same of itself at the suffix of OpenID Connect.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				if !reflect.DeepEqual(publishedMetadata(t), discoveredMetadata(t)) {
					t.Failf("the two descriptions differ")
				}
			},
		},
		{
			ID: "RFC8414/3.1/issuers-apart", Level: Must,
			Text: "By the path of another issuer nothing is had that this one says of itself.",
			Check: func(t *T) {
				publishedMetadata(t)
				other := strings.TrimSuffix(t.Issuer(), "/") + "/conformance-" + strings.ToLower(t.Random())
				a := t.Get(check.MetadataAddresses(other)[0])
				if a.Status == http.StatusOK && a.JSON()["issuer"] != nil && a.Text("issuer") != other {
					t.Failf("what is there for the issuer %s is of the issuer %s", other, a.Text("issuer"))
				}
			},
		},
		{
			ID: "RFC8414/3.2/status-200", Level: Must,
			Text: "The metadata comes with the status 200.",
			Check: func(t *T) {
				a := get8414(t)
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				t.WantStatus(a, http.StatusOK)
			},
		},
		{
			ID: "RFC8414/3.2/json", Level: Must,
			Text: "The metadata is of the type application/json.",
			Check: func(t *T) {
				a := get8414(t)
				if a.Status/100 != 2 {
					t.Blockedf("could not read the metadata: %s", a)
				}
				if a.MediaType() != "application/json" {
					t.Failf("it is of the type %q", a.MediaType())
				}
			},
		},
		{
			ID: "RFC8414/3.2/several-values-in-arrays", Level: Must,
			Text:  "What has several values is an array.",
			Check: func(t *T) { wantArrays(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/3.2/no-empty-claims", Level: Must,
			Text:  "What has no elements is left out.",
			Check: func(t *T) { wantNothingEmpty(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/3.2/error-status", Level: Must,
			Text: "What cannot be answered has the HTTP status that says so: 404 where there is no such issuer.",
			Check: func(t *T) {
				publishedMetadata(t)
				other := strings.TrimSuffix(t.Issuer(), "/") + "/conformance-" + strings.ToLower(t.Random())
				if a := t.Get(check.MetadataAddresses(other)[0]); a.Status/100 == 2 && a.JSON()["issuer"] == nil {
					t.Failf("no metadata, and yet %s", a)
				}
			},
		},
		{
			ID: "RFC8414/3.3/issuer-identical", Level: Must,
			Text: "The issuer in the metadata is, letter by letter, the one by which it was found.",
			Check: func(t *T) {
				if issuer := publishedMetadata(t).Text("issuer"); issuer != t.Issuer() {
					t.Failf("the issuer is %q, found by %q", issuer, t.Issuer())
				}
			},
		},
		{
			ID: "RFC8414/6.1/tls-12", Level: Must,
			Text:         "The server supports TLS 1.2.",
			Inapplicable: "TLS ends at the proxy in front of Mandate.",
		},
	}
}

// rfc8414Values is what the metadata says, held against what the server does.
func rfc8414Values() []Rule {
	return []Rule{
		{
			ID: "RFC8414/2/issuer", Level: Must,
			Text:  "The issuer is a URL with https, and without query and fragment.",
			Check: func(t *T) { wantIssuerURL(t, publishedMetadata(t).Text("issuer")) },
		},
		{
			ID: "RFC8414/2/authorization-endpoint", Level: Must,
			Text:  "The authorization endpoint is named, where a grant uses it.",
			Needs: []Need{need.Code},
			Check: func(t *T) { wantNamed(t, publishedMetadata(t), need.Authorization) },
		},
		{
			ID: "RFC8414/2/token-endpoint", Level: Must,
			Text:  "The token endpoint is named.",
			Needs: []Need{need.Code},
			Check: func(t *T) { wantNamed(t, publishedMetadata(t), need.Token) },
		},
		{
			ID: "RFC8414/2/endpoints-are-there", Level: Must,
			Text:  "Each endpoint that is named is there.",
			Check: func(t *T) { wantEndpointsThere(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/jwks-uri-https", Level: Must,
			Text:  "The keys are fetched by TLS.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantSecure(t, publishedMetadata(t), need.Keys) },
		},
		{
			ID: "RFC8414/2/jwks-signing-keys", Level: Must,
			Text:  "jwks_uri has the keys by which the server's signatures are checked.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantSigningKey(t, publishedMetadata(t).Text("jwks_uri")) },
		},
		{
			ID: "RFC8414/2/jwks-use", Level: Must,
			Text:  "Where some keys are for encryption, each key says what it is for.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantUseOfKeys(t, publishedMetadata(t).Text("jwks_uri")) },
		},
		{
			ID: "RFC8414/2/scopes-supported", Level: Should,
			Text:  "The scopes are listed.",
			Check: func(t *T) { wantList(t, publishedMetadata(t), "scopes_supported") },
		},
		{
			ID: "RFC8414/2/scopes-whole", Level: May,
			Text:  "No scope is kept back: what a request without scope gives is in the list.",
			Needs: codeFlow(),
			Check: func(t *T) { wantScopesListed(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/scopes-can-be-had", Level: May,
			Text:  "Each scope of the list can be asked for: by a client of the code grant, or by one that may introspect.",
			Needs: asking(need.Token, need.Introspect),
			Check: func(t *T) { wantScopesKnown(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/response-types-supported", Level: Must,
			Text:  "The response types are listed.",
			Check: func(t *T) { wantList(t, publishedMetadata(t), "response_types_supported") },
		},
		{
			ID: "RFC8414/2/response-types-true", Level: Must,
			Text:  "The list of response types has code if a code can be had, and what it lacks gives nothing.",
			Needs: asking(),
			Check: func(t *T) { wantResponseTypes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/response-modes-true", Level: Must,
			Text:  "Each response mode of the list, or of its default, brings the answer to the client.",
			Needs: asking(),
			Check: func(t *T) { wantResponseModes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/other-response-modes", Level: May,
			Text:  "A response mode that is not listed is refused, and not replaced by another.",
			Needs: asking(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", "conformance"))
				t.WantNoCode(r, "the response mode is not one of the list")
			},
		},
		{
			ID: "RFC8414/2/grant-types-true", Level: Must,
			Text:  "A grant of the list is known to the token endpoint, and one that it lacks gives no token.",
			Needs: codeFlow(),
			Check: func(t *T) { wantGrantTypes(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/token-auth-methods-true", Level: Must,
			Text:  "The methods of client authentication that are listed for the token endpoint, or the default, have those by which clients authenticate.",
			Needs: []Need{need.Token, need.Machine},
			Check: func(t *T) { wantTokenAuth(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/token-auth-methods-any", Level: May,
			Text:  "A client may use any of the listed methods that its secret allows.",
			Needs: machine,
			Check: func(t *T) {
				m, c := publishedMetadata(t), t.Client(need.Machine)
				for method, as := range secretMethods(c) {
					if m.Lists("token_endpoint_auth_methods_supported", method) && !t.AsMachine(as).Granted() {
						t.Errorf("%s is listed, and does not do for the client machine", method)
					}
				}
			},
		},
		{
			ID: "RFC8414/2/token-auth-none", Level: May,
			Text:  "That public clients have no secret is said by the method none.",
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
			Text:  "Where clients authenticate by JWT at the token endpoint, the algorithms are listed.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "token") },
		},
		{
			ID: "RFC8414/2/token-auth-algorithms-rs256", Level: Should,
			Text:         "Where clients authenticate by JWT, RS256 is supported.",
			Inapplicable: "Clients do not authenticate by JWT.",
		},
		{
			ID: "RFC8414/2/token-auth-algorithms-not-none", Level: Must,
			Text: "none is not among the algorithms for the token endpoint.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/revocation-auth-methods-true", Level: Must,
			Text:  "The methods of client authentication that are listed for the revocation endpoint, or the default, have the one by which a client authenticates there.",
			Needs: []Need{need.Revocation, need.Code},
			Check: func(t *T) {
				c := t.Client(need.Code)
				a := t.Revoke(c, "conformance-"+t.Random())
				wantMethodListed(t, publishedMetadata(t), "revocation", c, a.Status/100 == 2)
			},
		},
		{
			ID: "RFC8414/2/revocation-auth-algorithms", Level: Must,
			Text:  "Where clients authenticate by JWT at the revocation endpoint, the algorithms are listed.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "revocation") },
		},
		{
			ID: "RFC8414/2/revocation-auth-algorithms-not-none", Level: Must,
			Text: "none is not among the algorithms for the revocation endpoint.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "revocation_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/introspection-auth-methods-true", Level: Must,
			Text:  "Where methods of authentication are listed for the introspection endpoint, the one by which a client authenticates there is among them.",
			Needs: []Need{need.Introspection, need.Introspect},
			Check: func(t *T) {
				c := t.Client(need.Introspect)
				a := introspectAs(t, wire.Params("token", "conformance-"+t.Random()))
				m := publishedMetadata(t)
				if _, listed := m.List("introspection_endpoint_auth_methods_supported"); listed {
					wantMethodListed(t, m, "introspection", c, a.Status == http.StatusOK)
				}
			},
		},
		{
			ID: "RFC8414/2/introspection-auth-bearer", Level: May,
			Text:  "The list has Bearer, and an access token of the scope introspection does.",
			Needs: introspecting(),
			Check: func(t *T) {
				if !publishedMetadata(t).Lists("introspection_endpoint_auth_methods_supported", "Bearer") {
					t.Failf("Bearer is not listed")
				}
				form := wire.Params("grant_type", "client_credentials", "scope", "introspection")
				caller := t.Granted(t.Token(t.Client(need.Introspect), form)).Access
				a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", t.Machine().Access), wire.Bearer(caller))
				if a.JSON()["active"] != true {
					t.Failf("Bearer is listed, and does not do: %s", a)
				}
			},
		},
		{
			ID: "RFC8414/2/introspection-auth-algorithms", Level: Must,
			Text:  "Where clients authenticate by JWT at the introspection endpoint, the algorithms are listed.",
			Check: func(t *T) { wantAuthAlgorithms(t, publishedMetadata(t), "introspection") },
		},
		{
			ID: "RFC8414/2/introspection-auth-algorithms-not-none", Level: Must,
			Text: "none is not among the algorithms for the introspection endpoint.",
			Check: func(t *T) {
				wantNoUnsigned(t, publishedMetadata(t), "introspection_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "RFC8414/2/challenge-methods-true", Level: Must,
			Text:  "The methods of PKCE that are listed are those that are checked; without a list there is no PKCE.",
			Needs: codeFlow(),
			Check: func(t *T) { wantChallengeMethods(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2/pages", Level: May,
			Text:  "Each page for people that is named (documentation, policy, terms) is there.",
			Check: func(t *T) { wantPages(t, publishedMetadata(t)) },
		},
		{
			ID: "RFC8414/2.1/signed", Level: Must,
			Text:         "Signed metadata is a JWS with an iss.",
			Inapplicable: "The metadata is not signed: it comes by TLS.",
		},
		{
			ID: "RFC8414/2.1/not-in-itself", Level: Should,
			Text:         "Signed metadata does not hold signed metadata.",
			Inapplicable: "The metadata is not signed: it comes by TLS.",
		},
	}
}
