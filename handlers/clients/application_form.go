package clients

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// registerPage lets a person choose the kind of application, and then shows the form of
// that kind. Below the choice is the form with all fields.
func (s *server) registerPage(w http.ResponseWriter, r *http.Request) error {
	who, err := s.registrant(r)
	if err != nil {
		return err
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	chosen := kindOf(values.Get("kind"))
	if chosen == nil && values.Get("kind") != "" {
		return web.BadRequest("There is no such kind of application. Choose one on the page /o/applications/register/.")
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if kept {
		chosen = kindOf(form.Get("kind"))
	} else {
		form = s.initial(who, chosen)
	}
	page := s.registrationForm(r, who, chosen, form, nil)
	if chosen == nil && !kept {
		page.Cards = s.cards()
		if s.Config.OpenID {
			page.ProgramsURL = s.Path(programsPath)
		}
	}
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// initial returns the values of the form for a new application.
func (s *server) initial(who *storage.SignedIn, of *kind) url.Values {
	form := url.Values{
		"client_type":         {policy.Confidential},
		"grant_type":          {policy.GrantCode},
		"hash_client_secret":  {"on"},
		"access_token_format": {policy.FormatOpaque},
		"algorithm":           {policy.DefaultAlgorithm},
		"userinfo_algorithm":  {""},
	}
	form["scope"] = s.Provider.Choices(who.User, nil).Scopes
	of.preset(form)
	return form
}

// registrationForm returns the form for a new application of a kind; nil: with all fields.
func (s *server) registrationForm(
	r *http.Request,
	who *storage.SignedIn,
	of *kind,
	form url.Values,
	invalid *oauth.Invalid,
) templates.ApplicationForm {
	page := s.applicationForm(r, who, nil, form, invalid)
	if of == nil {
		return page
	}
	page.Kind = &templates.FormKind{
		ID:           of.id,
		Title:        of.title,
		Text:         of.text,
		RedirectHint: of.redirects,
		Introspects:  of.introspects,
		Refusal:      of.refusal(who, s.Provider.Choices(who.User, nil)),
		Advanced:     of.advanced(form, s.initial(who, of), invalid),
		ChooseURL:    s.Path("/o/applications/register/"),
		ResourceURL:  s.Path("/admin/resources/new/"),
	}
	if s.Config.OpenID && of.redirects != "" {
		page.Kind.IssuerURL = s.Provider.Issuer()
	}
	return page
}

// register registers an application. It redirects to the page of the application,
// which shows the client secret.
func (s *server) register(w http.ResponseWriter, r *http.Request) error {
	who, err := s.registrant(r)
	if err != nil {
		return err
	}
	err = s.parseApplication(r)
	if err != nil {
		return err
	}
	made, err := s.submit(r, who, nil)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		return s.Render(w, r, web.InvalidForm,
			s.registrationForm(r, who, kindOf(r.PostForm.Get("kind")), r.PostForm, invalid))
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

func (s *server) updatePage(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = s.stored(a)
	}
	page := s.applicationForm(r, who, &a, form, nil)
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// update changes an application. An application that becomes confidential gets a
// client secret. The form has the version that the person saw, so that nobody overwrites a
// change without having seen it.
func (s *server) update(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.parseApplication(r)
	if err != nil {
		return err
	}
	changed, err := s.submit(r, who, &a)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		web.NoteInvalid(r, invalid)
		_, a, err = s.named(r) // somebody may have changed it since it was read above
		if err != nil {
			return err
		}
		return s.Render(w, r, web.InvalidForm, s.applicationForm(r, who, &a, r.PostForm, invalid))
	}
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.KeepSecret(w, who, a.ID, changed.Secret)
	now := changed.Application
	if now.ClientType == policy.Confidential && now.CertificateSubject == "" && !now.HashClientSecret &&
		!clientauth.SecretIsReadable(now) {
		s.SetNotice(w, "still-hash")
	} else {
		s.SetNotice(w, "saved")
	}
	web.SeeOther(w, r, s.ApplicationPath(a.ID, ""))
	return nil
}

// parseApplication reads the form. Three of its fields have a checkbox for each value.
func (s *server) parseApplication(r *http.Request) error {
	return s.ParseForm(r, "grant_type", "scope", "response_modes")
}

// submit registers or changes an application as the form says.
func (s *server) submit(r *http.Request, who *storage.SignedIn, was *storage.Application) (*clients.Registered, error) {
	actor, err := s.Acting(r, who)
	if err != nil {
		return nil, err
	}
	may := s.Provider.Choices(who.User, was)
	every := len(may.Scopes) == len(s.Provider.Scopes()) || was != nil && was.Scopes == ""
	said := readRegistration(r.PostForm, offeredScopes(may, was), every)
	if was != nil && was.Scopes != "" && oauth.SameSet(web.Unique(r.PostForm["scope"]), strings.Fields(was.Scopes)) {
		said.Scopes = strings.Fields(was.Scopes) // it stays a list
	}
	if was == nil {
		before := readRegistration(s.initial(who, kindOf(r.PostForm.Get("kind"))), nil, true)
		said.Said = changes(said, before)
		made, err := s.Provider.Clients.Register(r.Context(), actor, said)
		return made, noScope(said, err)
	}
	s.keep(&said, *was, r.PostForm, who.User.Administrator && may.AdministratorRights)
	said.Said = changes(said, readRegistration(s.stored(*was), nil, true))
	changed, err := s.Provider.Clients.Update(r.Context(), actor, was.ID, web.SentVersion(r.PostForm), said)
	return changed, noScope(said, err)
}

// noScope replaces the message about an unnamed scope by one that fits the form.
func noScope(said clients.Registration, err error) error {
	invalid, ok := errors.AsType[*oauth.Invalid](err)
	if !ok || !slices.Contains(said.Scopes, web.Unnamed) {
		return err
	}
	web.ChooseOne(invalid, "scope")
	return invalid
}

// offeredScopes returns the scopes that the standing allows, and those that are
// already registered.
func offeredScopes(may policy.Allowance, a *storage.Application) []string {
	if a == nil {
		return may.Scopes
	}
	return oauth.Union(slices.Clone(may.Scopes), strings.Fields(a.Scopes))
}

// registration reads the form. If every scope is offered and chosen, the
// registration means every scope, including one that the operator adds later.
func readRegistration(form url.Values, offers []string, every bool) clients.Registration {
	said := readFields(form)
	said.Scopes = web.ChosenScopes(said.Scopes, offers, every)
	return said
}

// stored returns the form values that correspond to a registered application.
func (s *server) stored(a storage.Application) url.Values {
	form := storedFields(a)
	form.Set("version", strconv.FormatInt(a.Version, 10))
	form.Set("algorithm", cmp.Or(a.Algorithm, policy.DefaultAlgorithm))
	if a.Scopes == "" { // every scope
		form["scope"] = s.Provider.Scopes()
	}
	return form
}

// applicationForm returns the form with the values that were sent and the errors in
// them.
func (s *server) applicationForm(
	r *http.Request,
	who *storage.SignedIn,
	a *storage.Application,
	form url.Values,
	invalid *oauth.Invalid,
) templates.ApplicationForm {
	may := s.Provider.Choices(who.User, a)
	privileges := who.User.Administrator && may.AdministratorRights
	invalid = s.atProfile(invalid, form.Get("profile"), privileges)
	meanwhile := a != nil && form.Get("version") != strconv.FormatInt(a.Version, 10)
	if meanwhile {
		invalid = sinceOpened(invalid)
	}
	page := templates.ApplicationForm{
		Frame:      s.Frame(r, ""),
		New:        a == nil,
		Admin:      who.User.Administrator,
		Privileges: privileges,
		Action:     s.Path("/o/applications/register/"),
		CancelURL:  s.Path("/o/applications/"),
		Errors:     s.applicationErrors(invalid, privileges),
	}
	s.fill(&page, filled{form, invalid, who.User, a, may, privileges})
	if a != nil {
		page.OwnerURL = s.ApplicationPath(a.ID, "owner/")
		page.Action, page.CancelURL = s.ApplicationPath(a.ID, "update/"), s.ApplicationPath(a.ID, "")
		page.Version = strconv.FormatInt(a.Version, 10)
		if meanwhile {
			page.NowURL = page.Action
		}
	}
	return page
}
