package faults

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/jose"
	"mandate/conformance/wire"
)

// registerPath is the registration endpoint of Mandate. The address of a client begins with it.
const registerPath = "/o/register/"

// registrationFaults are faults of dynamic registration and of its management (RFC 7591, RFC 7592, OIDC Registration).
func registrationFaults() []fault {
	// sent returns the metadata of a request.
	sent := func(q *ask) map[string]any {
		m := map[string]any{}
		_ = json.Unmarshal([]byte(q.body), &m)
		return m
	}
	// to changes the answers to requests with a method.
	to := func(method string, change func(q *ask, a *wire.Answer)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			a := p.real(q)
			if strings.HasPrefix(q.path, registerPath) && q.method == method {
				change(q, a)
			}
			return a
		}
	}
	made := func(change func(map[string]any)) spoiler {
		return to(http.MethodPost, func(_ *ask, a *wire.Answer) {
			if a.Status/100 == 2 {
				edit(a, change)
			}
		})
	}
	// asking changes the metadata of requests with a method.
	asking := func(method string, change func(map[string]any)) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			if strings.HasPrefix(q.path, registerPath) && q.method == method {
				m := sent(q)
				change(m)
				text, _ := json.Marshal(m)
				q.body = string(text)
			}
			return p.real(q)
		}
	}
	// without leaves out a text on HTML pages.
	without := func(text string) spoiler {
		return answering(func(a *wire.Answer) {
			if strings.HasPrefix(a.Header.Get("Content-Type"), "text/html") {
				a.Body = bytes.ReplaceAll(a.Body, []byte(text), nil)
			}
		})
	}
	// saying answers as if a value had been registered, that was not.
	saying := func(of func(map[string]any) bool, names ...string) spoiler {
		return func(p *proxy, q *ask) *wire.Answer {
			whole := sent(q)
			if q.path != registerPath || q.method != http.MethodPost || !of(whole) {
				return p.real(q)
			}
			plain := map[string]any{"client_name": whole["client_name"],
				"redirect_uris": []string{"https://client.example/plain"}}
			text, _ := json.Marshal(plain)
			q.body = string(text)
			a := p.real(q)
			edit(a, func(m map[string]any) {
				for _, name := range names {
					delete(m, name)
					if value := whole[name]; value != nil {
						m[name] = value
					}
				}
			})
			return a
		}
	}
	has := func(name string) func(map[string]any) bool {
		return func(m map[string]any) bool { return m[name] != nil }
	}
	return []fault{
		{name: "a registration needs grant_types", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == registerPath && q.method == http.MethodPost && sent(q)["grant_types"] == nil {
				return refusal(http.StatusBadRequest, "invalid_client_metadata")
			}
			return p.real(q)
		}, fails: "RFC7591/2/default-grant-type", passes: "RFC7591/2/redirect-uris RFC7591/2/unknown-ignored " +
			"RFC7592/2.3/delete"},
		{name: "a registration drops the redirect URIs",
			spoil: made(put("redirect_uris", []string{"https://other.example/"})),
			fails: "RFC7591/2/redirect-uris RFC7591/3.2.1/all-metadata OIDCRegistration/3.2/response"},
		{name: "a client gets another grant type than the default one",
			spoil: made(put("grant_types", []string{"client_credentials"})), fails: "RFC7591/2/default-grant-type"},
		{name: "jwks and jwks_uri are registered together", spoil: saying(has("jwks_uri"), "jwks", "jwks_uri"),
			fails: "RFC7591/2/one-source-of-keys"},
		{name: "unknown metadata is refused", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == registerPath && has("conformance_unknown")(sent(q)) {
				return refusal(http.StatusBadRequest, "invalid_client_metadata")
			}
			return p.real(q)
		}, fails: "RFC7591/2/unknown-ignored"},
		{name: "a statement decides without a signature", spoil: func(p *proxy, q *ask) *wire.Answer {
			m := sent(q)
			statement, is := m["software_statement"].(string)
			if q.path != registerPath || q.method != http.MethodPost || !is {
				return p.real(q)
			}
			delete(m, "software_statement")
			text, _ := json.Marshal(m)
			q.body = string(text)
			a := p.real(q)
			j, err := jose.Read(statement)
			if err == nil {
				edit(a, put("client_name", j.Claims["client_name"]))
			}
			return a
		}, fails: "RFC7591/2.3/statement"},
		{name: "inconsistent clients are registered", spoil: saying(has("response_types"), "grant_types", "response_types"),
			fails: "RFC7591/2.1/consistent"},
		{name: "registration needs a form", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == registerPath {
				return refusal(http.StatusUnsupportedMediaType, "invalid_request")
			}
			return p.real(q)
		}, fails: "RFC7591/3/json", blocks: "RFC7591/2/redirect-uris RFC7592/2.1/read"},
		{name: "a registration is accepted with 200", spoil: to(http.MethodPost, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusCreated {
				a.Status = http.StatusOK
			}
		}), fails: "RFC7591/3.2.1/created MCP/M8/registration OIDCRegistration/3.2/response"},
		{name: "a secret has no expiry", spoil: made(put("client_secret_expires_at", nil)),
			fails: "RFC7591/3.2.1/secret-expires-at OIDCRegistration/3.2/secret-expires-at"},
		{name: "a registration is refused with 422", spoil: to(http.MethodPost, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusBadRequest {
				a.Status = http.StatusUnprocessableEntity
			}
		}), fails: "RFC7591/3.2.2/error OIDCRegistration/3.3/status-400"},
		{name: "a client registers without redirect URIs",
			spoil: saying(func(m map[string]any) bool { return m["redirect_uris"] == nil }, "redirect_uris"),
			fails: "RFC7591/5/redirect-uris-required"},
		{name: "redirect URIs with http are registered", spoil: saying(func(m map[string]any) bool {
			list, _ := m["redirect_uris"].([]any)
			return slices.Contains(list, any("http://client.example/callback"))
		}, "redirect_uris"), fails: "RFC7591/5/redirect-uris-protected"},
		{name: "ID tokens without a signature are registered",
			spoil: saying(has("id_token_signed_response_alg"), "id_token_signed_response_alg", "token_endpoint_auth_method",
				"client_secret"),
			fails: "OIDCRegistration/2/id-token-not-unsigned OIDCRegistration/2/secret-for-hmac"},

		{name: "the pages show no logo", spoil: answering(func(a *wire.Answer) {
			a.Body = bytes.ReplaceAll(a.Body, []byte(`<img class="logo"`), []byte("<p"))
		}), fails: "RFC7591/2/logo"},
		{name: "the pages show no terms", spoil: without("/terms"), fails: "OIDCRegistration/2/policy-and-terms"},
		{name: "the pages show no policy", spoil: without("/policy"), fails: "OIDCRegistration/2/policy-and-terms"},

		{name: "a read request describes another client", spoil: to(http.MethodGet, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusOK {
				edit(a, put("client_id", "another"))
			}
		}), fails: "RFC7592/2.1/read OIDCRegistration/4/configuration-endpoint"},
		{name: "a wrong registration access token is answered with 404",
			spoil: to(http.MethodGet, func(_ *ask, a *wire.Answer) {
				if a.Status == http.StatusUnauthorized {
					a.Status = http.StatusNotFound
				}
			}), fails: "RFC7592/2.1/invalid-token RFC7592/2.3/delete OIDCRegistration/4.4/invalid-token"},
		{name: "an update changes no redirect URI", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.path == registerPath && q.method == http.MethodPost {
				p.keep("registered", q.body)
			}
			if q.method == http.MethodPut {
				m, first := sent(q), map[string]any{}
				_ = json.Unmarshal([]byte(p.note("registered")), &first)
				m["redirect_uris"] = first["redirect_uris"]
				text, _ := json.Marshal(m)
				q.body = string(text)
			}
			return p.real(q)
		}, fails: "RFC7592/2.2/replaces"},
		{name: "an update keeps what it omits", spoil: to(http.MethodPut, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusOK && a.Text("tos_uri") == "" {
				edit(a, put("tos_uri", "https://client.example/terms"))
			}
		}), fails: "RFC7592/2.2/omitted"},
		{name: "an update ignores the client_id", spoil: func(p *proxy, q *ask) *wire.Answer {
			return asking(http.MethodPut, put("client_id", strings.Trim(strings.TrimPrefix(q.path, registerPath), "/")))(p, q)
		}, fails: "RFC7592/2.2/client-id"},
		{name: "a client chooses its secret",
			spoil: asking(http.MethodPut, func(m map[string]any) { delete(m, "client_secret") }),
			fails: "RFC7592/2.2/own-secret"},
		{name: "a deletion is answered with 200", spoil: to(http.MethodDelete, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusNoContent {
				a.Status = http.StatusOK
			}
		}), fails: "RFC7592/2.3/delete"},
		{name: "a registration has no registration access token", spoil: func(p *proxy, q *ask) *wire.Answer {
			if q.method == http.MethodDelete { // without a token
				return &wire.Answer{Status: http.StatusNoContent, Header: http.Header{}}
			}
			return made(put("registration_access_token", nil))(p, q)
		}, fails: "RFC7592/3/complete OIDCRegistration/3.2/configuration-complete",
			skips: "RFC7592/2.1/read"},
		{name: "all clients that register get the same client_id", spoil: made(put("client_id", "client")),
			fails: "RFC7591/3.2.1/client-id-unique OIDCRegistration/3/registration-endpoint"},
		{name: "all clients that register get the same secret", spoil: made(put("client_secret", "secret")),
			fails: "RFC7591/3.2.1/secret-unique OIDCRegistration/3.2/secret-unique"},
		{name: "client_id_issued_at is a date", spoil: made(put("client_id_issued_at", "2026-01-01")),
			fails: "OIDCRegistration/3.2/issued-at"},
		{name: "an invalid registration is answered with text", spoil: to(http.MethodPost, func(_ *ask, a *wire.Answer) {
			if a.Status == http.StatusBadRequest {
				a.Body = []byte("no")
			}
		}), fails: "OIDCRegistration/3.3/error RFC7591/3.2.2/error"},
		{name: "any redirect URI can be registered", spoil: saying(func(m map[string]any) bool {
			list, _ := m["redirect_uris"].([]any)
			return slices.Contains(list, any("no URI"))
		}, "redirect_uris"), skips: "OIDCRegistration/3.3/error OIDCRegistration/3.3/status-400 RFC7591/3.2.2/error"},
	}
}
