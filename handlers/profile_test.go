package handlers

import (
	"net/url"
	"strings"
	"testing"

	"mandate/provider"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates/languages"
)

// editing returns a site with alice and root on which people may change these fields.
func editing(t *testing.T, fields ...string) *site {
	t.Helper()
	s := siteWith(t, "", func(c *provider.Config) {
		c.People.Editable, c.People.Languages = fields, languages.Tags()
	})
	s.addPeople(t)
	return s
}

func (s *site) person(t *testing.T, name string) (storage.User, people.Profile) {
	t.Helper()
	u, err := s.provider.People.UserByName(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	profile, err := people.ProfileOf(u)
	if err != nil {
		t.Fatal(err)
	}
	return u, profile
}

// copyOf is another browser with the cookies of a visitor.
func (s *site) copyOf(t *testing.T, v *visitor) *visitor {
	t.Helper()
	other := s.visitor(t)
	base, err := url.Parse(s.base)
	if err != nil {
		t.Fatal(err)
	}
	other.Jar.SetCookies(base, v.Jar.Cookies(base))
	return other
}

func TestPeopleChangeTheirDetails(t *testing.T) {
	s := editing(t, people.OwnFields()...)
	alice := s.as(t, "alice")
	before, _ := s.person(t, "alice")
	alice.get(t, "/account/").wants(t, 200, `href="/account/profile/"`)
	copied := s.copyOf(t, alice)
	alice.get(t, "/account/profile/").wants(t, 200, `name="first_name"`, `<option value="fr">Français`,
		`<option value="America/New_York">America/New York`)
	alice.post(t, "/account/profile/", "first_name", " Alicia ", "last_name", "Liddell", "locale", "fr", "zoneinfo",
		"Europe/Paris", "email", "thief@example.org", "username", "root", "groups", "x").wants(t, 303)
	u, profile := s.person(t, "alice")
	if u.FirstName != "Alicia" || u.LastName != "Liddell" || profile.Locale != "fr" || profile.ZoneInfo != "Europe/Paris" {
		t.Errorf("stored: %+v, %+v", u, profile)
	}
	if u.Email != before.Email || u.Administrator || u.UpdatedAt == 0 || u.Password != before.Password {
		t.Errorf("also changed: %+v", u)
	}
	copied.get(t, "/account/").wants(t, 303) // a copy of the session has ended
	s.as(t, "root").get(t, "/admin/events/?kind=person.changed").wants(t, 200, "first_name last_name profile")
	// The pages are in the language that the person has chosen, in every browser, and the session goes on.
	alice.get(t, "/account/").wants(t, 200, `<html lang="fr">`, "Modifier vos informations")
	alice.get(t, "/account/profile/").wants(t, 200, `value="Alicia"`, `<option value="fr" selected>`,
		`<option value="Europe/Paris" selected>`)
	s.visitor(t).get(t, "/").wants(t, 200, `<html lang="en">`)
	alice.get(t, "/errors/").wants(t, 200, `<html lang="en">`) // caches keep it for everybody

	for _, wrong := range [][]string{
		{"first_name", "A\u202ex"},
		{"last_name", strings.Repeat("x", 151)},
		{"first_name", "i\u0307"},
		{"locale", "tlh"},
		{"zoneinfo", "Europe/Atlantis"},
	} {
		alice.post(t, "/account/profile/", wrong...).wants(t, 422, `aria-invalid="true"`)
	}
	if again, _ := s.person(t, "alice"); again != u {
		t.Errorf("a refused form has changed %+v", again)
	}
	alice.post(t, "/account/profile/").wants(t, 303)
	if u, profile := s.person(t, "alice"); u.FullName() != "" || profile.Locale != "" || profile.ZoneInfo != "" {
		t.Errorf("stored: %+v, %+v", u, profile)
	}
	alice.get(t, "/account/").wants(t, 200, `<html lang="en">`)
	s.visitor(t).post(t, "/account/profile/").wants(t, 303)
}

// What the operator does not leave to people stays, whatever a form contains.
func TestAttackDetailsOfTheOperator(t *testing.T) {
	s := editing(t, people.OwnZone)
	u, _ := s.person(t, "alice")
	_, err := s.provider.People.ChangeUser(t.Context(), policy.Operator(), u.ID, func(p *people.Person) {
		p.FirstName, p.Profile.Locale, p.Profile.ZoneInfo = "Alice", "de-CH", "Asia/Calcutta"
	})
	if err != nil {
		t.Fatal(err)
	}
	alice := s.as(t, "alice")
	page := alice.get(t, "/account/profile/")
	page.wants(t, 200, `<html lang="de">`, `<option value="Asia/Calcutta" selected>`)
	if strings.Contains(page.body, "first_name") || strings.Contains(page.body, `name="locale"`) {
		t.Error("the form has what only the operator changes")
	}
	alice.post(t, "/account/profile/", "first_name", "Root", "locale", "fr", "zoneinfo", "Asia/Calcutta").wants(t, 303)
	if u, profile := s.person(t, "alice"); u.FirstName != "Alice" || profile.Locale != "de-CH" {
		t.Errorf("stored: %+v, %+v", u, profile)
	}
	none := editing(t)
	alice = none.as(t, "alice")
	if page := alice.get(t, "/account/"); strings.Contains(page.body, "/account/profile/") {
		t.Error("the account page leads to a form that nobody may send")
	}
	alice.get(t, "/account/profile/").wants(t, 404)
	alice.post(t, "/account/profile/", "first_name", "x").wants(t, 404)
}

// The address is not changed here: that needs mail.
func TestNewAddressNeedsMail(t *testing.T) {
	s := editing(t, people.OwnFields()...)
	alice := s.as(t, "alice")
	if page := alice.get(t, "/account/"); strings.Contains(page.body, "/account/email/") {
		t.Error("the account page leads to a form that cannot send a message")
	}
	alice.get(t, "/account/email/").wants(t, 404)
	alice.post(t, "/account/email/", "email", "new@example.org").wants(t, 404)
	for _, path := range []string{"/account/email/secret/", "/account/email/back/secret/"} {
		alice.get(t, path).wants(t, 404, "This link does not work any more")
		alice.post(t, path).wants(t, 404, "This link does not work any more")
	}
}
