package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// oidcRegistrationEndpoint returns the rules about the endpoints that register clients and describe them (OIDC
// Registration §3, §4). The checks read the answers with which the server registered the clients of the run.
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
				c, a := registered(t)
				t.WantStatus(a, http.StatusCreated)
				wantClientDescribed(t, a, c)
			},
		},
		{
			ID: "OIDCRegistration/3.2/secret-expires-at", Level: Must,
			Text:  "A response with a client_secret has client_secret_expires_at, a number of seconds or 0.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				_, a := registered(t)
				at := a.JSON()["client_secret_expires_at"]
				if a.Text("client_secret") == "" {
					t.Skipf("the rule applies to a server that issues a client_secret to the client code")
				}
				if _, is := at.(float64); !is {
					t.Failf("client_secret_expires_at is %s, want a number", Quoted(at))
				}
			},
		},
		{
			ID: "OIDCRegistration/3.2/issued-at", Level: Must,
			Text:  "client_id_issued_at, if present, is a number of seconds.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				_, a := registered(t)
				at := a.JSON()["client_id_issued_at"]
				if at == nil {
					t.Skipf("the rule applies to a server whose responses have client_id_issued_at, which is optional")
				}
				if _, is := at.(float64); !is {
					t.Failf("client_id_issued_at is %s, want a number", Quoted(at))
				}
			},
		},
		{
			ID: "OIDCRegistration/3.2/configuration-complete", Level: Must,
			Text:  "The response has both registration_client_uri and registration_access_token, or neither.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				_, a := registered(t)
				if (a.Text("registration_client_uri") == "") != (a.Text("registration_access_token") == "") {
					t.Failf("the response has only one of registration_client_uri and registration_access_token")
				}
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
				c := configurable(t)
				a := t.Get(c.Configuration, wire.Bearer(c.RegistrationAT))
				t.WantStatus(a, http.StatusOK)
				wantClientDescribed(t, a, c)
			},
		},
		{
			ID: "OIDCRegistration/4.4/invalid-token", Level: Must,
			Text:  "The client's configuration endpoint answers an invalid registration access token with 401.",
			Needs: registrationNeeds(),
			Check: func(t *T) {
				c := configurable(t)
				if a := t.Get(c.Configuration, wire.Bearer(c.RegistrationAT)); a.Status/100 != 2 {
					t.Blockedf("the configuration endpoint refuses the valid token too: %s", a.Failure())
				}
				t.WantStatus(t.Get(c.Configuration, wire.Bearer("conformance-"+t.Random())), http.StatusUnauthorized)
			},
		},
	}
}

func registrationNeeds() []Need { return []Need{need.OpenID, need.Registration, need.Code} }

// registered returns the client code with the answer that registered it, which is shown with a failure. If the client was
// registered beforehand, the check is skipped.
func registered(t *T) (*target.Client, *wire.Answer) {
	c := t.Client(need.Code)
	if c.Registration == nil {
		t.Skipf("the rule needs a client code that is registered for the run: write register: true into the target, and no client code")
	}
	t.At(c.Registration)
	return c, c.Registration
}

// configurable returns the client code if it has a configuration endpoint.
func configurable(t *T) *target.Client {
	c, _ := registered(t)
	if c.Configuration == "" || c.RegistrationAT == "" {
		t.Skipf("the rule applies to a server that returns registration_client_uri and registration_access_token, which is optional")
	}
	t.WantManaged(c.Configuration)
	return c
}

// refusedRegistration sends a registration request with an invalid redirect URI. It needs a server where a client can be
// deleted, in case that the server registers one.
func refusedRegistration(t *T) *wire.Answer {
	configurable(t)
	a := t.Register(map[string]any{"client_name": "conformance", "redirect_uris": []string{"no URI"}})
	if a.Status/100 == 2 {
		t.Skipf("the rule needs a server that refuses an invalid redirect URI at the registration: this one registered %q", "no URI")
	}
	return a
}

// wantDistinct asserts that the clients that were registered for the run differ in a value. Clients without it do not count.
func wantDistinct(t *T, name string, of func(*target.Client) string) {
	registered(t)
	owners := map[string]Need{}
	count := 0
	for _, role := range need.Roles() {
		// The client introspection can be a copy of another one.
		c := t.OptionalClient(role.Name)
		if c == nil || c.Registration == nil || role.Introspects || of(c) == "" {
			continue
		}
		count++
		if other, is := owners[of(c)]; is {
			t.At(c.Registration)
			t.Errorf("the clients %s and %s were registered with the same %s", other, role.Name, name)
		}
		owners[of(c)] = role.Name
	}
	if count < 2 {
		t.Skipf("the rule needs two registered clients with a %s", name)
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
