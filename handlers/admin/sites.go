package admin

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/sites"
	"mandate/storage"
	"mandate/templates"
)

const sitesPath = "/admin/sites/"

// sites lists the sites. It is for administrators.
func (s *server) sites(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	found, err := s.Provider.Sites.Sites(r.Context(), policy.By(who.User))
	if err != nil {
		return err
	}
	page := templates.Sites{Frame: s.Frame(r, ""), NewURL: s.Path(sitesPath + "new/")}
	for _, n := range found {
		page.Rows = append(page.Rows, templates.SiteRow{Name: n.Name, URL: s.sitePath(n), Hosts: strings.Join(n.Hosts, " "),
			PublicPaths: strings.Join(oauth.Lines(n.PublicPaths), " "), Suspended: n.Suspended})
	}
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) sitePath(n storage.Site) string { return s.Path(sitesPath + n.ClientID + "/") }

func (s *server) newSitePage(w http.ResponseWriter, r *http.Request) error {
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
		form = url.Values{"required_acr": {""}}
	}
	page, err := s.siteForm(r, nil, form, nil)
	if err != nil {
		return err
	}
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) newSite(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	var said sites.Registration
	readSite(r.PostForm, &said)
	made, err := s.Provider.Sites.Add(r.Context(), actor, said)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctSite(w, r, nil, invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "site-added")
	web.SeeOther(w, r, s.sitePath(made))
	return nil
}

// namedSite finds the site of the path. It is for administrators.
func (s *server) namedSite(r *http.Request) (*storage.SignedIn, storage.Site, sites.Registration, error) {
	who, id, err := s.Administers(r)
	if err != nil {
		return nil, storage.Site{}, sites.Registration{}, err
	}
	site, said, err := s.Provider.Sites.Registered(r.Context(), policy.By(who.User), id)
	return who, site, said, err
}

func (s *server) sitePage(w http.ResponseWriter, r *http.Request) error {
	who, site, now, err := s.namedSite(r)
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = storedSite(now)
	}
	page, err := s.siteForm(r, &site, form, nil)
	if err != nil {
		return err
	}
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// storedSite returns the form with what is stored about a site.
func storedSite(n sites.Registration) url.Values {
	form := url.Values{
		"name": {n.Name}, "hosts": {strings.Join(n.Hosts, "\n")}, "public_paths": {strings.Join(n.PublicPaths, "\n")},
		"allowed_groups": {strings.Join(n.AllowedGroups, "\n")}, "denied_groups": {strings.Join(n.DeniedGroups, "\n")},
		"required_acr": {n.RequiredACR}, "version": {strconv.FormatInt(n.Version, 10)},
	}
	for name, on := range map[string]bool{"assertion": n.Assertion, "suspended": n.Suspended} {
		if on {
			form.Set(name, "on")
		}
	}
	return form
}

// readSite reads the form.
func readSite(form url.Values, into *sites.Registration) {
	into.Name = strings.TrimSpace(form.Get("name"))
	into.Hosts, into.PublicPaths = web.Lines(form.Get("hosts")), web.Lines(form.Get("public_paths"))
	into.AllowedGroups, into.DeniedGroups = web.Lines(form.Get("allowed_groups")), web.Lines(form.Get("denied_groups"))
	into.RequiredACR = form.Get("required_acr")
	into.Assertion, into.Suspended = form.Has("assertion"), form.Has("suspended")
}

// changeSite changes a site as the form says. The form has the version that the administrator saw.
func (s *server) changeSite(w http.ResponseWriter, r *http.Request) error {
	who, site, _, err := s.namedSite(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r)
	if err != nil {
		return err
	}
	actor, err := s.Acting(r, who)
	if err != nil {
		return err
	}
	_, err = s.Provider.Sites.Change(r.Context(), actor, site.ClientID, func(said *sites.Registration) {
		readSite(r.PostForm, said)
		said.Version = web.ReadVersion(r.PostForm.Get("version"))
	})
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctSite(w, r, &site, invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "saved")
	web.SeeOther(w, r, s.Path(sitesPath))
	return nil
}

// correctSite shows the form again, with the errors in it.
func (s *server) correctSite(w http.ResponseWriter, r *http.Request, n *storage.Site, invalid *oauth.Invalid) error {
	web.NoteInvalid(r, invalid)
	page, err := s.siteForm(r, n, r.PostForm, invalid)
	if err != nil {
		return err
	}
	return s.Render(w, r, web.InvalidForm, page)
}

// siteForm returns the form with the values that were sent and the errors in them.
func (s *server) siteForm(r *http.Request, n *storage.Site, form url.Values,
	invalid *oauth.Invalid) (templates.SiteForm, error) {
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page := templates.SiteForm{
		Frame: s.Frame(r, ""), New: n == nil, Action: s.Path(sitesPath + "new/"), CancelURL: s.Path(sitesPath),
		NameField: field("name"), Hosts: field("hosts"), PublicPaths: field("public_paths"),
		Allowed: field("allowed_groups"), Denied: field("denied_groups"),
		Logins:     web.Checked([]string{form.Get("required_acr")}, web.RequirableLogins()...),
		LoginError: invalid.At("required_acr"), Assertion: form.Has("assertion"), Suspended: form.Has("suspended"),
		Errors: web.FieldErrors(invalid),
	}
	if n == nil {
		return page, nil
	}
	page.Action, page.DeleteURL = s.sitePath(*n), s.sitePath(*n)+"delete/"
	page.ApplicationURL = s.Path("/o/applications/" + n.ApplicationID + "/")
	page.Version = form.Get("version")
	if invalid.At("version") != "" {
		page.NowURL = page.Action
	}
	var err error
	page.Proxies, err = s.Pages.Proxies(n.Hosts)
	return page, err
}

func (s *server) deleteSitePage(w http.ResponseWriter, r *http.Request) error {
	_, site, _, err := s.namedSite(r)
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame: s.Frame(r, ""), Heading: "Delete the site “" + site.Name + "”?", Message: "This cannot be undone.",
		Details: []string{
			"Its hosts are " + strings.Join(site.Hosts, ", "),
			"The reverse proxy gets status 403 for each request to them, and lets in nobody.",
		},
		Action: s.sitePath(site) + "delete/", Button: "Delete the site", CancelURL: s.sitePath(site), Danger: true,
	})
}

func (s *server) deleteSite(w http.ResponseWriter, r *http.Request) error {
	who, site, _, err := s.namedSite(r)
	if err != nil {
		return err
	}
	err = s.Provider.Sites.Delete(r.Context(), policy.By(who.User), site.ClientID)
	if err != nil {
		return err
	}
	s.SetNotice(w, "site-gone")
	web.SeeOther(w, r, s.Path(sitesPath))
	return nil
}
