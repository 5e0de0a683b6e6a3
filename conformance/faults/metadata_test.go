package faults

import (
	"cmp"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// metadataFaults are faults of metadata (RFC 8414, OIDC Discovery) that the runner meets when it starts.
func metadataFaults() []fault {
	without := func(name string) spoiler { return publishing(put(name, nil)) }
	adding := func(name, value string) spoiler { return publishing(more(name, value)) }
	return []fault{
		{name: "the issuer of the metadata is wrong", spoil: publishing(put("issuer", "https://attacker.example")),
			fails: "RFC8414/3.3/issuer-identical RFC9207/2.3/as-in-metadata OIDCDiscovery/4.3/issuer-identical " +
				"MCP/M3/issuer-identical OIDCDiscovery/3/issuer-in-id-token"},
		{name: "the issuer of the metadata has an extra slash", spoil: publishing(func(object map[string]any) {
			issuer, _ := object["issuer"].(string)
			object["issuer"] = issuer + "/"
		}), fails: "RFC8414/3.3/issuer-identical OIDCDiscovery/4.3/issuer-identical"},
		{name: "metadata has the content type text", spoil: published(header("Content-Type", "text/plain")),
			fails: "RFC8414/3.2/json OIDCDiscovery/4/json"},
		{name: "response_types_supported is missing", spoil: without("response_types_supported"),
			fails: "RFC8414/2/response-types-supported OIDCDiscovery/3/response-types-supported"},
		{name: "response_types_supported is a string", spoil: publishing(put("response_types_supported", "code")),
			fails: "RFC8414/3.2/several-values-in-arrays OIDCDiscovery/4.2/several-values-in-arrays"},
		{name: "the response type code is not listed",
			spoil: publishing(put("response_types_supported", []string{"id_token"})),
			fails: "RFC8414/2/response-types-true OIDCDiscovery/3/response-types-true"},
		{name: "the response mode fragment is listed", spoil: adding("response_modes_supported", "fragment"),
			fails: "RFC8414/2/response-modes-true OIDCDiscovery/3/response-modes-true"},
		{name: "the response mode form_post is not listed",
			spoil: publishing(put("response_modes_supported", []string{"query"})), fails: "RFC9700/4.3.1/form-post"},
		{name: "the grant of SAML assertions is listed",
			spoil: adding("grant_types_supported", "urn:ietf:params:oauth:grant-type:saml2-bearer"),
			fails: "RFC8414/2/grant-types-true OIDCDiscovery/3/grant-types-true"},
		{name: "client_secret_basic is not listed",
			spoil: publishing(put("token_endpoint_auth_methods_supported", []string{"none"})),
			fails: "RFC8414/2/token-auth-methods-true OIDCDiscovery/3/token-auth-methods-true"},
		{name: "a list of the metadata is empty", spoil: publishing(put("ui_locales_supported", []string{})),
			fails: "RFC8414/3.2/no-empty-claims OIDCDiscovery/4.2/no-empty-claims"},
		{name: "no code_challenge_method is listed", spoil: publishing(put("code_challenge_methods_supported", []string{})),
			fails: "RFC9700/2.1.1/a15-pkce-detectable", hides: "RFC7636/4.4.1/unlisted-method"},
		{name: "an endpoint of the metadata does not exist", spoil: publishing(func(object map[string]any) {
			keys, _ := object["jwks_uri"].(string)
			object["device_authorization_endpoint"] = keys + "/nowhere"
		}), fails: "RFC8414/2/endpoints-are-there OIDCDiscovery/3/endpoints-are-there"},
		{name: "a scope of the metadata does not exist", spoil: adding("scopes_supported", "conformance"),
			fails: "RFC8414/2/scopes-can-be-had"},
		{name: "no token is bound to a key", spoil: publishing(func(m map[string]any) {
			delete(m, "dpop_signing_alg_values_supported")
			delete(m, "tls_client_certificate_bound_access_tokens")
		}), fails: "RFC9700/2.2.1/a19-sender-constrained RFC9449/5.1/metadata"},
		{name: "no scopes are listed", spoil: without("scopes_supported"),
			fails: "MCP/M14/scopes-in-metadata RFC8414/2/scopes-supported OIDCDiscovery/3/scopes-supported"},
		{name: "subject_types_supported is missing", spoil: without("subject_types_supported"),
			fails: "OIDCDiscovery/3/subject-types OIDCCore/8/types-listed"},
		{name: "pairwise subjects are not listed", spoil: publishing(put("subject_types_supported", []string{"public"})),
			fails: "OIDCCore/17.3/pairwise OIDCDiscovery/3/subject-types-pairwise"},
		{name: "public subjects are not listed", spoil: publishing(put("subject_types_supported", []string{"pairwise"})),
			fails: "OIDCDiscovery/3/subject-types-true"},
		{name: "id_token_signing_alg_values_supported lacks RS256",
			spoil: publishing(put("id_token_signing_alg_values_supported", []string{"ES256"})),
			fails: "OIDCDiscovery/3/id-token-algorithms-rs256 OIDCDiscovery/3/id-token-algorithms-true " +
				"OIDCDiscovery/3/id-token-algorithms-hs256 " +
				"OIDCCore/15.1/rs256"},
		{name: "the metadata does not say that the parameter claims is supported",
			spoil: publishing(put("claims_parameter_supported", false)),
			skips: "OIDCCore/2/auth-time-essential OIDCCore/3.1.2.2/sub-requested OIDCCore/5.5/userinfo OIDCCore/5.5/id-token " +
				"OIDCCore/5.5/added-to-scopes OIDCCore/5.5/members-ignored " +
				"OIDCCore/5.5/malformed OIDCCore/5.5.1/essential-unknown OIDCCore/5.5.1/members-ignored " +
				"OIDCCore/5.5.1/value-equal OIDCCore/5.5.1/value-other " +
				"OIDCCore/5.5.1/sub-of-another OIDCCore/5.5.1/sub-of-others OIDCCore/5.5.1.1/essential-met " +
				"OIDCCore/5.5.1.1/essential-not-met OIDCCore/5.5.1.1/voluntary " +
				"OIDCCore/5.5.2/other-language OIDCCore/14/escapes-removed OIDCCore/14/code-points"},
		{name: "each client gets another sub, and only public ones are listed", spoil: func(p *proxy, q *ask) *wire.Answer {
			id, _ := q.client()
			if strings.Contains(q.path, "/.well-known/o") {
				return publishing(put("subject_types_supported", []string{"public"}))(p, q)
			}
			return resigning(everybodys, saying("sub", "person of "+id))(p, q)
		}, fails: "OIDCCore/8/public-same"},
		{name: "HS256 is not listed", spoil: publishing(put("id_token_signing_alg_values_supported", []string{"RS256"})),
			skips: "OIDCCore/10.1/registered-algorithm"},
		{name: "the metadata of RFC 8414 has no members of OpenID Connect", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.Contains(q.path, "oauth-authorization-server") {
				edit(a, func(object map[string]any) {
					delete(object, "subject_types_supported")
					delete(object, "claims_parameter_supported")
				})
			}
			return a
		}, passes: "OIDCCore/8/types-listed OIDCCore/17.3/pairwise OIDCCore/5.5/userinfo OIDCCore/10.1/registered-algorithm"},
		{name: "iss is not advertised", spoil: without("authorization_response_iss_parameter_supported"),
			fails: "RFC9207/2.3/advertised"},
		{name: "iss is advertised by a string",
			spoil: publishing(put("authorization_response_iss_parameter_supported", "true")), fails: "RFC9207/3/boolean"},
	}
}

