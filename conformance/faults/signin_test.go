package faults

import (
	"cmp"
	"crypto/rand"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// asksOpenID reports whether the parameters are those of an authentication request (OIDC Core §3.1.2.1). No rule of the
// proven documents sends one.
func asksOpenID(v url.Values) bool { return slices.Contains(strings.Fields(v.Get("scope")), "openid") }

// signIns changes authentication requests.
func signIns(change func(p *proxy, q *ask, v url.Values)) spoiler {
	return challenges(func(p *proxy, q *ask, v url.Values) {
		if asksOpenID(v) {
			change(p, q, v)
		}
	})
}

// ignoring removes a parameter from authentication requests if a condition holds for its value.
func ignoring(name string, is func(value string) bool) spoiler {
	return signIns(func(_ *proxy, q *ask, v url.Values) {
		if v.Has(name) && is(v.Get(name)) {
			q.setQuery(name, "")
		}
	})
}

func anything(string) bool { return true }

func oneOf(values ...string) func(string) bool {
	return func(value string) bool { return slices.Contains(values, value) }
}

func noneOf(values ...string) func(string) bool {
	return func(value string) bool { return !slices.Contains(values, value) }
}

// holding returns the condition that a value contains a text.
func holding(part string) func(string) bool {
	return func(value string) bool { return strings.Contains(value, part) }
}

// refusingSignIns answers authentication requests with an error if a condition holds for a parameter.
func refusingSignIns(code, name string, is func(value string) bool) spoiler {
	return refusingAsk(func(v url.Values) bool { return asksOpenID(v) && v.Has(name) && is(v.Get(name)) }, code)
}

// withoutObjects is a fault of a server whose metadata has no request objects.
func withoutObjects(spoil spoiler) spoiler {
	silent := publishing(put("request_parameter_supported", false))
	return func(p *proxy, q *ask) *wire.Answer {
		if strings.Contains(q.path, "/.well-known/") {
			return silent(p, q)
		}
		return spoil(p, q)
	}
}

// signInFaults are faults of authentication requests (OIDC Core §3.1.2, §6), MCP and RFC 8707.
func signInFaults() []fault {
	return append(at(authorizePath, []fault{
		{name: "a nonce is required", spoil: refusingAsk(func(v url.Values) bool { return asksOpenID(v) && !v.Has("nonce") },
			"invalid_request"), fails: "OIDCCore/3.1.2.1/nonce-optional",
			blocks: "OIDCCore/15.1/display OIDCCore/15.1/locales OIDCCore/15.1/acr-values OIDCCore/3.1.2.1/ui-locales " +
				"OIDCCore/5.2/claims-locales OIDCCore/3.1.2.1/response-mode-query " +
				"OIDCCore/3.1.2.2/unknown-parameters-ignored OIDCCore/3.1.2.1/unknown-scope-ignored OIDCCore/3.1.2.1/display-wap " +
				"OIDCCore/5.5.1/essential-unknown", hides: "RFC6750/2.3/private-userinfo"},
		{name: "long nonces are refused", spoil: refusingAsk(func(v url.Values) bool { return len(v.Get("nonce")) > 255 },
			"invalid_request"),
			fails: "OIDCCore/2/nonce-not-processed", passes: "OIDCCore/2/nonce"},
		{name: "no code is issued for an authentication request", spoil: refusingAsk(asksOpenID, "server_error"),
			blocks: "OIDCCore/3.1.2.1/nonce-optional OIDCCore/2/nonce-not-processed OIDCCore/3.1.2.2/oauth-parameters",
			hides:  "RFC6750/2.3/private-userinfo"},
		{name: "an unknown scope beside openid is refused",
			spoil: refusingSignIns("invalid_scope", "scope", holding("conformance-unknown")),
			fails: "OIDCCore/3.1.2.1/unknown-scope-ignored",
			skips: "OIDCCore/3.1.3.3/left-out-scope-told"},
		{name: "a scope that a login leaves out is not told", at: tokenPath, apart: true,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				asked, a := p.codes(q.form().Get("code")), p.real(q)
				if strings.Contains(asked.Get("scope"), "conformance-unknown") && a.Granted() {
					edit(a, put("scope", nil))
				}
				return a
			}, fails: "OIDCCore/3.1.3.3/left-out-scope-told"},
		{name: "response_mode=query is refused", spoil: refusingSignIns("invalid_request", "response_mode", oneOf("query")),
			fails: "OIDCCore/3.1.2.1/response-mode-query"},
		{name: "an unknown response_mode means query", spoil: challenges(func(_ *proxy, q *ask, v url.Values) {
			if v.Get("response_mode") == "conformance" {
				q.setQuery("response_mode", "")
			}
		}), fails: "OIDCCore/3.1.2.6/response-mode-unknown RFC8414/2/other-response-modes"},
		{name: "response types of the other flows mean code", spoil: signIns(func(_ *proxy, q *ask, v url.Values) {
			if strings.Contains(v.Get("response_type"), "token") {
				q.setQuery("response_type", "code")
			}
		}), fails: "OIDCCore/3.2/refused OIDCCore/3.3/refused OIDCDiscovery/3/response-types-true " +
			"RFC8414/2/response-types-true"},
		{name: "display is refused", spoil: refusingSignIns("invalid_request", "display", anything),
			fails: "OIDCCore/3.1.2.1/display-wap OIDCCore/15.1/display OIDCDiscovery/3/display-values-true"},
		{name: "an unknown display is ignored", spoil: ignoring("display", noneOf("page", "popup", "touch", "wap")),
			fails: "OIDCCore/3.1.2.1/display-unknown"},
		{name: "ui_locales is refused", spoil: refusingSignIns("invalid_request", "ui_locales", anything),
			fails: "OIDCCore/3.1.2.1/ui-locales OIDCCore/15.1/locales"},
		{name: "claims_locales is refused", spoil: refusingSignIns("invalid_request", "claims_locales", anything),
			fails: "OIDCCore/5.2/claims-locales OIDCCore/15.1/locales"},
		{name: "acr_values is refused", spoil: refusingSignIns("invalid_request", "acr_values", anything),
			fails: "OIDCCore/15.1/acr-values OIDCCore/5.5.1.1/voluntary"},
		{name: "an acr that the server does not know is refused",
			spoil:  refusingSignIns("invalid_request", "claims", holding("urn:conformance:unknown")),
			passes: "OIDCCore/5.5.1.1/essential-met OIDCCore/5.5.1.1/essential-not-met"},
		{name: "an acr that the server does not know needs another login, whose password field only the target names",
			spoil: refusingIf(func(_ *proxy, q *ask) bool {
				return strings.Contains(q.params().Get("claims"), "urn:conformance:unknown")
			}, func() *wire.Answer {
				return shown(http.StatusOK,
					`<form method="post"><input name="username"><input name="pin"><button>Sign in</button></form>`)
			}), aim: func(t *target.Target) { t.Forms.Password = "pin" }, passes: "OIDCCore/5.5.1.1/essential-not-met"},
		{name: "each essential acr is refused",
			spoil: refusingSignIns("invalid_request", "claims", holding(`"acr":{"essential"`)),
			fails: "OIDCCore/5.5.1.1/essential-met"},
		{name: "login_hint is ignored", spoil: ignoring("login_hint", anything), fails: "OIDCCore/3.1.2.1/login-hint"},
		{name: "registration is ignored", spoil: ignoring("registration", anything),
			fails: "OIDCCore/3.1.2.6/registration-not-supported"},
		{name: "request is refused, and the metadata lists it",
			spoil: refusingSignIns("request_not_supported", "request", anything),
			fails: "OIDCDiscovery/3/request-parameter-true"},
		{name: "request_uri is ignored", spoil: ignoring("request_uri", anything), fails: "OIDCCore/6.2/not-supported"},
		{name: "spaces are accepted only as +",
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return asksOpenID(q.params()) && strings.Contains(q.query, "%20") },
				badPage),
			fails: "OIDCCore/13.1/query"},
		{name: "resource is refused",
			spoil: refusingAsk(func(v url.Values) bool { return v.Has("resource") }, "invalid_request"),
			fails: "MCP/M5/resource-taken"},
		{name: "hints with an HMAC are refused", spoil: refusingSignIns("login_required", "id_token_hint", byAlg("HS256")),
			fails: "OIDCCore/10.1/hmac-hint"},
		{name: "hints are refused", spoil: refusingSignIns("login_required", "id_token_hint", anything),
			fails: "OIDCCore/3.1.2.1/hint-of-this-person OIDCCore/10.1/hmac-hint",
			blocks: "OIDCCore/3.1.2.2/hint-altered OIDCCore/3.1.2.2/hint-unsigned OIDCCore/3.1.2.2/hint-signed-by-another " +
				"OIDCCore/3.1.2.2/hint-key-confusion OIDCCore/10.1/hmac-hint-forged"},
		{name: "with a hint prompt=none is ignored", spoil: signIns(func(_ *proxy, q *ask, v url.Values) {
			if v.Has("id_token_hint") {
				q.setQuery("prompt", "")
			}
		}), fails: "OIDCCore/3.1.2.1/hint-of-nobody"},
		{name: "invalid hints are ignored", spoil: ignoring("id_token_hint", anything),
			fails: "OIDCCore/3.1.2.2/hint-altered OIDCCore/3.1.2.2/hint-unsigned OIDCCore/3.1.2.2/hint-signed-by-another " +
				"OIDCCore/3.1.2.2/hint-key-confusion"},
		{name: "hints with alg none are ignored", spoil: ignoring("id_token_hint", byAlg("none")),
			fails: "OIDCCore/3.1.2.2/hint-unsigned"},
		{name: "forged hints with an HMAC are ignored", spoil: ignoring("id_token_hint", byAlg("HS256")),
			fails: "OIDCCore/10.1/hmac-hint-forged OIDCCore/3.1.2.2/hint-key-confusion OIDCCore/3.1.2.2/hint-signed-by-another"},
		{name: "an ID token is issued without the scope openid", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if from := p.codes(q.form().Get("code")); from.Get("client_id") == p.target.Clients[need.Code].ID &&
				!asksOpenID(from) && a.Granted() {
				edit(a, put("id_token", claimed("sub", "person")))
			}
			return a
		}, fails: "OIDCCore/3.1.2.1/without-openid"},
	}),
		fault{name: "request is ignored", spoil: withoutObjects(ignoring("request", anything)),
			fails: "OIDCCore/6.1/not-supported"},
		fault{name: "request objects are used", spoil: withoutObjects(signIns(func(_ *proxy, q *ask, v url.Values) {
			if object := inside(v.Get("request")); object.Claims != nil {
				q.setQuery("request", "", "state", cmp.Or(object.Text("state"), v.Get("state")))
			}
		})), skips: "OIDCCore/6.1/not-supported"},
	)
}

