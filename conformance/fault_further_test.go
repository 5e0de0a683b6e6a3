package conformance

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/golang-jwt/jwt/v5"
)

const (
	keysPath     = "/o/.well-known/jwks.json"
	userInfoPath = "/o/userinfo/"
	logoutPath   = "/o/logout/"
)

// Faults of documents whose rules are tried for these rows alone. A further one takes no more than a row.
func furtherFaults() []fault {
	return slices.Concat(metadataFaults(), nativeFaults(), formPostFaults(), identityFaults(), userInfoFaults(), logoutFaults())
}

// Faults of metadata (RFC 8414, OIDC Discovery).
func metadataFaults() []fault {
	without := func(name string) spoiler { return publishing(put(name, nil)) }
	adding := func(name, value string) spoiler {
		return publishing(func(object map[string]any) {
			list, _ := object[name].([]any)
			object[name] = append(list, value)
		})
	}
	return []fault{
		{name: "the issuer of the metadata is another", spoil: publishing(put("issuer", "https://attacker.example")),
			fails: "RFC8414/3.3/issuer-identical RFC9207/2.3/as-in-metadata OIDCDiscovery/4.3/issuer-identical MCP/M3/issuer-identical"},
		{name: "the issuer of the metadata has a slash more", spoil: publishing(func(object map[string]any) {
			issuer, _ := object["issuer"].(string)
			object["issuer"] = issuer + "/"
		}), fails: "RFC8414/3.3/issuer-identical OIDCDiscovery/4.3/issuer-identical"},
		{name: "metadata comes as text", spoil: published(header("Content-Type", "text/plain")), fails: "RFC8414/3.2/json OIDCDiscovery/4/json"},
		{name: "response_types_supported is left out", spoil: without("response_types_supported"),
			fails: "RFC8414/2/response-types-supported OIDCDiscovery/3/response-types-supported"},
		{name: "response_types_supported is a text", spoil: publishing(put("response_types_supported", "code")),
			fails: "RFC8414/3.2/several-values-in-arrays OIDCDiscovery/4.2/several-values-in-arrays"},
		{name: "the response type code is not listed", spoil: publishing(put("response_types_supported", []string{"id_token"})), fails: "RFC8414/2/response-types-true"},
		{name: "the response mode fragment is listed", spoil: adding("response_modes_supported", "fragment"), fails: "RFC8414/2/response-modes-true"},
		{name: "the grant of device codes is listed", spoil: adding("grant_types_supported", "urn:ietf:params:oauth:grant-type:device_code"), fails: "RFC8414/2/grant-types-true"},
		{name: "client_secret_basic is not listed", spoil: publishing(put("token_endpoint_auth_methods_supported", []string{"none"})), fails: "RFC8414/2/token-auth-methods-true"},
		{name: "a list of the metadata is empty", spoil: publishing(put("ui_locales_supported", []string{})),
			fails: "RFC8414/3.2/no-empty-claims OIDCDiscovery/4.2/no-empty-claims"},
		{name: "an endpoint of the metadata is not there", spoil: publishing(func(object map[string]any) {
			keys, _ := object["jwks_uri"].(string)
			object["device_authorization_endpoint"] = keys + "/nowhere"
		}), fails: "RFC8414/2/endpoints-are-there OIDCDiscovery/3/endpoints-are-there"},
		{name: "a scope of the metadata is not there", spoil: adding("scopes_supported", "conformance"), fails: "RFC8414/2/scopes-can-be-had"},
		{name: "subject_types_supported is left out", spoil: without("subject_types_supported"), fails: "OIDCDiscovery/3/subject-types"},
		{name: "id_token_signing_alg_values_supported lacks RS256", spoil: publishing(put("id_token_signing_alg_values_supported", []string{"ES256"})),
			fails: "OIDCDiscovery/3/id-token-algorithms-rs256"},
		{name: "iss is not advertised", spoil: without("authorization_response_iss_parameter_supported"), fails: "RFC9207/2.3/advertised"},
		{name: "iss is advertised by a text", spoil: publishing(put("authorization_response_iss_parameter_supported", "true")), fails: "RFC9207/3/boolean"},
		{name: "keys are published with their private parts", at: keysPath, spoil: answering(func(a *Answer) {
			edit(a, func(object map[string]any) {
				keys, _ := object["keys"].([]any)
				for _, key := range keys {
					key.(map[string]any)["d"] = "AQAB"
				}
			})
		}), fails: "OIDCDiscovery/3/jwks-public-only"},
	}
}

