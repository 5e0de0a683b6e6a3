package account

import (
	"cmp"
	"net/http"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// account shows a person their own data, consents and sessions.
func (s *server) account(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	page, err := s.accountPage(r, who)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) accountPage(r *http.Request, who *storage.SignedIn) (templates.Account, error) {
	u, l := who.User, s.Language(r)
	page := templates.Account{
		Frame:        s.Frame(r, ""),
		FullName:     u.FullName(),
		Email:        u.Email,
		PasswordHint: s.PasswordHint(l),
	}
	if s.Provider.People.Edits(people.OwnEmail) {
		page.EmailURL = s.Path(emailPath)
	}
	if s.editsProfile() {
		page.ProfileURL = s.Path(profilePath)
	}
	if u.Password != "" {
		page.PasswordAction = s.Path("/account/password/")
	}
	var err error
	page.Claims, err = s.ClaimFacts(l, u)
	if err != nil {
		return page, err
	}
	page.Methods, err = s.SignInMethods(r, l, u)
	if err != nil {
		return page, err
	}
	may, err := s.Provider.People.MayVerify(u)
	if err != nil {
		return page, err
	}
	if may {
		page.Unverified, page.VerifyAction = true, s.Path("/account/address/")
	}
	authorized, err := s.Provider.People.Authorized(r.Context(), u.ID)
	if err != nil {
		return page, err
	}
	for _, a := range authorized {
		app := templates.AuthorizedApp{
			Name:         clients.NameIn(a.Application, l.Tag()),
			Owner:        a.Owner,
			Document:     a.Document,
			Scopes:       strings.Join(a.Scopes, " "),
			Since:        l.Day(a.Since),
			RevokeAction: s.Path("/account/applications/" + a.ApplicationID + "/revoke/"),
			Responsible:  responsibleText(l, a),
			Unchecked:    a.Standing == policy.StandingOpen,
			LastUsed:     lastUsedSentence(l, a),
		}
		audience, err := s.Provider.Resources.Granted(r.Context(), strings.Join(a.Resources, "\n"))
		if err != nil {
			return page, err
		}
		for _, api := range audience.Named() {
			app.Resources = append(app.Resources, templates.API{Name: api.Name, URI: api.URI})
		}
		page.Authorized = append(page.Authorized, app)
	}
	page.Sessions, err = s.SessionList(r, l, who, u, "/account/sessions/")
	if err != nil {
		return page, err
	}
	page.Activity, err = s.Activity(r, l, u.ID)
	if err != nil {
		return page, err
	}
	page.Passkeys, err = s.passkeyList(r, u)
	if err != nil {
		return page, err
	}
	page.Identities, err = s.identityList(r, u)
	return page, err
}

// changePassword changes the password. It ends all other sessions and, if the person
// wants, everything that was approved.
func (s *server) changePassword(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	// An unchecked box sends nothing, so the hidden field beside it says that the page had the box: whoever posts
	// neither field gets the secure default.
	keep := r.PostForm.Get("approvals") == "asked" && r.PostForm.Get("end_approvals") == ""
	in, err := s.Provider.People.ChangePassword(r.Context(), who, people.Passwords{
		Current:       r.PostForm.Get("current_password"),
		Next:          r.PostForm.Get("new_password"),
		KeepApprovals: keep,
	})
	if err == nil {
		s.Renew(w, in)
		s.SetNotice(w, map[bool]string{true: "password", false: "password-approvals"}[keep])
		web.SeeOther(w, r, s.Path("/account/"))
		return nil
	}
	why, err := s.Refused(w, r, err)
	if err != nil {
		return err
	}
	page, err := s.accountPage(r, who)
	if err != nil {
		return err
	}
	page.CurrentPassword.Error, page.NewPassword.Error = cmp.Or(
		why.Limit, why.At("current_password"),
	), why.At("new_password")
	page.KeepApprovals = keep
	return s.Render(w, r, why.Status, page)
}

// endSession ends the session of the person in another browser.
func (s *server) endSession(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	id, err := web.Variable(r, "id")
	if err != nil {
		return err
	}
	err = s.Provider.People.EndSession(r.Context(), who.User.ID, id)
	if err != nil {
		return err
	}
	s.SetNotice(w, "session")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// revokeApplication revokes what the person has approved for an application.
func (s *server) revokeApplication(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Person(r)
	if err != nil {
		return err
	}
	id, err := web.Variable(r, "id")
	if err != nil {
		return err
	}
	err = s.Provider.People.Revoke(r.Context(), who.User.ID, id)
	if err != nil {
		return err
	}
	s.SetNotice(w, "revoked")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// responsibleText says to a person who is responsible for an application.
func responsibleText(l *languages.Language, a people.Authorized) string {
	if a.Suspended != "" {
		return l.T("It does not work now.") + " " + l.Text(a.Suspended)
	}
	switch a.Standing {
	case policy.StandingAdministrator:
		return l.T("An administrator of this server is responsible for it.")
	case policy.StandingPerson:
		return l.T("Its owner is responsible for it, who is not an administrator of this server.")
	}
	if a.Application.Origin == storage.FromDocument {
		return l.T("It describes itself in a metadata document. Nobody here is responsible for it or has checked it.")
	}
	return l.T("It registered itself. Nobody here is responsible for it or has checked it.")
}

// lastUsedSentence says the same in a sentence; "" if it is not known.
func lastUsedSentence(l *languages.Language, a people.Authorized) string {
	switch {
	case a.LastUsedAt > 0:
		return l.T("Last used %s.", l.Moment(a.LastUsedAt))
	case a.Application.Origin == "":
		return ""
	}
	return l.T("Never used.")
}
