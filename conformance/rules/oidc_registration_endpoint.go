package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
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
			Check: func(t *T) {
				wantDistinct(t, "client_id", func(c *target.Client) string { return c.ID })
			},
		},
		{
			ID: "OIDCRegistration/3.2/secret-unique", Level: Must,
			Text:  "Each client gets another client_secret.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				wantDistinct(t, "client_secret", func(c *target.Client) string { return c.Secret })
			},
		},
		{
			ID: "OIDCRegistration/3.2/response", Level: Should,
			Text:  "The server answers a registration with 201 and the registered metadata, with the type application/json.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				registered(t, func(c *target.Client, a *wire.Answer) {
					t.WantStatus(a, http.StatusCreated)
					wantClientDescribed(t, a, c)
				})
			},
		},
		{
			ID: "OIDCRegistration/3.2/secret-expires-at", Level: Must,
			Text:  "A response with a client_secret has client_secret_expires_at, a number of seconds or 0.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				registered(t, func(_ *target.Client, a *wire.Answer) { wantSecretExpiry(t, a) })
			},
		},
		{
			ID: "OIDCRegistration/3.2/issued-at", Level: Must,
			Text:  "client_id_issued_at, if present, is a number of seconds.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				registered(t, func(_ *target.Client, a *wire.Answer) {
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
				registered(t, func(_ *target.Client, a *wire.Answer) { wantBothOrNeither(t, a) })
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
			Check: func(t *T) {
				configurable(t, func(c *target.Client) {
					a := t.Get(c.Configuration, wire.Bearer(c.RegistrationAT))
					t.WantStatus(a, http.StatusOK)
					wantClientDescribed(t, a, c)
				})
			},
		},
		{
			ID: "OIDCRegistration/4.4/invalid-token", Level: Must,
			Text:  "The client's configuration endpoint answers an invalid registration access token with 401.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				configurable(t, func(c *target.Client) {
					if a := t.Get(c.Configuration, wire.Bearer(c.RegistrationAT)); a.Status/100 != 2 {
						t.Blockedf("the configuration endpoint refuses the valid token too: %s", a.Failure())
					}
					t.WantStatus(t.Get(c.Configuration, wire.Bearer("conformance-"+t.Random())), http.StatusUnauthorized)
				})
			},
		},
	}
}

func registrationNeeds() []Need { return []Need{need.OpenID, need.Registration} }

// registered registers a client and uses it, with the answer to its registration.
func registered(t *T, use func(*target.Client, *wire.Answer)) {
	m := plainClient(t)
	uris, _ := m["redirect_uris"].([]string)
	t.WithClient(m, func(a *check.Made) {
		use(&target.Client{ID: a.Text("client_id"), Secret: a.Text("client_secret"), RedirectURIs: uris,
			Configuration: a.Text("registration_client_uri"), RegistrationAT: a.Text("registration_access_token")}, a.Answer)
	})
}

// configurable registers a client that has a configuration endpoint, and uses it.
func configurable(t *T, use func(*target.Client)) {
	registered(t, func(c *target.Client, _ *wire.Answer) {
		if c.Configuration == "" || c.RegistrationAT == "" {
			t.Skipf("the rule applies to a server that returns registration_client_uri and registration_access_token, which is optional")
		}
		t.WantManaged(c.Configuration)
		use(c)
	})
}

// refusedRegistration sends a registration request with an invalid redirect URI. It needs a server where a client can be
// deleted, in case that the server registers one.
func refusedRegistration(t *T) *wire.Answer {
	configurable(t, func(*target.Client) {})
	a := t.Register(map[string]any{"client_name": "conformance", "redirect_uris": []string{"no URI"}})
	if a.Status/100 == 2 {
		t.Skipf("the rule needs a server that refuses an invalid redirect URI at the registration: this one registered %q", "no URI")
	}
	return a
}

// wantDistinct asserts that two clients that register differ in a value.
func wantDistinct(t *T, name string, of func(*target.Client) string) {
	registered(t, func(one *target.Client, _ *wire.Answer) {
		if of(one) == "" {
			t.Skipf("the rule applies to a server that issues a %s to the registered client", name)
		}
		registered(t, func(other *target.Client, a *wire.Answer) {
			if of(one) == of(other) {
				t.At(a)
				t.Errorf("two clients were registered with the same %s", name)
			}
		})
	})
}

// wantSecretExpiry asserts that an answer with a secret says when the secret expires.
func wantSecretExpiry(t *T, a *wire.Answer) {
	if a.Text("client_secret") == "" {
		t.Skipf("the rule applies to a server that issues a client_secret to the registered client")
	}
	if at := a.JSON()["client_secret_expires_at"]; !isNumber(at) {
		t.Errorf("client_secret_expires_at is %s, want a number", Quoted(at))
	}
}

func isNumber(value any) bool {
	_, is := value.(float64)
	return is
}

// wantBothOrNeither asserts that an answer has both members that manage the client, or neither.
func wantBothOrNeither(t *T, a *wire.Answer) {
	if (a.Text("registration_client_uri") == "") != (a.Text("registration_access_token") == "") {
		t.Errorf("the response has only one of registration_client_uri and registration_access_token")
	}
}

// wantClientDescribed asserts that a JSON object describes a client.
func wantClientDescribed(t *T, a *wire.Answer, c *target.Client) {
	if a.MediaType() != "application/json" {
		t.Errorf("the Content-Type is %q", a.Header.Get("Content-Type"))
	}
	if a.Text("client_id") != c.ID {
		t.Errorf("client_id is %q, want %q", a.Text("client_id"), c.ID)
	}
	list, _ := a.JSON()["redirect_uris"].([]any)
	for _, uri := range c.RedirectURIs {
		if !slices.Contains(list, any(uri)) {
			t.Errorf("redirect_uris is %s, and the client registered %s", Quoted(a.JSON()["redirect_uris"]), strings.Join(c.RedirectURIs, " "))
			return
		}
	}
}
