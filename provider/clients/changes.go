package clients

import (
	"reflect"
	"slices"
	"strings"

	"mandate/provider/events"
	"mandate/provider/origin"
	"mandate/storage"
)

// notChanges are the columns that a change of an application does not write, or always writes.
var notChanges = []string{"owner", "owner_is_admin", "owner_is_active", "created_at", "updated_at", "renewed_at", "last_used_at", "last_without_pkce_at", "generation", "version", "registration_digest", "management"}

// ChangeEvents returns the event of a change of an application, with the names of the columns that change,
// and without their values. It returns none if nothing changes. If by is nil, the actor is that of the context.
func ChangeEvents(was, now storage.Application, by *origin.Actor) []events.Event {
	before, after := reflect.ValueOf(was), reflect.ValueOf(now)
	var names []string
	for i := range before.NumField() {
		name := before.Type().Field(i).Tag.Get("db")
		if !slices.Contains(notChanges, name) && !reflect.DeepEqual(before.Field(i).Interface(), after.Field(i).Interface()) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []events.Event{{Kind: events.ApplicationChanged, Person: events.OwnerOf(now), By: by, Object: events.Application(now), Detail: strings.Join(names, " ")}}
}
