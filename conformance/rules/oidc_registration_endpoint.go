package rules

import (
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcRegistrationEndpoint returns the rules about the endpoints that register clients and describe them (OIDC
// Registration §3, §4). The checks register clients of their own.
func oidcRegistrationEndpoint() []Rule {
	return []Rule{
		{
			ID: "OIDCRegistration/3/registration-endpoint", Level: Must,
			Text:  "The server assigns a unique client_id to a client that registers.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantDistinct(t, "client_id") },
		},
		{
			ID: "OIDCRegistration/3.2/secret-unique", Level: Must,
			Text:  "Each client gets another client_secret.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantDistinct(t, "client_secret") },
		},
		{
			ID: "OIDCRegistration/3.2/response", Level: Should,
			Text:  "The server answers a registration with 201 and the registered metadata, with the type application/json.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantCreated(t, "redirect_uris") },
		},
		{
			ID: "OIDCRegistration/3.2/secret-expires-at", Level: Must,
			Text:  "A response with a client_secret has client_secret_expires_at, a number of seconds or 0.",
			Needs: registrationNeeds(),
			Check: wantSecretExpiry,
		},
		{
			ID: "OIDCRegistration/3.2/issued-at", Level: Must,
			Text:  "client_id_issued_at, if present, is a number of seconds.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCRegistration/3.2/configuration-complete", Level: Must,
			Text:  "The response has both registration_client_uri and registration_access_token, or neither.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				t.WithClient(plainClient(t), func(a *check.Made) { wantBothOrNeither(t, a) })
			},
		},
		{
			ID: "OIDCRegistration/3.3/error", Level: Must,
			Text:  "The response to an invalid registration request is a JSON object with the member error.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				if a := refusedRegistration(t); a.Text("error") == "" {
					t.Failf("the response (%s) is no JSON object with error", a)
				}
			},
		},
		{
			ID: "OIDCRegistration/3.3/status-400", Level: Should,
			Text:  "The response to an invalid registration request has the status 400.",
			Needs: registrationNeeds(),
			Check: func(t *T) { t.WantStatus(refusedRegistration(t), http.StatusBadRequest) },
		},
		{
			ID: "OIDCRegistration/4/configuration-endpoint", Level: Should,
			Text:  "The client's configuration endpoint returns the registered metadata for its registration access token.",
			Needs: registrationNeeds(),
			Check: wantReadable,
		},
		{
			ID: "OIDCRegistration/4.4/invalid-token", Level: Must,
			Text:  "The client's configuration endpoint answers an invalid registration access token with 401.",
			Needs: registrationNeeds(),
			Check: func(t *T) { wantUnreadable(t, func(*wire.Answer) {}) },
		},
	}
}

func registrationNeeds() []Need { return []Need{need.OpenID, need.Registration} }

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
