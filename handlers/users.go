package handlers

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// users lists all users. It is for administrators.
func (s *server) users(w http.ResponseWriter, r *http.Request) error {
	_, err := s.administrator(r)
	if err != nil {
		return err
	}
	l, err := readListing(r)
	if err != nil {
		return err
	}
	found, total, err := s.provider.People.Users(r.Context(), l.search, pageSize, l.offset())
	if err != nil {
		return err
	}
	pager, err := l.pager(total)
	if err != nil {
		return err
	}
	page := templates.Users{Frame: s.frame(r, ""), Query: l.search, Pager: pager, NewURL: s.path("/admin/users/new/")}
	if s.provider.Invitations.Offered() {
		page.InvitationsURL = s.path(invitationsPath)
	}
	for _, u := range found {
		groups, err := s.provider.People.GroupsOf(r.Context(), u.ID)
		if err != nil {
			return err
		}
		page.Rows = append(page.Rows, templates.UserRow{Username: u.Username, URL: s.userPath(u.ID), Name: u.FullName(), Email: u.Email,
			Groups: strings.Join(groups, ", "), Active: u.Active, Admin: u.Administrator})
	}
	return s.render(w, r, http.StatusOK, page)
}

func (s *server) newUserPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.administrator(r)
	if err != nil {
		return err
	}
	form, err := s.keptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = url.Values{"active": {"on"}}
	}
	page, err := s.userForm(r, who, nil, form, droppedFrom(form))
	if err != nil {
		return err
	}
	s.sayKept(r, kept, &page.Frame)
	return s.render(w, r, http.StatusOK, page)
}

func (s *server) newUser(w http.ResponseWriter, r *http.Request) error {
	who, err := s.administrator(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r, "group")
	if err != nil {
		return err
	}
	actor, err := s.acting(r, who)
	if err != nil {
		return err
	}
	if dropped := droppedFrom(r.PostForm); dropped != nil {
		return s.correctUser(w, r, who, nil, dropped)
	}
	_, err = s.provider.People.AddUser(r.Context(), actor, s.personIn(r.PostForm))
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctUser(w, r, who, nil, invalid)
	}
	if err != nil {
		return err
	}
	s.setNotice(w, "user-added")
	seeOther(w, r, s.path("/admin/users/"))
	return nil
}

// namedUser finds the user of the path. It is for administrators.
func (s *server) namedUser(r *http.Request) (*storage.SignedIn, storage.User, error) {
	who, id, err := s.administers(r)
	if err != nil {
		return nil, storage.User{}, err
	}
	u, err := s.provider.People.User(r.Context(), id)
	return who, u, err
}

func (s *server) userPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	form, err := s.keptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	stored, err := s.storedUser(r, u)
	if err != nil {
		return err
	}
	invalid := droppedFrom(form)
	if changed := changedMeanwhile(stored, form); changed != nil {
		invalid = changed
	}
	if !kept {
		form = stored
	}
	page, err := s.userForm(r, who, &u, form, invalid)
	if err != nil {
		return err
	}
	s.sayKept(r, kept, &page.Frame)
	page.ResetLink = s.takeText(w, r, who, personPath(u.ID), resetLinkOf(u))
	return s.render(w, r, http.StatusOK, page)
}

// storedUser returns the form with what is stored about a user.
func (s *server) storedUser(r *http.Request, u storage.User) (url.Values, error) {
	groups, err := s.provider.People.GroupsOf(r.Context(), u.ID)
	if err != nil {
		return nil, err
	}
	form := url.Values{"username": {u.Username}, "email": {u.Email}, "first_name": {u.FirstName}, "last_name": {u.LastName}, "group": groups,
		"shown": {people.StateOf(u, groups)}}
	if u.Active {
		form.Set("active", "on")
	}
	if u.Administrator {
		form.Set("administrator", "on")
	}
	if !s.config.OpenID {
		return form, nil
	}
	return form, profileForm(u, form)
}

func (s *server) updateUser(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r, "group")
	if err != nil {
		return err
	}
	actor, err := s.acting(r, who)
	if err != nil {
		return err
	}
	if dropped := droppedFrom(r.PostForm); dropped != nil {
		return s.correctUser(w, r, who, &u, dropped)
	}
	person := s.personIn(r.PostForm)
	person.Shown = r.PostForm.Get("shown")
	var in *people.SignIn
	if actor.Is(u.ID) {
		in, err = s.provider.People.UpdateOwn(r.Context(), who, person)
	} else {
		err = s.provider.People.UpdateUser(r.Context(), actor, u.ID, person)
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctUser(w, r, who, &u, invalid)
	}
	if err != nil {
		return err
	}
	if in != nil {
		s.renew(w, in)
	}
	s.setNotice(w, "saved")
	seeOther(w, r, s.path("/admin/users/"))
	return nil
}

