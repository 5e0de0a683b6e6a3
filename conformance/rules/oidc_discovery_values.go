package rules

import (
	"maps"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcDiscoveryValues returns the rules that compare the metadata with what the provider does.
func oidcDiscoveryValues() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/3/scopes-supported", Level: Should,
			Text:  "The metadata lists the scopes.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "scopes_supported") },
		},
		{
			ID: "OIDCDiscovery/3/scope-openid", Level: Must,
			Text:  "The server supports the scope openid.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if t.GrantFor(t.OpenID(t.Client(need.Code))).ID == "" {
					t.Failf("the scope openid returns no ID token")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/scopes-of-core-listed", Level: Should,
			Text:  "The metadata lists the scopes of OIDC Core that the server supports.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				list := metadataList(t, discoveredMetadata(t), "scopes_supported")
				for _, scope := range []string{"openid", "profile", "email", "address", "phone", "offline_access"} {
					if slices.Contains(list, scope) {
						continue
					}
					r := t.OpenID(t.Client(need.Code), scope)
					code := t.Authorize(r).Params.Get("code")
					if code == "" {
						continue
					}
					if given := t.Granted(t.Redeem(&check.Code{Value: code, Request: r})).Scope; slices.Contains(strings.Fields(given), scope) {
						t.Errorf("the scope %s is granted, but not listed", scope)
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/response-types-supported", Level: Must,
			Text:  "The metadata lists the response types.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "response_types_supported") },
		},
		{
			ID: "OIDCDiscovery/3/response-types-true", Level: Must,
			Text:  "The response types include code if the server issues codes, and response types that are not listed return nothing.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantResponseTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/response-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the response types code, id_token and id_token token.",
			Inapplicable: static,
		},
		{
			ID: "OIDCDiscovery/3/response-modes-true", Level: Should,
			Text:  "Each listed response mode returns the response to the client.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantResponseModes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-true", Level: Should,
			Text:  "If the metadata lists grant types, the token endpoint knows each of them, and issues no token for others.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantGrantTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the grant types authorization_code and implicit.",
			Inapplicable: static,
		},
		{
			ID: "OIDCDiscovery/3/acr-values-true", Level: Should,
			Text:  "If the metadata lists acr values, it lists the acr of the ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				list := optionalList(t, discoveredMetadata(t), "acr_values_supported")
				acr := t.SignIn(t.Client(need.Code)).Text("acr")
				if acr == "" {
					t.Skipf("the rule applies to a server whose ID tokens have acr, which is optional")
				}
				if !slices.Contains(list, acr) {
					t.Failf("acr of the ID token is %s, but acr_values_supported is %q", acr, list)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/subject-types", Level: Must,
			Text:  "The metadata lists the subject types, public or pairwise among them.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				wantList(t, m, "subject_types_supported")
				if !m.Lists("subject_types_supported", "public") && !m.Lists("subject_types_supported", "pairwise") {
					t.Failf("subject_types_supported is %s, with neither public nor pairwise", Quoted(m["subject_types_supported"]))
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/subject-types-true", Level: Must,
			Text:  "The subject types include public if two clients get the same sub, and pairwise if they get different ones.",
			Needs: loginNeeds(need.Second),
			Check: func(t *T) { wantSubjectType(t, need.Code, need.Second) },
		},
		{
			ID: "OIDCDiscovery/3/subject-types-pairwise", Level: Must,
			Text:  "The subject types include pairwise if a client gets its own sub.",
			Needs: loginNeeds(need.Pairwise),
			Check: func(t *T) { wantSubjectType(t, need.Code, need.Pairwise) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms", Level: Must,
			Text:  "The metadata lists the signature algorithms of ID tokens.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-rs256", Level: Must,
			Text:  "The signature algorithms of ID tokens include RS256.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				if list := metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"); !slices.Contains(list, "RS256") {
					t.Failf("id_token_signing_alg_values_supported is %q, without RS256", list)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-true", Level: Must,
			Text:  "An ID token is signed with a listed algorithm.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantAlgorithmListed(t, t.SignIn(t.Client(need.Code)).Algorithm()) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-hs256", Level: Must,
			Text:  "An ID token that is signed with the client secret uses a listed algorithm.",
			Needs: loginNeeds(need.HS256),
			Check: func(t *T) {
				algorithm := t.SignIn(t.Client(need.HS256)).Algorithm()
				if !strings.HasPrefix(algorithm, "HS") {
					t.Skipf("the server signs the ID token of the client hs256 with %s: register id_token_signed_response_alg HS256 for it", algorithm)
				}
				wantAlgorithmListed(t, algorithm)
			},
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-each", Level: Must,
			Text:     "The server signs ID tokens with each listed algorithm for a client that registered it.",
			TestedBy: "conformance/mandate/openid_discovery_test.go:TestOIDCDiscovery3Metadata",
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-none", Level: Must,
			Text:         "No ID token of the authorization endpoint has the alg none.",
			Inapplicable: "The authorization endpoint issues no ID tokens.",
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-not-none", Level: May,
			Text:  "The alg none, which is allowed at the token endpoint, is not listed.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantNoUnsigned(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/encryption", Level: May,
			Text:  "The metadata lists no encryption, neither for ID tokens nor for UserInfo nor for request objects.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				for _, what := range []string{"id_token", "userinfo", "request_object"} {
					for _, name := range []string{what + "_encryption_alg_values_supported", what + "_encryption_enc_values_supported"} {
						if m[name] != nil {
							t.Errorf("the metadata has %s", name)
						}
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/userinfo-algorithms-true", Level: Must,
			Text:     "The server signs UserInfo responses with each listed algorithm for a client that registered it.",
			TestedBy: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoSigned",
		},
		{
			ID: "OIDCDiscovery/3/request-object-algorithms", Level: Should,
			Text:   "If the metadata lists algorithms for request objects, they include RS256 and none.",
			Waived: "Mandate accepts no request object without a signature, because anybody could have made it (RFC 9101 §10.1).",
			Needs:  discoveryNeeds(),
			Check: func(t *T) {
				list := optionalList(t, discoveredMetadata(t), "request_object_signing_alg_values_supported")
				for _, alg := range []string{"RS256", "none"} {
					if !slices.Contains(list, alg) {
						t.Errorf("request_object_signing_alg_values_supported is %q, without %s", list, alg)
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/token-auth-methods-true", Level: Should,
			Text:  "If the metadata lists authentication methods of the token endpoint, they include the one with which a client gets its ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				m, c := discoveredMetadata(t), t.Client(need.Code)
				wantMethodListed(t, m, "token", c, t.Redeem(t.Code(t.OpenID(c))).Granted())
			},
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-rs256", Level: Should,
			Text:  "If clients can authenticate by JWT, the listed algorithms include RS256.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantRS256OfClients(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-not-none", Level: Must,
			Text:  "The algorithms for client authentication, if they are listed, do not include none.",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				wantNoUnsigned(t, discoveredMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "OIDCDiscovery/3/display-values-true", Level: Should,
			Text:  "If the metadata lists values of display, the server accepts each of them.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantValuesTaken(t, optionalList(t, discoveredMetadata(t), "display_values_supported"), "display")
			},
		},
		{
			ID: "OIDCDiscovery/3/prompt-values-true", Level: May,
			Text:  "The metadata lists the values of prompt that the server supports, and the server accepts each of them.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				wantList(t, m, "prompt_values_supported")
				wantValuesTaken(t, metadataList(t, m, "prompt_values_supported"), "prompt")
			},
		},
		{
			// The document says this without a keyword.
			ID: "OIDCDiscovery/3/claim-types-true", Level: Should,
			Text:  "If the metadata lists only normal claims, or no claim types, UserInfo refers to no other source of claims.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
				if claims["_claim_names"] != nil && !m.Lists("claim_types_supported", "aggregated") && !m.Lists("claim_types_supported", "distributed") {
					t.Failf("UserInfo has _claim_names, but claim_types_supported is %s, with neither aggregated nor distributed", Quoted(m["claim_types_supported"]))
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/claims-supported", Level: Should,
			Text:  "The metadata lists the claims.",
			Needs: discoveryNeeds(),
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "claims_supported") },
		},
		{
			ID: "OIDCDiscovery/3/claims-whole", Level: May,
			Text:  "The list contains every claim about the person that UserInfo returns.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				list := metadataList(t, m, "claims_supported")
				claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
				for _, name := range slices.Sorted(maps.Keys(claims)) {
					if !slices.Contains(list, name) && !slices.Contains(claimsOfTheToken, name) {
						t.Errorf("UserInfo returns the claim %s, but claims_supported is %q", name, list)
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/claims-each", Level: Must,
			Text:     "The server can return each listed claim for a person.",
			TestedBy: "conformance/mandate/openid_discovery_test.go:TestOIDCDiscovery3Metadata",
		},
		{
			// OIDC Core §5.5.1: a server need not return a requested claim. So only a parameter without any effect shows
			// that it is not supported.
			ID: "OIDCDiscovery/3/claims-parameter-true", Level: Should,
			Text:  "If the metadata says that the parameter claims is supported, it has an effect.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				if !m.Is("claims_parameter_supported") {
					t.Skipf("the rule applies to a server whose metadata says claims_parameter_supported")
				}
				asked, came := claimByClaims(t, m)
				if len(came) > 0 {
					return
				}
				shown := t.Last()
				// OIDC Core §5.5.1.1: an essential acr that cannot be provided is a failed login, whatever claims are returned.
				const impossible = `{"id_token":{"acr":{"essential":true,"values":["urn:example:conformance"]}}}`
				if t.Authorize(t.OpenID(t.Client(need.Code)).Set("claims", impossible)).Params.Get("code") != "" {
					t.At(shown)
					t.Failf("claims_parameter_supported is true, but the parameter has no effect: UserInfo returns none of the claims that it requested (%s), and an essential acr that does not exist is ignored", strings.Join(asked, ", "))
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-parameter-true", Level: Should,
			Text:  "If the metadata says that the parameter request is supported, the server does not answer request_not_supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				if !discoveredMetadata(t).Is("request_parameter_supported") {
					t.Skipf("the rule applies to a server whose metadata says request_parameter_supported")
				}
				c := t.Client(need.Code)
				response := t.Authorize(t.OpenID(c).Set("request", requestObject(t, c, t.Random())))
				t.At(response.Answer)
				if response.ErrorCode() == "request_not_supported" {
					t.Failf("request_parameter_supported is true, but the server answers request_not_supported")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-parameter-true", Level: Should,
			Text:  "A provider without request_uri says so in the metadata, since the default is that it is supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				said, there := discoveredMetadata(t)["request_uri_parameter_supported"]
				if there && said != true {
					return
				}
				response := t.Authorize(t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt"))
				t.At(response.Answer)
				switch {
				case response.ErrorCode() == "request_uri_not_supported":
					t.Failf("the server answers request_uri_not_supported, but request_uri_parameter_supported is %s (the default is true)", Quoted(said))
				case response.Params.Get("code") != "":
					// Nothing is at this address, so that a server that reads it issues no code.
					t.Failf("the server ignores request_uri, but request_uri_parameter_supported is %s (the default is true)", Quoted(said))
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-registration", Level: Must,
			Text:     "The metadata says if clients have to register their request URIs.",
			TestedBy: "conformance/mandate/request_uri_test.go:TestRequestObjectsByReference",
		},
		{
			ID: "OIDCDiscovery/3/locales", Level: May,
			Text:  "What the metadata lists as languages of pages and claims are language tags (RFC 5646).",
			Needs: discoveryNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				for _, name := range []string{"ui_locales_supported", "claims_locales_supported"} {
					if m[name] == nil {
						continue
					}
					tags, is := m.List(name)
					if !is {
						t.Errorf("%s is not a list of texts", name)
					}
					for _, tag := range tags {
						if !languageForm.MatchString(tag) {
							t.Errorf("%s has %s, which is not a language tag", name, Quoted(tag))
						}
					}
				}
			},
		},
	}
}

// claimsOfTheToken are the claims of a signed response that are not about the person (OIDC Core §5.3.2, RFC 7519 §4.1).
var claimsOfTheToken = []string{"iss", "aud", "exp", "iat", "nbf", "jti", "_claim_names", "_claim_sources"}

func wantSubjectType(t *T, one, other Need) {
	m := discoveredMetadata(t)
	list := metadataList(t, m, "subject_types_supported")
	first, second := t.Subject(t.SignIn(t.Client(one))), t.Subject(t.SignIn(t.Client(other)))
	kind, are := "public", "are the same"
	if first != second {
		kind, are = "pairwise", "differ"
	}
	if !slices.Contains(list, kind) {
		t.Failf("the subjects of one person at the clients %s and %s %s, but subject_types_supported is %q", one, other, are, list)
	}
}

func wantAlgorithmListed(t *T, algorithm string) {
	if list := metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"); !slices.Contains(list, algorithm) {
		t.Failf("an ID token is signed with %q, but id_token_signing_alg_values_supported is %q", algorithm, list)
	}
}

// wantValuesTaken asserts that the server accepts each value of a list.
func wantValuesTaken(t *T, values []string, parameter string) {
	t.Code(t.OpenID(t.Client(need.Code)))
	for _, value := range values {
		r := t.Authorize(t.OpenID(t.Client(need.Code)).Set(parameter, value))
		if r.ErrorCode() == "invalid_request" || r.Location == "" && r.Stuck == "" && r.Answer.Status/100 == 4 {
			t.At(r.Answer)
			t.Failf("the metadata lists %s=%s, but a request with it is refused: %s", parameter, value, r)
		}
	}
}
