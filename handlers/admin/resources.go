package admin

import (
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/storage"
	"mandate/templates"
)

// resources lists the resources. It is for administrators.
func (s *server) resources(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	all, err := s.Provider.Resources.Resources(r.Context(), policy.By(who.User))
	if err != nil {
		return err
	}
	search := strings.ToLower(l.Search)
	found := slices.DeleteFunc(all, func(a resources.Resource) bool {
		return !strings.Contains(strings.ToLower(a.Name), search) && !strings.Contains(strings.ToLower(a.URI), search)
	})
	pager, err := l.Pager(len(found))
	if err != nil {
		return err
	}
	page := templates.Resources{
		Frame:  s.Frame(r, ""),
		Query:  l.Search,
		Pager:  pager,
		NewURL: s.Path("/admin/resources/new/"),
	}
	for _, a := range found[l.Offset():min(len(found), l.Offset()+web.PageSize)] {
		row := templates.ResourceRow{Name: a.Name, URI: a.URI, Scopes: a.Scopes, TokenFormat: tokenFormat(a)}
		if a.Configured {
			page.Configured = true
		} else {
			row.URL = s.resourcePath("change/", a.URI)
		}
		page.Rows = append(page.Rows, row)
	}
	return s.Render(w, r, http.StatusOK, page)
}

func tokenFormat(a resources.Resource) string {
	switch {
	case a.TokenFormat == policy.FormatOpaque:
		return "Opaque"
	case a.TokenFormat == policy.FormatJWT && a.Algorithm != "":
		return "JWT, signed with " + a.Algorithm
	case a.TokenFormat == policy.FormatJWT:
		return "JWT"
	}
	return "That of the application"
}

// resourcePath returns the address of a page of one resource. The URI is in the query,
// because a URI contains slashes, which proxies change in a path.
func (s *server) resourcePath(page, uri string) string {
	return s.Path("/admin/resources/"+page) + "?" + url.Values{"uri": {uri}}.Encode()
}

func (s *server) newResourcePage(w http.ResponseWriter, r *http.Request) error {
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
		form = url.Values{"scopes": s.Provider.ResourceScopes(), "token_format": {""}, "algorithm": {""}, "jwt_typ": {""}}
	}
	page := s.resourceForm(r, nil, form, nil)
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

func (s *server) newResource(w http.ResponseWriter, r *http.Request) error {
	who, err := s.Administrator(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "scopes")
	if err != nil {
		return err
	}
	_, err = s.Provider.Resources.Add(r.Context(), policy.By(who.User), s.resourceIn(r.PostForm, ""))
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctResource(w, r, nil, invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "resource-added")
	return s.toResources(w, r)
}

// namedResource finds the resource of the query. It is for administrators. It refuses a
// resource of the configuration, which no page can change.
func (s *server) namedResource(r *http.Request) (*storage.SignedIn, resources.Resource, error) {
	who, err := s.Administrator(r)
	if err != nil {
		return nil, resources.Resource{}, err
	}
	values, err := web.Query(r)
	if err != nil {
		return nil, resources.Resource{}, err
	}
	a, err := s.Provider.Resources.Resource(r.Context(), policy.By(who.User), values.Get("uri"))
	if err == nil && a.Configured {
		err = &oauth.Error{
			Status:      http.StatusForbidden,
			Code:        "access_denied",
			Description: "This resource comes from the configuration: the operator can change it in RESOURCES.",
		}
	}
	return who, a, err
}

// toResources redirects to the list. A login leads to the page of a resource without its
// query, if the session ended before the form was sent.
func (s *server) toResources(w http.ResponseWriter, r *http.Request) error {
	web.SeeOther(w, r, s.Path("/admin/resources/"))
	return nil
}

