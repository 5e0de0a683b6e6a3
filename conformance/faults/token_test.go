package faults

import (
	"encoding/base64"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// tokenFaults are faults of token responses (RFC 6749 §5.1).
func tokenFaults() []fault {
	return []fault{
		{name: "token responses may be cached", at: tokenPath, spoil: granting(header("Cache-Control", "")),
			fails: "RFC6749/5.1/no-store OIDCCore/3.1.3.3/not-stored"},
		{name: "token responses lack Pragma", at: tokenPath, spoil: granting(header("Pragma", "")),
			fails: "RFC6749/5.1/no-cache"},
		{name: "token responses have the content type text", at: tokenPath,
			spoil: granting(header("Content-Type", "text/plain")), fails: "RFC6749/5.1/json OIDCCore/3.1.3.3/json"},
		{name: "token responses have status 201", at: tokenPath, spoil: granting(status(http.StatusCreated)),
			fails: "RFC6749/5.1/status"},
		{name: "token_type is missing", at: tokenPath, spoil: member("token_type", nil),
			fails: "RFC6749/5.1/token-type RFC6750/4/token-type"},
		{name: "token_type is mac", at: tokenPath, spoil: member("token_type", "mac"),
			fails: "RFC6750/4/token-type OIDCCore/3.1.3.3/token-type"},
		{name: "expires_in is a string", at: tokenPath, spoil: member("expires_in", "36000"),
			fails: "RFC6749/5.1/expires-in-number OIDCCore/13.3/numbers",
			hides: "RFC6749/5.1/ten-hours RFC6750/5.3/one-hour"},
		{name: "expires_in is missing", at: tokenPath, spoil: member("expires_in", nil), fails: "RFC6749/5.1/expires-in",
			skips: "RFC6749/5.1/expires-in-number",
			hides: "RFC6749/5.1/ten-hours RFC6750/5.3/one-hour"},
		{name: "expires_in is 1.5 seconds too long", at: tokenPath, spoil: member("expires_in", 36001.5),
			fails: "RFC6749/5.1/expires-in RFC6749/5.1/ten-hours"},
		{name: "tokens expire after ten years", spoil: lifetime(10 * 365 * 24 * 3600),
			fails: "RFC6749/5.1/ten-hours"},
		{name: "tokens expire after ten years, and expires_in is missing", spoil: lifetime(-10 * 365 * 24 * 3600),
			fails: "RFC6749/5.1/expires-in",
			hides: "RFC6749/5.1/expires-in-number RFC6749/5.1/ten-hours RFC6750/5.3/one-hour"},
		{name: "tokens do not expire", spoil: lifetime(0), fails: "RFC6750/5.2/lifetime-limited RFC6749/5.1/expires-in " +
			"RFC7662/2.2/facts",
			hides: "RFC6749/5.1/expires-in-number RFC6749/5.1/ten-hours RFC6750/5.3/one-hour"},
		{name: "tokens are consecutive numbers",
			spoil: renaming("access_token",
				func(n int64, _ string) string { return fmt.Sprintf("token-of-the-server-%030d", n) }),
			fails: "RFC6749/10.10/tokens-cannot-be-guessed RFC6749/10.10/tokens-cannot-be-guessed-at-all"},
		{name: "tokens have only 138 random bits",
			spoil: renaming("access_token", func(_ int64, token string) string { return token[len(token)-23:] }),
			fails: "RFC6749/10.10/tokens-cannot-be-guessed-at-all"},
		{name: "codes are consecutive numbers",
			spoil: renaming("code", func(n int64, _ string) string { return fmt.Sprintf("code-of-the-server-%030d", n) }),
			fails: "RFC6749/10.10/codes-cannot-be-guessed FAPI2/5.4.1/entropy"},
		{name: "truncated tokens work", spoil: resembles,
			fails: "RFC6749/7/token-validated RFC6749/10.3/cannot-be-made RFC6750/5.2/not-tampered-with RFC7662/2.2/inactive " +
				"OIDCCore/5.3/bearer"},
	}
}

// tokenErrorFaults are faults of errors of the token endpoint (RFC 6749 §5.2).
func tokenErrorFaults() []fault {
	describe := func(text string) spoiler {
		return refusing(func(a *wire.Answer) { edit(a, put("error_description", text)) })
	}
	return []fault{
		{name: "errors have status 200", at: tokenPath, spoil: refusing(status(http.StatusOK)),
			fails: "RFC6749/5.2/status-400 RFC6749/5.2/invalid-client-401 OIDCCore/3.1.3.4/status-400"},
		{name: "errors are HTML", at: tokenPath, spoil: refusing(header("Content-Type", "text/html")),
			fails: "RFC6749/5.2/json OIDCCore/3.1.3.4/json"},
		{name: "errors may be cached", at: tokenPath, spoil: refusing(header("Cache-Control", "max-age=60")),
			fails: "RFC6749/5.2/no-store"},
		{name: "the member error is named code", at: tokenPath, spoil: refusing(func(a *wire.Answer) {
			edit(a, func(object map[string]any) { object["code"] = object["error"]; delete(object, "error") })
		}), fails: "RFC6749/5.2/error RFC6749/5.2/invalid-request RFC6749/5.2/invalid-client RFC6749/5.2/invalid-grant " +
			"RFC6749/5.2/invalid-refresh-token " +
			"RFC6749/5.2/unauthorized-client RFC6749/5.2/unsupported-grant-type RFC6749/5.2/invalid-scope " +
			"RFC7636/4.6/invalid-grant OIDCCore/3.1.3.4/error",
			blocks: "RFC6749/5.2/ascii"},
		{name: "a wrong secret gets no challenge", at: tokenPath, spoil: refusing(header("WWW-Authenticate", "")),
			fails: "RFC6749/5.2/invalid-client-401"},
		{name: "a wrong secret gets a challenge of another scheme", at: tokenPath, spoil: refusing(func(a *wire.Answer) {
			if a.Header.Get("WWW-Authenticate") != "" {
				a.Header.Set("WWW-Authenticate", `Bearer realm="Basic"`)
			}
		}), fails: "RFC6749/5.2/invalid-client-401"},
		{name: "a wrong secret is answered with 400", at: tokenPath, spoil: refusing(status(http.StatusBadRequest)),
			fails: "RFC6749/5.2/invalid-client-401"},
		{name: "invalid_client is reported as unauthorized_client", at: tokenPath,
			spoil: miscalling("invalid_client", "unauthorized_client"), fails: "RFC6749/5.2/invalid-client"},
		{name: "invalid_grant is reported as invalid_request", at: tokenPath,
			spoil: miscalling("invalid_grant", "invalid_request"),
			fails: "RFC6749/5.2/invalid-grant RFC6749/5.2/invalid-refresh-token RFC7636/4.6/invalid-grant OIDCCore/12.3/error"},
		{name: "unauthorized_client is reported as invalid_grant", at: tokenPath,
			spoil: miscalling("unauthorized_client", "invalid_grant"), fails: "RFC6749/5.2/unauthorized-client"},
		{name: "unsupported_grant_type is reported as invalid_request", at: tokenPath,
			spoil: miscalling("unsupported_grant_type", "invalid_request"),
			fails: "RFC6749/5.2/unsupported-grant-type"},
		{name: "invalid_scope is reported as invalid_request", at: tokenPath,
			spoil: miscalling("invalid_scope", "invalid_request"), fails: "RFC6749/5.2/invalid-scope"},
		{name: "invalid_request is reported as invalid_grant", at: tokenPath,
			spoil: miscalling("invalid_request", "invalid_grant"), fails: "RFC6749/5.2/invalid-request"},
		{name: "errors have no description", at: tokenPath, spoil: describe(""), fails: "RFC6749/5.2/description"},
		{name: "the pages about errors do not exist", spoil: func(p *proxy, q *ask) *wire.Answer {
			if strings.HasPrefix(q.path, "/errors/") {
				return shown(http.StatusNotFound, "404")
			}
			return p.real(q)
		}, fails: "RFC6749/5.2/error-uri"},
		{name: "the pages about errors are at another host", at: tokenPath,
			spoil: refusing(func(a *wire.Answer) { edit(a, put("error_uri", "https://errors.example/")) }),
			skips: "RFC6749/5.2/error-uri"},
		{name: "error descriptions contain quotes", at: tokenPath, spoil: describe(`"grant_type" is missing`),
			fails: "RFC6749/5.2/ascii"},
	}
}

// needsMachine are the rules that cannot be checked without a token for the client machine.
const needsMachine = "RFC6749/2.3 RFC6749/3.2 RFC6749/3.3 RFC6749/4.4 RFC6749/4.5 RFC6749/5.1 RFC6749/5.2 RFC6749/7 " +
	"RFC6749/10.10 RFC6750 RFC7662"

// grantFaults are faults of the token endpoint and of client authentication (RFC 6749 §2.3, §3.2, §3.3), and of the
// grants without a code (§4.3 to §4.5).
func grantFaults() []fault {
	machines := func(p *proxy) *target.Client { return p.target.Clients[need.Machine] }
	byMachine := func(q *ask) bool { return q.form().Get("grant_type") == "client_credentials" }
	return []fault{
		{name: "tokens are issued to GET requests", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.method == http.MethodGet {
				q.method, q.body, q.query = http.MethodPost, q.query, ""
				q.header.Set("Content-Type", wire.FormEncoded)
			}
		}), fails: "RFC6749/3.2/post-only"},
		{name: "credentials in the query are accepted", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if v := q.params(); v.Has("client_secret") {
				q.set("client_id", v.Get("client_id"), "client_secret", v.Get("client_secret"))
				q.query = ""
			}
		}), fails: "RFC6749/2.3.1/not-in-uri"},
		{name: "two authentication methods at once are accepted", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if q.header.Get("Authorization") != "" && q.form().Has("client_secret") {
				q.set("client_secret", "")
			}
		}), fails: "RFC6749/5.2/one-method"},
		{name: "Basic is not form-decoded", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			_, encoded, _ := strings.Cut(q.header.Get("Authorization"), " ")
			raw, _ := base64.StdEncoding.DecodeString(encoded)
			return strings.Contains(string(raw), "%")
		}, unknownClient), fails: "RFC6749/2.3.1/basic-form-encoded"},
		{name: "Basic is refused for client credentials", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, _ := q.client()
			return byMachine(q) && id == machines(p).ID && q.header.Get("Authorization") != ""
		}, unknownClient), fails: "RFC6749/2.3.1/basic-supported", blocks: "RFC6749/4.4.3/granted MCP/M18/client-credentials",
			hides: needsMachine},
		{name: "a secret in the body is refused", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Has("client_secret")
		}, unknownClient), fails: "RFC6749/2.3.1/in-body OIDCCore/9/post RFC8414/2/token-auth-methods-any"},
		{name: "a repeated parameter is accepted at the token endpoint", at: tokenPath,
			spoil: spoiling(func(_ *proxy, q *ask) { q.body = once(q.form()).Encode() }),
			fails: "RFC6749/3.2/not-repeated"},
		{name: "an unknown parameter is refused at the token endpoint", at: tokenPath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool {
				return q.form().Has("conformance_unknown")
			}, badRequest), fails: "RFC6749/3.2/unknown-ignored"},
		{name: "an empty parameter is refused at the token endpoint", at: tokenPath,
			spoil: refusingIf(func(_ *proxy, q *ask) bool {
				return q.form().Has("scope") && q.form().Get("scope") == ""
			}, badRequest), fails: "RFC6749/3.2/empty-is-absent"},
		{name: "secrets are not compared at the token endpoint", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			id, _ := q.client()
			if c := p.client(id); c != nil {
				q.as(c)
			}
		}), fails: "RFC6749/4.1.3/client-authenticated RFC6749/4.3.2/client-authenticated " +
			"RFC6749/4.4.2/client-authenticated RFC6749/6/client-authenticated RFC6749/5.2/one-method " +
			"OIDCCore/12.1/client-authenticated OIDCCore/3.1.3.2/client-authenticated RFC9700/2.5/a32-clients-authenticate",
			hides: "RFC6749/5.2/invalid-client RFC6749/5.2/invalid-client-401"},
		{name: "a wrong secret is accepted, and a request without one invalidates its code or token", at: tokenPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				id, secret := q.client()
				c, once := p.client(id), "without secret "+q.form().Get("code")+q.form().Get("refresh_token")
				switch {
				case c == nil || c.Secret == "":
				case p.has(once):
					return badGrant()
				case secret == "":
					p.keep(once, true)
				default:
					q.as(c)
				}
				return p.real(q)
			}, aim: func(*target.Target) {}, fails: "OIDCCore/3.1.3.2/client-authenticated OIDCCore/12.1/client-authenticated " +
				"RFC6749/4.1.3/client-authenticated RFC6749/6/client-authenticated"},
		{name: "a request without a client is treated as one of the client machine", at: tokenPath,
			spoil: spoiling(func(p *proxy, q *ask) {
				if id, _ := q.client(); id == "" && byMachine(q) && q.query == "" {
					q.as(machines(p))
				}
			}), fails: "RFC6749/4.4.2/client-authenticated"},
		{name: "a public client gets tokens by client credentials", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if id, _ := q.client(); byMachine(q) && id == p.target.Clients[need.Public].ID {
				q.as(machines(p))
			}
		}), fails: "RFC6749/4.4/confidential-only"},
		{name: "client credentials issue a refresh token", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if byMachine(q) && a.Granted() {
				edit(a, put("refresh_token", "refresh-token"))
			}
			return a
		}, fails: "RFC6749/4.4.3/no-refresh-token"},
		{name: "any grant type is accepted", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if strings.HasPrefix(q.form().Get("grant_type"), "urn:example:") {
				q.set("grant_type", "client_credentials")
			}
		}), fails: "RFC6749/4.5/unknown-grant-type", hides: "RFC6749/5.2/unsupported-grant-type"},
		{name: "a client need not be registered for the password grant", at: tokenPath,
			spoil: spoiling(func(p *proxy, q *ask) {
				if id, _ := q.client(); q.form().Get("grant_type") == "password" && id != p.target.Clients[need.Password].ID {
					q.as(p.target.Clients[need.Password])
				}
			}), fails: "RFC6749/4.3/registered-only RFC9700/2.4/a31-no-password-grant"},
		{name: "passwords are not compared", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if q.form().Get("grant_type") == "password" {
				q.set("password", p.target.User.Password)
			}
		}), fails: "RFC6749/4.3.2/password-validated"},
		{name: "the password grant issues no token", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return q.form().Get("grant_type") == "password"
		}, badGrant), fails: "RFC6749/4.3.3/granted", blocks: "RFC6749/4.3.2/client-authenticated " +
			"RFC6749/4.3.2/password-validated RFC6749/4.3/registered-only"},
		{name: "the granted scope is not returned for a request without scope", at: tokenPath,
			spoil: func(p *proxy, q *ask) *wire.Answer {
				a := p.real(q)
				if byMachine(q) && q.form().Get("scope") == "" && a.Granted() {
					edit(a, put("scope", nil))
				}
				return a
			}, fails: "RFC6749/3.3/scope-told", hides: "RFC6749/3.3/scope-honoured RFC6749/3.3/left-out-scope-told " +
				"RFC6749/3.3/order RFC6749/3.3/case RFC6749/7/scope-covers RFC6750/3.1"},
		{name: "a request without scope is refused with invalid_request", at: tokenPath,
			spoil: refusingIf(func(p *proxy, q *ask) bool {
				id, _ := q.client()
				return byMachine(q) && id == machines(p).ID && !q.form().Has("scope") && p.proven(q)
			}, badRequest), fails: "RFC6749/3.3/default-or-refused", blocks: "RFC6749/3.2/empty-is-absent " +
				"RFC6749/3.3/scope-told",
			skips:  "RFC6749/3.3/scope-honoured RFC6749/3.3/left-out-scope-told RFC6749/3.3/order RFC6749/3.3/case",
			passes: "RFC6749/4.4.3/granted MCP/M18/client-credentials RFC6749/5.1/no-store RFC7662/2.2/facts-right"},
		{name: "the client credentials grant is refused", at: tokenPath, spoil: refusingIf(func(p *proxy, q *ask) bool {
			id, _ := q.client()
			return byMachine(q) && id == machines(p).ID && p.proven(q)
		}, badRequest), fails: "RFC6749/4.4.3/granted MCP/M18/client-credentials", hides: needsMachine},
		{name: "openid is granted without a request", at: tokenPath, spoil: func(p *proxy, q *ask) *wire.Answer {
			if byMachine(q) && len(q.form()["scope"]) < 2 && q.form().Get("scope") == "" {
				q.set("scope", "read write openid")
			}
			return p.real(q)
		}, fails: "RFC6749/3.3/default-scope"},
		{name: "every scope is granted, regardless of the request", at: tokenPath, spoil: spoiling(func(p *proxy, q *ask) {
			if id, _ := q.client(); id == machines(p).ID && len(q.form()["scope"]) == 1 &&
				slices.Index(strings.Fields(q.form().Get("scope")), "read") == 0 {
				q.set("scope", "read write groups")
			}
		}), fails: "RFC6749/3.3/scope-honoured RFC6749/3.3/order RFC9700/2.3/a30-restricted-to-actions",
			skips: "RFC6749/7/scope-covers RFC9700/2.3/r2-action-verified MCP/M16/scope-verified " +
				"RFC6750/3.1/insufficient-scope-403 RFC6750/3.1/scope-named"},
		{name: "a scope that is left out is not told", at: tokenPath, spoil: leftOut(func(string) any { return nil }),
			fails: "RFC6749/3.3/left-out-scope-told"},
		{name: "a scope that is left out is told as granted", at: tokenPath,
			spoil: leftOut(func(scope string) any { return scope }), fails: "RFC6749/3.3/left-out-scope-told"},
		{name: "an unknown scope beside others is refused", at: tokenPath, spoil: refusingIf(func(_ *proxy, q *ask) bool {
			return byMachine(q) && strings.HasSuffix(q.form().Get("scope"), " conformance-unknown")
		}, func() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_scope") }),
			skips: "RFC6749/3.3/left-out-scope-told"},
		{name: "only the first scope counts", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if names := strings.Fields(q.form().Get("scope")); byMachine(q) && len(names) > 1 && len(q.form()["scope"]) == 1 {
				q.set("scope", names[0])
			}
		}), fails: "RFC6749/3.3/order"},
		{name: "scopes are compared without their case", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if scope := q.form()["scope"]; byMachine(q) && len(scope) == 1 {
				q.set("scope", strings.ToLower(scope[0]))
			}
		}), fails: "RFC6749/3.3/case"},
		{name: "an unknown scope is dropped silently", at: tokenPath, spoil: spoiling(func(_ *proxy, q *ask) {
			if byMachine(q) && q.form().Get("scope") == "conformance-unknown" {
				q.set("scope", "")
			}
		}), fails: "RFC6749/3.3/unknown-scope-refused"},
		{name: "endpoints have a fragment", spoil: publishing(func(object map[string]any) {
			for _, name := range []need.Need{need.Authorization, need.Token} {
				address, _ := object[string(name)].(string)
				object[string(name)] = address + "#x"
			}
		}), fails: "RFC6749/3.1/no-fragment RFC6749/3.2/no-fragment"},
		{name: "endpoints are at http URLs", spoil: publishing(func(object map[string]any) {
			for _, name := range []need.Need{need.Authorization, need.Token, need.Revocation, need.Introspection, need.UserInfo,
				need.Keys, need.EndSession, need.DeviceAuthorization, need.Registration} {
				// An address of nobody (RFC 5737), not of this machine: the runner sends no request there.
				object[string(name)] = "http://192.0.2.1/" + string(name)
			}
		}), fails: "RFC7591/5/tls RFC6749/3.1/tls RFC6749/3.2/tls RFC6749/10.8/tls RFC6750/5.2/tls RFC7009/2/tls " +
			"RFC7662/2/tls " +
			"MCP/M11/https OIDCCore/16.17/tls OIDCCore/3.1.2/tls OIDCCore/3.1.3/tls RFC9700/2.6/a52-tls FAPI2/5.2.1/tls " +
			"OIDCDiscovery/3/authorization-endpoint OIDCDiscovery/3/token-endpoint " +
			"OIDCCore/5.3/tls OIDCRPLogout/2.1/https OIDCDiscovery/3/userinfo-endpoint-https OIDCDiscovery/3/jwks-uri " +
			"RFC8414/2/jwks-uri-https FAPI2/5.4.2/tls RFC8628/3.1/tls",
			hides: "RFC6749 RFC6750 RFC7009 RFC7636 RFC7662"},
	}
}

