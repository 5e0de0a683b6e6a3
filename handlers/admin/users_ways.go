package admin

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// The page of a person lists each way in which the person signs in, and what the person has allowed. An administrator
// ends each of them with a button.

// partOf is something that belongs to a person.
type partOf struct {
	who  *storage.SignedIn
	user storage.User
	id   string
}

// partOfUser returns the person of the path, and the ID of what an administrator ends there.
func (s *accounts) partOfUser(r *http.Request) (partOf, error) {
	who, u, err := s.namedUser(r)
	if err != nil {
		return partOf{}, err
	}
	id, err := web.Variable(r, "of")
	return partOf{who, u, id}, err
}

// confirmPart asks an administrator before something of a person ends. The administrator must have signed in a moment
// ago.
func (s *accounts) confirmPart(w http.ResponseWriter, r *http.Request, of partOf, heading, button string,
	details ...string) error {
	return s.confirmPartAnd(w, r, of, nil, heading, button, details...)
}

// confirmPartAnd is confirmPart with a choice of what is allowed afterwards.
func (s *accounts) confirmPartAnd(w http.ResponseWriter, r *http.Request, of partOf, after []templates.Option, heading,
	button string, details ...string) error {
	err := s.Provider.People.Confirmed(r.Context(), of.who)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{Frame: s.Frame(r, ""), Heading: heading, Details: details,
		Message: "This cannot be undone here: only the person can add it again.",
		Action:  r.URL.EscapedPath(), Button: button, CancelURL: s.userPath(of.user.ID), Danger: true, After: after})
}

// endedPart returns to the page of the person.
func (s *accounts) endedPart(w http.ResponseWriter, r *http.Request, of partOf, notice string, err error) error {
	if err != nil {
		return err
	}
	s.SetNotice(w, notice)
	web.SeeOther(w, r, s.userPath(of.user.ID))
	return nil
}

func (s *accounts) removePasskeyOfPage(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err != nil {
		return err
	}
	k, err := s.Provider.Passkeys.One(r.Context(), of.user.ID, of.id)
	if err != nil {
		return err
	}
	return s.confirmPart(w, r, of, "Remove the passkey “"+k.Name+"” of “"+of.user.Username+"”?", "Remove the passkey",
		"It no longer signs the person in.", "Browsers in which it has signed the person in stay signed in.")
}

func (s *accounts) removePasskeyOf(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, of.who)
	if err == nil {
		err = s.Provider.Passkeys.RemoveOf(r.Context(), actor, of.user.ID, of.id)
	}
	return s.endedPart(w, r, of, "way-gone", err)
}

func (s *accounts) removeIdentityOfPage(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err != nil {
		return err
	}
	own, err := s.Provider.Identities.Of(r.Context(), of.user.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(own, func(one people.OwnIdentity) bool { return one.ID == of.id })
	if at < 0 {
		return oauth.ErrNotFound
	}
	label := s.IdentityRow(s.Pages.Languages.English(), own[at]).Label
	again := templates.Option{Value: mayReturn, Label: "Let the email address link an account of " + label + " again",
		Help: "For a person whom that server names differently now. Not if somebody else may have the account or the " +
			"address there."}
	return s.confirmPartAnd(w, r, of, []templates.Option{again}, "Remove the account of "+label+" of “"+of.user.Username+
		"”?", "Remove the account",
		"It no longer signs the person in here.", "Browsers in which it has signed the person in stay signed in.")
}

// mayReturn is what an administrator chooses who lets an account of another server come back.
const mayReturn = "again"

func (s *accounts) removeIdentityOf(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err == nil {
		err = s.ParseForm(r)
	}
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, of.who)
	if err == nil {
		err = s.Provider.Identities.RemoveOf(r.Context(), actor, of.user.ID, of.id, r.PostForm.Get("after") == mayReturn)
	}
	return s.endedPart(w, r, of, "way-gone", err)
}

func (s *accounts) revokeApplicationOfPage(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err != nil {
		return err
	}
	authorized, err := s.Provider.People.Authorized(r.Context(), of.user.ID)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(authorized, func(a people.Authorized) bool { return a.ApplicationID == of.id })
	if at < 0 {
		return oauth.ErrNotFound
	}
	return s.confirmPart(w, r, of, "Revoke what “"+of.user.Username+"” allowed to “"+authorized[at].Application.Name+"”?",
		"Revoke the access",
		"Its tokens for the person stop working at once.", "It asks the person again the next time.")
}

func (s *accounts) revokeApplicationOf(w http.ResponseWriter, r *http.Request) error {
	of, err := s.partOfUser(r)
	if err == nil {
		err = s.Provider.People.Revoke(r.Context(), of.user.ID, of.id)
	}
	return s.endedPart(w, r, of, "approval-gone", err)
}

// addWays lists on the page of a person what an administrator can end there.
func (s *accounts) addWays(r *http.Request, u storage.User, page *templates.UserForm) error {
	path, err := s.userPath(u.ID), s.addIdentities(r, u, page)
	if err != nil {
		return err
	}
	if s.Provider.Passkeys.Offered() {
		stored, err := s.Provider.Passkeys.Of(r.Context(), u.ID)
		if err != nil {
			return err
		}
		for _, k := range stored {
			row := s.PasskeyRow(r, k)
			row.RemoveURL = endURL(page.Self, path+"passkeys/"+url.PathEscape(k.ID)+"/remove/")
			page.Methods.Keys = append(page.Methods.Keys, row)
		}
	}
	authorized, err := s.Provider.People.Authorized(r.Context(), u.ID)
	if err != nil {
		return err
	}
	for _, a := range authorized {
		page.Allowed = append(page.Allowed,
			templates.AllowedRow{Name: a.Application.Name, URL: s.ApplicationPath(a.ApplicationID, ""),
				Scopes: strings.Join(a.Scopes, " "), Since: web.Day(a.Since), RevokeURL: path + "applications/" + a.ApplicationID +
					"/revoke/"})
	}
	invited, err := s.Provider.Invitations.MadeBy(r.Context(), u.ID)
	for _, one := range invited {
		at := s.invitationPath(one.ID)
		page.Invited = append(page.Invited, templates.InvitedBy{Email: one.Email, URL: at, WithdrawURL: at + "withdraw/",
			Until: web.Moment(one.ExpiresAt)})
	}
	return err
}

// addIdentities lists the accounts of other servers.
func (s *accounts) addIdentities(r *http.Request, u storage.User, page *templates.UserForm) error {
	own, err := s.Provider.Identities.Of(r.Context(), u.ID)
	for _, one := range own {
		row := s.IdentityRow(s.Pages.Languages.English(), one)
		row.RemoveURL = endURL(page.Self, s.userPath(u.ID)+"identities/"+one.ID+"/remove/")
		page.Methods.Accounts = append(page.Methods.Accounts, row)
	}
	return err
}

// endURL returns an address, or "" on the page of an administrator's own account: the own ways to sign in are on the
// account page.
func endURL(self bool, path string) string {
	if self {
		return ""
	}
	return path
}
