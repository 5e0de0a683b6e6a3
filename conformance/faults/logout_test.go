package faults

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// logoutFaults are faults of logout (OIDC RP-Logout).
func logoutFaults() []fault {
	bye := func() *wire.Answer { return shown(http.StatusOK, "bye") }
	// following redirects to the address in the request, without asking.
	following := func(is func(p *proxy, v url.Values) bool) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if v := q.params(); v.Get("post_logout_redirect_uri") != "" && is(p, v) {
				return moved(v.Get("post_logout_redirect_uri"))
			}
			return p.real(q)
		}
	}
	has := func(names ...string) func(*proxy, *ask) bool {
		return func(_ *proxy, q *ask) bool {
			for _, name := range names {
				if !q.params().Has(name) {
					return false
				}
			}
			return true
		}
	}
	return []fault{
		{name: "a logout ends no session", at: logoutPath, spoil: func(*proxy, *ask) *wire.Answer { return bye() },
			fails: "OIDCRPLogout/2/get OIDCRPLogout/2/post",
			skips: "OIDCRPLogout/2/yes",
			blocks: "OIDCRPLogout/2/hint-and-client OIDCRPLogout/2/logout-hint OIDCRPLogout/2/ui-locales " +
				"OIDCRPLogout/3/back-to-client OIDCRPLogout/4/idempotent"},
		{name: "a logout that the person confirms ends no session", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.method == http.MethodPost && q.path == "/logout/" {
				return bye()
			}
			return p.real(q)
		}, fails: "OIDCRPLogout/2/yes"},
		{name: "the page that confirms a logout has no known button", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if q.path == logoutPath {
				a.Body = []byte(buttons.ReplaceAllString(string(a.Body), "<button>Zzz</button>"))
			}
			return a
		}, blocks: "OIDCRPLogout/2/yes OIDCRPLogout/3/client-id-as-proof"},
		{name: "a logout by POST is refused", at: logoutPath, spoil: unlessBy(http.MethodGet), fails: "OIDCRPLogout/2/post"},
		{name: "logout_hint is refused", at: logoutPath, spoil: refusingIf(has("logout_hint"), badPage),
			fails: "OIDCRPLogout/2/logout-hint"},
		{name: "ui_locales is refused at logout", at: logoutPath, spoil: refusingIf(has("ui_locales"), badPage),
			fails: "OIDCRPLogout/2/ui-locales"},
		{name: "a hint with a client_id is refused", at: logoutPath,
			spoil: refusingIf(has("id_token_hint", "client_id"), badPage), fails: "OIDCRPLogout/2/hint-and-client"},
		{name: "logout is not confirmed by the person", at: logoutPath, spoil: unasked(func(url.Values) bool { return true }),
			fails: "OIDCRPLogout/2/asks-without-hint",
			blocks: "OIDCRPLogout/2/asks-with-hint-of-other-session OIDCRPLogout/2/issuer-of-hint " +
				"OIDCRPLogout/2/client-of-hint OIDCRPLogout/4/invalid-not-used"},
		{name: "logout is not confirmed by the person, and prompt=none is ignored", at: logoutPath + " " + authorizePath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.path == authorizePath {
					return ignoring("prompt", oneOf("none"))(p, q)
				}
				return unasked(func(url.Values) bool { return true })(p, q)
			}, aim: func(*target.Target) {}, fails: "OIDCRPLogout/2/asks-without-hint",
			passes: "OIDCRPLogout/2/get OIDCRPLogout/2/post"},
		{name: "any id_token_hint is accepted at logout", at: logoutPath,
			spoil: trusting(func(url.Values) bool { return true }),
			fails: "OIDCRPLogout/2/issuer-of-hint OIDCRPLogout/2/client-of-hint OIDCRPLogout/4/invalid-not-used " +
				"OIDCRPLogout/2/asks-with-hint-of-other-session"},
		{name: "a logout without id_token_hint is refused", at: logoutPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.method == http.MethodGet && !q.params().Has("id_token_hint")
		}, badPage), aim: func(*target.Target) {}, skips: "OIDCRPLogout/2/yes", passes: "OIDCRPLogout/2/get"},
		{name: "a confirmed logout ends no session", at: "/logout/", spoil: func(*proxy, *ask) *wire.Answer { return bye() },
			fails: "OIDCRPLogout/2/yes OIDCRPLogout/3/client-id-as-proof"},
		{name: "a logout ends the sessions of all browsers", spoil: func(p *proxy, q *ask) *wire.Answer {
			login := q.path == loginPath && q.method == http.MethodPost
			if p.value("out") == true && !login {
				q.header.Del("Cookie")
			}
			a := p.real(q)
			if login || strings.HasSuffix(q.path, "/logout/") {
				p.keep("out", !login)
			}
			return a
		}, fails: "OIDCRPLogout/2/other-browsers-stay"},
		{name: "a second logout is an error", at: logoutPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			request := "out " + q.params().Get("id_token_hint")
			if p.has(request) {
				return badPage()
			}
			p.keep(request, true)
			return p.real(q)
		}, fails: "OIDCRPLogout/4/idempotent"},

		{name: "the browser is not redirected after logout", spoil: departing(func(url.Values) {}, true),
			fails: "OIDCRPLogout/3/back-to-client OIDCRPLogout/3/client-id-as-proof",
			skips: "OIDCRPLogout/3/state OIDCRPLogout/3/no-state OIDCRPLogout/3/exact-match OIDCRPLogout/3/of-this-client"},
		{name: "state is not returned after logout", spoil: departing(func(sent url.Values) { sent.Del("state") }, false),
			fails: "OIDCRPLogout/3/state"},
		{name: "state is returned after logout though the client sent none",
			spoil: departing(func(sent url.Values) { sent.Set("state", "made-up") }, false),
			fails: "OIDCRPLogout/3/no-state OIDCRPLogout/3/state"},
		{name: "logout redirects to any URI", at: logoutPath, spoil: following(func(_ *proxy, v url.Values) bool {
			return strings.HasPrefix(v.Get("post_logout_redirect_uri"), "https://attacker.example/")
		}), fails: "OIDCRPLogout/3/exact-match"},
		{name: "logout redirects to the URI of any client", at: logoutPath,
			spoil: following(func(p *proxy, v url.Values) bool {
				leaving, _ := need.RoleOf(need.Logout)
				return slices.Contains(leaving.AfterLogout, v.Get("post_logout_redirect_uri"))
			}), fails: "OIDCRPLogout/3/of-this-client OIDCRPLogout/3/not-without-proof OIDCRPLogout/2/asks-without-hint " +
				"OIDCRPLogout/4/invalid-not-used"},
		{name: "a logout token is accepted as id_token_hint", at: logoutPath, spoil: trusting(func(v url.Values) bool {
			return inside(v.Get("id_token_hint")).Header["typ"] == "logout+jwt"
		}), fails: "OIDCBackChannel/4.1/no-id-token"},
	}
}

