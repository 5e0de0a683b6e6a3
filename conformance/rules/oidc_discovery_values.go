package rules

import (
	"maps"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcDiscoveryValues has the checks of the rules that compare the metadata with what the provider does.
var oidcDiscoveryValues = checks{
	"OIDCDiscovery/3/scopes-supported": func(t *T) { wantList(t, discoveredMetadata(t), "scopes_supported") },
	"OIDCDiscovery/3/scope-openid": func(t *T) {
		if t.GrantFor(t.OpenID(t.Client(need.Code))).ID == "" {
			t.Failf("the scope openid returns no ID token")
		}
	},
	"OIDCDiscovery/3/scopes-of-core-listed": oidcDiscoveryScopesOfCoreListed,
	"OIDCDiscovery/3/response-types-supported": func(t *T) {
		wantList(t, discoveredMetadata(t), "response_types_supported")
	},
	"OIDCDiscovery/3/response-types-true": func(t *T) { wantResponseTypes(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/response-modes-true": func(t *T) { wantResponseModes(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/grant-types-true":    func(t *T) { wantGrantTypes(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/acr-values-true": func(t *T) {
		list := optionalList(t, discoveredMetadata(t), "acr_values_supported")
		acr := t.SignIn(t.Client(need.Code)).Text("acr")
		if acr == "" {
			t.Skipf("the rule applies to a server whose ID tokens have acr, which is optional")
		}
		if !slices.Contains(list, acr) {
			t.Failf("acr of the ID token is %s, but acr_values_supported is %q", acr, list)
		}
	},
	"OIDCDiscovery/3/subject-types": func(t *T) {
		m := discoveredMetadata(t)
		wantList(t, m, "subject_types_supported")
		if !m.Lists("subject_types_supported", "public") && !m.Lists("subject_types_supported", "pairwise") {
			t.Failf("subject_types_supported is %s, with neither public nor pairwise", Quoted(m["subject_types_supported"]))
		}
	},
	"OIDCDiscovery/3/subject-types-true":     func(t *T) { wantSubjectType(t, need.Code, need.Second) },
	"OIDCDiscovery/3/subject-types-pairwise": func(t *T) { wantSubjectType(t, need.Code, need.Pairwise) },
	"OIDCDiscovery/3/id-token-algorithms": func(t *T) {
		wantList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported")
	},
	"OIDCDiscovery/3/id-token-algorithms-rs256": func(t *T) {
		if list := metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"); !slices.Contains(list,
			"RS256") {
			t.Failf("id_token_signing_alg_values_supported is %q, without RS256", list)
		}
	},
	"OIDCDiscovery/3/id-token-algorithms-true": func(t *T) {
		wantAlgorithmListed(t, t.SignIn(t.Client(need.Code)).Algorithm())
	},
	"OIDCDiscovery/3/id-token-algorithms-hs256": func(t *T) {
		algorithm := t.SignIn(t.Client(need.HS256)).Algorithm()
		if !strings.HasPrefix(algorithm, "HS") {
			t.Skipf("the server signs the ID token of the client hs256 with %s: register id_token_signed_response_alg HS256 "+
				"for it", algorithm)
		}
		wantAlgorithmListed(t, algorithm)
	},
	"OIDCDiscovery/3/id-token-algorithms-not-none": func(t *T) {
		wantNoUnsigned(t, discoveredMetadata(t), "id_token_signing_alg_values_supported")
	},
	"OIDCDiscovery/3/encryption": func(t *T) {
		m := discoveredMetadata(t)
		for _, what := range []string{"id_token", "userinfo", "request_object"} {
			for _, name := range []string{what + "_encryption_alg_values_supported", what + "_encryption_enc_values_supported"} {
				if m[name] != nil {
					t.Errorf("the metadata has %s", name)
				}
			}
		}
	},
	"OIDCDiscovery/3/request-object-algorithms": func(t *T) {
		list := optionalList(t, discoveredMetadata(t), "request_object_signing_alg_values_supported")
		for _, alg := range []string{"RS256", "none"} {
			if !slices.Contains(list, alg) {
				t.Errorf("request_object_signing_alg_values_supported is %q, without %s", list, alg)
			}
		}
	},
	"OIDCDiscovery/3/token-auth-methods-true": func(t *T) {
		m, c := discoveredMetadata(t), t.Client(need.Code)
		wantMethodListed(t, m, "token", c, t.Redeem(t.Code(t.OpenID(c))).Granted())
	},
	"OIDCDiscovery/3/token-auth-algorithms-rs256": func(t *T) { wantRS256OfClients(t, discoveredMetadata(t)) },
	"OIDCDiscovery/3/token-auth-algorithms-not-none": func(t *T) {
		wantNoUnsigned(t, discoveredMetadata(t), "token_endpoint_auth_signing_alg_values_supported")
	},
	"OIDCDiscovery/3/display-values-true": func(t *T) {
		wantValuesTaken(t, optionalList(t, discoveredMetadata(t), "display_values_supported"), "display")
	},
	"OIDCDiscovery/3/prompt-values-true": func(t *T) {
		m := discoveredMetadata(t)
		wantList(t, m, "prompt_values_supported")
		wantValuesTaken(t, metadataList(t, m, "prompt_values_supported"), "prompt")
	},
	"OIDCDiscovery/3/claim-types-true": func(t *T) {
		m := discoveredMetadata(t)
		claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
		if claims["_claim_names"] != nil && !m.Lists("claim_types_supported", "aggregated") &&
			!m.Lists("claim_types_supported", "distributed") {
			t.Failf("UserInfo has _claim_names, but claim_types_supported is %s, with neither aggregated nor distributed",
				Quoted(m["claim_types_supported"]))
		}
	},
	"OIDCDiscovery/3/claims-supported": func(t *T) { wantList(t, discoveredMetadata(t), "claims_supported") },
	"OIDCDiscovery/3/claims-whole": func(t *T) {
		m := discoveredMetadata(t)
		list := metadataList(t, m, "claims_supported")
		claims := t.UserClaims(t.GrantFor(t.OpenID(t.Client(need.Code), claimScopes(m)...)).Access)
		for _, name := range slices.Sorted(maps.Keys(claims)) {
			if !slices.Contains(list, name) && !slices.Contains(claimsOfTheToken, name) {
				t.Errorf("UserInfo returns the claim %s, but claims_supported is %q", name, list)
			}
		}
	},
	"OIDCDiscovery/3/claims-parameter-true": oidcDiscoveryClaimsParameterTrue,
	"OIDCDiscovery/3/request-parameter-true": func(t *T) {
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
	"OIDCDiscovery/3/request-uri-parameter-true": func(t *T) {
		said, there := discoveredMetadata(t)["request_uri_parameter_supported"]
		if there && said != true {
			return
		}
		response := t.Authorize(t.OpenID(t.Client(need.Code)).Set("request_uri", "https://client.example/request.jwt"))
		t.At(response.Answer)
		switch {
		case response.ErrorCode() == "request_uri_not_supported":
			t.Failf("the server answers request_uri_not_supported, but request_uri_parameter_supported is %s (the default is "+
				"true)", Quoted(said))
		case response.Params.Get("code") != "":
			// Nothing is at this address, so that a server that reads it issues no code.
			t.Failf("the server ignores request_uri, but request_uri_parameter_supported is %s (the default is true)",
				Quoted(said))
		}
	},
	"OIDCDiscovery/3/locales": oidcDiscoveryLocales,
}

func oidcDiscoveryScopesOfCoreListed(t *T) {
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
		if given := t.Granted(t.Redeem(&check.Code{Value: code, Request: r})).Scope; slices.Contains(strings.Fields(given),
			scope) {
			t.Errorf("the scope %s is granted, but not listed", scope)
		}
	}
}

func oidcDiscoveryClaimsParameterTrue(t *T) {
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
		t.Failf("claims_parameter_supported is true, but the parameter has no effect: UserInfo returns none of the claims "+
			"that it requested (%s), and an essential acr that does not exist is ignored", strings.Join(asked, ", "))
	}
}

func oidcDiscoveryLocales(t *T) {
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
		t.Failf("the subjects of one person at the clients %s and %s %s, but subject_types_supported is %q", one,
			other, are, list)
	}
}

func wantAlgorithmListed(t *T, algorithm string) {
	if list := metadataList(t, discoveredMetadata(t), "id_token_signing_alg_values_supported"); !slices.Contains(list,
		algorithm) {
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