func (s *server) resourcePage(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.namedResource(r)
	if errors.Is(err, oauth.ErrNotFound) && r.URL.RawQuery == "" {
		return s.toResources(w, r)
	}
	if err != nil {
		return err
	}
	form, err := s.KeptForm(w, r, who)
	if err != nil {
		return err
	}
	kept := form != nil
	if !kept {
		form = s.storedResource(a)
	}
	page := s.resourceForm(r, &a, form, nil)
	s.SayKept(r, kept, &page.Frame)
	return s.Render(w, r, http.StatusOK, page)
}

// storedResource returns the form with what is stored about a resource.
func (s *server) storedResource(a resources.Resource) url.Values {
	form := url.Values{
		"name":          {a.Name},
		"scopes":        strings.Fields(a.Scopes),
		"token_format":  {a.TokenFormat},
		"algorithm":     {a.Algorithm},
		"jwt_typ":       {a.JWTTyp},
		"introspectors": {strings.TrimSpace(a.Introspectors)},
		"version":       {version(a)},
	}
	if a.Scopes == "" { // every scope
		form["scopes"] = s.Provider.ResourceScopes()
	}
	if a.Constrained {
		form.Set("sender_constrained", "on")
	}
	if a.Lifetime > 0 {
		form.Set("access_token_lifetime", strconv.FormatInt(a.Lifetime, 10))
	}
	return form
}

// version returns the version of a resource as its page shows it. The first versions of a deleted resource and of a new
// one with the same URI have the same number.
func version(a resources.Resource) string {
	return strings.TrimSpace(strconv.FormatInt(a.Version, 10) + " " + a.Generation)
}

// changeResource changes a resource as the form says. The form has the version that the
// administrator saw, so that nobody overwrites a change without having seen it.
func (s *server) changeResource(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.namedResource(r)
	if err != nil {
		return err
	}
	err = s.ParseForm(r, "scopes")
	if err != nil {
		return err
	}
	was := a
	number, generation, _ := strings.Cut(r.PostForm.Get("version"), " ")
	was.Version, was.Generation = web.ReadVersion(number), generation
	err = s.Provider.Resources.Change(r.Context(), policy.By(who.User), was, s.resourceIn(r.PostForm, was.Scopes))
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
		return s.correctResource(w, r, &a, invalid)
	}
	if err != nil {
		return err
	}
	s.SetNotice(w, "saved")
	return s.toResources(w, r)
}

// resourceIn reads the form. If every scope is chosen, the resource has every scope,
// including one that the operator adds later. A list that does not change stays a list. scopes are those that the
// resource has; empty: every one.
func (s *server) resourceIn(form url.Values, scopes string) resources.Registration {
	chosen := web.Unique(form["scopes"])
	if scopes == "" || !oauth.SameSet(chosen, strings.Fields(scopes)) {
		chosen = web.ChosenScopes(chosen, s.Provider.ResourceScopes(), true)
	}
	return resources.Registration{
		URI:           strings.TrimSpace(form.Get("uri")),
		Name:          strings.TrimSpace(form.Get("name")),
		Scopes:        chosen,
		TokenFormat:   form.Get("token_format"),
		Algorithm:     form.Get("algorithm"),
		Lifetime:      web.Seconds(form.Get("access_token_lifetime")),
		Introspectors: web.Lines(form.Get("introspectors")),
		Constrained:   form.Has("sender_constrained"),
		JWTTyp:        form.Get("jwt_typ"),
	}
}

// correctResource shows the form again, with the errors in it.
func (s *server) correctResource(
	w http.ResponseWriter,
	r *http.Request,
	a *resources.Resource,
	invalid *oauth.Invalid,
) error {
	web.NoteInvalid(r, invalid)
	if len(r.PostForm["scopes"]) == 0 {
		web.ChooseOne(invalid, "scopes")
	}
	return s.Render(w, r, web.InvalidForm, s.resourceForm(r, a, r.PostForm, invalid))
}

