package rules

import (
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// oidcRegistrationEndpoint has the checks of the rules about the endpoints that register clients and describe them
// (OIDC Registration §3, §4).
var oidcRegistrationEndpoint = checks{
	"OIDCRegistration/3/registration-endpoint": func(t *T) { wantDistinct(t, "client_id") },
	"OIDCRegistration/3.2/secret-unique":       func(t *T) { wantDistinct(t, "client_secret") },
	"OIDCRegistration/3.2/response":            func(t *T) { wantCreated(t, "redirect_uris") },
	"OIDCRegistration/3.2/secret-expires-at":   wantSecretExpiry,
	"OIDCRegistration/3.2/issued-at": func(t *T) {
		t.WithClient(plainClient(t), func(a *check.Made) {
			at := a.JSON()["client_id_issued_at"]
			if at == nil {
				t.Skipf("the rule applies to a server whose responses have client_id_issued_at, which is optional")
			}
			if _, is := at.(float64); !is {
				t.Failf("client_id_issued_at is %s, want a number", Quoted(at))
			}
		})
	},
	"OIDCRegistration/3.2/configuration-complete": func(t *T) {
		t.WithClient(plainClient(t), func(a *check.Made) { wantBothOrNeither(t, a) })
	},
	"OIDCRegistration/3.3/error": func(t *T) {
		if a := refusedRegistration(t); a.Text("error") == "" {
			t.Failf("the response (%s) is no JSON object with error", a)
		}
	},
	"OIDCRegistration/3.3/status-400": func(t *T) {
		t.WantStatus(refusedRegistration(t), http.StatusBadRequest)
	},
	"OIDCRegistration/4/configuration-endpoint": wantReadable,
	"OIDCRegistration/4.4/invalid-token":        func(t *T) { wantUnreadable(t, func(*wire.Answer) {}) },
}

// wantDistinct asserts that two clients that register get different values of a member.
func wantDistinct(t *T, name string) {
	t.WithClient(plainClient(t), func(one *check.Made) {
		if one.Text(name) == "" {
			t.Skipf("the rule applies to a server that issues a %s to the registered client", name)
		}
		t.WithClient(plainClient(t), func(other *check.Made) {
			if one.Text(name) == other.Text(name) {
				t.At(other.Answer)
				t.Errorf("two clients were registered with the same %s", name)
			}
		})
	})
}
