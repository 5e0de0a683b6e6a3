package signin

import (
	"errors"
	"net/http"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/templates"
)

// setupPage shows the form that the first start's link leads to.
func (s *server) setupPage(w http.ResponseWriter, r *http.Request) error {
	link, err := web.Variable(r, "link")
	if err != nil {
		return err
	}
	err = s.Provider.People.CheckSetup(r.Context(), link)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.usedLink(w, r)
	}
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, s.setupForm(r))
}

func (s *server) setupForm(r *http.Request) templates.Setup {
	return templates.Setup{
		Frame:        s.Frame(r, ""),
		PasswordHint: s.PasswordHint(s.Language(r)),
		Action:       r.URL.EscapedPath(),
		Passkeys:     s.Provider.Passkeys.Offered(),
	}
}

// usedLink shows that a setup link is not valid. A second click on the button of the
// form leads here too.
func (s *server) usedLink(w http.ResponseWriter, r *http.Request) error {
	const status, code = http.StatusNotFound, "not_found"
	request.Note(r.Context(), "error", "the setup link was already used, or is not valid")
	request.Outcome(r.Context(), code)
	l := s.Language(r)
	return s.Render(w, r, status,
		templates.ErrorPage{Frame: s.Frame(r, ""), Status: status, Heading: l.T("This link is no longer valid"),
			Message: l.T("It was already used, or it is not the link that the server printed when it last started. If you just "+
				"created the account, sign in. If there is no administrator, create one with:") +
				" mandate user add NAME --admin --password-stdin",
			Code: code, RequestID: request.ID(r), BackURL: s.Path("/login/"), BackLabel: l.T("Sign in")})
}

// setup creates the first administrator.
func (s *server) setup(w http.ResponseWriter, r *http.Request) error {
	link, err := web.Variable(r, "link")
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	sent := func(field string) string { return strings.TrimSpace(r.PostForm.Get(field)) }
	person := people.Person{Username: sent("username"), FirstName: sent("first_name"), LastName: sent("last_name"),
		Email: sent("email"), Password: r.PostForm.Get("password")}
	err = s.Provider.People.Setup(r.Context(), link, person)
	if errors.Is(err, oauth.ErrNotFound) {
		return s.usedLink(w, r)
	}
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		field := func(name, value string) templates.Field {
			return templates.Field{Value: value, Error: web.Problem(s.Language(r), invalid, name)}
		}
		page := s.setupForm(r)
		page.UsernameField, page.Email, page.Password = field(
			"username",
			person.Username,
		), field(
			"email",
			person.Email,
		), field(
			"password",
			"",
		)
		page.FirstName, page.LastName = field("first_name", person.FirstName), field("last_name", person.LastName)
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "set-up")
	next := s.Path("/")
	if s.Provider.Passkeys.Offered() {
		next = s.Path(web.NewPasskeyPath)
	}
	web.SeeOther(w, r, s.withNext("/login/", next))
	return nil
}
