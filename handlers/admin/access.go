package admin

import (
	"cmp"
	"encoding/csv"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"mandate/handlers/request"
	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/spreadsheet"
	"mandate/storage"
	"mandate/templates"
)

// namedApplication finds the application of the path. It is for whoever may see people.
func (s *server) namedApplication(r *http.Request) (storage.Application, error) {
	who, id, err := s.Administers(r)
	if err != nil {
		return storage.Application{}, err
	}
	return s.Provider.Clients.Shown(r.Context(), policy.By(who.User), id)
}

// peopleOf lists the people who may use an application.
func (s *server) peopleOf(w http.ResponseWriter, r *http.Request) error {
	a, err := s.namedApplication(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	after, err := numberIn(r, "after")
	if err != nil {
		return err
	}
	found, next, err := s.Provider.Access.UsersOf(r.Context(), a, l.Search, after, web.PageSize)
	if err != nil {
		return err
	}
	at := s.Path(web.PeopleOfPath(a.ID))
	page := templates.AccessPeople{Frame: s.Frame(r, ""), Name: a.Name, ApplicationURL: s.ApplicationPath(a.ID, ""),
		For:       web.Restriction(a.AllowedGroups, a.DeniedGroups, a.NobodyNew),
		Suspended: s.Provider.Rules.WhySuspended(a), Query: l.Search, ExportURL: at + "export/",
		CheckURL: s.checkPath(a.ID, "")}
	page.FirstURL, page.NextURL = onwards(l.Search, after, next)
	for _, u := range found {
		page.Rows = append(page.Rows, templates.AccessPerson{Username: u.Username, Name: u.FullName(), Email: u.Email,
			URL: s.userPath(u.ID), WhyURL: s.checkPath(a.ID, u.Username)})
	}
	return s.Render(w, r, http.StatusOK, page)
}

// usable lists the applications that a person may use.
func (s *server) usable(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	l, err := web.ReadListing(r)
	if err != nil {
		return err
	}
	after, err := numberIn(r, "after")
	if err != nil {
		return err
	}
	found, next, err := s.Provider.Access.UsableBy(r.Context(), u.ID, l.Search, web.PageSize, int(after))
	if err != nil {
		return err
	}
	page := templates.AccessApplications{Frame: s.Frame(r, ""), Username: u.Username, PersonURL: s.userPath(u.ID),
		Disabled: !u.Active, Query: l.Search, ExportURL: s.userPath(u.ID) + "access/export/"}
	page.FirstURL, page.NextURL = onwards(l.Search, after, int64(next))
	for _, a := range found {
		page.Rows = append(page.Rows, templates.AccessApplication{Name: a.Name, ClientID: a.ClientID,
			URL: s.ApplicationPath(a.ID, ""), WhyURL: s.checkPath(a.ID, u.Username)})
	}
	return s.Render(w, r, http.StatusOK, page)
}

func checkRoute(id string) string { return "/admin/applications/" + id + "/check/" }

// checkPath is the page that says what would happen for a person at an application.
func (s *server) checkPath(id, username string) string {
	path := s.Path(checkRoute(id))
	if username != "" {
		path += "?" + url.Values{byPerson: {username}}.Encode()
	}
	return path
}

// checkAccess says what would happen if a person used an application.
func (s *server) checkAccess(w http.ResponseWriter, r *http.Request) error {
	a, err := s.namedApplication(r)
	if err != nil {
		return err
	}
	values, err := web.Query(r)
	if err != nil {
		return err
	}
	name := strings.TrimSpace(values.Get(byPerson))
	page := templates.AccessCheck{Frame: s.Frame(r, ""), Name: a.Name, ApplicationURL: s.ApplicationPath(a.ID, ""),
		PeopleURL: s.Path(web.PeopleOfPath(a.ID)), Person: templates.Field{Value: name}}
	if name == "" {
		return s.Render(w, r, http.StatusOK, page)
	}
	u, err := s.Provider.People.UserByName(r.Context(), name)
	if errors.Is(err, oauth.ErrNotFound) {
		page.Person.Error = "There is no person with this username."
		return s.Render(w, r, web.InvalidForm, page)
	}
	if err != nil {
		return err
	}
	would, err := s.Provider.WhatWouldHappen(r.Context(), a, u)
	if err != nil {
		return err
	}
	page.Of = &templates.Outcome{Username: u.Username, PersonURL: s.userPath(u.ID), Allowed: would.Allowed(),
		Scopes: would.Scopes, SkipsConsent: a.SkipConsent}
	for _, c := range would.Conditions {
		page.Of.Conditions = append(page.Of.Conditions, templates.AccessCondition{Text: c.Meaning(), Met: c.Met,
			Why: cmp.Or(c.Reason, strings.Join(c.Names, ", "))})
	}
	for _, c := range would.Claims {
		page.Of.Claims = append(page.Of.Claims, templates.AccessClaim{Place: c.Place, Name: c.Name, Value: c.Text(),
			Why: c.Reason})
	}
	return s.Render(w, r, http.StatusOK, page)
}

// numberIn reads a number of the query that a link of the page has written, or 0.
func numberIn(r *http.Request, name string) (int64, error) {
	values, err := web.Query(r)
	if err != nil || !values.Has(name) {
		return 0, err
	}
	n, err := strconv.ParseInt(values.Get(name), 10, 64)
	if err != nil || n < 0 || n > 1e9 {
		return 0, web.BadRequest(name + " must be that of a link of this page.")
	}
	return n, nil
}

// onwards returns the links to the first page of a list and to the next one.
func onwards(search string, after, next int64) (first, more string) {
	values := url.Values{}
	if search != "" {
		values.Set("q", search)
	}
	if after > 0 {
		first = "?" + values.Encode()
	}
	if next > 0 {
		values.Set("after", strconv.FormatInt(next, 10))
		more = "?" + values.Encode()
	}
	return first, more
}

// exportPeopleOf sends the list of peopleOf as CSV.
func (s *server) exportPeopleOf(w http.ResponseWriter, r *http.Request) error {
	a, err := s.namedApplication(r)
	if err != nil {
		return err
	}
	return sendAccess(w, r, func(row func(storage.User, storage.Application) error) error {
		return s.Provider.Access.EachUser(r.Context(), a, func(u storage.User) error { return row(u, a) })
	})
}

// exportUsable sends the list of usable as CSV.
func (s *server) exportUsable(w http.ResponseWriter, r *http.Request) error {
	_, u, err := s.namedUser(r)
	if err != nil {
		return err
	}
	return sendAccess(w, r, func(row func(storage.User, storage.Application) error) error {
		return s.Provider.Access.EachUsable(r.Context(), u.ID, func(a storage.Application) error { return row(u, a) })
	})
}

// sendAccess sends an access list as CSV, with the columns of the command mandate access. each calls a function with
// each row.
func sendAccess(w http.ResponseWriter, r *http.Request, each func(func(storage.User, storage.Application) error) error,
) error {
	out, sent := csv.NewWriter(w), false
	begin := func() {
		w.Header().Set("Content-Type", "text/csv; charset=utf-8")
		w.Header().Set("Content-Disposition", `attachment; filename="access-`+time.Now().UTC().Format(time.DateOnly)+
			`.csv"`)
		_ = out.Write([]string{"username", "client_id", "application"})
		sent = true
	}
	err := each(func(u storage.User, a storage.Application) error {
		if !sent {
			begin()
		}
		return out.Write(spreadsheet.Cells(u.Username, a.ClientID, a.Name))
	})
	if err != nil && sent {
		// A part is sent already. Nobody may take it for the whole.
		request.Note(r.Context(), "error", err.Error())
		panic(http.ErrAbortHandler)
	}
	if err != nil {
		return err
	}
	if !sent {
		begin()
	}
	out.Flush()
	return nil // an error of the writer means that the client has disconnected
}
