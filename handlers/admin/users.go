package admin

import (
	"cmp"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// users lists all users. It is for administrators.
func (s *accounts) users(w http.ResponseWriter, r *http.Request) error {
	_, err := s.Administrator(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	found, total, err := s.Provider.People.Users(r.Context(), l.Search, web.PageSize, l.Offset())
	if err != nil {
		return err
	}
	pager, err := l.Pager(total)
	if err != nil {
		return err
	}
	page := templates.Users{Frame: s.Frame(r, ""), Query: l.Search, Pager: pager, NewURL: s.Path("/admin/users/new/")}
	if s.Provider.Invitations.Offered() {
		page.InvitationsURL = s.Path(invitationsPath)
	}
	for _, u := range found {
		groups, err := s.Provider.People.GroupsOf(r.Context(), u.ID)
		if err != nil {
			return err
		}
		page.Rows = append(page.Rows, templates.UserRow{Username: u.Username, URL: s.userPath(u.ID), Name: u.FullName(),
			Email:  u.Email,
			Groups: strings.Join(groups, ", "), Active: u.Active, Admin: u.Administrator, Auditor: u.Auditor})
	}
	return s.Render(w, r, http.StatusOK, page)
}

func (s *accounts) newUserPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = url.Values{"active": {"on"}}
	}
	page, err := s.userForm(r, who, nil, form, web.DroppedFrom(form))
	if err != nil {
		return err
	}
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *accounts) newUser(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "group")
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	if dropped := web.DroppedFrom(r.PostForm); dropped != nil {
		return s.correctUser(w, r, who, nil, dropped)
	}
	_, err = s.Provider.People.AddUser(r.Context(), actor, s.personIn(r.PostForm))
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctUser(w, r, who, nil, invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "user-added")
	web.SeeOther(w, r, s.Path("/admin/users/"))
	return nil
}

func (s *accounts) userPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	stored, err := s.storedUser(r, u)
	if err != nil {
		return err
	}
	invalid := web.DroppedFrom(form)
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
	s.SayKept(r, kept, &page.Frame)
	page.ResetLink = s.TakeText(w, r, who, personPath(u.ID), resetLinkOf(u))
	return s.Render(w, r, http.StatusOK, page)
}

func (s *accounts) updateUser(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "group", "administers")
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	if dropped := web.DroppedFrom(r.PostForm); dropped != nil {
		return s.correctUser(w, r, who, &u, dropped)
	}
	person := s.personIn(r.PostForm)
	person.Shown = r.PostForm.Get("shown")
	var in *people.SignIn
	if actor.Is(u.ID) {
		in, err = s.Provider.People.UpdateOwn(r.Context(), who, person)
	} else {
		err = s.Provider.People.UpdateUser(r.Context(), actor, u.ID, person)
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctUser(w, r, who, &u, invalid)
	}
	if err != nil {
		return err
	}
	if in != nil {
		s.Renew(w, in)
	}
	s.SetNotice(w, "saved")
	web.SeeOther(w, r, s.Path("/admin/users/"))
	return nil
}

func (s *accounts) deleteUserPage(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	return s.confirmUserDeletion(w, r, http.StatusOK, u, form["applications"], nil)
}

// confirmUserDeletion lists the applications of the user. It asks what happens to
// the applications for which only this user is responsible.
func (s *accounts) confirmUserDeletion(w http.ResponseWriter, r *http.Request, status int, u storage.User,
	chosen []string, invalid *oauth.Invalid) error {
	owned, err := s.ownedBy(r, u)
	if err != nil {
		return err
	}
	invited, err := s.Provider.Invitations.By(r.Context(), u.ID)
	if err != nil {
		return err
	}
	page := templates.Confirm{Frame: s.Frame(r, ""), Heading: "Delete “" + u.Username + "”?",
		Message: "This cannot be undone. To block the account for a while, disable it instead.",
		Details: []string{"The person is signed out everywhere, and all tokens of the person are revoked at once."},
		Action:  s.userPath(u.ID) + "delete/", Button: "Delete the person", CancelURL: s.userPath(u.ID), Danger: true,
		Owned: owned}
	if invited > 0 {
		page.Details = append(page.Details, "The invitations that the person has sent and nobody has used end: "+
			strconv.Itoa(invited)+".")
	}
	if slices.ContainsFunc(owned, func(a templates.OwnedApplication) bool { return !a.Stays }) {
		page.Fate = web.Checked(chosen,
			templates.Option{Value: people.TakeOver, Label: "I take them over",
				Help: "They continue to work, and you become responsible for them. Replace their secrets afterwards: this person " +
					"may know them."},
			templates.Option{Value: people.DeleteApplications, Label: "Delete them",
				Help: "Their client IDs and secrets stop working, and their tokens are revoked at once."})
		page.FateError = invalid.At("applications")
	}
	return s.Render(w, r, status, page)
}

// ownedBy lists the applications of a user. It is for administrators.
func (s *accounts) ownedBy(r *http.Request, u storage.User) ([]templates.OwnedApplication, error) {
	owned, err := s.Provider.Clients.OwnedBy(r.Context(), u.ID)
	var rows []templates.OwnedApplication
	for _, a := range owned {
		rows = append(rows, templates.OwnedApplication{ID: a.ID, Name: a.Name, ClientID: a.ClientID,
			URL:   s.ApplicationPath(a.ID, ""),
			Stays: !clients.OwnerResponsible(a), Suspended: s.Provider.Rules.WhySuspended(a) != ""})
	}
	return rows, err
}

func (s *accounts) deleteUser(w http.ResponseWriter, r *http.Request) error {
	who, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "shown")
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	err = s.Provider.People.DeleteUser(r.Context(), actor, u.ID, r.PostForm.Get("applications"), r.PostForm["shown"]...)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok && invalid.At("applications") != "" {
		web.NoteInvalid(r, invalid)
		return s.confirmUserDeletion(w, r, web.InvalidForm, u, r.PostForm["applications"], invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "user-gone")
	web.SeeOther(w, r, s.Path("/admin/users/"))
	return nil
}

// endUserSession ends one session of a user.
func (s *accounts) endUserSession(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	id, err := web.Variable(r, "session")
	if err != nil {
		return err
	}
	err = s.Provider.People.EndSession(r.Context(), u.ID, id)
	if err != nil {
		return err
	}
	s.SetNotice(w, "session")
	web.SeeOther(w, r, s.userPath(u.ID))
	return nil
}

// endUserSessions ends all sessions of a user.
func (s *accounts) endUserSessions(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	_, err = s.Provider.People.EndSessions(r.Context(), u.ID)
	if err != nil {
		return err
	}
	s.SetNotice(w, "sessions")
	web.SeeOther(w, r, s.userPath(u.ID))
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
	for _, name := range []string{"active", "administrator", "auditor", "email_verified", "phone_number_verified"} {
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

func (s *accounts) correctUser(w http.ResponseWriter, r *http.Request, who *storage.SignedIn, u *storage.User,
	invalid *oauth.Invalid) error {
	web.NoteInvalid(r, invalid)
	if u != nil && invalid.At("shown") != "" {
		now, err := s.Provider.People.User(r.Context(), u.ID)
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
	return s.Render(w, r, web.InvalidForm, page)
}
