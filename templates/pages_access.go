package templates

// AccessPeople lists the people who may use an application.
type AccessPeople struct {
	Frame
	Name, ApplicationURL string
	For                  Restriction
	Suspended            string // why nobody may use it; empty: it is not suspended
	Query                string
	Rows                 []AccessPerson
	FirstURL, NextURL    string // empty: there is no such page
	ExportURL, CheckURL  string
}

// Restriction says for whom an application is. All of it is empty if it is for everybody.
type Restriction struct {
	Allowed, Denied []string // the names of groups
	NobodyNew       bool
}

// Restricted reports whether an application is not for everybody.
func (r Restriction) Restricted() bool { return len(r.Allowed)+len(r.Denied) > 0 || r.NobodyNew }

// AccessPerson is a row of AccessPeople.
type AccessPerson struct{ Username, Name, Email, URL, WhyURL string }

// AccessApplications lists the applications that a person may use.
type AccessApplications struct {
	Frame
	Username, PersonURL string
	Disabled            bool // so the person may use nothing
	Query               string
	Rows                []AccessApplication
	FirstURL, NextURL   string // empty: there is no such page
	ExportURL           string
}

// AccessApplication is a row of AccessApplications.
type AccessApplication struct{ Name, ClientID, URL, WhyURL string }

// Membership makes a person a member of a group until a day.
type Membership struct {
	Frame
	Username, PersonURL, Action string
	Groups                      []Option
	GroupError                  string
	Until                       Field
	Errors                      []FieldError
}

// TemporaryMembership is a membership that ends by itself.
type TemporaryMembership struct{ Group, Until string }

// AccessCheck says what would happen if a person used an application.
type AccessCheck struct {
	Frame
	Name, ApplicationURL, PeopleURL string
	Person                          Field    // the username, as it was typed
	Of                              *Outcome // nil: there is no person yet
}

// Outcome is what would happen for one person.
type Outcome struct {
	Username, PersonURL string
	Allowed             bool
	Conditions          []AccessCondition
	Scopes              []string // the most that the application can get; none: it learns nothing about the person
	SkipsConsent        bool
	Claims              []AccessClaim
}

// AccessClaim is a claim that the application would read, with what gives it its value.
type AccessClaim struct{ Place, Name, Value, Why string }

// AccessCondition is a row of Outcome. Why names what it is about.
type AccessCondition struct {
	Text, Why string
	Met       bool
}