func (s *server) deleteUserPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err == nil {
		err = s.provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	form, err := s.keptForm(w, r, who)
	if err != nil {
		return err
	}
	return s.confirmUserDeletion(w, r, http.StatusOK, u, form["applications"], nil)
}

// confirmUserDeletion lists the applications of the user. It asks what happens to
// the applications for which only this user is responsible.
func (s *server) confirmUserDeletion(w http.ResponseWriter, r *http.Request, status int, u storage.User, chosen []string, invalid *oauth.Invalid) error {
	owned, err := s.ownedBy(r, u)
	if err != nil {
		return err
	}
	invited, err := s.provider.Invitations.By(r.Context(), u.ID)
	if err != nil {
		return err
	}
	page := templates.Confirm{Frame: s.frame(r, ""), Heading: "Delete “" + u.Username + "”?",
		Message: "This cannot be undone. To block the account for a while, disable it instead.",
		Details: []string{"The person is signed out everywhere, and all tokens of the person are revoked at once."},
		Action:  s.userPath(u.ID) + "delete/", Button: "Delete the person", CancelURL: s.userPath(u.ID), Danger: true, Owned: owned}
	if invited > 0 {
		page.Details = append(page.Details, "The invitations that the person has sent and nobody has used end: "+strconv.Itoa(invited)+".")
	}
	if slices.ContainsFunc(owned, func(a templates.OwnedApplication) bool { return !a.Stays }) {
		page.Fate = checked(chosen,
			templates.Option{Value: people.TakeOver, Label: "I take them over", Help: "They continue to work, and you become responsible for them. Replace their secrets afterwards: this person may know them."},
			templates.Option{Value: people.DeleteApplications, Label: "Delete them", Help: "Their client IDs and secrets stop working, and their tokens are revoked at once."})
		page.FateError = invalid.At("applications")
	}
	return s.render(w, r, status, page)
}

// ownedBy lists the applications of a user. It is for administrators.
func (s *server) ownedBy(r *http.Request, u storage.User) ([]templates.OwnedApplication, error) {
	owned, err := s.provider.Clients.OwnedBy(r.Context(), u.ID)
	var rows []templates.OwnedApplication
	for _, a := range owned {
		rows = append(rows, templates.OwnedApplication{ID: a.ID, Name: a.Name, ClientID: a.ClientID, URL: s.applicationPath(a.ID, ""),
			Stays: !clients.OwnerResponsible(a), Suspended: s.provider.Rules.WhySuspended(a) != ""})
	}
	return rows, err
}

func (s *server) deleteUser(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.parseForm(r, "shown")
	if err != nil {
		return err
	}
	actor, err := s.acting(r, who)
	if err != nil {
		return err
	}
	err = s.provider.People.DeleteUser(r.Context(), actor, u.ID, r.PostForm.Get("applications"), r.PostForm["shown"]...)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok && invalid.At("applications") != "" {
		noteInvalid(r, invalid)
		return s.confirmUserDeletion(w, r, invalidForm, u, r.PostForm["applications"], invalid)
	}
	if err != nil {
		return err
	}
	s.setNotice(w, "user-gone")
	seeOther(w, r, s.path("/admin/users/"))
	return nil
}

// endUserSession ends one session of a user.
func (s *server) endUserSession(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	id, err := variable(r, "session")
	if err != nil {
		return err
	}
	err = s.provider.People.EndSession(r.Context(), u.ID, id)
	if err != nil {
		return err
	}
	s.setNotice(w, "session")
	seeOther(w, r, s.userPath(u.ID))
	return nil
}

// endUserSessions ends all sessions of a user.
func (s *server) endUserSessions(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	_, err = s.provider.People.EndSessions(r.Context(), u.ID)
	if err != nil {
		return err
	}
	s.setNotice(w, "sessions")
	seeOther(w, r, s.userPath(u.ID))
	return nil
}

