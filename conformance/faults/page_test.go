package faults

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// pageFaults are faults of the pages that people see (RFC 6749 §10.2, §10.12, §10.14).
func pageFaults() []fault {
	return []fault{
		{name: "public clients need no consent", at: authorizePath,
			spoil: approving(need.Public, func(*proxy, url.Values) bool { return true }),
			fails: "RFC6749/10.2/person-informed", skips: "OIDCCore/11/native-consent RFC6749/10.12/csrf"},
		{name: "offline access of public clients needs no consent", at: authorizePath,
			spoil: approving(need.Public,
				func(_ *proxy, v url.Values) bool { return strings.Contains(v.Get("scope"), "offline_access") }),
			fails: "OIDCCore/11/native-consent"},
		{name: "native applications need no consent", at: authorizePath,
			spoil: approving(need.Loopback, func(*proxy, url.Values) bool { return true }),
			fails: "RFC6749/10.2/repeated-request-asked RFC8252/8.6/not-automatic"},
		{name: "consent is accepted from any browser and any site", spoil: consentOfAnyBrowser(foreignForm, ownPage),
			fails: "RFC6749/10.12/csrf OIDCCore/3.1.2.3/csrf"},
		{name: "consent is accepted from any browser, but only from the server's own pages",
			spoil:  consentOfAnyBrowser(anyForm, func(*proxy, *ask) {}),
			passes: "RFC6749/10.12/csrf OIDCCore/3.1.2.3/csrf"},
		{name: "the consent form counts in a browser without cookies too", spoil: consentOfAnyBrowser(anyForm, ownPage),
			blocks: "RFC6749/10.12/csrf OIDCCore/3.1.2.3/csrf"},
		{name: "native applications need no consent, but a login each time", at: authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if v := q.params(); v.Get("client_id") == p.target.Clients[need.Loopback].ID && !v.Has("prompt") {
					q.setQuery("prompt", "login")
				}
				return approving(need.Loopback, func(*proxy, url.Values) bool { return true })(p, q)
			}, passes: "RFC6749/10.2/repeated-request-asked RFC8252/8.6/not-automatic"},
		{name: "pages that name an error have the status 500", at: authorizePath, spoil: answering(func(a *wire.Answer) {
			if a.Status >= 400 {
				*a = *shown(http.StatusInternalServerError, "The error is invalid_request: it does not fit the registration.")
			}
		}), passes: "RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/simple-string-comparison RFC6749/3.1.2.4/person-informed " +
			"RFC6749/4.1.2.1/unknown-client-told " +
			"OIDCCore/3.1.2.1/redirect-uri-registered OIDCCore/3.1.2.2/required-parameters RFC9700/2.1/a1-exact-redirect-uri"},
		{name: "unregistered redirect URIs are an internal error", at: authorizePath, spoil: answering(func(a *wire.Answer) {
			if a.Status >= 400 {
				*a = *shown(http.StatusInternalServerError, "Something went wrong.")
			}
		}), fails: "RFC6749/3.1.2.4/person-informed RFC6749/4.1.2.1/unknown-client-told",
			passes: "RFC6749/3.1/not-repeated RFC6749/3.1.2.3/registered RFC6749/3.1.2.3/simple-string-comparison " +
				"RFC6749/10.1/public-otherwise-known " +
				"RFC9700/2.1/a1-exact-redirect-uri OIDCCore/3.1.2.1/redirect-uri-registered"},
		{name: "error pages show input unescaped", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if a.Status >= 400 && strings.Contains(q.params().Get("redirect_uri"), "svg") {
				a.Body = append(a.Body, q.params().Get("redirect_uri")...)
			}
			return a
		}, fails: "RFC6749/10.14/sanitized"},
		{name: "a cookie holds the access token", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == tokenPath && q.form().Has("code") && a.Granted() {
				// More than the last ones, since other checks run at the same time.
				kept := p.note("last") + "." + a.Text("access_token")
				p.keep("last", kept[max(0, len(kept)-1000):])
			}
			if q.path == authorizePath && p.has("last") {
				a.Header.Add("Set-Cookie", "token="+p.note("last")+"; Path=/")
			}
			return a
		}, fails: "RFC6750/5.3/not-in-cookies OIDCCore/16.4/not-exposed"},
		{name: "the login redirects with 307", at: loginPath, spoil: passing(http.StatusTemporaryRedirect),
			fails: "RFC9700/4.12/a8-no-307 RFC9700/4.12/a9-303 FAPI2/5.3.2.2/no-307 FAPI2/5.3.2.2/303",
			hides: "RFC6749/10.12/csrf RFC6750/5.3/not-in-cookies"},
		{name: "the login redirects with 302", at: loginPath, spoil: passing(http.StatusFound),
			fails: "RFC9700/4.12/a9-303 FAPI2/5.3.2.2/303", passes: "FAPI2/5.3.2.2/no-307"},
		{name: "authorization responses redirect with 307", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if p.away(a) != nil {
				a.Status = http.StatusTemporaryRedirect
			}
			return a
		}, fails: "OIDCCore/16.22/no-307 OIDCCore/16.22/303"},
		{name: "pages can be framed", spoil: answering(func(a *wire.Answer) {
			a.Header.Del("Content-Security-Policy")
			a.Header.Del("X-Frame-Options")
		}), fails: "RFC9700/4.16/a48-no-clickjacking RFC9700/4.16/a47-frame-ancestors RFC9700/4.16/a48-older-browsers " +
			"OIDCCore/3.1.2.3/clickjacking OIDCFormPost/4/nothing-leaks"},
		{name: "pages send a Referer", spoil: answering(func(a *wire.Answer) { a.Header.Del("Referrer-Policy") }),
			fails: "RFC9700/4.2.4/a41-referrer-policy"},
		{name: "scripts can call the authorization endpoint", at: authorizePath,
			spoil: answering(header("Access-Control-Allow-Origin", "*")),
			fails: "RFC9700/2.6/a39-no-cors-at-authorization OAuth21/3.1/no-cors FAPI2/5.2.3/no-cors-at-authorization"},
	}
}

