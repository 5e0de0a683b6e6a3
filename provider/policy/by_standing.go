package policy

import "mandate/storage"

// Droppable removes what is too old.
type Droppable interface{ Drop() }

// ByStanding has one of something for each standing of applications. What is fetched for one of them is limited, so
// nobody can use up what those of another standing have.
type ByStanding[T Droppable] struct{ Administrators, Persons, Open T }

// Of returns the one for an application.
func (b ByStanding[T]) Of(a storage.Application) T {
	switch StandingOf(a) {
	case StandingOpen:
		return b.Open
	case StandingPerson:
		return b.Persons
	}
	return b.Administrators
}

// Drop removes what is too old.
func (b ByStanding[T]) Drop() {
	b.Administrators.Drop()
	b.Persons.Drop()
	b.Open.Drop()
}