var buttons = regexp.MustCompile(`(?s)<button.*?</button>`)

// departing changes the redirect after a logout, or removes it.
func departing(change func(sent url.Values), stay bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		to := p.away(a)
		if to == nil || !strings.HasSuffix(q.path, "/logout/") {
			return a
		}
		if stay {
			a.Header.Del("Location")
			a.Status = http.StatusOK
			return a
		}
		sent := to.Query()
		change(sent)
		to.RawQuery = sent.Encode()
		a.Header.Set("Location", to.String())
		return a
	}
}

// unasked confirms a logout instead of the person.
func unasked(is func(v url.Values) bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if f := browser.Parse(a).LogoutForm(browser.Hints{}); f != nil && is(q.params()) {
			p.press(q, f)
		}
		return a
	}
}

// trusting ends the session for some kinds of hints, whatever the true server does.
func trusting(is func(v url.Values) bool) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		v := q.params()
		trusted := v.Has("id_token_hint") && is(v)
		if trusted {
			q.query = ""
		}
		return unasked(func(url.Values) bool { return trusted })(p, q)
	}
}

// noticeFaults are faults of logout tokens (OIDC Back-Channel).
func noticeFaults() []fault {
	claim := func(name string, value any) spoiler { return notices(saying(name, value)) }
	event := func(value any) spoiler { return claim("events", map[string]any{rules.LogoutEvent: value}) }
	backchannels := func(p *proxy, q *ask) bool { return q.form().Has("refresh_token") && of(need.Backchannel)(p, q) }
	return at(toldPath+" "+keysPath, []fault{
		{name: "logout tokens are sent by PUT", spoil: noticed(func(q *ask) { q.method = http.MethodPut }),
			fails: "OIDCBackChannel/2.5/post"},
		{name: "logout tokens are sent as JSON",
			spoil: noticed(func(q *ask) { q.header.Set("Content-Type", "application/json") }),
			fails: "OIDCBackChannel/2.5/form"},
		{name: "a request contains two logout tokens", spoil: noticed(func(q *ask) { q.body += "&" + q.body }),
			fails: "OIDCBackChannel/2.5/logout-token"},
		{name: "only the client that requested a logout is notified", mute: true,
			spoil: func(p *proxy, q *ask) *wire.Answer { return &wire.Answer{Status: http.StatusOK, Header: http.Header{}} },
			fails: "OIDCBackChannel/2.3/remembered OIDCBackChannel/2.5/post"},
		{name: "clients are notified of other sessions", at: logoutPath + " /logout/",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				form := wire.Params("logout_token", claimed("sid", "another"))
				p.tell(&ask{method: http.MethodPost, path: toldPath, body: form.Encode(),
					header: http.Header{"Content-Type": {wire.FormEncoded}}})
				return a
			}, fails: "OIDCBackChannel/2.3/others-not-told"},
		{name: "the browser waits until clients are notified", at: logoutPath + " " + toldPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				told, _ := p.once("told", make(chan bool, 9)).(chan bool)
				a := p.real(q)
				if q.path == toldPath {
					told <- true
					return a
				}
				select {
				case <-told:
				case <-time.After(check.LogoutDeadline):
				}
				return a
			}, passes: "OIDCRPLogout/3/redirect-after-notice"},

		{name: "the iss of logout tokens is wrong", spoil: claim("iss", "https://attacker.example"),
			fails: "OIDCBackChannel/2.4/iss"},
		{name: "the aud of logout tokens is wrong", spoil: claim("aud", "another"), fails: "OIDCBackChannel/2.4/aud"},
		{name: "the iat of logout tokens is in milliseconds", spoil: claim("iat", 1.8e12), fails: "OIDCBackChannel/2.4/iat"},
		{name: "logout tokens have no exp", spoil: claim("exp", nil),
			fails: "OIDCBackChannel/2.4/exp OIDCBackChannel/4/short-life"},
		{name: "logout tokens do not expire", spoil: claim("exp", 4102444800), fails: "OIDCBackChannel/4/short-life"},
		{name: "the jti of logout tokens is always the same", spoil: claim("jti", "1"), fails: "OIDCBackChannel/2.4/jti"},
		{name: "logout tokens have no events", spoil: claim("events", nil),
			fails: "OIDCBackChannel/2.4/events OIDCBackChannel/2.4/event-empty"},
		{name: "the event of logout tokens is not empty", spoil: event(map[string]any{"by": "logout"}),
			fails: "OIDCBackChannel/2.4/event-empty"},
		{name: "the event of logout tokens is a string", spoil: event("logout"),
			fails: "OIDCBackChannel/2.4/events OIDCBackChannel/2.4/event-empty"},
		{name: "the sub of logout tokens is wrong", spoil: claim("sub", "another"), fails: "OIDCBackChannel/2.4/sub-or-sid"},
		{name: "logout tokens have no sid", spoil: claim("sid", nil), fails: "OIDCBackChannel/2.4/sub-and-sid",
			skips: "OIDCBackChannel/2.1/session-supported"},
		{name: "logout tokens have neither sub nor sid", spoil: notices(func(_ *jwt.Token, claims map[string]any) {
			delete(claims, "sub")
			delete(claims, "sid")
		}), fails: "OIDCBackChannel/2.4/sub-or-sid OIDCBackChannel/2.4/sub-and-sid"},
		{name: "logout tokens have a nonce", spoil: claim("nonce", "n"), fails: "OIDCBackChannel/2.4/no-nonce"},
		{name: "logout tokens have an invalid signature", spoil: notices(heading("kid", "another")),
			fails: "OIDCBackChannel/2.4/signed"},
		{name: "logout tokens have the type of other tokens", spoil: notices(heading("typ", "JWT")),
			fails: "OIDCBackChannel/2.4/typed"},
		{name: "logout tokens are signed with PS256", spoil: notices(method(jwt.SigningMethodPS256)),
			fails: "OIDCBackChannel/2.6/algorithm"},
		{name: "logout tokens have alg none", spoil: notices(method(jwt.SigningMethodNone)),
			fails: "OIDCBackChannel/2.6/not-unsigned OIDCBackChannel/2.6/algorithm OIDCBackChannel/2.4/signed"},

		{name: "refresh tokens outlive the session", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if backchannels(p, q) && !a.Granted() {
				return &wire.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}},
					Body: []byte(`{"access_token":"made-up","token_type":"Bearer"}`)}
			}
			return a
		}, fails: "OIDCBackChannel/2.7/refresh-tokens-end"},
		{name: "offline access ends with the session", at: tokenPath + " " + logoutPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.path == logoutPath || q.form().Has("code") {
					p.keep("out", q.path == logoutPath) // until the next login
				}
				if backchannels(p, q) && p.value("out") == true {
					return badGrant()
				}
				return p.real(q)
			}, fails: "OIDCBackChannel/2.7/offline-access-stays"},
		{name: "refresh tokens of the client backchannel never work", at: tokenPath,
			spoil:  refusingIf(backchannels, badGrant),
			blocks: "OIDCBackChannel/2.7/refresh-tokens-end OIDCBackChannel/2.7/offline-access-stays"},
		{name: "back-channel logout is not supported", mute: true,
			at: toldPath + " /o/.well-known/openid-configuration /.well-known/oauth-authorization-server/o",
			spoil: func(p *proxy, q *ask) *wire.Answer {
				if q.path == toldPath {
					return &wire.Answer{Status: http.StatusOK, Header: http.Header{}}
				}
				return publishing(put("backchannel_logout_supported", nil))(p, q)
			}, skips: "OIDCBackChannel/2.1/supported OIDCBackChannel/2.3/remembered OIDCBackChannel/2.4/iss " +
				"OIDCBackChannel/2.5/post"},
	})
}

// noticed changes the logout token requests.
func noticed(change func(q *ask)) spoiler {
	return spoiling(func(_ *proxy, q *ask) {
		if q.path == toldPath {
			change(q)
		}
	})
}

// notices changes logout tokens.
func notices(change changing) spoiler {
	return withKey(noticed(func(q *ask) { q.set("logout_token", resign(q.form().Get("logout_token"), change)) }))
}
