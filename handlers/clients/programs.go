package clients

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/presets"
	"mandate/storage"
	"mandate/templates"
	"mandate/templates/languages"
)

// programsPath is the page with which people register an application for a program that is known.
const programsPath = "/o/applications/programs/"

// anotherWebsite is the program for what is not in the list.
const anotherWebsite = "website"

// programs lists the programs that a search finds, or shows the form of one.
func (s *server) programs(w http.ResponseWriter, r *http.Request) error {
	who, err := s.registrant(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form, err = web.Query(r)
	}
	if err != nil {
		return err
	}
	if !form.Has("program") {
		return s.Render(w, r, http.StatusOK, s.programList(r, l.Search))
	}
	program, err := chosenProgram(form)
	if err != nil {
		return err
	}
	if !kept { // an address with values for the form could have been made by anybody
		form = url.Values{}
		if program.Kind == presets.Application {
			form.Set("name", program.Title)
		}
	}
	page := s.programForm(r, who, program, form, nil)
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// chosenProgram returns the program of a form. Of what is no program, only another website has a form here: the page of
// registration has the other kinds.
func chosenProgram(form url.Values) (presets.Program, error) {
	program, known := presets.Find(form.Get("program"))
	if !known || program.Kind == presets.Other && program.Name != anotherWebsite {
		return presets.Program{}, web.BadRequest("There is no such program. Choose one on the page " + programsPath + ".")
	}
	return program, nil
}

func (s *server) programList(r *http.Request, search string) templates.Programs {
	page := templates.Programs{
		Frame:    s.Frame(r, ""),
		Query:    search,
		OtherURL: s.programURL(anotherWebsite),
		KindsURL: s.Path("/o/applications/register/"),
	}
	for _, p := range presets.Search(search) {
		row := templates.ProgramRow{Title: p.Title, URL: s.programURL(p.Name)}
		switch p.Kind {
		case presets.Application:
			page.Installed = append(page.Installed, row)
		case presets.Framework:
			page.Libraries = append(page.Libraries, row)
		}
	}
	for _, rows := range [][]templates.ProgramRow{page.Installed, page.Libraries} {
		slices.SortFunc(rows, func(a, b templates.ProgramRow) int {
			return cmp.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
		})
	}
	return page
}

func (s *server) programURL(name string) string {
	return s.Path(programsPath + "?program=" + url.QueryEscape(name))
}

// programForm returns the form of a program, with what is wrong in it.
func (s *server) programForm(
	r *http.Request,
	who *storage.SignedIn,
	program presets.Program,
	form url.Values,
	invalid *oauth.Invalid,
) templates.ProgramForm {
	l := s.Language(r)
	page := templates.ProgramForm{
		Frame:   s.Frame(r, ""),
		Program: program.Name,
		Title:   program.Title,
		Action:  s.Path(programsPath),
		ListURL: s.Path(programsPath),
		Library: program.Kind == presets.Framework,
	}
	shown := []string{"name"}
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: web.Problem(l, invalid, name)}
	}
	page.Name = field("name")
	if program.NeedsAddress() {
		address := field("url")
		address.Error = l.Text(address.Error)
		page.Address, shown = &address, append(shown, "url")
	}
	if program.Name == anotherWebsite {
		page.Questions = s.questions(l, who, form, field("redirect_uris"))
		shown = append(shown, "redirect_uris", "pkce", "claims_in_id_token", "scope")
	}
	page.Errors = programErrors(l, invalid, shown)
	return page
}

// programErrors returns the lines of the summary.
func programErrors(l *languages.Language, invalid *oauth.Invalid, shown []string) []templates.FieldError {
	if invalid == nil {
		return nil
	}
	var found []templates.FieldError
	for _, f := range invalid.Fields {
		if slices.Contains(shown, f.Field) {
			found = append(found, titled(f.Field, l.Text(web.Problem(l, invalid, f.Field)), true))
		} else {
			found = append(found, titled(f.Field, f.Message, false))
		}
	}
	return found
}

