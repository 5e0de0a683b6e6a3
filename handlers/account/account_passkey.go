package account

import (
	"errors"
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/storage"
	"mandate/templates"
)

// passkeyList lists the passkeys of a person for the account page. It is nil if there can be none.
func (s *server) passkeyList(r *http.Request, u storage.User) (*templates.PasskeyList, error) {
	if !s.Provider.Passkeys.Offered() {
		return nil, nil
	}
	stored, err := s.Provider.Passkeys.Of(r.Context(), u.ID)
	list := &templates.PasskeyList{AddURL: s.Path(web.NewPasskeyPath), Full: len(stored) >= people.MaxPasskeys}
	for _, k := range stored {
		list.Rows = append(list.Rows, s.PasskeyRow(r, k))
	}
	return list, err
}

// passkey returns the passkey of the path, which belongs to the person who is signed in.
func (s *server) passkey(r *http.Request) (*storage.SignedIn, storage.Passkey, error) {
	who, err := s.Person(r)
	if err != nil {
		return nil, storage.Passkey{}, err
	}
	id, err := web.Variable(r, "id")
	if err != nil {
		return nil, storage.Passkey{}, err
	}
	k, err := s.Provider.Passkeys.One(r.Context(), who.User.ID, id)
	return who, k, err
}

// passkeyPage shows a passkey, with a form for its name.
func (s *server) passkeyPage(w http.ResponseWriter, r *http.Request) error {
	_, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, s.namePasskey(r, k, templates.Field{Value: k.Name}))
}

func (s *server) namePasskey(r *http.Request, k storage.Passkey, name templates.Field) templates.Passkey {
	row := s.PasskeyRow(r, k)
	return templates.Passkey{
		Frame:     s.Frame(r, ""),
		Passkey:   row,
		Action:    row.URL,
		CancelURL: s.Path("/account/"),
		NameField: name,
	}
}

// renamePasskey changes the name of a passkey.
func (s *server) renamePasskey(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	name := r.PostForm.Get("name")
	err = s.Provider.Passkeys.Rename(r.Context(), who.User.ID, k.ID, name)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return s.Render(w, r, web.InvalidForm, s.namePasskey(r, k, templates.Field{
			Value: name,
			Error: web.Problem(s.Language(r), invalid, "name"),
		}))
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "saved")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}

// removePasskeyPage asks before a passkey is removed. The person must have signed in a moment ago.
func (s *server) removePasskeyPage(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	err = s.Provider.People.Confirmed(r.Context(), who)
	if err != nil {
		return err
	}
	l := s.Language(r)
	return s.Render(w, r, http.StatusOK, templates.Ask{
		Frame:   s.Frame(r, ""),
		Heading: l.T("Remove the passkey “%s”?", k.Name),
		Message: l.T("It no longer signs you in. Browsers in which it has signed you in stay signed in: you can sign " +
			"them out on your account page."),
		Action:    s.PasskeyRow(r, k).RemoveURL,
		Button:    l.T("Remove the passkey"),
		CancelURL: s.Path("/account/"),
		Danger:    true,
	})
}

// removePasskey removes a passkey.
func (s *server) removePasskey(w http.ResponseWriter, r *http.Request) error {
	who, k, err := s.passkey(r)
	if err != nil {
		return err
	}
	in, err := s.Provider.Passkeys.Remove(r.Context(), who, k.ID)
	if err != nil {
		return err
	}
	s.Renew(w, in)
	s.SetNotice(w, "passkey-gone")
	web.SeeOther(w, r, s.Path("/account/"))
	return nil
}
