package faults

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// nativeFaults are faults of a server for native applications (RFC 8252).
func nativeFaults() []fault {
	loopback := func(p *proxy, v url.Values) bool { return v.Get("client_id") == p.target.Clients[need.Loopback].ID }
	return []fault{
		{name: "a loopback redirect URI has a fixed port", at: authorizePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return loopback(p, q.params()) && wire.ParseURL(q.params().Get("redirect_uri")).Port() != ""
		}, badPage), fails: "RFC8252/7.3/any-port RFC9700/4.1.3/a2-loopback-port"},
		{name: "a loopback redirect URI has any path", spoil: misdirected(func(sent, registered string) bool {
			return wire.ParseURL(sent).Hostname() == "127.0.0.1" && wire.ParseURL(registered).Hostname() == "127.0.0.1"
		}), fails: "RFC8252/8.4/loopback-exact-but-for-port"},
		{name: "a redirect URI of a private-use scheme is refused", at: authorizePath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			return strings.HasPrefix(q.params().Get("redirect_uri"), "com.example.")
		}, badPage), fails: "RFC8252/7.1/private-use-scheme"},
		{name: "a redirect URI of a private-use scheme has any path", spoil: misdirected(func(sent, registered string) bool {
			return wire.ParseURL(registered).Host == "" && wire.ParseURL(sent).Scheme == wire.ParseURL(registered).Scheme
		}), fails: "RFC8252/8.4/private-use-exact"},
		{name: "native applications need no PKCE", at: authorizePath, spoil: challenges(func(p *proxy, q *ask, v url.Values) {
			if loopback(p, v) && !v.Has("code_challenge") {
				unproven(q)
			}
		}), fails: "RFC8252/8.1/without-pkce-rejected"},
		{name: "native applications need a secret", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, secret := q.client()
			return id == p.target.Clients[need.Loopback].ID && secret == ""
		}, unknownClient), fails: "RFC8252/8.5/no-shared-secret RFC8252/6/pkce-supported"},
	}
}

// practiceFaults are faults that the best current practice and MCP are about (RFC 9700).
func practiceFaults() []fault {
	verifier, challenge := check.NewPKCE()
	owned := func(p *proxy, q *ask) *target.Client { return p.owner(q.form().Get("token")) }
	machines := func(name string, value func(p *proxy) any) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if c := owned(p, q); c != nil && c == p.target.Clients[need.Machine] && a.JSON()["active"] == true {
				edit(a, put(name, value(p)))
			}
			return a
		}
	}
	return []fault{
		{name: "a verifier is taken where there was no challenge", spoil: func(p *proxy, q *ask) *wire.Answer {
			v, from := q.params(), p.codes(q.form().Get("code"))
			switch {
			case q.path == authorizePath && v.Get("client_id") == p.target.Clients[need.Code].ID && !v.Has("code_challenge"):
				q.setQuery("code_challenge", challenge, "code_challenge_method", "S256")
			case q.path == tokenPath && from != nil && !from.Has("code_challenge"):
				q.set("code_verifier", verifier)
			}
			return p.real(q)
		}, fails: "RFC9700/4.8.2/a14-no-downgrade RFC7636/4.4.1/required-of-all"},
		{name: "an error comes before anybody has signed in", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if v := q.params(); v.Get("scope") == "conformance-unknown" && q.header.Get("Cookie") == "" {
				return moved(v.Get("redirect_uri") + "?error=invalid_scope&state=" + url.QueryEscape(v.Get("state")))
			}
			return p.real(q)
		}, fails: "RFC9700/4.11.2/a5-person-first"},
		{name: "answers have an empty fragment", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Has("code") {
				a.Header.Set("Location", to.String()+"#_")
			}
			return a
		}, fails: "RFC9700/4.1.3/a53-fragment"},
		{name: "scripts cannot call the token endpoint", at: tokenPath, spoil: answering(header("Access-Control-Allow-Origin", "")), fails: "RFC9700/2.6/a38-cors"},
		{name: "machines have the name of a person", at: introspectPath, spoil: machines("username", func(p *proxy) any { return p.target.User.Username }),
			fails: "RFC9700/4.15.1/a36-no-person"},
		{name: "machines have a subject of their own", at: introspectPath, spoil: machines("sub", func(*proxy) any { return "machine" }), fails: "RFC9700/4.15.1/a36-told-apart"},
		{name: "of two scopes one is given", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if scopes := strings.Fields(p.codes(q.form().Get("code")).Get("scope")); len(scopes) == 2 && a.Granted() {
				edit(a, put("scope", scopes[1]))
			}
			return a
		}, fails: "MCP/M15/step-up"},
	}
}

// resourceFaults are faults of the parameter resource, which Mandate ignores (RFC 8707), and of iss (RFC 9207).
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

// formPostFaults are faults of the response mode form_post (OIDC Form Post).
func formPostFaults() []fault {
	return []fault{
		{name: "form_post forgets iss", spoil: posting(`<input[^>]*name="?iss"?[^>]*>`, ""), fails: "RFC9207/2/in-form-post"},
		{name: "form_post forgets state", spoil: posting(`<input[^>]*name="?state"?[^>]*>`, ""), fails: "OIDCFormPost/2/parameters-in-form"},
		{name: "form_post cuts the code off", spoil: posting(`(name="code" value="[^"]{20})[^"]*`, "$1"), fails: "OIDCFormPost/2/code-works"},
		{name: "form_post has the state in the address", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if f := browser.Parse(a).FormPost(); f != nil {
				a.Body = []byte(strings.Replace(string(a.Body), `action="`+f.Action, `action="`+f.Action+"?state="+url.QueryEscape(f.Values.Get("state")), 1))
			}
			return a
		}, fails: "OIDCFormPost/2/not-in-address OIDCFormPost/2/action"},
		{name: "form_post goes to the origin", spoil: posting(`action="(https://[^/"]*/)[^"]*"`, `action="$1"`), fails: "OIDCFormPost/2/action OIDCFormPost/2/action-with-query"},
		{name: "form_post forgets the query of the address", spoil: posting(`(action="[^"?]*)\?[^"]*"`, `$1"`), fails: "OIDCFormPost/2/action-with-query"},
		{name: "form_post is by GET", spoil: posting(`method="post"`, `method="get"`), fails: "OIDCFormPost/2/method"},
		{name: "form_post has no button", spoil: posting(`(?s)<button.*?</button>`, ""), fails: "OIDCFormPost/2/button"},
		{name: "form_post tells where the browser came from", spoil: posted(func(a *wire.Answer) { a.Header.Set("Referrer-Policy", "unsafe-url") }), fails: "OIDCFormPost/4/nothing-leaks"},
		{name: "form_post may be stored", spoil: posted(func(a *wire.Answer) { a.Header.Del("Cache-Control") }), fails: "OIDCFormPost/2/not-stored"},
		{name: "errors are not posted", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if f := browser.Parse(a).FormPost(); f != nil && slices.Contains(f.Values["error"], "access_denied") {
				return moved(f.Action + "?" + f.Values.Encode())
			}
			return a
		}, fails: "OIDCFormPost/2/error-in-form"},
	}
}

// posted changes pages that post a response to a client.
func posted(change func(*wire.Answer)) spoiler {
	return answering(func(a *wire.Answer) {
		if a.Status == http.StatusOK && browser.Parse(a).FormPost() != nil {
			change(a)
		}
	})
}

// posting changes the text of such pages.
func posting(expression, replacement string) spoiler {
	is := regexp.MustCompile(expression)
	return posted(func(a *wire.Answer) { a.Body = is.ReplaceAll(a.Body, []byte(replacement)) })
}
