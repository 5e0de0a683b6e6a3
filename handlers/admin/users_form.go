package admin

import (
	"net/http"
	"net/url"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// namedUser finds the user of the path. It is for administrators.
func (s *accounts) namedUser(r *http.Request) (*storage.SignedIn, storage.User, error) {
	who, id, err := s.Administers(r)
	if err != nil {
		return nil, storage.User{}, err
	}
	u, err := s.Provider.People.User(r.Context(), id)
	return who, u, err
}

func (s *accounts) userPath(id string) string { return s.Path(personPath(id)) + "/" }

// personPath is the path of the page of a person, without the base path and the last slash. A subject of another server
// may have any sign.
func personPath(id string) string { return "/admin/users/" + url.PathEscape(id) }

// storedUser returns the form with what is stored about a user.
func (s *accounts) storedUser(r *http.Request, u storage.User) (url.Values, error) {
	groups, err := s.Provider.People.GroupsOf(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	administers, err := s.Provider.People.Administered(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	form := url.Values{"username": {u.Username}, "email": {u.Email}, "first_name": {u.FirstName},
		"last_name": {u.LastName}, "group": groups, "administers": administers,
		"shown": {people.StateOf(u, groups, administers)}}
	if u.Active {
		form.Set("active", "on")
	}
	if u.Administrator {
		form.Set("administrator", "on")
	}
	if u.Auditor {
		form.Set("auditor", "on")
	}
	if !s.Config.OpenID {
		return form, nil
	}
	return form, profileForm(u, form)
}

func (s *accounts) personIn(form url.Values) people.Person {
	return people.Person{Username: strings.TrimSpace(form.Get("username")), Email: strings.TrimSpace(form.Get("email")),
		FirstName: strings.TrimSpace(form.Get("first_name")), LastName: strings.TrimSpace(form.Get("last_name")),
		Password: form.Get("password"), Groups: web.Unique(form["group"]), Administers: web.Unique(form["administers"]),
		Inactive:      !form.Has("active"),
		Administrator: form.Has("administrator"), Auditor: form.Has("auditor"), Profile: s.profileIn(form)}
}

// userForm returns the form with the values that were sent, except the password.
func (s *accounts) userForm(r *http.Request, who *storage.SignedIn, u *storage.User, form url.Values,
	invalid *oauth.Invalid) (templates.UserForm, error) {
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page := templates.UserForm{Frame: s.Frame(r, ""), PasswordHint: s.PasswordHint(s.Pages.Languages.English()),
		New: u == nil, Action: s.Path("/admin/users/new/"), CancelURL: s.Path("/admin/users/"),
		UsernameField: field("username"), Email: field("email"), FirstName: field("first_name"), LastName: field("last_name"),
		Password: templates.Field{Error: invalid.At("password")}, Active: form.Has("active"),
		Administrator: form.Has("administrator"), Auditor: form.Has("auditor"),
		Claims: s.claimsForm(form, invalid), Errors: web.FieldErrors(invalid)}
	if u != nil {
		page.State = form.Get("shown")
		page.ResetAction, page.ResetMinutes = s.userPath(u.ID)+"reset-link/", resetMinutes
		page.Action, page.DeleteURL, page.Self = s.userPath(u.ID), s.userPath(u.ID)+"delete/", u.ID == who.User.ID
		var err error
		page.Sessions, err = s.SessionList(r, s.Pages.Languages.English(), who, *u, personPath(u.ID)+"/sessions/")
		if err != nil {
			return page, err
		}
		page.Methods, err = s.SignInMethods(r, s.Pages.Languages.English(), *u)
		if err != nil {
			return page, err
		}
		page.Glance, err = s.glance(r, *u, len(page.Sessions.Rows), page.Methods)
		if err != nil {
			return page, err
		}
		page.Activity, err = s.Activity(r, s.Pages.Languages.English(), u.ID)
		if err != nil {
			return page, err
		}
		page.EventsURL = s.Path(web.EventsPath) + "?" + url.Values{byPerson: {u.ID}}.Encode()
		page.UsableURL = s.userPath(u.ID) + "access/"
		page.Temporary, err = s.temporary(r, *u)
		if err != nil {
			return page, err
		}
		page.Methods.ResetURL = s.userPath(u.ID) + "factors/"
		err = s.addWays(r, *u, &page)
		if err != nil {
			return page, err
		}
		page.Owned, err = s.ownedBy(r, *u)
		if err != nil {
			return page, err
		}
		for n := range page.Owned {
			page.Owned[n].DeleteURL = page.Owned[n].URL + "delete/"
		}
	}
	if page.ReadOnly {
		onlyShown(&page)
	}
	groups, err := s.Provider.People.Groups(r.Context())
	if u != nil && len(groups) > 0 {
		page.JoinURL = s.userPath(u.ID) + "membership/"
	}
	for _, g := range groups {
		page.Groups = append(page.Groups, web.Checked(form["group"], templates.Option{Value: g.Name})...)
		page.Administers = append(page.Administers, web.Checked(form["administers"], templates.Option{Value: g.Name})...)
	}
	return page, err
}
