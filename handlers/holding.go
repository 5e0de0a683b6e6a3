package handlers

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"mandate/handlers/request"
	"mandate/provider"
	"mandate/templates"
)

// readSelection reads the filters of the list of applications, and keeps them in the
// listing.
func readSelection(r *http.Request, l *listing) (provider.Selection, error) {
	of := provider.Selection{Search: l.search}
	values, err := query(r)
	if err != nil {
		return of, err
	}
	for name, into := range map[string]*string{"standing": &of.Standing, "origin": &of.Origin} {
		*into = values.Get(name)
		known := func(o templates.Option) bool { return o.Value == *into }
		if !slices.ContainsFunc(filterOptions(name), known) {
			return of, badRequest(name + " must be one of the values that the page offers.")
		}
	}
	if text := values.Get("unused"); text != "" {
		days, err := strconv.ParseInt(text, 10, 64)
		if err != nil || days < 1 || days > 3650 {
			return of, badRequest("unused must be a number of days, from 1 to 3650.")
		}
		of.UnusedSince = time.Now().Unix() - days*24*60*60
	}
	for _, name := range []string{"standing", "origin", "unused"} {
		if values.Get(name) != "" {
			l.filters.Set(name, values.Get(name))
		}
	}
	return of, nil
}

// filterOptions returns the choices of a filter. The first one selects all applications.
func filterOptions(name string) []templates.Option {
	switch name {
	case "standing":
		return []templates.Option{{Label: "Anybody"}, {Value: string(provider.StandingAdministrator), Label: "An administrator"}, {Value: string(provider.StandingPerson), Label: "A person"},
			{Value: string(provider.StandingOpen), Label: "Nobody"}, {Value: provider.SelectSuspended, Label: "Suspended"}}
	case "origin":
		return []templates.Option{{Label: "Any"}, {Value: provider.FromPage, Label: "A page"}, {Value: provider.FromCommand, Label: "Command line"},
			{Value: provider.FromRegistration, Label: "Registered itself"}, {Value: provider.FromDocument, Label: "Metadata document"}, {Value: provider.UnknownOrigin, Label: "Unknown"}}
	}
	return []templates.Option{{Label: "Any time"}, {Value: "30", Label: "30 days"}, {Value: "90", Label: "90 days"}, {Value: "365", Label: "A year"}}
}

// filters returns the filters of the list of applications with the present choices.
func filters(l listing) []templates.Filter {
	var all []templates.Filter
	for _, f := range []templates.Filter{{ID: "standing", Label: "Responsible"}, {ID: "origin", Label: "Origin"}, {ID: "unused", Label: "Not used for"}} {
		chosen := l.filters.Get(f.ID)
		f.Options = checked([]string{chosen}, filterOptions(f.ID)...)
		if !slices.ContainsFunc(f.Options, func(o templates.Option) bool { return o.Checked }) {
			f.Options = append(f.Options, templates.Option{Value: chosen, Label: chosen + " days", Checked: true})
		}
		all = append(all, f)
	}
	return all
}

// applicationUse describes where an application came from, and what it holds.
func (s *server) applicationUse(r *http.Request, a provider.Application) (templates.ApplicationUse, error) {
	h, err := s.provider.Clients.Holding(r.Context(), a)
	return templates.ApplicationUse{Origin: originText(a.Origin), LastUsed: lastUsed(a.LastUsedAt, a.Origin),
		People: counted(h.People, h.MorePeople), Tokens: counted(h.Tokens, h.MoreTokens),
		Signed: a.AccessTokenFormat == provider.FormatJWT, RevokeAllURL: s.applicationPath(a.ID, "revoke/")}, err
}

// originText says how an application came here.
func originText(origin string) string {
	return map[string]string{"": "Unknown: it is older than this entry", provider.FromPage: "A person registered it on a page of this server",
		provider.FromCommand: "The operator registered it on the command line", provider.FromRegistration: "It registered itself",
		provider.FromDocument: "Its metadata document: nobody registered it here"}[origin]
}

// responsibleText says to a person who is responsible for an application.
func responsibleText(a provider.Authorized) string {
	if a.Suspended {
		return "It is suspended, and does not work: the account of its owner is disabled."
	}
	switch a.Standing {
	case provider.StandingAdministrator:
		return "An administrator of this server is responsible for it."
	case provider.StandingPerson:
		return "Its owner is responsible for it, who is not an administrator of this server."
	}
	if a.Origin == provider.FromDocument {
		return "It describes itself in a metadata document. Nobody here is responsible for it or has checked it."
	}
	return "It registered itself. Nobody here is responsible for it or has checked it."
}

// lastUsed says when an application last got a code or a token. The time of an application
// of unknown origin is not known before its first use after the column was added.
func lastUsed(at int64, origin string) string {
	switch {
	case at > 0:
		return moment(at)
	case origin == "":
		return "Unknown"
	}
	return "Never"
}

// lastUsedSentence says the same in a sentence; "" if it is not known.
func lastUsedSentence(a provider.Authorized) string {
	switch {
	case a.LastUsedAt > 0:
		return "Last used " + moment(a.LastUsedAt) + "."
	case a.Origin == "":
		return ""
	}
	return "Never used."
}

// counted writes a number that may be the bound of a count.
func counted(n int, more bool) string {
	switch {
	case more && n >= provider.MostCounted:
		return "More than 1,000"
	case more && n == 0:
		return "Not counted: the server has too many to look at all of them"
	case more:
		return "At least " + strconv.Itoa(n) + ": the server has too many to look at all of them"
	case n == 0:
		return "None"
	}
	return strconv.Itoa(n)
}

func (s *server) revokeAllPage(w http.ResponseWriter, r *http.Request) error {
	_, a, err := s.named(r)
	if err != nil {
		return err
	}
	details := []string{"All its access and refresh tokens stop working at once.", "What people have approved is forgotten: each of them is asked again."}
	if a.ClientType != provider.Public {
		details = append(details, "It keeps its secret, and whoever knows the secret can get new tokens: replace the secret afterwards if somebody else may know it.")
	} else {
		details = append(details, "It stays registered, and people can approve it again.")
	}
	if a.AccessTokenFormat == provider.FormatJWT {
		details = append(details, "An API that verifies signed tokens itself, without asking this server, accepts them until they expire.")
	}
	return s.render(w, r, http.StatusOK, templates.Confirm{Frame: s.frame(r, ""), Heading: "Revoke everything that “" + a.Name + "” holds?", Message: "This cannot be undone. The application stays.",
		Details: details, Action: s.applicationPath(a.ID, "revoke/"), Button: "Revoke everything", CancelURL: s.applicationPath(a.ID, ""), Danger: true})
}

// revokeAll revokes everything that an application holds.
func (s *server) revokeAll(w http.ResponseWriter, r *http.Request) error {
	who, a, err := s.named(r)
	if err != nil {
		return err
	}
	err = s.provider.Clients.RevokeAll(r.Context(), provider.By(who.User), a.ID)
	if err != nil {
		return err
	}
	request.Note(r.Context(), "client", a.ClientID)
	s.setNotice(w, "revoked-all")
	redirect(w, r, s.applicationPath(a.ID, ""))
	return nil
}
