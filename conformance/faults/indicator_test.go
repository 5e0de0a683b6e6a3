package faults

import (
	"net/url"

	"mandate/conformance/wire"
)

// resourceFaults are faults of resource indicators, which Mandate ignores (RFC 8707), and of iss (RFC 9207).
func resourceFaults() []fault {
	return []fault{
		{name: "resource is refused at the token endpoint", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.form().Has("resource") }, badRequest),
			fails: "RFC8707/2.2/ignored MCP/M5/resource-taken"},
		{name: "a resource becomes the audience", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == tokenPath && a.Granted() {
				p.keep("for "+a.Text("access_token"), q.form().Get("resource"))
			}
			if resource := p.note("for " + q.form().Get("token")); q.path == introspectPath && resource != "" && a.JSON()["active"] == true {
				edit(a, put("aud", resource))
			}
			return a
		}, fails: "RFC8707/2.2/audience-stays"},
		{name: "iss has a query", spoil: sending(func(_ *proxy, sent url.Values) {
			if sent.Has("iss") {
				sent.Set("iss", sent.Get("iss")+"?x")
			}
		}), fails: "RFC9207/2/url RFC9207/2.3/as-in-metadata"},
	}
}
