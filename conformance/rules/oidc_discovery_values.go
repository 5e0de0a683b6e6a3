package rules

import (
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
			Needs: discovering,
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
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "response_types_supported") },
		},
		{
			ID: "OIDCDiscovery/3/response-types-true", Level: Must,
			Text:  "The response types include code if the server issues codes, and other response types return nothing.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantResponseTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/response-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the response types code, id_token and id_token token.",
			Inapplicable: "Mandate is no dynamic provider: it does not support dynamic registration.",
		},
		{
			ID: "OIDCDiscovery/3/response-modes-true", Level: Must,
			Text:  "Each listed or default response mode returns the response to the client.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantResponseModes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-true", Level: Must,
			Text:  "The token endpoint knows each listed grant type, and issues no token for others.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantGrantTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the grant types authorization_code and implicit.",
			Inapplicable: "Mandate is no dynamic provider: it does not support dynamic registration.",
		},
		{
			ID: "OIDCDiscovery/3/acr-values-true", Level: Must,
			Text:  "If the metadata lists acr values, it lists the acr of the ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				acr := t.SignIn(t.Client(need.Code)).Text("acr")
				if _, listed := m.List("acr_values_supported"); listed && acr != "" && !m.Lists("acr_values_supported", acr) {
					t.Failf("acr is %s, but not listed", acr)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/subject-types", Level: Must,
			Text:  "The metadata lists the subject types: public, pairwise, or both.",
			Needs: discovering,
			Check: func(t *T) {
				list, _ := discoveredMetadata(t).List("subject_types_supported")
				if len(list) == 0 || slices.ContainsFunc(list, func(s string) bool { return s != "public" && s != "pairwise" }) {
					t.Failf("subject_types_supported is %q", list)
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
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-rs256", Level: Must,
			Text:  "The signature algorithms of ID tokens include RS256.",
			Needs: discovering,
			Check: func(t *T) {
				if !slices.Contains(metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"), "RS256") {
					t.Failf("RS256 is not listed")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-true", Level: Must,
			Text:  "An ID token is signed with a listed algorithm.",
			Needs: loginNeeds(),
			Check: func(t *T) { wantAlgorithmListed(t, need.Code) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-hs256", Level: Must,
			Text:  "An ID token that is signed with the client secret uses a listed algorithm.",
			Needs: loginNeeds(need.HS256),
			Check: func(t *T) { wantAlgorithmListed(t, need.HS256) },
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
			Needs: discovering,
			Check: func(t *T) { wantNoUnsigned(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/encryption", Level: May,
			Text:  "The metadata lists no encryption, neither for ID tokens nor for UserInfo nor for request objects.",
			Needs: discovering,
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
			Text:         "Request objects can be signed with RS256, or unsigned.",
			Inapplicable: "Mandate does not support request objects.",
		},
		{
			ID: "OIDCDiscovery/3/token-auth-methods-true", Level: Must,
			Text:  "The listed or default authentication methods of the token endpoint include the one with which a client gets its ID token.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				m, c := discoveredMetadata(t), t.Client(need.Code)
				wantMethodListed(t, m, "token", c, t.Redeem(t.Code(t.OpenID(c))).Granted())
			},
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-rs256", Level: Should,
			Text:         "If clients can authenticate by JWT, RS256 is supported.",
			Inapplicable: "Clients cannot authenticate by JWT.",
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-not-none", Level: Must,
			Text:  "The algorithms for client authentication do not include none.",
			Needs: discovering,
			Check: func(t *T) {
				wantNoUnsigned(t, discoveredMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "OIDCDiscovery/3/display-values-true", Level: Must,
			Text:  "The server accepts each listed value of display.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantValuesTaken(t, "display_values_supported", "display") },
		},
		{
			ID: "OIDCDiscovery/3/prompt-values-true", Level: May,
			Text:  "The metadata lists the values of prompt that the server supports, and the server accepts each of them.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantList(t, discoveredMetadata(t), "prompt_values_supported")
				wantValuesTaken(t, "prompt_values_supported", "prompt")
			},
		},
		{
			ID: "OIDCDiscovery/3/claim-types-true", Level: Must,
			Text:  "If the metadata lists only normal claims, or no claim types, UserInfo refers to no other source of claims.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
				if claims["_claim_names"] != nil && !m.Lists("claim_types_supported", "aggregated") && !m.Lists("claim_types_supported", "distributed") {
					t.Failf("UserInfo has _claim_names, but the metadata lists neither aggregated nor distributed claims")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/claims-supported", Level: Should,
			Text:  "The metadata lists the claims.",
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "claims_supported") },
		},
		{
			ID: "OIDCDiscovery/3/claims-whole", Level: May,
			Text:  "The list contains every claim that the ID token and UserInfo return.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				metadataList(t, m, "claims_supported")
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...).Set("nonce", t.Random()))
				for _, from := range []map[string]any{t.IDToken(tokens).Claims, t.UserClaims(tokens.Access)} {
					for name := range from {
						if !m.Lists("claims_supported", name) {
							t.Errorf("the claim %s is returned, but not listed", name)
						}
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
			ID: "OIDCDiscovery/3/claims-parameter-true", Level: Must,
			Text:  "The server supports the parameter claims if and only if the metadata says so.",
			Needs: loginNeeds(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				if brings := claimByClaims(t, m); brings != m.Is("claims_parameter_supported") {
					t.Failf("claims_parameter_supported is %v; the parameter returns the claim: %t", m["claims_parameter_supported"], brings)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-parameter-true", Level: Must,
			Text:  "The server supports the parameter request if and only if the metadata says so.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				m, mark := discoveredMetadata(t), t.Random()
				c := t.Client(need.Code)
				response := t.Authorize(t.OpenID(c).Set("request", requestObject(t, c, mark)))
				t.At(response.Answer)
				switch used := response.Params.Get("state") == mark; {
				case used && !m.Is("request_parameter_supported"):
					t.Failf("the metadata does not list request as supported, but the server uses it")
				case response.ErrorCode() == "request_not_supported" && m.Is("request_parameter_supported"):
					t.Failf("the metadata lists request as supported, but the server does not use it")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-parameter-true", Level: Must,
			Text:  "A provider without request_uri says so in the metadata, since the default is that it is supported.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				said, there := discoveredMetadata(t)["request_uri_parameter_supported"]
				response := t.Authorize(t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt"))
				t.At(response.Answer)
				if response.ErrorCode() == "request_uri_not_supported" && (!there || said == true) {
					t.Failf("the metadata lists request_uri as supported, but the server does not use it")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-registration", Level: Must,
			Text:         "The metadata says if clients have to register their request URIs.",
			Inapplicable: "Mandate does not support request_uri.",
		},
		{
			ID: "OIDCDiscovery/3/locales", Level: May,
			Text:  "The metadata lists no languages: the pages have one language, and claims are not translated.",
			Needs: discovering,
			Check: func(t *T) {
				m := discoveredMetadata(t)
				for _, name := range []string{"ui_locales_supported", "claims_locales_supported"} {
					if m[name] != nil {
						t.Errorf("the metadata has %s", name)
					}
				}
			},
		},
	}
}

func wantSubjectType(t *T, one, other Need) {
	m := discoveredMetadata(t)
	first, second := t.Subject(t.SignIn(t.Client(one))), t.Subject(t.SignIn(t.Client(other)))
	kind := "public"
	if first != second {
		kind = "pairwise"
	}
	if !m.Lists("subject_types_supported", kind) {
		t.Failf("the subjects are %s and %s, but subject_types_supported does not contain %s", first, second, kind)
	}
}

func wantAlgorithmListed(t *T, role Need) {
	algorithm := t.SignIn(t.Client(role)).Algorithm()
	if !slices.Contains(metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"), algorithm) {
		t.Failf("an ID token is signed with %q, which is not listed", algorithm)
	}
}

// wantValuesTaken asserts that the server accepts each value of a list.
func wantValuesTaken(t *T, list, parameter string) {
	values, _ := discoveredMetadata(t).List(list)
	for _, value := range values {
		r := t.Authorize(t.OpenID(t.Client(need.Code)).Set(parameter, value))
		if r.ErrorCode() == "invalid_request" || r.Location == "" && r.Stuck == "" && r.Answer.Status/100 == 4 {
			t.At(r.Answer)
			t.Errorf("%s=%s is listed, but refused: %s", parameter, value, r)
		}
	}
}
