package clients

import (
	"strings"

	"mandate/provider/events"
	"mandate/provider/origin"
	"mandate/provider/policy"
	"mandate/storage"
)

// ChangeEvents returns the event of a change of an application, with the names of the columns that change,
// and without their values. also names what changes beside them. It returns none if nothing changes. If by is nil, the
// actor is that of the context.
func ChangeEvents(was, now storage.Application, by *origin.Actor, also ...string) []events.Event {
	names := append(policy.ChangedColumns(was, now), also...)
	if len(names) == 0 {
		return nil
	}
	return []events.Event{{
		Kind:   events.ApplicationChanged,
		Person: events.OwnerOf(now),
		By:     by,
		Object: events.Application(now),
		Detail: strings.Join(names, " "),
	}}
}
