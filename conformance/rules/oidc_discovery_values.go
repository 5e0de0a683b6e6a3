package rules

import (
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcDiscoveryValues is what the metadata says, held against what the provider does.
func oidcDiscoveryValues() []Rule {
	return []Rule{
		{
			ID: "OIDCDiscovery/3/scopes-supported", Level: Should,
			Text:  "The scopes are listed.",
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "scopes_supported") },
		},
		{
			ID: "OIDCDiscovery/3/scope-openid", Level: Must,
			Text:  "The scope openid is supported.",
			Needs: signIn(),
			Check: func(t *T) {
				if t.GrantFor(t.OpenID(t.Client(need.Code))).ID == "" {
					t.Failf("the scope openid brings no ID token")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/scopes-of-core-listed", Level: Should,
			Text:  "The scopes of OIDC Core are listed, if they are supported.",
			Needs: signIn(),
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
						t.Errorf("the scope %s is given, and not listed", scope)
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/response-types-supported", Level: Must,
			Text:  "The response types are listed.",
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "response_types_supported") },
		},
		{
			ID: "OIDCDiscovery/3/response-types-true", Level: Must,
			Text:  "The list of response types has code if a code can be had, and what it lacks gives nothing.",
			Needs: openID(),
			Check: func(t *T) { wantResponseTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/response-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the response types code, id_token and id_token token.",
			Inapplicable: "Mandate is no dynamic provider: it has no dynamic registration.",
		},
		{
			ID: "OIDCDiscovery/3/response-modes-true", Level: Must,
			Text:  "Each response mode of the list, or of its default, brings the answer to the client.",
			Needs: openID(),
			Check: func(t *T) { wantResponseModes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-true", Level: Must,
			Text:  "A grant of the list is known to the token endpoint, and one that it lacks gives no token.",
			Needs: signIn(),
			Check: func(t *T) { wantGrantTypes(t, discoveredMetadata(t)) },
		},
		{
			ID: "OIDCDiscovery/3/grant-types-dynamic", Level: Must,
			Text:         "A dynamic provider supports the grants authorization_code and implicit.",
			Inapplicable: "Mandate is no dynamic provider: it has no dynamic registration.",
		},
		{
			ID: "OIDCDiscovery/3/acr-values-true", Level: Must,
			Text:  "The acr of an ID token is among the listed ones, where they are listed.",
			Needs: signIn(),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				acr := t.SignIn(t.Client(need.Code)).Text("acr")
				if _, listed := m.List("acr_values_supported"); listed && acr != "" && !m.Lists("acr_values_supported", acr) {
					t.Failf("acr is %s, which is not listed", acr)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/subject-types", Level: Must,
			Text:  "The types of subjects are listed: public, pairwise, or both.",
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
			Text:  "Two clients that see one subject have public ones, two that see two have pairwise ones, and that type is listed.",
			Needs: signIn(need.Second),
			Check: func(t *T) { wantSubjectType(t, need.Code, need.Second) },
		},
		{
			ID: "OIDCDiscovery/3/subject-types-pairwise", Level: Must,
			Text:  "A client with a subject of its own has a pairwise one, and that type is listed.",
			Needs: signIn(need.Pairwise),
			Check: func(t *T) { wantSubjectType(t, need.Code, need.Pairwise) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms", Level: Must,
			Text:  "The algorithms that sign ID tokens are listed.",
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-rs256", Level: Must,
			Text:  "RS256 is among the algorithms that sign ID tokens.",
			Needs: discovering,
			Check: func(t *T) {
				if !slices.Contains(metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"), "RS256") {
					t.Failf("RS256 is not listed")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-true", Level: Must,
			Text:  "An ID token is signed by an algorithm of the list.",
			Needs: signIn(),
			Check: func(t *T) { wantAlgorithmListed(t, need.Code) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-hs256", Level: Must,
			Text:  "An ID token that is signed with the client secret is so by an algorithm of the list.",
			Needs: signIn(need.HS256),
			Check: func(t *T) { wantAlgorithmListed(t, need.HS256) },
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-each", Level: Must,
			Text:      "Each algorithm of the list signs the ID tokens of a client that is registered with it.",
			Elsewhere: "conformance/mandate/openid_discovery_test.go:TestOIDCDiscovery3Metadata",
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-none", Level: Must,
			Text:         "none signs no ID token that comes from the authorization endpoint.",
			Inapplicable: "No ID token comes from the authorization endpoint.",
		},
		{
			ID: "OIDCDiscovery/3/id-token-algorithms-not-none", Level: May,
			Text:  "none, which a provider may offer at the token endpoint, is not offered.",
			Needs: discovering,
			Check: func(t *T) { wantNoUnsigned(t, discoveredMetadata(t), "id_token_signing_alg_values_supported") },
		},
		{
			ID: "OIDCDiscovery/3/encryption", Level: May,
			Text:  "No encryption is offered, neither of ID tokens nor of UserInfo nor of request objects.",
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
			Text:      "Each algorithm that is listed for UserInfo signs the answers to a client that is registered with it.",
			Elsewhere: "conformance/mandate/openid_userinfo_test.go:TestOIDCCore5UserInfoSigned",
		},
		{
			ID: "OIDCDiscovery/3/request-object-algorithms", Level: Should,
			Text:         "Request objects may be signed by RS256, or not at all.",
			Inapplicable: "There are no request objects.",
		},
		{
			ID: "OIDCDiscovery/3/token-auth-methods-true", Level: Must,
			Text:  "The methods of client authentication that are listed for the token endpoint, or the default, have the one by which a client gets its ID token.",
			Needs: signIn(),
			Check: func(t *T) {
				m, c := discoveredMetadata(t), t.Client(need.Code)
				wantMethodListed(t, m, "token", c, t.Redeem(t.Code(t.OpenID(c))).Granted())
			},
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-rs256", Level: Should,
			Text:         "Where clients authenticate by JWT, RS256 is supported.",
			Inapplicable: "Clients do not authenticate by JWT.",
		},
		{
			ID: "OIDCDiscovery/3/token-auth-algorithms-not-none", Level: Must,
			Text:  "none is not among the algorithms for client authentication.",
			Needs: discovering,
			Check: func(t *T) {
				wantNoUnsigned(t, discoveredMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
			},
		},
		{
			ID: "OIDCDiscovery/3/display-values-true", Level: Must,
			Text:  "Each value of display that is listed is taken.",
			Needs: openID(),
			Check: func(t *T) { wantValuesTaken(t, "display_values_supported", "display") },
		},
		{
			ID: "OIDCDiscovery/3/prompt-values-true", Level: May,
			Text:  "The values of prompt are listed beside what the document knows, and each is taken.",
			Needs: openID(),
			Check: func(t *T) {
				wantList(t, discoveredMetadata(t), "prompt_values_supported")
				wantValuesTaken(t, "prompt_values_supported", "prompt")
			},
		},
		{
			ID: "OIDCDiscovery/3/claim-types-true", Level: Must,
			Text:  "Where the types of claims are normal alone, or are not listed, UserInfo refers to no other source of claims.",
			Needs: signIn(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
				if claims["_claim_names"] != nil && !m.Lists("claim_types_supported", "aggregated") && !m.Lists("claim_types_supported", "distributed") {
					t.Failf("UserInfo has _claim_names, and the metadata neither aggregated nor distributed claims")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/claims-supported", Level: Should,
			Text:  "The claims are listed.",
			Needs: discovering,
			Check: func(t *T) { wantList(t, discoveredMetadata(t), "claims_supported") },
		},
		{
			ID: "OIDCDiscovery/3/claims-whole", Level: May,
			Text:  "No claim is kept back: what the ID token and UserInfo say is in the list.",
			Needs: signIn(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				metadataList(t, m, "claims_supported")
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...).Set("nonce", t.Random()))
				for _, from := range []map[string]any{t.IDToken(tokens).Claims, t.UserClaims(tokens.Access)} {
					for name := range from {
						if !m.Lists("claims_supported", name) {
							t.Errorf("the claim %s is told, and not listed", name)
						}
					}
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/claims-each", Level: Must,
			Text:      "Each claim of the list is one that a person can have.",
			Elsewhere: "conformance/mandate/openid_discovery_test.go:TestOIDCDiscovery3Metadata",
		},
		{
			ID: "OIDCDiscovery/3/claims-parameter-true", Level: Must,
			Text:  "The claims parameter brings a claim if the metadata says that it is supported, and only then.",
			Needs: signIn(need.UserInfo),
			Check: func(t *T) {
				m := discoveredMetadata(t)
				if brings := claimByClaims(t, m); brings != m.Is("claims_parameter_supported") {
					t.Failf("claims_parameter_supported is %v; the parameter brings the claim: %t", m["claims_parameter_supported"], brings)
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-parameter-true", Level: Must,
			Text:  "The parameter request is used if the metadata says that it is supported, and only then.",
			Needs: openID(),
			Check: func(t *T) {
				m, mark := discoveredMetadata(t), t.Random()
				c := t.Client(need.Code)
				response := t.Authorize(t.OpenID(c).Set("request", requestObject(t, c, mark)))
				t.At(response.Answer)
				switch used := response.Params.Get("state") == mark; {
				case used && !m.Is("request_parameter_supported"):
					t.Failf("request is not supported by the metadata, and is used")
				case response.ErrorCode() == "request_not_supported" && m.Is("request_parameter_supported"):
					t.Failf("request is supported by the metadata, and not in truth")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-parameter-true", Level: Must,
			Text:  "A provider that does not support request_uri says so in the metadata: the default is that it does.",
			Needs: openID(),
			Check: func(t *T) {
				said, there := discoveredMetadata(t)["request_uri_parameter_supported"]
				response := t.Authorize(t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt"))
				t.At(response.Answer)
				if response.ErrorCode() == "request_uri_not_supported" && (!there || said == true) {
					t.Failf("request_uri is supported by the metadata, and not in truth")
				}
			},
		},
		{
			ID: "OIDCDiscovery/3/request-uri-registration", Level: Must,
			Text:         "A provider that wants its clients' request URIs registered says so.",
			Inapplicable: "There is no request_uri.",
		},
		{
			ID: "OIDCDiscovery/3/locales", Level: May,
			Text:  "No languages are listed: the pages are in one, and claims are not translated.",
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
		t.Failf("the subjects are %s and %s, and subject_types_supported lacks %s", first, second, kind)
	}
}

func wantAlgorithmListed(t *T, role Need) {
	algorithm := t.SignIn(t.Client(role)).Algorithm()
	if !slices.Contains(metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"), algorithm) {
		t.Failf("an ID token is signed by %q, which is not listed", algorithm)
	}
}

// wantValuesTaken tries each value of a list: none may be called wrong.
func wantValuesTaken(t *T, list, parameter string) {
	values, _ := discoveredMetadata(t).List(list)
	for _, value := range values {
		r := t.Authorize(t.OpenID(t.Client(need.Code)).Set(parameter, value))
		if r.ErrorCode() == "invalid_request" || r.Location == "" && r.Stuck == "" && r.Answer.Status/100 == 4 {
			t.At(r.Answer)
			t.Errorf("%s=%s is listed, and refused: %s", parameter, value, r)
		}
	}
}
