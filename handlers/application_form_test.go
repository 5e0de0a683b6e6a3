package handlers

import (
	"slices"
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/events"
	"mandate/provider/policy"
	"mandate/storage"
)

// behind changes an application in the database, and returns what is stored then. The pages could not set it so: it may
// have come by itself, from the command line or from another release.
func (s *site) behind(t *testing.T, path string, change func(*storage.Application)) storage.Application {
	t.Helper()
	was := s.stored(t, path)
	now := was
	change(&now)
	err := s.store.UpdateApplication(events.Attach(t.Context(), clients.ChangeEvents(was, now, nil)...), now, was)
	if err != nil {
		t.Fatal(err)
	}
	return s.stored(t, path)
}

// stored returns the application with a page.
func (s *site) stored(t *testing.T, path string) storage.Application {
	t.Helper()
	a, err := s.provider.Clients.Application(t.Context(), policy.Operator(), strings.Split(path, "/")[3])
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The update page sends what is stored, also if nobody could choose it there. A field without its value would be empty
// after the next save, and empty allows everything. What the server does not support is refused with a reason.
func TestUpdatePageKeepsWhatItDoesNotOffer(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	v := s.as(t, "alice")
	closed := []string{"client_type", "pkce"} // their columns can hold no other value
	for _, f := range clients.Fields() {
		if f.Kind != clients.Choice && f.Kind != clients.Choices || slices.Contains(closed, f.Name) {
			continue
		}
		path, _ := registered(t, v)
		was := s.behind(t, path, func(a *storage.Application) { *f.Column(a).(*string) = "unheard-of" })
		form := v.get(t, path+"update/").filled()
		if !slices.Equal(form[f.Name], []string{"unheard-of"}) {
			t.Errorf("%s: the page sends %q", f.Name, form[f.Name])
		}
		got := v.post(t, path+"update/", flat(form)...)
		if f.Name == "scope" { // it has no effect, and stays
			got.wants(t, 303)
		} else {
			got.wants(t, 422, `href="#`+f.Name+`"`, `value="unheard-of" checked`)
		}
		if now := *f.Column(new(s.stored(t, path))).(*string); now != *f.Column(&was).(*string) {
			t.Errorf("%s: after a save it is %q", f.Name, now)
		}
	}
}

// Some values only an administrator may choose, and some only a server with an address for certificates can use. They
// are on the page of whoever has them already.
func TestUpdatePageOffersWhatAPersonMayChoose(t *testing.T) {
	s := newSite(t, "", func(c *Config) { c.OpenID = true })
	alice, root := s.as(t, "alice"), s.as(t, "root")
	hers, _ := registered(t, alice)
	path, _ := registered(t, root)
	for name, value := range map[string]string{
		"pkce":               policy.PKCEIfSent,
		"refresh_rotation":   policy.RotationOff,
		"claims_in_id_token": policy.ClaimsOn,
		"sender_constraint":  "certificate",
		"auth_method":        "tls_client_auth",
		"required_acr":       "urn:mandate:acr:password",
	} {
		option := `name="` + name + `" type="radio" value="` + value + `"`
		guarded := slices.Contains([]string{"pkce", "refresh_rotation", "claims_in_id_token"}, name)
		if strings.Contains(alice.get(t, hers+"update/").body, option) {
			t.Errorf("%s: a person is offered %s", name, value)
		}
		if strings.Contains(root.get(t, path+"update/").body, option) != guarded {
			t.Errorf("%s: an administrator is offered %s: %t", name, value, !guarded)
		}
		f, _ := clients.FieldOf(name)
		kept, _ := registered(t, alice)
		s.behind(t, kept, func(a *storage.Application) { *f.Column(a).(*string) = value })
		alice.get(t, kept+"update/").wants(t, 200, option+" checked")
	}
}
