package faults

import (
	"net/http"
	"regexp"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// bearerFaults are faults of a resource (RFC 6750).
func bearerFaults() []fault {
	bearing := func(q *ask, token string) {
		if token != "" {
			q.header.Set("Authorization", "Bearer "+token)
		}
	}
	return []fault{
		{name: "a token in the query is accepted beside one in the header", at: resourcePath,
			spoil: spoiling(func(_ *proxy, q *ask) {
				if q.header.Get("Authorization") == "" {
					bearing(q, q.params().Get("access_token"))
				}
				q.query = ""
			}), fails: "RFC6750/3.1/two-methods-refused RFC6750/2.3/not-in-query", blocks: "RFC6750/3.1/invalid-request-400",
			passes: "RFC6750/2.3/private"},
		{name: "a token in the query is ignored beside one in the header", at: resourcePath,
			spoil: spoiling(func(_ *proxy, q *ask) {
				if q.header.Get("Authorization") != "" {
					q.query = ""
				}
			}), skips: "RFC6750/3.1/two-methods-refused RFC6750/3.1/invalid-request-400"},
		{name: "a token is accepted in the query only", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			token := q.params().Get("access_token")
			if q.header.Get("Authorization") != "" {
				token = "made-up"
			}
			bearing(q, token)
			q.query = ""
		}), fails: "RFC6750/2.1/header", hides: "RFC6749/7 RFC6750"},
		{name: "a resource accepts no token", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") != "" {
				bearing(q, "made-up")
			}
		}), blocks: "RFC6750/2.1/header RFC6750/2.1/scheme-any-case RFC6750/2.2/form RFC6750/2.3/not-in-query " +
			"RFC6749/7/token-validated RFC6750/5.2/not-tampered-with " +
			"RFC6750/3.1/two-methods-refused RFC6750/3.1/invalid-request-400", hides: "RFC6750/2.3/private"},
		{name: "a resource answers 403 to every token", at: resourcePath, spoil: answering(status(http.StatusForbidden)),
			fails: "RFC6750/3.1/invalid-token-401",
			blocks: "RFC6750/2.1/header RFC6750/2.1/scheme-any-case RFC6750/2.2/form RFC6750/2.3/not-in-query " +
				"RFC6749/7/token-validated RFC6750/5.2/not-tampered-with " +
				"RFC6750/3.1/two-methods-refused RFC6750/3.1/invalid-request-400", hides: "RFC6750/2.3/private"},
		{name: "a resource answers 403 to valid and to truncated tokens", at: resourcePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := resembles(p, q)
				if a.Status == http.StatusOK {
					a.Status = http.StatusForbidden
				}
				return a
			}, fails: "RFC6749/7/token-validated RFC6750/5.2/not-tampered-with"},
		{name: "a resource needs no token", at: resourcePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.header.Get("Authorization") == "" && q.query == "" && q.method == http.MethodGet {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{}}
			}
			return p.real(q)
		}, blocks: "RFC6750/2.1/header RFC6750/2.1/scheme-any-case RFC6750/2.2/form RFC6750/2.3/not-in-query " +
			"RFC6749/7/token-validated RFC6750/5.2/not-tampered-with " +
			"RFC6750/3/challenge RFC6750/3/has-attribute RFC6750/3/attributes-once RFC6750/3.1/no-error-without-token " +
			"RFC6750/3.1/two-methods-refused RFC6750/3.1/invalid-request-400", hides: "RFC6750/2.3/private"},
		{name: "a resource refuses every token for want of scope", at: widerPath,
			spoil:  answering(status(http.StatusForbidden)),
			blocks: "RFC6749/7/scope-covers RFC6750/3.1/insufficient-scope-403 RFC6750/3.1/scope-named"},
		{name: "the scheme bearer in lower case is refused", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if !strings.HasPrefix(q.header.Get("Authorization"), "Bearer") {
				q.header.Del("Authorization")
			}
		}), fails: "RFC6750/2.1/scheme-any-case"},
		{name: "a token in the form is accepted", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodPost {
				bearing(q, q.form().Get("access_token"))
				q.method, q.body = http.MethodGet, ""
			}
		}), fails: "RFC6750/2.2/form"},
		{name: "a modified token is answered with 403", at: resourcePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if token, sent := strings.CutPrefix(q.header.Get("Authorization"),
				"Bearer mat_"); a.Status == http.StatusUnauthorized && sent && token != "" {
				a.Status = http.StatusForbidden
			}
			return a
		}, aim: func(*target.Target) {}, passes: "RFC6750/5.2/not-tampered-with"},
		{name: "a token in the query is accepted", at: resourcePath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") == "" && q.query != "" {
				bearing(q, q.params().Get("access_token"))
				q.query = ""
			}
		}), fails: "RFC6750/2.3/not-in-query", passes: "RFC6750/2.3/private"},
		{name: "a token in the query is accepted, and the answer can be kept by anybody", at: resourcePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.header.Get("Authorization") == "" && q.query != "" {
					bearing(q, q.params().Get("access_token"))
					q.query = ""
				}
				a := p.real(q)
				a.Header.Del("Cache-Control")
				return a
			}, fails: "RFC6750/2.3/not-in-query RFC6750/2.3/private"},
		{name: "a resource sends no challenge", at: resourcePath, spoil: answering(header("WWW-Authenticate", "")),
			fails: "RFC6750/3/challenge",
			hides: "RFC6750/3"},
		{name: "a resource's challenge has no attribute", at: resourcePath,
			spoil: challenging(`^Bearer realm="[^"]*"(, resource_metadata="[^"]*")?$`, "Bearer"),
			fails: "RFC6750/3/has-attribute"},
		{name: "a resource's challenge has the realm twice", at: resourcePath,
			spoil: challenging(`^Bearer `, `Bearer realm="x", `), fails: "RFC6750/3/attributes-once"},
		{name: "a resource's challenge has no error", at: resourcePath, spoil: challenging(`,? *error="[^"]*"`, ""),
			fails: "RFC6750/3/error-told RFC6750/3.1/invalid-token-401 RFC6750/3.1/invalid-request-400"},
		{name: "a resource's challenge is not ASCII", at: resourcePath,
			spoil: challenging(`error_description="`, `error_description="é `), fails: "RFC6750/3/ascii"},
		{name: "a resource reports invalid_token as invalid_request", at: resourcePath,
			spoil: challenging(`invalid_token`, "invalid_request"), fails: "RFC6750/3.1/invalid-token-401"},
		{name: "a resource reports invalid_request as invalid_token", at: resourcePath,
			spoil: challenging(`invalid_request`, "invalid_token"), fails: "RFC6750/3.1/invalid-request-400"},
		{name: "a resource answers an inactive token with 403", at: resourcePath, spoil: answering(func(a *wire.Answer) {
			if strings.Contains(a.Header.Get("WWW-Authenticate"), "invalid_token") {
				a.Status = http.StatusForbidden
			}
		}), fails: "RFC6750/3.1/invalid-token-401"},
		{name: "a resource answers two tokens with 401", at: resourcePath, spoil: answering(func(a *wire.Answer) {
			if a.Status == http.StatusBadRequest {
				a.Status = http.StatusUnauthorized
			}
		}), fails: "RFC6750/3.1/invalid-request-400"},
		{name: "a resource answers insufficient scope with 401", at: widerPath,
			spoil: refusing(status(http.StatusUnauthorized)), fails: "RFC6750/3.1/insufficient-scope-403"},
		{name: "a resource reports insufficient_scope as invalid_token", at: widerPath,
			spoil: challenging("insufficient_scope", "invalid_token"), fails: "RFC6750/3.1/insufficient-scope-403"},
		{name: "a resource does not name the scope", at: widerPath, spoil: challenging(`,? *scope="[^"]*"`, ""),
			fails: "RFC6750/3.1/scope-named MCP/M17/all-scopes-at-once"},
		{name: "a resource reports an error though no token was sent", at: resourcePath,
			spoil: challenging(`^Bearer realm="[^"]*"(, resource_metadata="[^"]*")?$`, `Bearer error="invalid_token"`),
			fails: "RFC6750/3.1/no-error-without-token"},
		{name: "a resource accepts any token", at: resourcePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.HasPrefix(q.header.Get("Authorization"), "Bearer ") && q.query == "" {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{}}
			}
			return p.real(q)
		}, fails: "RFC6749/7/token-validated RFC6750/5.2/not-tampered-with",
			hides: "RFC6750/3"},
		{name: "a resource does not check the scope", at: widerPath, spoil: refusing(status(http.StatusOK)),
			fails: "RFC6749/7/scope-covers MCP/M16/scope-verified RFC9700/2.3/r2-action-verified",
			hides: "RFC6750/3.1"},
	}
}