// published changes the answers that metadata is in.
func published(change func(*Answer)) spoiler {
	return func(p *proxy, q *ask) *Answer {
		a := p.real(q)
		if strings.Contains(q.path, "/.well-known/o") {
			change(a)
		}
		return a
	}
}

// Faults of a server of native applications (RFC 8252).
func nativeFaults() []fault {
	loopback := func(p *proxy, v url.Values) bool { return v.Get("client_id") == p.target.Clients[NeedLoopback].ID }
	return []fault{
		{name: "a loopback redirect URI has a fixed port", at: authorizePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return loopback(p, q.params()) && mustURL(q.params().Get("redirect_uri")).Port() != ""
		}, badPage), fails: "RFC8252/7.3/any-port RFC9700/4.1.3/a2-loopback-port"},
		{name: "a loopback redirect URI has any path", spoil: misdirected(func(sent, registered string) bool {
			return mustURL(sent).Hostname() == "127.0.0.1" && mustURL(registered).Hostname() == "127.0.0.1"
		}), fails: "RFC8252/8.4/loopback-exact-but-for-port"},
		{name: "native applications need no PKCE", at: authorizePath, spoil: challenges(func(p *proxy, q *ask, v url.Values) {
			if loopback(p, v) && !v.Has("code_challenge") {
				unproven(q)
			}
		}), fails: "RFC8252/8.1/without-pkce-rejected"},
	}
}

// Faults of the response mode form_post (OIDC Form Post).
func formPostFaults() []fault {
	return []fault{
		{name: "form_post forgets iss", spoil: posting(`<input[^>]*name="?iss"?[^>]*>`, ""), fails: "RFC9207/2/in-form-post"},
		{name: "form_post forgets state", spoil: posting(`<input[^>]*name="?state"?[^>]*>`, ""), fails: "OIDCFormPost/2/parameters-in-form"},
		{name: "form_post may be stored", spoil: answering(func(a *Answer) {
			if strings.Contains(string(a.Body), `name="code"`) {
				a.Header.Del("Cache-Control")
			}
		}), fails: "OIDCFormPost/2/not-stored"},
	}
}

// posting changes pages that post an answer to a client.
func posting(expression, replacement string) spoiler {
	is := regexp.MustCompile(expression)
	return answering(func(a *Answer) {
		if strings.Contains(string(a.Body), `name="code"`) || strings.Contains(string(a.Body), `name="error"`) {
			a.Body = is.ReplaceAll(a.Body, []byte(replacement))
		}
	})
}

// Faults of ID tokens (OIDC Core §2, §3.1.3.6, §10.1).
func identityFaults() []fault {
	claim := func(name string, value any) spoiler {
		return resigning(func(token *jwt.Token, claims map[string]any) { put(name, value)(claims) })
	}
	return []fault{
		{name: "no ID token is given", at: tokenPath, spoil: member("id_token", nil), fails: "OIDCCore/3.1.3.3/id-token"},
		{name: "ID tokens are signed by nobody", at: tokenPath, spoil: granting(func(a *Answer) {
			edit(a, func(object map[string]any) {
				if token, is := object["id_token"].(string); is {
					at := strings.LastIndex(token, ".") + 10
					object["id_token"] = token[:at] + spoilt(token[at:])[4]
				}
			})
		}), fails: "OIDCCore/2/signed"},
		{name: "the iss of ID tokens is another", spoil: claim("iss", "https://attacker.example"), fails: "OIDCDiscovery/4.3/issuer-in-id-token OIDCCore/16.15/issuer-equal"},
		{name: "the iss of ID tokens has a query", spoil: claim("iss", "https://attacker.example?x"), fails: "OIDCCore/2/iss"},
		{name: "the aud of ID tokens is another", spoil: claim("aud", "another"), fails: "OIDCCore/2/aud"},
		{name: "ID tokens have no sub", spoil: claim("sub", nil), fails: "OIDCCore/2/sub"},
		{name: "ID tokens have no exp", spoil: claim("exp", nil), fails: "OIDCCore/2/exp"},
		{name: "ID tokens have no iat", spoil: claim("iat", nil), fails: "OIDCCore/2/iat"},
		{name: "ID tokens have no nonce", spoil: claim("nonce", nil), fails: "OIDCCore/2/nonce"},
		{name: "ID tokens have no auth_time", spoil: claim("auth_time", nil), fails: "OIDCCore/2/auth-time-with-max-age"},
		{name: "the at_hash of ID tokens is another", spoil: claim("at_hash", "AAAAAAAAAAAAAAAAAAAAAA"), fails: "OIDCCore/3.1.3.6/at-hash"},
		{name: "the kid of ID tokens is another", spoil: resigning(func(token *jwt.Token, _ map[string]any) { token.Header["kid"] = "another" }),
			fails: "OIDCCore/10.1/kid"},
	}
}

