package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// registerPath is a path of the proxy, because Mandate has no dynamic registration.
const registerPath = "/o/register"

// registrationFaults are faults of dynamic registration (OIDC Registration §3, §4).
func registrationFaults() []fault {
	const all = "OIDCRegistration/3/registration-endpoint OIDCRegistration/3.2/secret-unique OIDCRegistration/3.2/response " +
		"OIDCRegistration/3.2/secret-expires-at OIDCRegistration/3.2/issued-at OIDCRegistration/3.2/configuration-complete OIDCRegistration/3.3/error " +
		"OIDCRegistration/3.3/status-400 OIDCRegistration/4/configuration-endpoint OIDCRegistration/4.4/invalid-token"
	on := func(method string, change func(*wire.Answer)) spoiler {
		return registering(func(q *ask, a *wire.Answer) {
			if q.method == method {
				change(a)
			}
		})
	}
	saying := func(name string, value any) spoiler {
		return on(http.MethodPost, func(a *wire.Answer) {
			if a.Status/100 == 2 {
				edit(a, put(name, value))
			}
		})
	}
	refusing := func(change func(*wire.Answer)) spoiler {
		return on(http.MethodPost, func(a *wire.Answer) {
			if a.Status == http.StatusBadRequest {
				change(a)
			}
		})
	}
	rows := []fault{
		{name: "clients can register", spoil: registering(func(*ask, *wire.Answer) {}), passes: all},
		{name: "all clients that register get the same client_id", spoil: saying("client_id", "client"),
			fails: "OIDCRegistration/3/registration-endpoint", passes: "OIDCRegistration/3.2/secret-unique"},
		{name: "all clients that register get the same secret", spoil: saying("client_secret", "secret"), fails: "OIDCRegistration/3.2/secret-unique"},
		{name: "a registration is answered with 200", spoil: on(http.MethodPost, func(a *wire.Answer) {
			if a.Status == http.StatusCreated {
				a.Status = http.StatusOK
			}
		}), fails: "OIDCRegistration/3.2/response"},
		{name: "a registration does not return the redirect URIs", spoil: saying("redirect_uris", nil), fails: "OIDCRegistration/3.2/response"},
		{name: "client_secret_expires_at is missing", spoil: saying("client_secret_expires_at", nil), fails: "OIDCRegistration/3.2/secret-expires-at"},
		{name: "client_id_issued_at is a date", spoil: saying("client_id_issued_at", "2026-01-01"), fails: "OIDCRegistration/3.2/issued-at"},
		{name: "a registration returns no registration access token", spoil: saying("registration_access_token", nil),
			fails: "OIDCRegistration/3.2/configuration-complete", skips: "OIDCRegistration/3.3/error OIDCRegistration/4/configuration-endpoint"},
		{name: "an invalid registration is answered with 422", spoil: refusing(status(http.StatusUnprocessableEntity)), fails: "OIDCRegistration/3.3/status-400"},
		{name: "an invalid registration is answered with text", spoil: refusing(func(a *wire.Answer) { a.Body = []byte("no") }), fails: "OIDCRegistration/3.3/error"},
		{name: "any redirect URI can be registered", spoil: func(p *proxy, q *ask) *wire.Answer {
			return registering(func(q *ask, a *wire.Answer) {
				if a.Status == http.StatusBadRequest {
					*a = *described(q, "any", http.StatusCreated)
					edit(a, put("registration_client_uri", p.front.Front+registerPath+"/any"))
				}
			})(p, q)
		}, skips: "OIDCRegistration/3.3/error OIDCRegistration/3.3/status-400"},
		{name: "the configuration endpoint describes another client", spoil: on(http.MethodGet, func(a *wire.Answer) {
			if a.Status == http.StatusOK {
				edit(a, put("client_id", "another"))
			}
		}), fails: "OIDCRegistration/4/configuration-endpoint"},
		{name: "the configuration endpoint answers an invalid token with 404", spoil: on(http.MethodGet, func(a *wire.Answer) {
			if a.Status == http.StatusUnauthorized {
				a.Status = http.StatusNotFound
			}
		}), fails: "OIDCRegistration/4.4/invalid-token"},
	}
	for i := range rows {
		rows[i].aim = func(t *target.Target) {
			t.Register = true
			delete(t.Clients, need.Code)
			delete(t.Clients, need.Second)
		}
	}
	return rows
}

// registering registers clients that exist only in the answers, and changes these answers.
func registering(change func(*ask, *wire.Answer)) spoiler {
	return func(p *proxy, q *ask) *wire.Answer {
		rest, own := strings.CutPrefix(q.path, registerPath)
		if !own {
			a := p.real(q)
			if strings.Contains(q.path, "/.well-known/o") {
				edit(a, put("registration_endpoint", p.front.Front+registerPath))
			}
			return a
		}
		id := strings.TrimPrefix(rest, "/")
		var a *wire.Answer
		switch {
		case q.method == http.MethodPost && strings.Contains(q.body, "no URI"):
			a = refusal(http.StatusBadRequest, "invalid_redirect_uri")
		case q.method == http.MethodPost:
			p.mu.Lock()
			id = fmt.Sprint("client", len(p.kept))
			p.mu.Unlock()
			p.keep("registered "+id, q.body)
			a = described(q, id, http.StatusCreated)
			edit(a, put("registration_client_uri", p.front.Front+registerPath+"/"+id))
		case q.method == http.MethodDelete:
			a = &wire.Answer{Status: http.StatusNoContent, Header: http.Header{}}
		case q.header.Get("Authorization") != "Bearer manage-"+id:
			a = refusal(http.StatusUnauthorized, "invalid_token")
		default:
			a = described(&ask{body: p.note("registered " + id)}, id, http.StatusOK)
		}
		change(q, a)
		return a
	}
}

// described returns the answer that describes a client, with the metadata of its request.
func described(q *ask, id string, status int) *wire.Answer {
	client := map[string]any{}
	_ = json.Unmarshal([]byte(q.body), &client) // the checks send JSON
	client["client_id"], client["client_secret"] = id, "secret-of-"+id
	client["client_secret_expires_at"], client["client_id_issued_at"] = 0, 1700000000
	client["registration_access_token"] = "manage-" + id
	return &wire.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: []byte(rules.Quoted(client))}
}