// consentOfAnyBrowser sends each consent form with the cookies of the browser that got the form.
func consentOfAnyBrowser(counts func(p *proxy, q *ask) bool, change func(p *proxy, q *ask)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		ticket := q.form().Get("ticket")
		if q.path == consentPath && p.has("asked "+ticket) && counts(p, q) {
			q.header.Set("Cookie", p.note("asked "+ticket))
			change(p, q)
		}
		a := p.real(q)
		if q.path == authorizePath {
			for _, f := range browser.Parse(a).Forms {
				p.keep("asked "+f.Values.Get("ticket"), q.header.Get("Cookie"))
			}
		}
		return a
	}
}

// anyForm counts a form from everywhere, and foreignForm one that a page of another site sends in the browser of a
// person. That browser withholds the cookies of the person, so the form is recognized by its origin.
func anyForm(*proxy, *ask) bool         { return true }
func foreignForm(p *proxy, q *ask) bool { return q.header.Get("Origin") != p.front.Front }

// ownPage makes a form look as if a page of the server had sent it.
func ownPage(p *proxy, q *ask) {
	q.header.Set("Origin", p.front.Front)
	q.header.Set("Sec-Fetch-Site", "same-origin")
}

// passing changes the status of the redirects after a form.
func passing(code int) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if q.method == http.MethodPost && a.Status/100 == 3 {
			a.Status = code
		}
		return a
	}
}

// approving approves a client instead of the person.
func approving(role need.Need, is func(p *proxy, v url.Values) bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		v := q.params()
		if v.Get("client_id") != p.target.Clients[role].ID {
			return a
		}
		f, button := browser.Parse(a).Decision(true, browser.Hints{})
		if f == nil || !is(p, v) {
			return a
		}
		f.Press(button)
		return p.press(q, f)
	}
}
