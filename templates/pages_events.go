package templates

// Events is the event log, for administrators.
type Events struct {
	Frame
	Rows                 []EventRow
	Kinds                []Option
	Action, ExportAction string
	NewestURL, OlderURL  string // empty if there is no such page
	Most                 int    // how many events an export has at most

	// The filters, as they were sent.
	Person, By, Object, Address, Since, Until string
	Filtered                                  bool
}

// EventRow is an event. The URLs select the events that have the same in common; those of what is empty are empty.
type EventRow struct {
	At, Since                                           string // Since only if it was counted
	Kind, Meaning, Detail                               string
	Actor, Person, Object                               string // the actor is empty if nothing is known
	Address, Browser                                    string
	Count                                               int64
	KindURL, ActorURL, PersonURL, ObjectURL, AddressURL string
}
