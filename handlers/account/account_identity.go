package account

import (
	"net/http"
	"slices"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// identityList lists the accounts of other servers with which a person signs in.
func (s *server) identityList(r *http.Request, u storage.User) (templates.IdentityList, error) {
	own, err := s.Provider.Identities.Of(r.Context(), u.ID)
	var list templates.IdentityList
	for _, one := range own {
		list.Rows = append(list.Rows, s.IdentityRow(s.Language(r), one))
	}
	for _, other := range s.Provider.Identities.Servers() {
		if !slices.ContainsFunc(own, func(one people.OwnIdentity) bool { return one.Issuer == other.Issuer }) {
			list.Add = append(list.Add,
				templates.ServerButton{Label: other.Label, Action: s.Path(web.IdentitiesPath + "new/" + other.Name + "/")})
		}
	}
	return list, err
}

// identity returns the identity of the path, which belongs to the person who is signed in.
func (s *server) identity(r *http.Request) (*storage.SignedIn, people.OwnIdentity, error) {
	who, err := s.Person(r)
	if err != nil {
		return nil, people.OwnIdentity{}, err
	}
	id, err := web.Variable(r, "id")
	if err != nil {
		return nil, people.OwnIdentity{}, err
	}
	own, err := s.Provider.Identities.Of(r.Context(), who.User.ID)
	if err != nil {
		return nil, people.OwnIdentity{}, err
	}
	at := slices.IndexFunc(own, func(one people.OwnIdentity) bool { return one.ID == id })
	if at < 0 {
		return nil, people.OwnIdentity{}, oauth.ErrNotFound
	}
	return who, own[at], nil
}

// removeIdentityPage asks before an account of another server is removed.
func (s *server) removeIdentityPage(w http.ResponseWriter, r *http.Request) error {
	who, one, err := s.identity(r)
	if err == nil {
		err = s.Provider.People.Confirmed(r.Context(), who)
	}
	if err != nil {
		return err
	}
	l := s.Language(r)
	row := s.IdentityRow(l, one)
	return s.Render(w, r, http.StatusOK,
		templates.Ask{Frame: s.Frame(r, ""), Heading: l.T("Stop signing in with %s?", row.Label),
			Message: l.T("Your account there no longer signs you in here. Browsers in which it has signed you in stay signed " +
				"in: you can sign them out on your account page."),
			Action: row.RemoveURL, Button: l.T("Remove the account"), CancelURL: s.Path("/account/"), Danger: true})
}

// removeIdentity removes an account of another server.
func (s *server) removeIdentity(w http.ResponseWriter, r *http.Request) error {
	who, one, err := s.identity(r)
	if err != nil {
		return err
	}
	in, err := s.Provider.Identities.Remove(r.Context(), who, one.ID)
	if err != nil {
		return err
	}
	s.Renew(w, in)
	s.SetNotice(w, "identity-gone")
	return s.ToAccount(w, r)
}