// byAlg returns the condition that a JWT has an algorithm in its header.
func byAlg(alg string) func(string) bool {
	return func(token string) bool { return inside(token).Algorithm() == alg }
}

// withoutSilence are rules that are not about prompt=none: they can be decided if the server does not support it.
const withoutSilence = "OIDCCore/3.1.2.1/get OIDCCore/3.1.2.1/post OIDCCore/13.1/query " +
	"OIDCCore/3.1.2.6/error-required OIDCCore/3.1.2.6/state-required OIDCCore/3.1.2.6/in-query " +
	"OIDCCore/3.1.2.6/no-other-parameters OIDCCore/16.22/no-307 OIDCCore/3.1.2.1/max-age-enough " +
	"OIDCCore/3.1.2.1/hint-of-this-person OIDCCore/3.1.2.2/hint-altered " +
	"OIDCCore/3.1.2.2/hint-unsigned OIDCCore/3.1.2.2/hint-signed-by-another OIDCCore/3.1.2.2/hint-key-confusion " +
	"OIDCCore/10.1/hmac-hint OIDCCore/10.1/hmac-hint-forged " +
	"OIDCCore/3.1.2.2/sub-requested OIDCCore/5.5.1/sub-of-another OIDCCore/5.5.1/sub-of-others " +
	"OIDCCore/14/escapes-removed OIDCCore/14/code-points " +
	"OIDCRPLogout/2/get OIDCRPLogout/2/post OIDCRPLogout/2/yes OIDCRPLogout/2/asks-without-hint"

