package rules

import (
	"encoding/json"
	"maps"
	"net/http"

	"mandate/conformance/check"
	"mandate/conformance/wire"
)

// managedClient is a client that a check has registered, and that has a configuration endpoint.
type managedClient struct {
	*check.Made
	at string
}

// withManaged registers a client that has a configuration endpoint, and uses it.
func withManaged(t *T, use func(*managedClient)) {
	t.WithClient(plainClient(t), func(made *check.Made) {
		at := made.Text("registration_client_uri")
		if at == "" || made.Token == "" {
			t.Skipf("the rule applies to a server that returns registration_client_uri and registration_access_token")
		}
		t.WantManaged(at)
		use(&managedClient{made, at})
	})
}

func (c *managedClient) read(t *T, as wire.Auth) *wire.Answer {
	a := t.Get(c.at, as)
	t.At(a)
	return a
}

// update sends a client update request with all metadata of the registration, as changed (RFC 7592 §2.2).
func (c *managedClient) update(t *T, change func(map[string]any)) *wire.Answer {
	m := maps.Clone(c.JSON())
	for _, own := range []string{"registration_access_token", "registration_client_uri", "client_secret_expires_at",
		"client_id_issued_at"} {
		delete(m, own)
	}
	change(m)
	body, err := json.Marshal(m)
	if err != nil {
		t.Blockedf("the client metadata cannot be written: %v", err)
	}
	a := t.Send(http.MethodPut, c.at, string(body), "application/json", wire.Bearer(c.Token))
	t.At(a)
	if next := a.Text("registration_access_token"); a.Status/100 == 2 && next != "" {
		c.Token = next
	}
	return a
}

// updated requires that the server supports updates.
func (c *managedClient) updated(t *T, change func(map[string]any)) *wire.Answer {
	a := c.update(t, change)
	if a.Status == http.StatusMethodNotAllowed || a.Status == http.StatusForbidden || a.Status == http.StatusNotFound {
		t.Skipf("the rule applies to a server that supports updates of a registration: %s", a)
	}
	return a
}

func nothing(map[string]any) {}

// rfc7592 has the checks of the rules of OAuth 2.0 Dynamic Client Registration Management.
var rfc7592 = checks{
	"RFC7592/2.1/read": wantReadable,
	"RFC7592/2.1/invalid-token": func(t *T) {
		wantUnreadable(t, func(a *wire.Answer) {
			if a.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("the answer has no WWW-Authenticate (RFC 6750 §3)")
			}
		})
	},
	"RFC7592/2.2/replaces": func(t *T) {
		withManaged(t, func(c *managedClient) {
			moved := []string{"https://client.example/" + t.Random()}
			a := c.updated(t, func(m map[string]any) { m["redirect_uris"] = moved })
			t.WantStatus(a, http.StatusOK)
			wantSame(t, a, map[string]any{"redirect_uris": moved}, "redirect_uris")
		})
	},
	"RFC7592/2.2/omitted": func(t *T) {
		withManaged(t, func(c *managedClient) {
			const page = "https://client.example/terms"
			if a := c.updated(t, func(m map[string]any) { m["tos_uri"] = page }); a.Text("tos_uri") != page {
				t.Skipf("the rule needs a server that registers tos_uri")
			}
			if a := c.update(t, nothing); a.Text("tos_uri") != "" {
				t.Errorf("tos_uri is still %s after an update without it", Quoted(a.Text("tos_uri")))
			}
		})
	},
	"RFC7592/2.2/client-id": func(t *T) {
		withManaged(t, func(c *managedClient) {
			t.WantStatus(c.updated(t, nothing), http.StatusOK)
			a := c.update(t, func(m map[string]any) { m["client_id"] = "conformance-" + t.Random() })
			if a.Status/100 == 2 {
				t.Errorf("an update with another client_id is accepted")
			}
		})
	},
	"RFC7592/2.2/own-secret": func(t *T) {
		withManaged(t, func(c *managedClient) {
			t.WantStatus(c.updated(t, nothing), http.StatusOK)
			chosen := "conformance-" + t.Random() + t.Random()
			a := c.update(t, func(m map[string]any) { m["client_secret"] = chosen })
			if a.Status/100 == 2 {
				t.Errorf("an update with another client_secret is accepted")
			}
		})
	},
	"RFC7592/2.3/delete": func(t *T) {
		withManaged(t, func(c *managedClient) {
			a := t.Send(http.MethodDelete, c.at, "", "", wire.Bearer(c.Token))
			t.At(a)
			if a.Status == http.StatusMethodNotAllowed || a.Status == http.StatusForbidden {
				t.Skipf("the rule applies to a server that lets clients delete themselves: %s", a)
			}
			t.WantStatus(a, http.StatusNoContent)
			c.Deleted = a.Status/100 == 2
			t.WantStatus(c.read(t, wire.Bearer(c.Token)), http.StatusUnauthorized)
		})
	},
	"RFC7592/3/complete": func(t *T) {
		t.WithClient(plainClient(t), func(a *check.Made) {
			// Both are missing on a server that does not support this document.
			wantBothOrNeither(t, a)
			if a.Text("registration_client_uri") == "" {
				t.Skipf("the rule applies to a server that supports the management of registrations")
			}
		})
	},
}

// wantReadable asserts that a client can read its registration.
func wantReadable(t *T) {
	withManaged(t, func(c *managedClient) {
		a := c.read(t, wire.Bearer(c.Token))
		t.WantStatus(a, http.StatusOK)
		if a.MediaType() != "application/json" {
			t.Errorf("the Content-Type is %q", a.Header.Get("Content-Type"))
		}
		wantSame(t, a, c.JSON(), "client_id", "client_name", "redirect_uris")
	})
}

// wantUnreadable asserts that the registration of a client cannot be read with an invalid registration access token,
// and passes on the answer.
func wantUnreadable(t *T, then func(*wire.Answer)) {
	withManaged(t, func(c *managedClient) {
		if a := c.read(t, wire.Bearer(c.Token)); a.Status/100 != 2 {
			t.Blockedf("the configuration endpoint refuses the valid token too: %s", a.Failure())
		}
		a := c.read(t, wire.Bearer("conformance-"+t.Random()))
		t.WantStatus(a, http.StatusUnauthorized)
		then(a)
	})
}

// wantBothOrNeither asserts that an answer has both members that manage the client, or neither.
func wantBothOrNeither(t *T, a *check.Made) {
	if (a.Text("registration_client_uri") == "") != (a.Token == "") {
		t.Errorf("the response has only one of registration_client_uri and registration_access_token")
	}
}
