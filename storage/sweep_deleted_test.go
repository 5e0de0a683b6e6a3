package storage

import (
	"fmt"
	"testing"
)

// walk runs the clean-up until no row of a deleted application is left.
func (w world) walk(t *testing.T, limit int) {
	t.Helper()
	for range 100 {
		must(t, w.SweepDeletedApplications(t.Context(), limit))
		if count(t, w.Store, `SELECT COUNT(*) FROM departures WHERE reached = '' AND walked = deleted`) == 1 {
			return
		}
	}
	t.Fatal("the walk does not end")
}

func TestWhatADeletedApplicationLeavesBehindIsDeleted(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		alice, gone, _ := w.scene(t, "alice")
		stays := w.application(t, "Stays")
		for i := range 7 {
			for _, a := range []Application{gone, stays} {
				w.family(t, alice.ID, a.ID)
				must(t, w.AddToken(t.Context(), Token{Digest: fmt.Sprint(a.Name, i), ApplicationID: &a.ID, ExpiresAt: later}))
			}
		}
		before := counts(t, w.Store)
		w.walk(t, 3)
		if after := counts(t, w.Store); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("nothing was deleted: %v, before %v", after, before)
		}
		must(t, w.DeleteApplication(t.Context(), gone.ID))
		must(t, w.SweepDeletedApplications(t.Context(), 3)) // starts the walk
		must(t, w.SweepDeletedApplications(t.Context(), 3))
		// Another application is deleted during the walk. The walk may have passed its
		// rows.
		late := w.application(t, "Late")
		must(t, w.AddToken(t.Context(), Token{Digest: "!", ApplicationID: &late.ID, ExpiresAt: later}))
		must(t, w.DeleteApplication(t.Context(), late.ID))
		w.walk(t, 3)
		if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens`); n != 3*7 {
			t.Errorf("%d tokens are left, want the %d of the other application", n, 3*7)
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM grants WHERE application_id = '`+stays.ID+`'`); n != 7 ||
			n != count(t, w.Store, `SELECT COUNT(*) FROM grants`) {
			t.Errorf("%d grants of the other application are left, want 7 and no others", n)
		}
	})
}

func TestTwoNodesSweepWhatADeletedApplicationLeaves(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		gone, stores := w.application(t, "Gone"), w.pair(t)
		for i := range 40 {
			must(t, w.AddToken(t.Context(), Token{Digest: fmt.Sprint(i), ApplicationID: &gone.ID, ExpiresAt: later}))
		}
		must(t, w.DeleteApplication(t.Context(), gone.ID))
		for range 20 {
			for _, err := range race(4, func(i int) error { return stores[i%2].SweepDeletedApplications(t.Context(), 5) }) {
				must(t, err)
			}
		}
		if n := count(t, w.Store, `SELECT COUNT(*) FROM tokens`); n != 0 {
			t.Errorf("%d tokens are left", n)
		}
	})
}