// promptFaults are faults of prompt and max_age (OIDC Core §3.1.2.1, §3.1.2.3, §11).
func promptFaults() []fault {
	words := func(value string) []string { return strings.Fields(value) }
	return at(authorizePath, []fault{
		{name: "prompt=none is ignored", spoil: ignoring("prompt", oneOf("none")),
			fails:  "OIDCCore/3.1.2.1/prompt-none-no-page OIDCCore/3.1.2.1/max-age-silent",
			blocks: "OIDCCore/3.1.2.1/hint-of-nobody OIDCCore/3.1.2.6/login-required",
			passes: withoutSilence},
		{name: "prompt=none is always refused", spoil: refusingSignIns("interaction_required", "prompt", oneOf("none")),
			fails:  "OIDCCore/3.1.2.1/prompt-none-answered OIDCCore/3.1.2.6/login-required",
			blocks: "OIDCCore/3.1.2.1/max-age-silent", passes: withoutSilence},
		{name: "prompt=none is answered with 500",
			spoil: refusingIf(func(_ *proxy, q *ask) bool { return q.params().Get("prompt") == "none" }, func() *wire.Answer {
				return shown(http.StatusInternalServerError, "no")
			}), fails: "OIDCCore/3.1.2.1/prompt-none-no-page",
			blocks: "OIDCCore/3.1.2.1/hint-of-nobody OIDCCore/3.1.2.6/login-required OIDCCore/3.1.2.1/max-age-silent",
			passes: withoutSilence},
		{name: "each request needs consent", spoil: func(p *proxy, q *ask) *wire.Answer {
			if asksOpenID(q.params()) && !q.params().Has("prompt") {
				q.setQuery("prompt", "consent")
			}
			return refusingSignIns("consent_required", "prompt", oneOf("none"))(p, q)
		}, skips: "OIDCCore/3.1.2.1/prompt-none-answered"},
		{name: "prompt=none is accepted with other values", spoil: signIns(func(_ *proxy, q *ask, v url.Values) {
			if len(words(v.Get("prompt"))) > 1 {
				q.setQuery("prompt", strings.Join(slices.DeleteFunc(words(v.Get("prompt")), oneOf("none")), " "))
			}
		}), fails: "OIDCCore/3.1.2.1/prompt-none-alone"},
		{name: "prompt=login is ignored", spoil: ignoring("prompt", oneOf("login")),
			fails: "OIDCCore/3.1.2.3/prompt-login-asked", blocks: "OIDCCore/3.1.2.3/prompt-login"},
		{name: "prompt=consent is ignored after an approval", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.params().Get("prompt") == "consent" {
				q.setQuery("prompt", "")
			}
			return approving(need.Code, func(*proxy, url.Values) bool { return true })(p, q)
		}, after: "RFC6749", fails: "OIDCCore/3.1.2.1/prompt-consent RFC6749/10.2/person-informed",
			skips: "OIDCCore/3.1.2.1/prompt-consent-refused OIDCCore/3.1.2.6/denied OIDCCore/3.1.2.4/decision-obtained " +
				"OIDCCore/3.1.2.3/csrf", hides: "RFC6749/4.1.2.1/access-denied RFC6749/10.12/csrf"},
		{name: "prompt=select_account is ignored", spoil: ignoring("prompt", oneOf("select_account")),
			fails: "OIDCCore/3.1.2.1/prompt-select-account"},
		{name: "an unknown prompt is ignored",
			spoil: ignoring("prompt", noneOf("none", "login", "consent", "select_account")),
			fails: "OIDCCore/3.1.2.1/prompt-unknown"},
		{name: "offline access needs no consent",
			spoil: approving(need.Code, func(_ *proxy, v url.Values) bool { return holding("offline_access")(v.Get("scope")) }),
			fails: "OIDCCore/11/always-consent"},
		{name: "max_age is ignored", spoil: ignoring("max_age", anything),
			fails:  "OIDCCore/3.1.2.1/max-age OIDCCore/3.1.2.1/max-age-zero OIDCCore/3.1.2.1/max-age-silent",
			blocks: "OIDCCore/3.1.2.1/max-age-renews"},
		{name: "a login of the last second satisfies max_age=0", spoil: signIns(func(p *proxy, q *ask, v url.Values) {
			if v.Get("max_age") == "0" {
				q.setQuery("max_age", "1")
			}
		}), passes: "OIDCCore/3.1.2.1/max-age-zero"},
		{name: "each request needs a login", spoil: signIns(func(_ *proxy, q *ask, v url.Values) {
			if !v.Has("prompt") {
				q.setQuery("prompt", "login")
			}
		}), blocks: "OIDCCore/2/auth-time-of-login OIDCCore/3.1.2.1/max-age-enough OIDCCore/3.1.2.1/hint-of-this-person"},
		{name: "no session is kept", spoil: signIns(func(_ *proxy, q *ask, v url.Values) {
			switch v.Get("prompt") {
			case "none":
				q.header.Del("Cookie")
			case "":
				q.setQuery("prompt", "login")
			}
		}), blocks: "OIDCRPLogout/2/get OIDCRPLogout/2/asks OIDCRPLogout/2/asks-without-hint OIDCRPLogout/2/yes " +
			"OIDCRPLogout/2/other-browsers-stay " +
			"OIDCCore/3.1.2.2/hint-altered OIDCCore/3.1.2.1/max-age-silent"},
		{name: "max_age=0 is ignored", spoil: ignoring("max_age", oneOf("0")), fails: "OIDCCore/3.1.2.1/max-age-zero"},
		{name: "any login is older than max_age",
			spoil: refusingAsk(func(v url.Values) bool { return v.Has("max_age") }, "login_required"),
			fails: "OIDCCore/3.1.2.1/max-age-enough"},
		{name: "a max_age that is not a number is ignored",
			spoil: ignoring("max_age", regexp.MustCompile(`[^0-9]`).MatchString), fails: "OIDCCore/3.1.2.1/max-age-wrong"},
	})
}

