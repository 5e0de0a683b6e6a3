package faults

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// controlFaults are targets and servers on which a refusal shows nothing, or on which the condition of a rule does not
// hold. A check without a control would pass or fail there.
func controlFaults() []fault {
	unknown := func(role need.Need) func(*target.Target) {
		return func(t *target.Target) {
			c := *t.Clients[role]
			c.ID = "conformance-unknown"
			t.Clients[role] = &c
		}
	}
	bad := func(scope string) bool { return strings.Contains(scope, "conformance") || strings.Contains(scope, `"`) }
	without := func(t *target.Target) { delete(t.Clients, need.Machine) }
	byPost := func(t *target.Target) {
		c := *t.Clients[need.Machine]
		c.Auth = need.SecretPost
		t.Clients[need.Machine] = &c
	}
	usual := func(*target.Target) {} // only the rules that the fault names are checked
	return []fault{
		{name: "the target's client machine does not exist", spoil: (*proxy).real, aim: unknown(need.Machine),
			blocks: "RFC6749/4.4.3/granted RFC6749/2.3.1/basic-supported RFC6749/2.3.1/basic-form-encoded " +
				"RFC6749/2.3.1/not-in-uri RFC6749/3.2/post-only RFC6749/3.2/not-repeated " +
				"RFC6749/3.2/unknown-ignored RFC6749/3.3/default-or-refused RFC6749/4.4/confidential-only " +
				"RFC6749/4.4.2/client-authenticated RFC6749/4.5/unknown-grant-type " +
				"RFC6749/5.2/status-400 RFC6749/5.2/error RFC6749/5.2/json RFC6749/5.2/one-method RFC6749/5.2/invalid-client " +
				"RFC6749/5.2/invalid-client-401 " +
				"RFC6749/5.2/unsupported-grant-type RFC6749/5.2/invalid-scope RFC8707/2/invalid-target-at-token"},
		{name: "requests without the scope openid are refused", at: authorizePath, aim: usual,
			spoil: refusingAsk(func(v url.Values) bool { return !asksOpenID(v) }, "invalid_scope"),
			skips: "OIDCCore/5.3.3/scope-missing OIDCCore/3.1.2.1/without-openid"},
		{name: "the target's client second does not exist", spoil: (*proxy).real, aim: unknown(need.Second),
			blocks: "RFC6749/4.1.3/code-bound-to-client RFC6749/6/bound-to-client"},
		{name: "the target's client public does not exist", spoil: (*proxy).real, aim: unknown(need.Public),
			blocks: "RFC6749/4.1.3/code-bound-to-public-client RFC6749/10.1/public-otherwise-known " +
				"RFC7636/4.4.1/required-of-public RFC8252/8.4/https-exact"},
		{name: "the target's secret of the client code is wrong",
			spoil: refusingIf(func(p *proxy, q *ask) bool { return q.path == tokenPath && of(need.Code)(p, q) }, unknownClient),
			aim:   usual,
			blocks: "RFC7636/4.2/s256 RFC9700/2.1.1/a10-pkce-supported OIDCCore/3.1.3.3/id-token OIDCFormPost/2/code-works " +
				"RFC6749/5.2/invalid-grant"},
		{name: "the server refuses public clients at the token endpoint", spoil: refusingIf(func(p *proxy, q *ask) bool {
			return q.path == tokenPath && (of(need.Public)(p, q) || of(need.Loopback)(p, q))
		}, unknownClient), aim: usual, blocks: "RFC7636/4.2/s256-public RFC8252/6/pkce-supported"},
		{name: "the target's client password does not exist", spoil: (*proxy).real, aim: unknown(need.Password),
			blocks: "RFC6749/4.3.3/granted RFC6749/4.3.2/client-authenticated RFC6749/4.3.2/password-validated"},
		{name: "the target's client introspection does not exist", spoil: (*proxy).real, aim: unknown(need.Introspect),
			blocks: "RFC7662/2.1/post RFC7662/2.1/hint-is-a-hint RFC7662/2.2/json RFC7662/2.2/active RFC7662/2.2/inactive"},
		{name: "the target's client loopback does not exist", spoil: (*proxy).real, aim: unknown(need.Loopback),
			blocks: "RFC8252/7.3/any-port RFC8252/8.4/loopback-exact-but-for-port RFC8252/8.1/without-pkce-rejected"},
		{name: "the target's redirect URI of the client code is not registered", spoil: (*proxy).real,
			aim: func(t *target.Target) {
				c := *t.Clients[need.Code]
				c.RedirectURIs = []string{"https://client.example/unregistered"}
				t.Clients[need.Code] = &c
			}, blocks: "RFC6749/3.1/get RFC6749/3.1/post RFC6749/3.1/person-verified RFC6749/3.1/not-repeated " +
				"RFC6749/3.1.1/response-type-missing RFC6749/3.1.2.3/registered " +
				"RFC6749/3.1.2.3/simple-string-comparison RFC6749/3.1.2.4/not-redirected RFC6749/3.1.2.4/person-informed " +
				"RFC6749/4.1.2/code-issued " +
				"RFC6749/4.1.2.1/invalid-request RFC6749/4.1.2.1/invalid-scope RFC6749/4.1.2.1/unknown-client-told " +
				"RFC6749/10.14/sanitized RFC8252/7/private-use-scheme"},
		{name: "token responses may be cached, without a client machine", spoil: granting(func(a *wire.Answer) {
			a.Header.Del("Cache-Control")
			a.Header.Del("Pragma")
		}), aim: without, fails: "RFC6749/5.1/no-store RFC6749/5.1/no-cache"},
		{name: "errors of the token endpoint are pages, without a client machine", at: tokenPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if a := p.real(q); a.Status < 400 {
					return a
				}
				return shown(http.StatusOK, "no")
			}, aim: without, fails: "RFC6749/5.2/status-400 RFC6749/5.2/error RFC6749/5.2/json RFC6749/5.2/invalid-client " +
				"RFC6749/5.2/invalid-client-401 RFC6749/5.2/unsupported-grant-type"},
		{name: "the client machine is registered for client_secret_post", spoil: (*proxy).real, aim: byPost,
			skips: "RFC6749/2.3.1/basic-supported RFC6749/2.3.1/basic-form-encoded RFC6749/3.2/post-only " +
				"RFC6749/5.2/one-method RFC6749/5.2/invalid-client-401"},
		{name: "the server has no HTTP Basic, and does not list it", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == tokenPath && q.header.Get("Authorization") != "" {
				return unknownClient()
			}
			return publishing(put("token_endpoint_auth_methods_supported", []string{need.SecretPost, need.NoAuthentication}))(p,
				q)
		}, aim: byPost, fails: "RFC6749/2.3.1/basic-supported"},
		{name: "answers of a server on this machine have no Date", at: tokenPath,
			spoil: answering(func(a *wire.Answer) { a.Header["Date"] = nil }), aim: usual,
			passes: "OIDCCore/2/exp OIDCCore/2/iat OIDCCore/2/auth-time-of-login OIDCCore/12.2/iat OIDCCore/12.2/same-rules " +
				"RFC9068/2.2/exp RFC9068/2.2/iat"},
		{name: "an API answers 500 to a token that is not valid", spoil: func(p *proxy, q *ask) *wire.Answer {
			_, token, sent := strings.Cut(q.header.Get("Authorization"), "Bearer ")
			if q.path == revokePath {
				p.keep("revoked "+q.form().Get("token"), true)
			}
			if q.path == resourcePath && sent && (p.has("revoked "+token) || p.owner(token) == nil) {
				return shown(http.StatusInternalServerError, "no")
			}
			return p.real(q)
		}, aim: func(t *target.Target) { delete(t.Clients, need.Introspect) },
			blocks: "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC6749/10.3/cannot-be-made"},
		{name: "wrong codes are an internal error", at: tokenPath, spoil: refusing(func(a *wire.Answer) {
			if a.Text("error") == "invalid_grant" {
				*a = *shown(http.StatusInternalServerError, "no")
			}
		}), aim: usual, fails: "RFC6749/5.2/invalid-grant RFC7636/4.6/invalid-grant",
			passes: "RFC7636/4.6/verifier-compared RFC7636/4.6/verifier-required-of-public RFC6749/4.1.3/code-bound-to-client " +
				"RFC9700/2.1.1/a10-pkce-supported"},
		{name: "an API answers 500 to what is not valid", at: resourcePath, spoil: refusing(func(a *wire.Answer) {
			*a = *shown(http.StatusInternalServerError, "no")
		}), aim: usual, fails: "RFC6750/3.1/invalid-token-401 RFC6750/3/challenge", passes: "RFC6749/7/token-validated " +
			"RFC6750/5.2/not-tampered-with"},
		{name: "no logout has an effect", at: logoutPath,
			spoil: func(*proxy, *ask) *wire.Answer { return shown(http.StatusOK, "bye") }, aim: usual,
			fails: "OIDCRPLogout/2/get OIDCRPLogout/2/post OIDCRPLogout/3/client-id-as-proof",
			blocks: "OIDCRPLogout/2/asks OIDCRPLogout/2/asks-without-hint OIDCRPLogout/2/asks-with-hint-of-other-session " +
				"OIDCRPLogout/2/issuer-of-hint OIDCRPLogout/2/client-of-hint " +
				"OIDCRPLogout/3/not-without-proof OIDCRPLogout/4/invalid-not-used OIDCRPLogout/2/other-browsers-stay",
			skips: "OIDCRPLogout/2/yes OIDCRPLogout/3/exact-match OIDCRPLogout/3/of-this-client"},
		{name: "request_uri is ignored, and not denied", spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.Contains(q.path, "/.well-known/o") {
				return publishing(put("request_uri_parameter_supported", nil))(p, q)
			}
			if q.path == authorizePath && q.params().Has("redirect_uri") {
				q.setQuery("request_uri", "")
			}
			return p.real(q)
		}, aim: usual, fails: "OIDCDiscovery/3/request-uri-parameter-true"},
		{name: "the authorization endpoint refuses everything", at: authorizePath,
			spoil: refusingAsk(func(url.Values) bool { return true }, "invalid_request"), aim: usual,
			blocks: "RFC6749/3.1/not-repeated RFC6749/4.2/left-out RFC7636/4.2/challenge-form RFC7636/4.3/plain-refused " +
				"RFC7636/5/without-pkce RFC8414/2/other-response-modes " +
				"OIDCCore/3.1.2.1/display-unknown OIDCCore/3.1.2.1/max-age-wrong OIDCCore/3.1.2.1/prompt-unknown " +
				"OIDCCore/3.1.2.1/prompt-none-no-page OIDCCore/3.1.2.1/redirect-uri-registered " +
				"OIDCCore/3.1.2.2/error-answered OIDCCore/3.1.2.2/required-parameters OIDCCore/3.1.2.2/redirect-uri-of-several " +
				"OIDCCore/3.1.2.6/invalid-redirect-uri " +
				"OIDCCore/3.1.2.6/login-required OIDCCore/3.1.2.6/registration-not-supported OIDCCore/3.2/refused " +
				"OIDCCore/3.3/refused OIDCCore/5.5/malformed " +
				"OIDCCore/5.5.1.1/essential-not-met OIDCCore/6.2/not-supported RFC9470/5/unmet"},
		{name: "the token endpoint refuses everything", at: tokenPath,
			spoil: func(*proxy, *ask) *wire.Answer { return badGrant() }, aim: usual,
			blocks: "RFC7636/4.1/short-verifier-refused RFC6749/4.3/registered-only CIMD/8.2/private-key-jwt " +
				"FAPI2/5.3.2.1/no-password-grant RFC7523/3/hmac RFC7523/3/exp RFC10070/4/issuer"},
		{name: "the server has no client credentials grant", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == tokenPath && q.form().Get("grant_type") == need.GrantMachine {
				return refusal(http.StatusBadRequest, "unsupported_grant_type")
			}
			return publishing(put("grant_types_supported", []string{need.GrantCode, "refresh_token"}))(p, q)
		}, aim: usual, skips: "RFC6749/5.2/unauthorized-client RFC6749/4.4.3/granted RFC6749/4.4.2/client-authenticated",
			passes: "RFC6749/5.1/no-store RFC6749/5.2/invalid-client"},
		{name: "the password grant requires a scope", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("grant_type") == need.GrantPassword && !q.form().Has("scope")
		}, badRequest), aim: func(t *target.Target) {
			c := *t.Clients[need.Password]
			c.Scope = ""
			t.Clients[need.Password], t.Scope = &c, "read"
		}, passes: "RFC6749/4.3.3/granted RFC6749/4.3.2/client-authenticated"},
		{name: "a revoked token is answered with 403", at: userInfoPath, spoil: answering(func(a *wire.Answer) {
			if a.Status == http.StatusUnauthorized {
				a.Status = http.StatusForbidden
			}
		}), aim: func(t *target.Target) {
			delete(t.Clients, need.Introspect)
			t.API, t.Scope = target.API{}, "openid"
		}, passes: "RFC7009/2/access-tokens RFC6749/10.3/cannot-be-made"},
		{name: "a client's wrong grant type is reported as unsupported",
			spoil: miscalling("unauthorized_client", "unsupported_grant_type"), at: tokenPath,
			fails: "RFC6749/5.2/unauthorized-client"},
		{name: "unknown scopes are ignored", spoil: spoiling(func(_ *proxy, q *ask) {
			kept := func(scope string) string {
				return strings.Join(slices.DeleteFunc(strings.Fields(scope), bad), " ")
			}
			if q.path == authorizePath && bad(q.params().Get("scope")) {
				q.setQuery("scope", kept(q.params().Get("scope")))
			}
			if q.path == tokenPath && bad(q.form().Get("scope")) && q.form().Has("grant_type") {
				q.set("scope", kept(q.form().Get("scope")))
			}
		}), aim: usual, fails: "RFC6749/3.3/unknown-scope-refused", skips: "RFC6749/4.1.2.1/invalid-scope " +
			"RFC6749/5.2/invalid-scope"},
		{name: "confidential clients need no consent",
			spoil: approving(need.Code, func(*proxy, url.Values) bool { return true }), aim: usual,
			skips: "RFC6749/4.1.2.1/access-denied"},
		{name: "consent for a public client is remembered by a server without OpenID",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if strings.Contains(q.path, "/.well-known/o") {
					return publishing(func(object map[string]any) {
						object["scopes_supported"] = []string{"read", "write"}
						delete(object, "id_token_signing_alg_values_supported")
					})(p, q)
				}
				return approving(need.Public, func(*proxy, url.Values) bool { return true })(p, q)
			}, aim: usual, skips: "RFC6749/10.2/person-informed"},
		{name: "access tokens are never revoked", spoil: func(p *proxy, q *ask) *wire.Answer {
			token := q.form().Get("token")
			if q.path == revokePath && p.has("beside "+token) {
				access := p.note("beside " + token)
				p.keep("outlives "+access,
					p.real(&ask{http.MethodPost, introspectPath, "", wire.Params("token", access).Encode(), p.asIntrospecting()}))
			}
			if q.path == revokePath && p.owner(token) != nil && !p.has("refresh "+token) {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{}}
			}
			if first, is := p.value("outlives " + token).(*wire.Answer); is && q.path == introspectPath {
				return first
			}
			return p.real(q)
		}, aim: usual, fails: "RFC7009/2/access-tokens RFC7009/2.1/at-once RFC7662/4/revoked",
			skips: "RFC7009/2.1/refresh-token-ends-access-tokens"},
	}
}
