package storage

import (
	"slices"
	"testing"
)

// A site is stored with its application in one transaction, or nothing of both is.
func TestSiteIsPartOfItsApplication(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		wiki, notes := newApplication("Wiki"), newApplication("Notes")
		must(t, w.AddApplication(t.Context(), wiki, 0, Site{Hosts: []string{"wiki.example"}, PublicPaths: "/static/"}))
		found, err := w.SiteOfHost(t.Context(), "wiki.example")
		if err != nil || found.ApplicationID != wiki.ID || found.PublicPaths != "/static/" || found.Suspended {
			t.Errorf("%+v, %v", found, err)
		}
		taken := Site{Hosts: []string{"notes.example", "wiki.example"}}
		is(t, "a host of another site", w.AddApplication(t.Context(), notes, 0, taken), ErrHostTaken)
		_, err = w.Application(t.Context(), notes.ID)
		is(t, "the application of a refused site", err, ErrNotFound)
		_, err = w.SiteOfHost(t.Context(), "notes.example")
		is(t, "a host of a refused site", err, ErrNotFound)

		must(t, w.AddApplication(t.Context(), notes, 0, Site{Hosts: []string{"notes.example"}}))
		was, err := w.Application(t.Context(), notes.ID)
		must(t, err)
		now := was
		now.Name = "Renamed"
		is(t, "a change to a host of another site", w.UpdateApplication(t.Context(), now, was, taken), ErrHostTaken)
		got, err := w.Application(t.Context(), notes.ID)
		if err != nil || got.Name != "Notes" || got.Version != was.Version {
			t.Errorf("after a refused change: %q, version %d, %v", got.Name, got.Version, err)
		}
		must(t, w.UpdateApplication(t.Context(), now, was, Site{Hosts: []string{"new.example"}, Suspended: true}))
		all, err := w.Sites(t.Context())
		if err != nil || len(all) != 2 || all[0].Name != "Renamed" || !slices.Equal(all[0].Hosts, []string{"new.example"}) ||
			!all[0].Suspended {
			t.Errorf("%+v, %v", all, err)
		}
		is(t, "a change of what is not there any more", w.UpdateApplication(t.Context(), now, was, taken), ErrNotFound)
		must(t, w.UpdateApplication(t.Context(), got, Application{Version: AnyVersion, Secret: got.Secret,
			Responsible: got.Responsible}))
		_, err = w.SiteOfHost(t.Context(), "new.example")
		must(t, err) // a change of the application alone leaves the site as it is
	})
}