// leftOut changes the scope in the response to a request of which a scope was left out.
func leftOut(scope func(requested string) any) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		requested, a := q.form().Get("scope"), p.real(q)
		if q.form().Get("grant_type") == need.GrantMachine && strings.HasSuffix(requested, " conformance-unknown") &&
			a.Granted() {
			edit(a, put("scope", scope(requested)))
		}
		return a
	}
}

func unknownClient() *wire.Answer {
	a := refusal(http.StatusUnauthorized, "invalid_client")
	a.Header.Set("WWW-Authenticate", "Basic")
	return a
}

func badRequest() *wire.Answer { return refusal(http.StatusBadRequest, "invalid_request") }
func badGrant() *wire.Answer   { return refusal(http.StatusBadRequest, "invalid_grant") }

// once removes repeated parameters.
func once(v url.Values) url.Values {
	for name, values := range v {
		v[name] = values[:1]
	}
	return v
}

// publishing changes the metadata.
func publishing(change func(map[string]any)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		if strings.Contains(q.path, "/.well-known/o") {
			edit(a, change)
		}
		return a
	}
}

// lifetime sets the lifetime of tokens in responses. 0 stands for no limit, and a negative number leaves it to
// introspection.
func lifetime(seconds float64) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		a := p.real(q)
		switch {
		case q.path == tokenPath && a.Granted() && seconds > 0:
			edit(a, put("expires_in", seconds))
		case q.path == tokenPath && a.Granted():
			edit(a, put("expires_in", nil))
		case q.path == introspectPath && a.JSON()["active"] == true:
			edit(a, func(object map[string]any) {
				began, _ := object["iat"].(float64)
				put("exp", began+math.Abs(seconds))(object)
				if seconds == 0 {
					delete(object, "exp")
				}
			})
		}
		return a
	}
}