// The answers of the questions about another website.
const (
	answerYes = "yes"
	answerNo  = "no"
)

// questions are what matters of a website that is not in the list. A person without administrator rights is not asked
// what only an administrator may set.
func (s *server) questions(
	l *languages.Language,
	who *storage.SignedIn,
	form url.Values,
	redirects templates.Field,
) *templates.Questions {
	q := &templates.Questions{RedirectURIs: redirects}
	unknown := templates.Option{Value: "", Label: l.T("I do not know")}
	if who.User.Administrator && s.Provider.Choices(who.User, nil).AdministratorRights {
		q.PKCE = web.Checked([]string{form.Get("pkce")}, unknown,
			templates.Option{
				Value: policy.PKCERequired,
				Label: l.T("Yes"),
			}, templates.Option{Value: policy.PKCEIfSent, Label: l.T("No")})
		q.Claims = web.Checked([]string{form.Get("claims_in_id_token")}, unknown,
			templates.Option{
				Value: policy.ClaimsOff,
				Label: l.T("At the UserInfo endpoint"),
			}, templates.Option{Value: policy.ClaimsOn, Label: l.T("In the ID token")})
	}
	q.Groups = web.Checked([]string{cmp.Or(form.Get("groups"), answerNo)},
		templates.Option{Value: answerNo, Label: l.T("No")}, templates.Option{Value: answerYes, Label: l.T("Yes")})
	return q
}

// registerProgram registers an application for a program. It redirects to the page of the application, which shows the
// settings of the program, with the client secret once.
func (s *server) registerProgram(w http.ResponseWriter, r *http.Request) error {
	who, err := s.registrant(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	program, err := chosenProgram(r.PostForm)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	made, err := s.addProgram(r, actor, program)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return s.Render(w, r, web.InvalidForm, s.programForm(r, who, program, r.PostForm, invalid))
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", made.Application.ClientID)
	s.KeepSecret(w, who, made.Application.ID, made.Secret)
	s.SetNotice(w, "registered")
	web.SeeOther(w, r, s.ApplicationPath(made.Application.ID, ""))
	return nil
}

func (s *server) addProgram(r *http.Request, actor policy.Actor, program presets.Program) (*clients.Registered, error) {
	form, missing := r.PostForm, &oauth.Invalid{}
	if program.NeedsAddress() && strings.TrimSpace(form.Get("url")) == "" {
		missing.Add("url", "%s", s.Language(r).T("Type the address at which people open the program."))
		return nil, missing
	}
	of, err := s.Provider.ForProgram(actor, program, form.Get("url"))
	if err != nil {
		return nil, err
	}
	said := &of.Registration
	if name := strings.TrimSpace(form.Get("name")); name != "" || !program.NeedsAddress() {
		said.Name = name
	}
	if program.Name == anotherWebsite {
		said.RedirectURIs, said.PKCE, said.ClaimsInIDToken = web.Lines(form.Get("redirect_uris")), form.Get("pkce"),
			form.Get("claims_in_id_token")
		if form.Get("groups") != answerYes {
			said.Scopes = oauth.Without(said.Scopes, "groups")
		}
	}
	err = s.Provider.MayBeInSettings(of)
	if err != nil {
		return nil, err
	}
	made, err := s.Provider.Clients.Register(r.Context(), actor, *said)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok && program.NeedsAddress() {
		return nil, provider.AboutAddress(invalid)
	}
	return made, err
}

// programSettings returns the settings of the program for which an application was registered, or nil.
func (s *server) programSettings(a storage.Application, secret string) (*templates.ProgramSettings, error) {
	found, err := s.Provider.ProgramSettings(a, secret)
	if err != nil || found == nil {
		return nil, err
	}
	return &templates.ProgramSettings{
		Program:       found.Program.Title,
		File:          found.Program.File,
		Text:          found.Text,
		Notes:         found.Notes,
		Verified:      found.Program.Verified.String(),
		WithSecret:    secret != "",
		WithoutSecret: secret == "" && clientauth.HasSecret(a),
	}, nil
}
