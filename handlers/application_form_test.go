package handlers

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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

// unusual is an application whose fields all have another value than that of an empty form.
func unusual(a *storage.Application) {
	for _, f := range clients.Fields() {
		switch column := f.Column(a).(type) {
		case *bool:
			*column = true
		case *int64:
			*column = 600
		}
	}
	a.AccessTokenFormat, a.Sector = policy.FormatJWT, "app.example.com"
	a.Claims = `{"name":"role","from":"groups","in":["id_token"]}`
	a.RefreshRotation, a.ClaimsInIDToken, a.PKCE = policy.RotationOn, policy.ClaimsOff, policy.PKCERequired
	a.Algorithm, a.UserInfoAlgorithm, a.IntrospectionAlg = "ES256", "ES256", "ES256"
	a.ObjectAlgorithm, a.ResponseAlgorithm, a.ResponseModes = "ES256", "ES256", "query"
	a.RequiredACR, a.DefaultACR, a.SenderConstraint = "urn:mandate:acr:mfa", "urn:mandate:acr:mfa", "dpop"
	a.PostLogoutURIs, a.BackchannelURI = "https://app.example.com/bye", "https://app.example.com/logout"
	a.Resources, a.RequestURIs = "https://api.example.com/", "https://app.example.com/request"
	a.LaunchURL = "https://app.example.com/"
	a.AllowedGroups, a.DeniedGroups, a.NobodyNew = "staff", "trainees", false // the consent page is skipped
	a.JWKSURI, a.AuthMethod, a.AuthAlgorithm = "https://app.example.com/keys", "private_key_jwt", "ES256"
}

// A form without a field changes nothing of it. A page has no fields of OpenID Connect while that is off, and a form
// that somebody has written may have even fewer. Only a box cannot be told from one that is off.
func TestFieldsThatAFormDoesNotHaveStay(t *testing.T) {
	for _, openID := range []bool{true, false} {
		s := newSite(t, "", func(c *Config) { c.OpenID = openID })
		for _, group := range []string{"staff", "trainees"} {
			err := s.provider.People.AddGroup(t.Context(), group)
			if err != nil {
				t.Fatal(err)
			}
		}
		v := s.as(t, "root")
		path, _ := registered(t, v)
		was := s.behind(t, path, unusual)
		for _, f := range clients.Fields() {
			// Four exclude others, one is the sector.
			alone := []string{"jwks", "certificate_subject", "profile", "pairwise", "nobody_new"}
			if f.Stored(&was) == nil && !slices.Contains(alone, f.Name) {
				t.Errorf("%s is empty: give it a value here", f.Name)
			}
		}
		same := func(what string) {
			t.Helper()
			now := s.stored(t, path)
			for _, f := range clients.Fields() {
				if d := cmp.Diff(f.Stored(&was), f.Stored(&now)); d != "" && f.Name != "name" {
					t.Errorf("OpenID Connect %t, %s, %s: %s", openID, what, f.Name, d)
				}
			}
			if was.Sector != now.Sector {
				t.Errorf("OpenID Connect %t, %s: the sector is %q", openID, what, now.Sector)
			}
		}
		form := v.get(t, path+"update/").filled()
		form.Set("name", "Another name")
		v.post(t, path+"update/", flat(form)...).wants(t, 303)
		same("the page")
		for _, f := range clients.Fields() {
			if f.Kind != clients.Switch && f.Kind != clients.Choices {
				form.Del(f.Name)
			}
		}
		form.Set("version", strconv.FormatInt(s.stored(t, path).Version, 10))
		v.post(t, path+"update/", flat(form)...).wants(t, 303)
		same("boxes alone")
	}
}