// renaming replaces tokens or codes by other names.
func renaming(name string, to func(n int64, value string) string) spoiler {
	var n atomic.Int64
	return func(p *proxy, q *ask) *wire.Answer {
		p.back(q, name)
		a := p.real(q)
		alias := func(value string) string {
			other := to(n.Add(1), value)
			p.keep("alias "+other, value)
			return other
		}
		if q.path == tokenPath && a.Granted() && name != "code" {
			edit(a, func(object map[string]any) {
				if value, is := object[name].(string); is {
					object[name] = alias(value)
				}
			})
		}
		if u := p.away(a); u != nil && name == "code" && u.Query().Has("code") {
			sent := u.Query()
			sent.Set("code", alias(sent.Get("code")))
			u.RawQuery = sent.Encode()
			a.Header.Set("Location", u.String())
		}
		return a
	}
}

// back replaces the names by the true values.
func (p *proxy) back(q *ask, name string) {
	if scheme, token, _ := strings.Cut(q.header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") &&
		p.has("alias "+token) {
		q.header.Set("Authorization", scheme+" "+p.note("alias "+token))
	}
	for _, at := range []string{"token", name} {
		if value := q.form().Get(at); p.has("alias " + value) {
			q.set(at, p.note("alias "+value))
		}
	}
}

// resembles accepts a text that resembles a token.
func resembles(p *proxy, q *ask) *wire.Answer {
	if scheme, token, _ := strings.Cut(q.header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		q.header.Set("Authorization", scheme+" "+p.resembling("token ", token))
	}
	if q.form().Has("token") && q.path == introspectPath {
		q.set("token", p.resembling("token ", q.form().Get("token")))
	}
	return p.real(q)
}

// resembling returns the issued value that a text resembles, or the text.
func (p *proxy) resembling(kind, text string) string {
	if p.has(kind + text) {
		return text
	}
	for _, value := range p.named(kind) {
		if len(text) > 20 && (strings.HasPrefix(value, text) || strings.HasPrefix(text, value)) {
			return value
		}
	}
	return text
}
