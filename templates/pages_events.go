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
	Errors                                    []FieldError
}

// EventRow is an event. The URLs select the events that have the same in common; those of what is empty are empty.
type EventRow struct {
	At, Since                                           string // Since only if it was counted
	Kind, Meaning, Detail                               string
	Actor, Person, Object                               string // what stands in parentheses in the actor is no person
	Address, Browser                                    string
	Count                                               int64
	KindURL, ActorURL, PersonURL, ObjectURL, AddressURL string
}

// Activity is what has happened to the account of a person, the newest first.
type Activity struct{ Rows []ActivityRow }

// ActivityRow is one event in words for everybody. What is not known is empty.
type ActivityRow struct {
	Text, Object, At     string
	By, Address, Browser string
	Alarming             bool // somebody else may have tried to use the account
	Times                int
}

// Glance is the state of a person, for an administrator who has a question about them.
type Glance struct {
	Active, Administrator, Auditor bool
	LastSignIn                     string // empty: there was none, or it is too old for the event log
	Sessions                       int
	Factors                        string // empty: none
	NoAddress, Confirmed           bool
	Failures                       int64 // in the last 24 hours
}