// challenging changes the challenge of a resource.
func challenging(expression, replacement string) spoiler {
	is := regexp.MustCompile(expression)
	return refusing(func(a *wire.Answer) {
		a.Header.Set("WWW-Authenticate", is.ReplaceAllString(a.Header.Get("WWW-Authenticate"), replacement))
	})
}

// introspectionFaults are faults of introspection (RFC 7662).
func introspectionFaults() []fault {
	telling := func(change func(map[string]any)) spoiler {
		return answering(func(a *wire.Answer) { edit(a, change) })
	}
	live := func(name string, value any) spoiler {
		return telling(func(object map[string]any) {
			if object["active"] == true {
				put(name, value)(object)
			}
		})
	}
	dead := func(change func(map[string]any)) spoiler {
		return telling(func(object map[string]any) {
			if object["active"] == false {
				change(object)
			}
		})
	}
	const worksNoMore = "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2/access-tokens " +
		"RFC7009/2.1/at-once RFC7662/4/revoked"
	return []fault{
		{name: "every token is active", at: introspectPath, spoil: dead(put("active", true)),
			fails: worksNoMore + " RFC7662/2.2/inactive RFC7662/2.2/code-inactive RFC7662/2.2/refresh-token",
			hides: "RFC7662/2.2/inactive-tells-nothing", skips: "RFC7009/2.1/refresh-token-ends-access-tokens"},
		{name: "anybody may introspect", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if q.method == http.MethodPost {
				q.as(p.target.Clients[need.Introspect])
			}
		}), fails: "RFC7662/2.1/caller-authorized RFC7662/2.1/bearer-caller-needs-scope RFC7662/4/specially-authorized",
			hides: "RFC7662/2.3"},
		{name: "any client may introspect", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if id, _ := q.client(); q.method == http.MethodPost && id == p.target.Clients[need.Code].ID {
				q.as(p.target.Clients[need.Introspect])
			}
		}), fails: "RFC7662/4/specially-authorized", skips: "RFC7662/2.3/not-allowed-403"},
		{name: "inactive tokens reveal details", at: introspectPath, spoil: dead(put("error", "expired")),
			fails: "RFC7662/2.2/inactive-tells-nothing"},
		{name: "active is a string for inactive tokens", at: introspectPath, spoil: dead(put("active", "false")),
			fails: "RFC7662/2.2/active RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.1/token-required RFC7662/2.2 " +
				"RFC7662/4/revoked"},
		{name: "active is missing for inactive tokens", at: introspectPath, spoil: dead(put("active", nil)),
			fails: "RFC7662/2.2/active RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.1/token-required RFC7662/2.2 " +
				"RFC7662/4/revoked"},
		{name: "inactive tokens are an error", at: introspectPath, spoil: answering(func(a *wire.Answer) {
			if a.JSON()["active"] == false {
				*a = *refusal(http.StatusBadRequest, "invalid_token")
			}
		}), fails: "RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.1/token-required RFC7662/2.2 " +
				"RFC7662/4/revoked"},
		{name: "introspection refuses unsigned JWTs with an error", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if strings.Count(q.form().Get("token"), ".") == 2 {
					return refusal(http.StatusBadRequest, "invalid_request")
				}
				return p.real(q)
			}, fails: "RFC7662/2.2/inactive"},
		{name: "active tokens are reported as inactive", at: introspectPath, spoil: telling(func(object map[string]any) {
			if object["active"] == true {
				clear(object)
				object["active"] = false
			}
		}), fails: "RFC7662/2.2/refresh-token", blocks: "RFC7662/2.1/post RFC7662/2.1/caller-authorized RFC7662/4/revoked",
			hides: "RFC6749 RFC6750 RFC7009 RFC7662"},
		{name: "introspection by POST is refused", at: introspectPath, spoil: answering(func(a *wire.Answer) {
			*a = *refusal(http.StatusMethodNotAllowed, "invalid_request")
		}), fails: "RFC7662/2.1/post RFC7662/2.1/bearer-caller-needs-scope RFC7662/2.2/inactive " +
			"RFC7662/2.3/nobody-challenged RFC7662/2.3/not-allowed-403",
			blocks: "RFC7662/2.1/caller-authorized RFC7662/2.2/active RFC7662/2.3/invalid-client-401",
			hides:  "RFC6749 RFC6750 RFC7009 RFC7662"},
		{name: "GET introspects", at: introspectPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodGet {
				q.method, q.body, q.query = http.MethodPost, q.query, ""
				q.header.Set("Content-Type", wire.FormEncoded)
			}
		}), fails: "RFC7662/2.1/not-by-get"},
		{name: "a wrong token_type_hint hides the token at introspection", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.form().Get("token_type_hint") == "refresh_token" && !p.has("refresh "+q.form().Get("token")) {
					q.set("token", "dead")
				}
				return p.real(q)
			}, fails: "RFC7662/2.1/hint-is-a-hint"},
		{name: "an unknown hint is refused at introspection", at: introspectPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.form().Get("token_type_hint") == "conformance" {
				q.set("token", "dead")
			}
			return p.real(q)
		}, fails: "RFC7662/2.1/hint-is-a-hint"},
		{name: "a wrong hint is an error at introspection", at: introspectPath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				return q.form().Get("token_type_hint") == "refresh_token" && !p.has("refresh "+q.form().Get("token"))
			}, func() *wire.Answer { return refusal(http.StatusBadRequest, "unsupported_token_type") }),
			fails: "RFC7662/2.1/hint-is-a-hint"},
		{name: "introspection without a token is inactive", at: introspectPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodPost && !q.form().Has("token") {
				q.set("token", "dead")
			}
		}), fails: "RFC7662/2.1/token-required"},
		{name: "introspection with a bearer token is refused", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if a.Status == http.StatusOK && q.header.Get("Authorization")[:6] == "Bearer" {
					return unknownClient()
				}
				return a
			}, fails: "RFC7662/2.1/bearer-caller RFC8414/2/introspection-auth-bearer"},
		{name: "introspection with any bearer token is allowed", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if a.Text("error") == "insufficient_scope" {
					q.as(p.target.Clients[need.Introspect])
					return p.real(q)
				}
				return a
			}, fails: "RFC7662/2.1/bearer-caller-needs-scope"},
		{name: "introspection has the content type text", at: introspectPath,
			spoil: answering(header("Content-Type", "text/plain")), fails: "RFC7662/2.2/json"},
		{name: "introspection may be cached", at: introspectPath, spoil: answering(header("Cache-Control", "")),
			fails: "RFC7662/4/not-cached-on-the-way"},
		{name: "codes are active", at: introspectPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if p.codes(q.form().Get("token")) != nil {
				edit(a, put("active", true))
			}
			return a
		}, fails: "RFC7662/2.2/code-inactive"},
		{name: "refresh tokens are active to APIs", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if p.has("refresh " + q.form().Get("token")) {
				q.set("token_type_hint", "refresh_token")
			}
		}), fails: "RFC7662/2.2/refresh-token"},
		{name: "refresh tokens are never active", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if p.has("refresh " + q.form().Get("token")) {
				q.set("token_type_hint", "access_token")
			}
		}), fails: "RFC7662/2.2/refresh-token"},
		{name: "tokens of others are inactive", at: introspectPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if p.has("refresh "+q.form().Get("token")) || p.real(q).JSON()["active"] != true {
				return p.real(q)
			}
			a := p.real(q)
			edit(a, func(object map[string]any) {
				clear(object)
				object["active"] = false
			})
			return a
		}, aim: func(*target.Target) {}, blocks: "OIDCCore/16.8/audience OIDCCore/16.8/scope RFC7662/2.2/facts-right " +
			"RFC7009/2/access-tokens"},
		{name: "the username is not returned", at: introspectPath, spoil: live("username", nil), fails: "RFC7662/2.2/facts"},
		{name: "the client_id is wrong", at: introspectPath, spoil: live("client_id", "another"),
			fails: "RFC7662/2.2/facts-right"},
		{name: "the username is wrong", at: introspectPath, spoil: live("username", "another"),
			fails: "RFC7662/2.2/facts RFC9700/4.15.1/a36-no-person"},
		{name: "the scope is wrong", at: introspectPath, spoil: live("scope", "everything"),
			fails: "RFC7662/2.2/facts-right"},
		{name: "the scope is not returned", at: introspectPath, spoil: live("scope", nil),
			fails: "OIDCCore/16.8/scope RFC7662/2.2/facts"},
		{name: "the issuer is wrong", at: introspectPath, spoil: live("iss", "https://another.example"),
			fails: "RFC7662/2.2/facts-right"},
		{name: "exp is wrong", at: introspectPath, spoil: live("exp", 4102444800), fails: "RFC7662/2.2/facts-right"},
		{name: "exp is a string", at: introspectPath, spoil: live("exp", "4102444800"), fails: "RFC7662/2.2/member-types",
			passes: "RFC7662/2.2/facts-right"},
		{name: "the audience has a number", at: introspectPath, spoil: live("aud", []any{"a", 1}),
			fails: "RFC7662/2.2/member-types", passes: "RFC6750/5.3/audience"},
		{name: "introspection returns a part of the scope", at: introspectPath, spoil: live("scope", "read"),
			passes: "RFC7662/2.2/facts-right RFC7662/2.2/member-types"},
		{name: "the email address is returned", at: introspectPath, spoil: live("email", "alice@example.com"),
			fails: "RFC7662/5/no-more-than-needed"},
		{name: "a wrong secret is answered with 403 at introspection", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if id, _ := q.client(); id != "" && a.Status == http.StatusUnauthorized {
					a.Status = http.StatusForbidden
				}
				return a
			}, fails: "RFC7662/2.3/invalid-client-401"},
		{name: "a wrong bearer token is answered with 403 at introspection", at: introspectPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if q.header.Get("Authorization") == "Bearer conformance" {
					a.Status = http.StatusForbidden
				}
				return a
			}, fails: "RFC7662/2.3/invalid-token-401"},
		{name: "introspection sends no challenge", at: introspectPath, spoil: answering(header("WWW-Authenticate", "")),
			fails: "RFC7662/2.3/nobody-challenged",
			hides: "RFC7662/2.3/invalid-token-401"},
		{name: "a client that may not introspect is answered with 401", at: introspectPath,
			spoil: answering(func(a *wire.Answer) {
				if a.Status == http.StatusForbidden && a.Text("error") != "insufficient_scope" {
					a.Status = http.StatusUnauthorized
				}
			}), fails: "RFC7662/2.3/not-allowed-403"},
	}
}