// answerFaults are faults of the pages and the authentication responses (OIDC Core §3.1.2.4 to §3.1.2.6, §16).
func answerFaults() []fault {
	return []fault{
		{name: "an ID token is in the authorization response", spoil: sendingBack(func(_ *proxy, sent url.Values) {
			if sent.Has("code") {
				sent.Set("id_token", "made-up")
			}
		}), fails: "OIDCCore/3.1/tokens-from-token-endpoint"},
		{name: "error responses of a login have no error code",
			spoil: sendingBack(func(_ *proxy, sent url.Values) { sent.Del("error") }), fails: "OIDCCore/3.1.2.6/error-required"},
		{name: "error responses of a login have extra parameters",
			spoil: sendingBack(func(_ *proxy, sent url.Values) { sent.Set("error_code", "17") }),
			fails: "OIDCCore/3.1.2.6/no-other-parameters"},
		{name: "login_required is reported as server_error", spoil: erring("login_required", "server_error"),
			fails: "OIDCCore/3.1.2.6/login-required"},
		{name: "error responses of a login are in the fragment", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Get("error") == "login_required" {
				a.Header.Set("Location", strings.Replace(to.String(), "?", "#", 1))
			}
			return a
		}, fails: "OIDCCore/3.1.2.6/in-query"},
		{name: "neither prompt=none nor denial is reported to the client", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && slices.Contains([]string{"login_required", "access_denied"},
				to.Query().Get("error")) && asksOpenID(p.request(to.Query().Get("state"))) {
				return shown(http.StatusOK, "no")
			}
			return a
		}, passes: "OIDCCore/3.1.2.6/error-required OIDCCore/3.1.2.6/state-required OIDCCore/3.1.2.6/in-query"},
		{name: "denial is not reported to the client", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Get("error") == "access_denied" &&
				asksOpenID(p.request(to.Query().Get("state"))) {
				return shown(http.StatusOK, "no")
			}
			return a
		}, fails: "OIDCCore/3.1.2.1/prompt-consent-refused OIDCCore/3.1.2.6/denied"},
		{name: "denial of a login is an internal error", spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if to := p.away(a); to != nil && to.Query().Get("error") == "access_denied" &&
				asksOpenID(p.request(to.Query().Get("state"))) {
				return shown(http.StatusInternalServerError, "no")
			}
			return a
		}, fails: "OIDCCore/3.1.2.1/prompt-consent-refused OIDCCore/3.1.2.6/denied",
			passes: "OIDCCore/3.1.2.4/decision-obtained"},
		{name: "denial of a login is treated as consent", spoil: func(p *proxy, q *ask) *wire.Answer {
			if p.note("question "+q.form().Get("ticket")) == "openid" && q.form().Get("decision") == "deny" {
				q.set("decision", "approve")
			}
			a := p.real(q)
			for _, f := range browser.Parse(a).Forms {
				if f.Values.Has("ticket") && asksOpenID(q.params()) {
					p.keep("question "+f.Values.Get("ticket"), "openid")
				}
			}
			return a
		}, fails: "OIDCCore/3.1.2.4/decision-obtained"},
		{name: "the consent page does not name the scopes", at: authorizePath, spoil: func(p *proxy, q *ask) *wire.Answer {
			then := (*proxy).real
			if asksOpenID(q.params()) {
				then = written(`(?s)<ul class="clauses".*?</ul>|<p class="note care">.*?</p>`, "")
			}
			return then(p, q)
		}, fails: "OIDCCore/3.1.2.4/says-what OIDCCore/16.18/long-term-told"},
		{name: "pages load from another site", spoil: written(`</main>|</body>`, `<img src="https://tracker.example/x.png">`),
			fails: "RFC9700/4.2.4/a40-no-third-parties"},
		{name: "the consent page differs each time", spoil: func(p *proxy, q *ask) *wire.Answer {
			return written(`</main>|</body>`, "<p>"+rand.Text()+"</p>")(p, q)
		}, passes: "OIDCCore/3.1.2.4/says-what OIDCCore/16.18/long-term-told"},
		{name: "the consent page differs each time, and names no scopes", spoil: func(p *proxy, q *ask) *wire.Answer {
			return written(`(?s)<ul class="clauses".*?</ul>|<p class="note care">.*?</p>`, "<p>"+rand.Text()+"</p>")(p, q)
		}, blocks: "OIDCCore/3.1.2.4/says-what OIDCCore/16.18/long-term-told"},
		{name: "the login page has other fields each time", spoil: func(p *proxy, q *ask) *wire.Answer {
			return written(`</form>`, `<input type="hidden" name="`+rand.Text()+`"></form>`)(p, q)
		}, blocks: "OIDCCore/3.1.2.1/display-page"},
		{name: "denial is reported as consent_required", spoil: sendingBack(func(_ *proxy, sent url.Values) {
			if sent.Get("error") == "access_denied" {
				sent.Set("error", "consent_required")
			}
		}), passes: "OIDCCore/3.1.2.6/denied"},
		{name: "display=page changes the login page", spoil: func(p *proxy, q *ask) *wire.Answer {
			then := (*proxy).real
			if q.path == loginPath && strings.Contains(q.params().Get("next"), "display=page") {
				then = written(`</form>`, `<input type="hidden" name="display" value="page"></form>`)
			}
			return then(p, q)
		}, fails: "OIDCCore/3.1.2.1/display-page"},
		{name: "the login redirects to the URI of a parameter", at: loginPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			then := (*proxy).real
			if strings.Contains(q.params().Get("next"), "attacker.example") {
				then = written(`name="next" value="[^"]*"`, `name="next" value="https://attacker.example/"`)
			}
			a := then(p, q)
			if next := q.form().Get("next"); strings.Contains(next, "attacker.example") && a.Status/100 == 3 {
				a.Header.Set("Location", next)
			}
			return a
		}, fails: "RFC9700/2.1/a3-no-open-redirector FAPI2/5.3.2.1/no-open-redirector"},
		{name: "the scope has two spaces in a row", at: tokenPath, spoil: granting(func(a *wire.Answer) {
			if scope := a.Text("scope"); strings.Contains(scope, "openid") {
				edit(a, put("scope", strings.ReplaceAll(scope, " ", "  ")))
			}
		}), fails: "OIDCCore/14/single-spaces"},
	}
}

// sendingBack changes authentication responses.
func sendingBack(change func(p *proxy, sent url.Values)) spoiler {
	return sending(func(p *proxy, sent url.Values) {
		if asksOpenID(p.request(sent.Get("state"))) {
			change(p, sent)
		}
	})
}

// written changes pages.
func written(expression, replacement string) spoiler {
	is := regexp.MustCompile(expression)
	return answering(func(a *wire.Answer) {
		if a.MediaType() == "text/html" {
			a.Body = is.ReplaceAll(a.Body, []byte(replacement))
		}
	})
}
