package storage

import (
	"slices"
	"testing"
)

func TestUses(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a, b := w.application(t, "A"), w.application(t, "B")
		last := func(of Application, want int64) {
			t.Helper()
			got, err := w.Application(t.Context(), of.ID)
			must(t, err)
			if got.LastUsedAt != want || got.Version != of.Version {
				t.Errorf("%s was last used at %d, version %d, want %d and %d", of.Name, got.LastUsedAt, got.Version, want,
					of.Version)
			}
		}
		last(a, 0)
		var changes []Change
		w.OnChange(func(more []Change) { changes = append(changes, more...) })
		must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: at, "unknown": at}))
		last(a, at)
		// Copies that say "never used" are dropped, and only those.
		if !slices.Equal(changes, []Change{{OfApplication, a.ID}}) {
			t.Errorf("the changes are %v", changes)
		}
		last(b, 0)
		// Another node may store an earlier use later.
		must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: at - 5, b.ID: at + 7}))
		last(a, at)
		last(b, at+7)
		changes = nil
		must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: at + 1}))
		last(a, at+1)
		if len(changes) > 0 {
			t.Errorf("the changes are %v", changes)
		}
	})
}

// The time of a code without PKCE is no change of the application either, and never goes back.
func TestWithoutPKCEIsNoted(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		a, b := w.application(t, "A"), w.application(t, "B")
		w.OnChange(func(more []Change) { t.Errorf("the changes are %v", more) })
		for _, note := range []map[string]int64{{a.ID: at, "unknown": at}, {a.ID: at - 5}} {
			must(t, w.NoteWithoutPKCE(t.Context(), note))
		}
		for _, want := range []struct {
			of Application
			at int64
		}{{a, at}, {b, 0}} {
			got, err := w.Application(t.Context(), want.of.ID)
			must(t, err)
			if got.LastWithoutPKCEAt != want.at || got.LastUsedAt != 0 || got.Version != want.of.Version {
				t.Errorf("%s came without at %d, was used at %d, version %d", got.Name, got.LastWithoutPKCEAt, got.LastUsedAt,
					got.Version)
			}
		}
	})
}

func TestUnusedApplicationsOfNobodyEnd(t *testing.T) {
	each(t, func(t *testing.T, w world) {
		const never, idle = at - 100, at - 1000
		add := func(name, responsible string, created, used int64) Application {
			t.Helper()
			a := newApplication(name)
			a.Responsible, a.CreatedAt = responsible, created
			must(t, w.AddApplication(t.Context(), a, 0))
			if used > 0 {
				must(t, w.NoteUses(t.Context(), map[string]int64{a.ID: used}))
			}
			return a
		}
		kept := map[Application]bool{
			add("an old one of the operator", ByOperator, at-9999, 0):    true,
			add("a forgotten one of a person", ByOwner, at-9999, idle-1): true,
			add("new", ByNobody, never+1, 0):                             true,
			add("old", ByNobody, never, 0):                               false,
			add("older", ByNobody, never-50, 0):                          false,
			add("used", ByNobody, never-5000, idle+1):                    true,
			add("forgotten", ByNobody, at-9999, idle):                    false,
		}
		// One of each kind at a time.
		for _, want := range []int64{2, 1, 0} {
			n, err := w.EndUnusedApplications(t.Context(), never, idle, 1, newEvent("deleted", User{}))
			must(t, err)
			if n != want {
				t.Errorf("%d applications ended, want %d", n, want)
			}
		}
		for a, want := range kept {
			_, err := w.Application(t.Context(), a.ID)
			if want {
				must(t, err)
			} else {
				is(t, a.Name, err, ErrNotFound)
			}
		}
	})
}
