package clients

import (
	"net/http"
	"slices"
	"strconv"
	"time"

	"mandate/handlers/web"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/templates"
)

// readSelection reads the filters of the list of applications, and keeps them in the
// listing.
func readSelection(r *http.Request, l *web.Listing) (storage.Selection, error) {
	of := storage.Selection{Search: l.Search}
	values, err := web.Query(r)
	if err != nil {
		return of, err
	}
	for name, into := range map[string]*string{"standing": &of.Standing, "origin": &of.Origin} {
		*into = values.Get(name)
		var known []string
		for _, o := range filterOptions(name) {
			known = append(known, o.Value)
		}
		if !slices.Contains(known, *into) {
			return of, web.BadRequest(name + " must be " + oauth.OneOf(known[1:]) + ".")
		}
	}
	if text := values.Get("unused"); text != "" {
		days, err := strconv.ParseInt(text, 10, 64)
		if err != nil || days < 1 || days > 3650 {
			return of, web.BadRequest("unused must be a number of days, from 1 to 3650.")
		}
		of.UnusedSince = time.Now().Unix() - days*24*60*60
	}
	for _, name := range []string{"standing", "origin", "unused"} {
		if values.Get(name) != "" {
			l.Filters.Set(name, values.Get(name))
		}
	}
	return of, nil
}

// filterOptions returns the choices of a filter. The first one selects all applications.
func filterOptions(name string) []templates.Option {
	switch name {
	case "standing":
		return []templates.Option{{Label: "Anybody"}, {
			Value: string(policy.StandingAdministrator),
			Label: "An administrator",
		}, {Value: string(policy.StandingPerson), Label: "A person"},
			{
				Value: string(policy.StandingOpen),
				Label: "Nobody (came by itself)",
			}, {Value: storage.Suspended, Label: "Suspended"}}
	case "origin":
		return []templates.Option{{Label: "Any"}, {
			Value: storage.FromPage,
			Label: "A page",
		}, {Value: storage.FromCommand, Label: "Command line"},
			{
				Value: storage.FromRegistration,
				Label: "Registered itself",
			}, {Value: storage.FromDocument, Label: "Metadata document"}, {Value: storage.UnknownOrigin, Label: "Unknown"}}
	}
	return []templates.Option{{Label: "Any time"}, {
		Value: "30",
		Label: "30 days",
	}, {Value: "90", Label: "90 days"}, {Value: "365", Label: "A year"}}
}

// filters returns the filters of the list of applications with the present choices.
func filters(l web.Listing) []templates.Filter {
	var all []templates.Filter
	for _, f := range []templates.Filter{{
		ID:    "standing",
		Label: "Responsible",
	}, {ID: "origin", Label: "Origin"}, {ID: "unused", Label: "Not used for"}} {
		chosen := l.Filters.Get(f.ID)
		f.Options = web.Checked([]string{chosen}, filterOptions(f.ID)...)
		if !slices.ContainsFunc(f.Options, func(o templates.Option) bool { return o.Checked }) {
			f.Options = append(f.Options, templates.Option{Value: chosen, Label: chosen + " days", Checked: true})
		}
		all = append(all, f)
	}
	return all
}
