package conformance

import "net/http"

// Faults of introspection (RFC 7662).
func introspectionFaults() []fault {
	telling := func(change func(map[string]any)) spoiler {
		return answering(func(a *Answer) { edit(a, change) })
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
	const worksNoMore = "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2/access-tokens RFC7009/2.1/at-once " +
		"RFC7009/2.1/refresh-token-ends-access-tokens RFC7662/4/revoked"
	return []fault{
		{name: "every token is active", at: introspectPath, spoil: dead(put("active", true)), fails: worksNoMore + " RFC7662/2.2/inactive RFC7662/2.2/code-inactive RFC7662/2.2/refresh-token",
			hides: "RFC7662/2.2/inactive-tells-nothing"},
		{name: "anybody may introspect", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if q.method == http.MethodPost {
				q.as(p.target.Clients[NeedIntrospect])
			}
		}), fails: "RFC7662/2.1/caller-authorized RFC7662/2.1/bearer-caller-needs-scope RFC7662/4/specially-authorized",
			hides: "RFC7662/2.3"},
		{name: "any client may introspect", at: introspectPath, spoil: spoiling(func(p *proxy, q *ask) {
			if id, _ := q.client(); q.method == http.MethodPost && id == p.target.Clients[NeedCode].ID {
				q.as(p.target.Clients[NeedIntrospect])
			}
		}), fails: "RFC7662/4/specially-authorized", hides: "RFC7662/2.3/not-allowed-403"},
		{name: "dead tokens are told more of", at: introspectPath, spoil: dead(put("error", "expired")), fails: "RFC7662/2.2/inactive-tells-nothing"},
		{name: "active is a text for dead tokens", at: introspectPath, spoil: dead(put("active", "false")), fails: "RFC7662/2.2/active RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.2 RFC7662/4/revoked"},
		{name: "active is left out for dead tokens", at: introspectPath, spoil: dead(put("active", nil)), fails: "RFC7662/2.2/active RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.2 RFC7662/4/revoked"},
		{name: "dead tokens are an error", at: introspectPath, spoil: answering(func(a *Answer) {
			if a.JSON()["active"] == false {
				*a = *refusal(http.StatusBadRequest, "invalid_token")
			}
		}), fails: "RFC7662/2.2/active RFC7662/2.2/inactive",
			hides: "RFC6749/4.1.2/replay-revokes RFC6749/10.3/cannot-be-made RFC7009/2 RFC7662/2.2 RFC7662/4/revoked"},
		{name: "live tokens are inactive", at: introspectPath, spoil: telling(func(object map[string]any) {
			if object["active"] == true {
				clear(object)
				object["active"] = false
			}
		}), fails: "RFC7662/2.1/post RFC7662/2.2/refresh-token", hides: "RFC6749 RFC6750 RFC7009 RFC7662"},
		{name: "GET introspects", at: introspectPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodGet {
				q.method, q.body, q.query = http.MethodPost, q.query, ""
				q.header.Set("Content-Type", formEncoded)
			}
		}), fails: "RFC7662/2.1/not-by-get"},
		{name: "the hint decides at introspection", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			if q.form().Get("token_type_hint") == "refresh_token" && !p.has("refresh "+q.form().Get("token")) {
				q.set("token", "dead")
			}
			return p.real(q)
		}, fails: "RFC7662/2.1/hint-is-a-hint"},
		{name: "an unknown hint is refused at introspection", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			if q.form().Get("token_type_hint") == "conformance" {
				q.set("token", "dead")
			}
			return p.real(q)
		}, fails: "RFC7662/2.1/hint-is-a-hint"},
		{name: "introspection without a token is inactive", at: introspectPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodPost && !q.form().Has("token") {
				q.set("token", "dead")
			}
		}), fails: "RFC7662/2.1/token-required"},
		{name: "bearers cannot introspect", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if a.Status == http.StatusOK && q.header.Get("Authorization")[:6] == "Bearer" {
				return unknownClient()
			}
			return a
		}, fails: "RFC7662/2.1/bearer-caller"},
		{name: "any bearer may introspect", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if a.Text("error") == "insufficient_scope" {
				q.as(p.target.Clients[NeedIntrospect])
				return p.real(q)
			}
			return a
		}, fails: "RFC7662/2.1/bearer-caller-needs-scope"},
		{name: "introspection comes as text", at: introspectPath, spoil: answering(header("Content-Type", "text/plain")), fails: "RFC7662/2.2/json"},
		{name: "introspection may be cached", at: introspectPath, spoil: answering(header("Cache-Control", "")), fails: "RFC7662/4/not-cached-on-the-way"},
		{name: "codes are active", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
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
		{name: "the username is not told", at: introspectPath, spoil: live("username", nil), fails: "RFC7662/2.2/facts"},
		{name: "the client is another", at: introspectPath, spoil: live("client_id", "another"), fails: "RFC7662/2.2/facts-right"},
		{name: "the person is another", at: introspectPath, spoil: live("username", "another"), fails: "RFC7662/2.2/facts-right"},
		{name: "the scope is another", at: introspectPath, spoil: live("scope", "everything"), fails: "RFC7662/2.2/facts-right"},
		{name: "the issuer is another", at: introspectPath, spoil: live("iss", "https://another.example"), fails: "RFC7662/2.2/facts-right"},
		{name: "exp is another", at: introspectPath, spoil: live("exp", 4102444800), fails: "RFC7662/2.2/facts-right"},
		{name: "the audience is not told", at: introspectPath, spoil: live("aud", nil), fails: "RFC6750/5.3/audience RFC7662/2.2/facts"},
		{name: "the email address is told", at: introspectPath, spoil: live("email", "alice@example.com"), fails: "RFC7662/5/no-more-than-needed"},
		{name: "a wrong secret is answered with 403 at introspection", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if id, _ := q.client(); id != "" && a.Status == http.StatusUnauthorized {
				a.Status = http.StatusForbidden
			}
			return a
		}, fails: "RFC7662/2.3/invalid-client-401"},
		{name: "a wrong bearer is answered with 403 at introspection", at: introspectPath, spoil: func(p *proxy, q *ask) *Answer {
			a := p.real(q)
			if q.header.Get("Authorization") == "Bearer conformance" {
				a.Status = http.StatusForbidden
			}
			return a
		}, fails: "RFC7662/2.3/invalid-token-401"},
		{name: "nobody is challenged at introspection", at: introspectPath, spoil: answering(header("WWW-Authenticate", "")), fails: "RFC7662/2.3/nobody-challenged",
			hides: "RFC7662/2.3/invalid-token-401"},
		{name: "who may not introspect is answered with 401", at: introspectPath, spoil: answering(func(a *Answer) {
			if a.Status == http.StatusForbidden && a.Text("error") != "insufficient_scope" {
				a.Status = http.StatusUnauthorized
			}
		}), fails: "RFC7662/2.3/not-allowed-403"},
	}
}
