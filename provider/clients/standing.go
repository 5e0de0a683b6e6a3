package clients

import (
	"mandate/provider/policy"
	"mandate/storage"
)

// droppable removes what is too old.
type droppable interface{ Drop() }

// byStanding has one of something for each standing of applications. What is fetched for one of them is limited, so
// nobody can use up what those of another standing have.
type byStanding[T droppable] struct{ administrators, persons, openOnes T }

func (b byStanding[T]) of(a storage.Application) T {
	switch policy.StandingOf(a) {
	case policy.StandingOpen:
		return b.openOnes
	case policy.StandingPerson:
		return b.persons
	}
	return b.administrators
}

func (b byStanding[T]) drop() {
	b.administrators.Drop()
	b.persons.Drop()
	b.openOnes.Drop()
}