// describedFaults are faults in the content and the address of the metadata.
func describedFaults() []fault {
	const auth = "_endpoint_auth_methods_supported"
	const algorithms = "_endpoint_auth_signing_alg_values_supported"
	const sheer = "http://192.0.2.1/x" // an address of nobody (RFC 5737), without TLS
	list := func(values ...string) []string { return values }
	all := []fault{
		{name: "the issuer of the metadata has a query", spoil: later(put("issuer", "https://server.example?x")),
			fails: "RFC8414/2/issuer OIDCDiscovery/3/issuer"},
		{name: "private_key_jwt is listed, and no algorithm", spoil: later(func(object map[string]any) {
			for _, endpoint := range list("token", "revocation", "introspection") {
				delete(object, endpoint+algorithms)
			}
		}), fails: "RFC8414/2/token-auth-algorithms RFC8414/2/revocation-auth-algorithms " +
			"RFC8414/2/introspection-auth-algorithms"},
		{name: "clients can sign their JWTs with ES256 only", spoil: later(func(object map[string]any) {
			object["token"+algorithms] = list("ES256")
		}), fails: "RFC8414/2/token-auth-algorithms-rs256 OIDCDiscovery/3/token-auth-algorithms-rs256"},
		{name: "the metadata contains metadata with alg none",
			spoil: later(put("signed_metadata", claimed("signed_metadata", "x"))),
			fails: "RFC8414/2.1/signed RFC8414/2.1/not-in-itself"},
		{name: "the metadata leaves out what is optional", spoil: later(func(object map[string]any) {
			for _, name := range list("response_modes_supported", "grant_types_supported", "token"+auth, "revocation"+auth,
				"introspection"+auth,
				"code_challenge_methods_supported", "acr_values_supported", "display_values_supported",
				"claims_parameter_supported") {
				delete(object, name)
			}
		}), skips: "RFC8414/2/response-modes-true RFC8414/2/grant-types-true RFC8414/2/token-auth-methods-true " +
			"RFC8414/2/revocation-auth-methods-true " +
			"RFC8414/2/introspection-auth-methods-true RFC8414/2/challenge-methods-true OIDCDiscovery/3/response-modes-true " +
			"OIDCDiscovery/3/grant-types-true " +
			"OIDCDiscovery/3/token-auth-methods-true OIDCDiscovery/3/acr-values-true OIDCDiscovery/3/display-values-true " +
			"OIDCDiscovery/3/claims-parameter-true"},
		{name: "only the implicit flow is listed, and no token endpoint", spoil: later(func(object map[string]any) {
			delete(object, "token_endpoint")
			object["response_types_supported"] = list("id_token")
		}), skips: "OIDCDiscovery/3/token-endpoint", fails: "OIDCDiscovery/3/response-types-true"},
		{name: "the client hs256 gets ID tokens with RS256", spoil: (*proxy).real,
			aim:   func(t *target.Target) { t.Clients[need.HS256] = t.Clients[need.Code] },
			skips: "OIDCDiscovery/3/id-token-algorithms-hs256"},
		{name: "metadata has status 201", spoil: afterwards(status(http.StatusCreated)),
			fails: "RFC8414/3.2/status-200 OIDCDiscovery/4.2/status-200"},
		{name: "metadata has status 500", spoil: afterwards(status(http.StatusInternalServerError)),
			fails: "RFC8414/3/well-known OIDCDiscovery/4/well-known"},
		{name: "metadata does not exist", spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.Contains(q.path, "/.well-known/o") {
				return shown(http.StatusNotFound, "no")
			}
			return p.real(q)
		}, aim: func(t *target.Target) {
			t.Endpoints = map[string]string{string(need.Authorization): t.Issuer + "/authorize/",
				string(need.Token): t.Issuer + "/token/", string(need.Registration): t.Issuer + "/register/"}
		}, fails: "RFC9700/2.6/a34-metadata-published MCP/M2/metadata FAPI2/5.3.2.1/metadata",
			skips: "RFC8414/3/well-known RFC8414/2/issuer RFC8414/3.2/status-200 RFC9207/2.3/issuer-known " +
				"RFC9207/2.3/as-in-metadata RFC9207/2.3/advertised RFC9207/3/boolean"},
		{name: "metadata is only at the issuer followed by openid-configuration, and lacks response_types_supported",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if strings.HasPrefix(q.path, "/.well-known/o") {
					return shown(http.StatusNotFound, "no")
				}
				return publishing(put("response_types_supported", nil))(p, q)
			}, fails: "RFC8414/2/response-types-supported OIDCDiscovery/3/response-types-supported",
			skips: "RFC8414/3/well-known RFC8414/3/several-locations RFC9068/4/consistent"},
		{name: "metadata is missing at the path that both documents share", at: "/.well-known/openid-configuration/o",
			spoil: answering(status(http.StatusNotFound)), fails: "MCP/M2/every-address RFC8414/5/both-addresses"},
		{name: "metadata differs by its address", at: "/o/.well-known/openid-configuration",
			spoil: answering(func(a *wire.Answer) { edit(a, put("op_tos_uri", "https://server.example/")) }),
			fails: "RFC8414/3/several-locations"},
		{name: "metadata is returned for any issuer", spoil: spoiling(func(_ *proxy, q *ask) {
			if strings.Contains(q.path, "/o/conformance-") {
				q.path, _, _ = strings.Cut(q.path, "/conformance-")
			}
		}), fails: "RFC8414/3.3/issuers-apart"},
		{name: "metadata of an unknown issuer is an empty page", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.Contains(q.path, "/o/conformance-") {
				a = &wire.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: []byte("{}")}
			}
			return a
		}, fails: "RFC8414/3.2/error-status"},
		{name: "another issuer is at the root of the host", at: "/.well-known/openid-configuration",
			spoil: func(*proxy, *ask) *wire.Answer {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{},
					Body: []byte(`{"issuer":"https://another.example"}`)}
			}, fails: "OIDCCore/16.15/one-issuer"},
		{name: "WebFinger names the provider", at: "/.well-known/webfinger", spoil: answering(status(http.StatusOK)),
			fails: "OIDCDiscovery/2/webfinger"},
		{name: "the metadata is at an http URL", spoil: (*proxy).real, aim: func(t *target.Target) {
			// This still leads to this machine, but is no address of it.
			t.Issuer = strings.Replace(t.Issuer, "127.0.0.1", "0.0.0.0", 1)
		}, owned: true, fails: "RFC8414/3/https OIDCDiscovery/7.1/tls"},
	}
	for _, row := range []struct {
		member string
		value  any
		fails  string
	}{
		{"issuer", nil, "RFC9207/2.3/issuer-known"},
		{"authorization_endpoint", nil, "RFC8414/2/authorization-endpoint OIDCDiscovery/3/authorization-endpoint"},
		{"token_endpoint", nil, "RFC8414/2/token-endpoint OIDCDiscovery/3/token-endpoint"},
		{"userinfo_endpoint", nil, "OIDCDiscovery/3/userinfo-endpoint"},
		{"registration_endpoint", nil, "OIDCDiscovery/3/registration-endpoint"},
		{"userinfo_endpoint", sheer, "OIDCDiscovery/3/userinfo-endpoint-https"},
		{"end_session_endpoint", nil, "OIDCRPLogout/2.1/end-session-endpoint"},
		{"jwks_uri", sheer, "RFC8414/2/jwks-uri-https OIDCDiscovery/3/jwks-uri"},
		{"scopes_supported", list("openid", "read"), "RFC8414/2/scopes-whole OIDCDiscovery/3/scopes-of-core-listed"},
		{"token" + auth, list(need.SecretBasic), "RFC8414/2/token-auth-none RFC9700/2.5/a33-asymmetric-authentication"},
		{"revocation" + auth, list(need.NoAuthentication), "RFC8414/2/revocation-auth-methods-true"},
		{"introspection" + auth, list("Bearer"), "RFC8414/2/introspection-auth-methods-true"},
		{"introspection" + auth, list(need.SecretBasic), "RFC8414/2/introspection-auth-bearer"},
		{"token" + algorithms, list("none"),
			"RFC8414/2/token-auth-algorithms-not-none OIDCDiscovery/3/token-auth-algorithms-not-none"},
		{"revocation" + algorithms, list("none"), "RFC8414/2/revocation-auth-algorithms-not-none"},
		{"introspection" + algorithms, list("none"), "RFC8414/2/introspection-auth-algorithms-not-none"},
		{"id_token_signing_alg_values_supported", nil, "OIDCDiscovery/3/id-token-algorithms"},
		{"id_token_signing_alg_values_supported", list("RS256", "none"), "OIDCDiscovery/3/id-token-algorithms-not-none"},
		{"id_token_encryption_alg_values_supported", list("RSA-OAEP"), "OIDCDiscovery/3/encryption"},
		{"acr_values_supported", list("urn:another"), "OIDCDiscovery/3/acr-values-true"},
		{"prompt_values_supported", list("none", "conformance"), "OIDCDiscovery/3/prompt-values-true"},
		{"display_values_supported", list("page", "conformance"), "OIDCDiscovery/3/display-values-true"},
		{"claims_supported", nil, "OIDCDiscovery/3/claims-supported"},
		{"claims_supported", list("sub"), "OIDCDiscovery/3/claims-whole"},
		{"request_object_signing_alg_values_supported", list("ES256"), "OIDCDiscovery/3/request-object-algorithms"},
		{"subject_types_supported", list("ephemeral"), "OIDCDiscovery/3/subject-types"},
		{"request_uri_parameter_supported", nil, "OIDCDiscovery/3/request-uri-parameter-true"},
		{"ui_locales_supported", list("en_GB"), "OIDCDiscovery/3/locales"},
		{"backchannel_logout_supported", nil, "OIDCBackChannel/2.1/supported"},
		{"backchannel_logout_session_supported", nil, "OIDCBackChannel/2.1/session-supported"},
	} {
		all = append(all, fault{name: fmt.Sprintf("%s of the metadata is %v", row.member, row.value),
			spoil: later(put(row.member, row.value)), fails: row.fails})
	}
	return append(all, fault{name: "a page of the metadata does not exist", spoil: later(func(object map[string]any) {
		issuer, _ := object["issuer"].(string)
		object["service_documentation"] = issuer + "/nowhere"
	}), fails: "RFC8414/2/pages OIDCDiscovery/3/pages"})
}