// resigning changes ID tokens, and publishes the key that signs them then. Those of a client's secret stay.
func resigning(change func(token *jwt.Token, claims map[string]any)) spoiler {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	encoded := base64.RawURLEncoding
	return func(p *proxy, q *ask) *Answer {
		a := p.real(q)
		if q.path == keysPath {
			edit(a, func(object map[string]any) {
				keys, _ := object["keys"].([]any)
				object["keys"] = append(keys, map[string]any{"kty": "RSA", "use": "sig", "alg": "RS256", "kid": "of-the-proxy",
					"n": encoded.EncodeToString(key.N.Bytes()), "e": encoded.EncodeToString(big.NewInt(int64(key.E)).Bytes())})
			})
		}
		if q.path == tokenPath && a.Granted() {
			edit(a, func(object map[string]any) {
				text, _ := object["id_token"].(string)
				claims := jwt.MapClaims{}
				old, _, err := jwt.NewParser().ParseUnverified(text, claims)
				if err != nil || old.Method.Alg() != "RS256" {
					return
				}
				token := jwt.NewWithClaims(jwt.SigningMethodRS256, claims)
				token.Header["kid"] = "of-the-proxy"
				change(token, claims)
				object["id_token"], _ = token.SignedString(key)
			})
		}
		return a
	}
}

// Faults of UserInfo (OIDC Core §5.3).
func userInfoFaults() []fault {
	return []fault{
		{name: "UserInfo has another sub", at: userInfoPath, spoil: answering(func(a *Answer) { edit(a, put("sub", "another")) }), fails: "OIDCCore/5.3.2/same-sub"},
		{name: "UserInfo comes as text", at: userInfoPath, spoil: answering(header("Content-Type", "text/plain")), fails: "OIDCCore/5.3.2/content-type"},
		{name: "UserInfo takes a token in the query", at: userInfoPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if token := q.params().Get("access_token"); token != "" {
				q.header.Set("Authorization", "Bearer "+token)
				q.query = ""
			}
		}), fails: "RFC9700/4.3.2/a46-not-in-query OIDCCore/5.3/bearer-not-in-query"},
		{name: "UserInfo challenges nobody", at: userInfoPath, spoil: answering(header("WWW-Authenticate", "")), fails: "OIDCCore/5.3.3/no-token"},
		{name: "UserInfo is not had by POST", at: userInfoPath, spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.method == http.MethodPost },
			func() *Answer { return refusal(http.StatusMethodNotAllowed, "invalid_request") }), fails: "OIDCCore/5.3/post"},
		{name: "scripts cannot read UserInfo", at: userInfoPath, spoil: answering(header("Access-Control-Allow-Origin", "")), fails: "OIDCCore/5.3/cors"},
	}
}

// Faults of logout (OIDC RP-Logout).
func logoutFaults() []fault {
	return []fault{
		{name: "state does not come back after logout", spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && strings.HasPrefix(q.path, "/o/logout") {
				sent := to.Query()
				sent.Del("state")
				to.RawQuery = sent.Encode()
				a.Header.Set("Location", to.String())
			}
			return a
		}, fails: "OIDCRPLogout/3/state"},
		{name: "logout sends the browser anywhere", at: logoutPath, spoil: func(p *proxy, q *ask) *Answer {
			if uri := q.params().Get("post_logout_redirect_uri"); strings.HasPrefix(uri, "https://attacker.example/") {
				return moved(uri)
			}
			return p.real(q)
		}, fails: "OIDCRPLogout/3/exact-match"},
	}
}
