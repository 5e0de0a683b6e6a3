package faults

import (
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// resourceFaults are faults of resource indicators (RFC 8707), and of iss (RFC 9207).
func resourceFaults() []fault {
	// without leaves out the parameter resource of requests to these paths, or one of its values.
	without := func(paths string, value func(string) bool) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if strings.Contains(paths, q.path) {
				q.change(func(v url.Values) {
					kept := slices.DeleteFunc(slices.Clone(v["resource"]), value)
					delete(v, "resource")
					if len(kept) > 0 {
						v["resource"] = kept
					}
				})
			}
			return p.real(q)
		}
	}
	every := func(string) bool { return true }
	odd := func(value string) bool { return !strings.HasSuffix(value, ".example/v1") }
	ofGrant := func(grant string, next spoiler) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if q.path == tokenPath && q.form().Get("grant_type") != grant {
				return p.real(q)
			}
			return next(p, q)
		}
	}
	described := func(change func(map[string]any)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if aud, _ := a.JSON()["aud"].(string); q.path == introspectPath && strings.HasSuffix(aud, ".example/v1") {
				edit(a, change)
			}
			return a
		}
	}
	return []fault{
		{name: "resource is ignored at the token endpoint", at: tokenPath, spoil: without(tokenPath, every),
			fails: "RFC8707/2/invalid-target-at-token RFC8707/2.2/subset RFC8707/2.2/only-granted RFC8707/2.2/downscope"},
		{name: "tokens have no audience", at: introspectPath, spoil: described(func(m map[string]any) { delete(m, "aud") }),
			fails: "RFC8707/2/audience-restricted RFC8707/2.2/subset RFC8707/2.2/refresh-token-whole"},
		{name: "all tokens have one audience", at: introspectPath, spoil: described(put("aud", "https://server.example")),
			skips: "RFC8707/2/audience-restricted RFC8707/2.2/subset RFC8707/2.2/refresh-token-whole"},
		{name: "invalid resources are ignored", spoil: without(authorizePath+" "+tokenPath, odd),
			fails: "RFC8707/2/invalid-target RFC8707/2/invalid-target-at-token"},
		{name: "two resources are refused", at: tokenPath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return len(q.form()["resource"]) > 1 }, badRequest),
			fails: "RFC8707/2/several"},
		{name: "a token is for the last of two resources", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			q.change(func(v url.Values) {
				if n := len(v["resource"]); n > 1 {
					v["resource"] = v["resource"][n-1:]
				}
			})
			return p.real(q)
		}, fails: "RFC8707/2/several"},
		{name: "a refresh token is for one resource", at: tokenPath,
			spoil: ofGrant("refresh_token",
				without(tokenPath, func(value string) bool { return strings.Contains(value, "two") })),
			fails: "RFC8707/2.2/refresh-token-whole"},
		{name: "a refresh gets a token for any resource", at: tokenPath,
			spoil: ofGrant("refresh_token", func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if strings.Contains(q.form().Get("resource"), "two") && !a.Granted() {
					q.set("grant_type", need.GrantMachine, "refresh_token", "")
					q.as(p.target.Clients[need.Machine])
					return p.real(q)
				}
				return a
			}), fails: "RFC9700/4.14.2/a23-bound-to-resource-servers"},
		{name: "resource is required at the authorization endpoint", at: authorizePath,
			spoil: refusingAsk(func(v url.Values) bool { return !v.Has("resource") }, "invalid_target"),
			aim:   func(*target.Target) {},
			fails: "RFC8707/2.1/left-out"},
		{name: "the response has the whole scope of the grant", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Granted() && q.form().Has("resource") && q.form().Has("code") {
				edit(a, put("scope", a.Text("scope")+" write"))
			}
			return a
		}, fails: "RFC8707/2.2/effective-scope"},
		{name: "resource is refused at the token endpoint", at: tokenPath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.form().Has("resource") }, badRequest),
			fails: "MCP/M5/resource-taken RFC8707/2.2/subset"},
		{name: "a resource of others is the audience", spoil: func(p *proxy, q *ask) *wire.Answer {
			q.change(func(v url.Values) {
				if odd(v.Get("resource")) {
					v.Del("resource")
				}
			})
			return p.real(q)
		}, fails: "MCP/M5/audience-bound"},
		{name: "iss has a query", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("iss") {
				sent.Set("iss", sent.Get("iss")+"?x")
			}
		}), fails: "RFC9207/2/url RFC9207/2.3/as-in-metadata"},
	}
}