// changedMeanwhile says what is stored now, if that is not what the page of a form has shown: an old page must not
// restore what somebody else has replaced. Whoever sends the form again has seen it. changedMeanwhile returns nil if
// nothing has changed.
func changedMeanwhile(stored, form url.Values) *oauth.Invalid {
	shown := form.Get("shown")
	if shown == "" || shown == stored.Get("shown") {
		return nil
	}
	form.Set("shown", stored.Get("shown"))
	const changed = "Somebody changed this account after the page was opened."
	found := &oauth.Invalid{}
	for _, name := range slices.Sorted(maps.Keys(stored)) {
		now := strings.Join(stored[name], ", ")
		if !oauth.SameSet(sentAs(form[name]), sentAs(stored[name])) {
			found.Add(name, changed+" Stored now: %s.", cmp.Or(now, "nothing"))
		}
	}
	for _, name := range []string{"active", "administrator", "email_verified", "phone_number_verified"} {
		if stored.Has(name) != form.Has(name) {
			found.Fields = slices.DeleteFunc(found.Fields, func(f oauth.FieldError) bool { return f.Field == name })
			found.Add(name, changed+" Stored now: %s.", map[bool]string{true: "ticked", false: "not ticked"}[stored.Has(name)])
		}
	}
	if found.Err() == nil {
		found.Add("username", changed+" Review the form, then save again.")
	}
	return found
}

// sentAs returns the values of a field as a form stores them, without empty ones.
func sentAs(values []string) []string {
	var sent []string
	for _, value := range values {
		value = strings.TrimSpace(strings.ReplaceAll(value, "\r\n", "\n"))
		if value != "" {
			sent = append(sent, value)
		}
	}
	return sent
}

func (s *server) userPath(id string) string { return s.path(personPath(id)) + "/" }

// personPath is the path of the page of a person, without the base path and the last slash. A subject of another server
// may have any sign.
func personPath(id string) string { return "/admin/users/" + url.PathEscape(id) }

func (s *server) personIn(form url.Values) people.Person {
	return people.Person{Username: strings.TrimSpace(form.Get("username")), Email: strings.TrimSpace(form.Get("email")),
		FirstName: strings.TrimSpace(form.Get("first_name")), LastName: strings.TrimSpace(form.Get("last_name")),
		Password: form.Get("password"), Groups: unique(form["group"]), Inactive: !form.Has("active"), Administrator: form.Has("administrator"), Profile: s.profileIn(form)}
}

func (s *server) correctUser(w http.ResponseWriter, r *http.Request, who *storage.SignedIn, u *storage.User, invalid *oauth.Invalid) error {
	noteInvalid(r, invalid)
	if u != nil && invalid.At("shown") != "" {
		now, err := s.provider.People.User(r.Context(), u.ID)
		if err != nil {
			return err
		}
		stored, err := s.storedUser(r, now)
		if err != nil {
			return err
		}
		if changed := changedMeanwhile(stored, r.PostForm); changed != nil {
			u, invalid = &now, changed
		}
	}
	page, err := s.userForm(r, who, u, r.PostForm, invalid)
	if err != nil {
		return err
	}
	return s.render(w, r, invalidForm, page)
}

// userForm returns the form with the values that were sent, except the password.
func (s *server) userForm(r *http.Request, who *storage.SignedIn, u *storage.User, form url.Values, invalid *oauth.Invalid) (templates.UserForm, error) {
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page := templates.UserForm{Frame: s.frame(r, ""), PasswordHint: s.passwordHint(s.pages.Languages.English()), New: u == nil, Action: s.path("/admin/users/new/"), CancelURL: s.path("/admin/users/"),
		UsernameField: field("username"), Email: field("email"), FirstName: field("first_name"), LastName: field("last_name"),
		Password: templates.Field{Error: invalid.At("password")}, Active: form.Has("active"), Administrator: form.Has("administrator"),
		Claims: s.claimsForm(form, invalid), Errors: fieldErrors(invalid)}
	if u != nil {
		page.State = form.Get("shown")
		page.ResetAction, page.ResetMinutes = s.userPath(u.ID)+"reset-link/", resetMinutes
		page.Action, page.DeleteURL, page.Self = s.userPath(u.ID), s.userPath(u.ID)+"delete/", u.ID == who.User.ID
		var err error
		page.Sessions, err = s.sessionList(r, s.pages.Languages.English(), who, *u, personPath(u.ID)+"/sessions/")
		if err != nil {
			return page, err
		}
		page.Methods, err = s.signInMethods(r, s.pages.Languages.English(), *u)
		if err != nil {
			return page, err
		}
		page.Glance, err = s.glance(r, *u, len(page.Sessions.Rows), page.Methods)
		if err != nil {
			return page, err
		}
		page.Activity, err = s.activity(r, s.pages.Languages.English(), u.ID)
		if err != nil {
			return page, err
		}
		page.EventsURL = s.path(eventsPath) + "?" + url.Values{byPerson: {u.ID}}.Encode()
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
	groups, err := s.provider.People.Groups(r.Context())
	for _, g := range groups {
		page.Groups = append(page.Groups, checked(form["group"], templates.Option{Value: g.Name})...)
	}
	return page, err
}