// more adds a value to a list.
func more(name, value string) func(map[string]any) {
	return func(object map[string]any) {
		list, _ := object[name].([]any)
		object[name] = append(list, value)
	}
}

// published changes the responses with metadata.
func published(change func(*wire.Answer)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if strings.Contains(q.path, "/.well-known/o") {
			change(a)
		}
		return a
	}
}

// afterwards changes the metadata from the second request on, so that the runner can start.
func afterwards(change func(*wire.Answer)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		if p.has("described") {
			return published(change)(p, q)
		}
		if strings.Contains(q.path, "/.well-known/o") {
			p.keep("described", true)
		}
		return p.real(q)
	}
}

// later changes members of the metadata from the second request on.
func later(change func(map[string]any)) spoiler {
	return afterwards(func(a *wire.Answer) { edit(a, change) })
}

// keyFaults are faults of the keys at jwks_uri (RFC 7517, OIDC Discovery §3).
func keyFaults() []fault {
	return at(keysPath, []fault{
		{name: "keys are published with their private parts",
			spoil: ofKeys(func(_ int, key map[string]any) { key["d"] = "AQAB" }), fails: "OIDCDiscovery/3/jwks-public-only"},
		{name: "keys are for encryption", spoil: ofKeys(func(_ int, key map[string]any) { key["use"] = "enc" }),
			fails: "OIDCCore/10.1/key-for-signing OIDCCore/10.1/key-published RFC8414/2/jwks-signing-keys " +
				"OIDCDiscovery/3/jwks-signing-keys"},
		{name: "the first key is for encryption, and the others do not say", spoil: ofKeys(func(n int, key map[string]any) {
			delete(key, "use")
			if n == 0 {
				key["use"] = "enc"
			}
		}), fails: "RFC8414/2/jwks-use OIDCDiscovery/3/jwks-use"},
		{name: "keys are only in certificates", spoil: ofKeys(func(_ int, key map[string]any) {
			delete(key, "n")
			delete(key, "x")
			key["x5c"] = []string{"AAAA"}
		}), fails: "OIDCDiscovery/3/jwks-bare-keys"},
		{name: "keys have the certificate of another key",
			spoil: ofKeys(func(_ int, key map[string]any) { key["x5c"] = []string{certificate()} }),
			fails: "OIDCDiscovery/3/jwks-certificates"},
		{name: "a key is published for signatures and for encryption", spoil: answering(func(a *wire.Answer) {
			edit(a, func(object map[string]any) {
				keys, _ := object["keys"].([]any)
				again := maps.Clone(keys[0].(map[string]any))
				again["use"], again["kid"] = "enc", "again"
				object["keys"] = append(keys, again)
			})
		}), fails: "OIDCDiscovery/3/jwks-one-use"},
		{name: "the keys are not the ones that sign",
			spoil: ofKeys(func(_ int, key map[string]any) { key["kid"] = "another" }),
			fails: "OIDCCore/10.1/key-published OIDCCore/10.1/kid"},
		{name: "the keys may not be cached", spoil: answering(header("Cache-Control", "no-store")),
			fails: "OIDCCore/10.2.1/cached"},
	})
}

// at sets the paths of faults that have none.
func at(paths string, all []fault) []fault {
	for i := range all {
		all[i].at = cmp.Or(all[i].at, paths)
	}
	return all
}

// ofKeys changes each published key.
func ofKeys(change func(n int, key map[string]any)) spoiler {
	return answering(func(a *wire.Answer) {
		edit(a, func(object map[string]any) {
			keys, _ := object["keys"].([]any)
			for n, key := range keys {
				change(n, key.(map[string]any))
			}
		})
	})
}

// certificate returns a certificate of the proxy's key, as x5c contains it (RFC 7517 §4.7).
func certificate() string {
	template := &x509.Certificate{SerialNumber: big.NewInt(1)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, signer().Public(), signer())
	if err != nil {
		panic(err) // the key belongs to the certificate
	}
	return base64.StdEncoding.EncodeToString(raw)
}