// resourceForm returns the form with the values that were sent and the errors in them.
func (s *server) resourceForm(
	r *http.Request,
	a *resources.Resource,
	form url.Values,
	invalid *oauth.Invalid,
) templates.ResourceForm {
	field := func(name string) templates.Field {
		return templates.Field{Value: form.Get(name), Error: invalid.At(name)}
	}
	page := templates.ResourceForm{
		Frame:          s.Frame(r, ""),
		New:            a == nil,
		Action:         s.Path("/admin/resources/new/"),
		CancelURL:      s.Path("/admin/resources/"),
		NameField:      field("name"),
		URI:            field("uri"),
		Lifetime:       field("access_token_lifetime"),
		Introspectors:  field("introspectors"),
		Constrained:    form.Has("sender_constrained"),
		ScopesError:    invalid.At("scopes"),
		FormatError:    invalid.At("token_format"),
		AlgorithmError: invalid.At("algorithm"),
		Errors:         web.FieldErrors(invalid),
		Formats: web.Checked([]string{form.Get("token_format")},
			templates.Option{Value: "", Label: "That of the application", Help: "Each application is registered for a format."},
			templates.Option{
				Value: policy.FormatOpaque,
				Label: "Opaque",
				Help: "A random string. The API asks this server whether the token is active, so a revoked token is refused at " +
					"once.",
			},
			templates.Option{
				Value: policy.FormatJWT,
				Label: "JWT",
				Help: "Signed, so that the API can verify it with the server’s public keys (RFC 9068). The API accepts a " +
					"revoked token until it expires.",
			}),
		Algorithms: web.Checked([]string{form.Get("algorithm")}, append([]templates.Option{{
			Value: "",
			Label: "That of the application",
		}}, web.Algorithms()...)...),
	}
	page.Typs, page.TypError = web.Checked([]string{form.Get("jwt_typ")},
		templates.Option{
			Value: "",
			Label: resources.TypAccessToken,
			Help:  "The type of RFC 9068, which distinguishes access tokens from ID tokens.",
		},
		templates.Option{
			Value: resources.TypJWT,
			Label: "JWT, for libraries that know no other",
			Help: "For an API whose library accepts nothing else, such as Spring. It must compare aud with the URI of this " +
				"resource: an ID token has the same type.",
		}), invalid.At("jwt_typ")
	offered := s.Provider.ResourceScopes()
	if a != nil { // the operator may have removed a scope, which has no effect then
		offered = oauth.Union(slices.Clone(offered), strings.Fields(a.Scopes))
	}
	page.Scopes = s.ScopeOptions(offered, form["scopes"])
	if a != nil {
		page.URI.Value, page.Version = a.URI, version(*a)
		page.Action, page.DeleteURL = s.resourcePath("change/", a.URI), s.resourcePath("delete/", a.URI)
		if form.Get("version") != page.Version {
			page.NowURL = page.Action
		}
	}
	return page
}

func (s *server) deleteResourcePage(w http.ResponseWriter, r *http.Request) error {
	_, a, err := s.namedResource(r)
	if errors.Is(err, oauth.ErrNotFound) && r.URL.RawQuery == "" {
		return s.toResources(w, r)
	}
	if err != nil {
		return err
	}
	return s.Render(w, r, http.StatusOK, templates.Confirm{
		Frame:   s.Frame(r, ""),
		Heading: "Delete the resource “" + a.Name + "”?",
		Message: "This cannot be undone.",
		Details: []string{
			"Its URI is " + a.URI,
			"The server issues no more tokens for it. Its tokens are inactive at once, but an API that verifies JWTs itself " +
				"accepts them until they expire.",
			"A request of an application whose default resource it is fails, until somebody changes the application.",
		},
		Action:    s.resourcePath("delete/", a.URI),
		Button:    "Delete the resource",
		CancelURL: s.resourcePath("change/", a.URI),
		Danger:    true,
	})
}

func (s *server) deleteResource(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.namedResource(r)
	if err != nil {
		return err
	}
	err = s.Provider.Resources.Delete(r.Context(), policy.By(who.User), a.URI)
	if err != nil {
		return err
	}
	s.SetNotice(w, "resource-gone")
	return s.toResources(w, r)
}
