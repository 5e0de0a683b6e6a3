package faults

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// formPostFaults are faults of the response mode form_post (OIDC Form Post).
func formPostFaults() []fault {
	return []fault{
		{name: "form_post lacks iss", spoil: posting(`<input[^>]*name="?iss"?[^>]*>`, ""), fails: "RFC9207/2/in-form-post"},
		{name: "form_post lacks state", spoil: posting(`<input[^>]*name="?state"?[^>]*>`, ""),
			fails: "OIDCFormPost/2/parameters-in-form"},
		{name: "form_post truncates the code", spoil: posting(`(name="code" value="[^"]{20})[^"]*`, "$1"),
			fails: "OIDCFormPost/2/code-works"},
		{name: "form_post has state in its action URI", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if f := browser.Parse(a).FormPost(); f != nil {
				a.Body = []byte(strings.Replace(string(a.Body), `action="`+f.Action,
					`action="`+f.Action+"?state="+url.QueryEscape(f.Values.Get("state")), 1))
			}
			return a
		}, fails: "OIDCFormPost/2/not-in-address OIDCFormPost/2/action"},
		{name: "form_post is sent to the origin only", spoil: posting(`action="(https://[^/"]*/)[^"]*"`, `action="$1"`),
			fails: "OIDCFormPost/2/action OIDCFormPost/2/action-with-query"},
		{name: "form_post drops the query of the redirect URI", spoil: posting(`(action="[^"?]*)\?[^"]*"`, `$1"`),
			fails: "OIDCFormPost/2/action-with-query"},
		{name: "form_post uses GET", spoil: posting(`method="post"`, `method="get"`), fails: "OIDCFormPost/2/method"},
		{name: "form_post has no button", spoil: posting(`(?s)<button.*?</button>`, ""), fails: "OIDCFormPost/2/button"},
		{name: "form_post sends a Referer",
			spoil: posted(func(a *wire.Answer) { a.Header.Set("Referrer-Policy", "unsafe-url") }),
			fails: "OIDCFormPost/4/nothing-leaks"},
		{name: "form_post may be cached", spoil: posted(func(a *wire.Answer) { a.Header.Del("Cache-Control") }),
			fails: "OIDCFormPost/2/not-stored"},
		{name: "form_post has no Content-Type, so that browsers guess it",
			spoil:  posted(func(a *wire.Answer) { a.Header.Del("Content-Type") }),
			passes: "OIDCFormPost/2/parameters-in-form OIDCFormPost/2/code-works OIDCFormPost/2/action RFC9207/2/in-form-post"},
		{name: "response_mode is ignored", at: authorizePath, spoil: queryOnly, aim: func(*target.Target) {},
			blocks: "OIDCFormPost/2/parameters-in-form OIDCFormPost/2/action OIDCFormPost/2/not-stored RFC9207/2/in-form-post",
			fails:  "OIDCDiscovery/3/response-modes-true RFC8414/2/response-modes-true"},
		{name: "response_mode is ignored, and form_post is not listed", spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.Contains(q.path, "/.well-known/o") {
				return publishing(put("response_modes_supported", []string{"query"}))(p, q)
			}
			return queryOnly(p, q)
		}, aim: func(*target.Target) {}, skips: "OIDCFormPost/2/parameters-in-form OIDCFormPost/2/action " +
			"OIDCFormPost/2/not-stored RFC9207/2/in-form-post"},
		{name: "errors are not sent by form_post", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if f := browser.Parse(a).FormPost(); f != nil && slices.Contains(f.Values["error"], "access_denied") {
				return moved(f.Action + "?" + f.Values.Encode())
			}
			return a
		}, fails: "OIDCFormPost/2/error-in-form"},
	}
}

// queryOnly ignores response_mode.
func queryOnly(p *proxy, q *ask) *wire.Answer {
	if q.path == authorizePath && q.params().Has("response_mode") {
		q.setQuery("response_mode", "")
	}
	return p.real(q)
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
