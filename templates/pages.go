package templates

// Home is the start page: what a person who is signed in can open, with three cards for those who have more to do here,
// and a description of the server for anybody else.
type Home struct {
	Frame
	Recent, Tiles []Tile // the last used ones stand apart if there are many
	Query         string // the last search
	Searches      bool   // there is enough to search in
	Most          int    // there are more tiles than this number; 0: these are all

	Duties                                 bool // the person has applications, or is an administrator
	Applications, AuthorizedApps, Sessions int
	SignedOut                              bool          // the session has just ended in this browser
	Elsewhere                              *ServerButton // the person can sign out there too
	NoAccount                              bool          // nobody can sign in yet
	Restricted                             bool          // not everybody may register applications
}

// Tile leads to an application of somebody else. Its logo is a picture of this server; empty: it has none.
type Tile struct{ Name, URL, Host, Letter, Logo string }

// Login asks for the username and the password.
type Login struct {
	Frame
	Name          Field
	ByAddress     bool // the label says that the email address signs in too
	PasswordError string
	Error         string // about the attempt as a whole: wrong name or password, too many attempts
	Next          string // the address to which the login leads; the form returns it unchanged
	Action        string
	Again         Again
	Asker         *Asker    // the application for which the person signs in; nil: it says nothing about itself
	Passkey       *Ceremony // nil: no passkeys
	ForgotURL     string    // the page for a forgotten password
	SignUpURL     string    // the page for people without an account; empty: they need an invitation
	Servers       []ServerButton
	Closed        bool // only an administrator adds accounts
}

// ServerButton leads to another server.
type ServerButton struct{ Label, Action string }

// Ceremony is a form that carries a request to an authenticator and its response. A script does it.
type Ceremony struct {
	Action  string
	Options string // the request: JSON
	Ticket  string // hidden field: the challenge of the request
	Again   string // the address of the page with a new request
}

// Again tells a person who has a session why they have to sign in again. It is
// empty if they came to the login page for no such reason.
type Again struct {
	Reason  string // hidden field: it is sent back with the form
	Heading string
	Text    string
}

// Setup creates the first administrator. The link to it works once.
type Setup struct {
	Frame
	Action                         string
	UsernameField, Email, Password Field
	FirstName, LastName            Field
	PasswordHint                   string // how long a new password must be, and what makes a good one
	Error                          string
	Passkeys                       bool // the next page offers to add a passkey
}

// Logout asks for a confirmation before the session ends, because any site can send a browser here.
type Logout struct {
	Frame
	Action      string
	Application string // the name of the application that asks, chosen by a stranger; empty if the person opened the page
	Ticket      string // hidden field: the logout request of that application
	OpenID      bool   // the logout also ends logins at applications
	Aside       bool   // nobody is signed in: the page only offers to go on
	Then        *Target
}

// Target is an address of an application, to which the browser goes next.
type Target struct {
	Host string // or what else a person recognizes
	URI  string
}

// ErrorPage explains an error to a person, and separately to the developer of the application.
type ErrorPage struct {
	Frame
	Status             int
	Heading, Message   string
	Code               string   // the error code of the protocol; may be empty
	Description        string   // what the developer of the application has to change; may be empty
	Diff               *URIDiff // set when a redirect URI is not registered
	RequestID          string   // the ID of the request in the log
	BackURL, BackLabel string
	More               []Link  // other places to go on
	Unchecked          *Target // to which BackURL leads, if nobody has checked the application
	Tell               bool    // somebody other than the person must know of it
	Application        string  // whose operator must; empty: that of this server
	SentID             string  // the client ID of an authorization request, if no application has it
}

// Link leads to a page.
type Link struct{ URL, Label string }

// URIDiff shows in which part a redirect URI differs from the nearest registered one.
type URIDiff struct {
	Of      string // the name for the URI, such as "redirect URI"
	Part    string // "scheme", "host", "port", "path", "query", or "nothing is registered"
	Sent    []Segment
	Nearest []Segment
}

// Segment is a part of a URI.
type Segment struct {
	Text    string
	Differs bool
}

// Ask asks a person for a confirmation before a change of their own account.
type Ask struct {
	Frame
	Heading, Message          string
	Action, Button, CancelURL string
	Danger                    bool
	LeadsAway                 bool     // the form leads to another server
	Details                   []string // what follows from it
}

// Confirm asks an administrator, or the owner of an application, for a confirmation before an action that
// cannot be undone.
type Confirm struct {
	Frame
	Heading, Message          string
	Action, Button, CancelURL string
	Danger                    bool
	Details                   []string // what will be deleted

	Owned     []OwnedApplication // the applications of a person who is to be deleted
	Fate      []Option           // what happens to those for which only this person is responsible
	FateError string

	After []Option // what the person who confirms allows afterwards

	Sent []SentField // of a form that is sent again
}

// SentField is a field of a form as it was sent.
type SentField struct{ Name, Value string }

// Account is the page of a person: their data, the applications that may act for them, and their
// sessions.
type Account struct {
	Frame
	PasswordHint                 string // how long a new password must be, and what makes a good one
	FullName, Email              string
	Claims                       []Fact // the other claims that applications may get; empty without OpenID Connect
	Methods                      SignInMethods
	Authorized                   []AuthorizedApp
	Sessions                     SessionList
	PasswordAction               string
	CurrentPassword, NewPassword Field
	EmailURL                     string // the form of the email address; empty: the person may not change it
	ProfileURL                   string // the form of the profile; empty: the person may change nothing of it
	Unverified                   bool   // the address is not confirmed, and applications can learn that
	VerifyAction                 string // sends a link that verifies the address; empty: no link can be sent
	KeepApprovals                bool   // clears the box that revokes what was approved in other sessions
	Passkeys                     *PasskeyList
	Identities                   IdentityList
	Activity                     Activity
}

// NewEmail asks for the address that a person wants to have.
type NewEmail struct {
	Frame
	Action, CancelURL string
	Present           string // the address so far; may be empty
	Email             Field
	Error             string // about the attempt as a whole: too many messages
}

// Profile is the form with what a person may change of their own account. An empty list: not that.
type Profile struct {
	Frame
	Action, CancelURL      string
	Named                  bool // the name
	FirstName, LastName    Field
	Locales, Zones         []Option
	LocaleError, ZoneError string
}

// IdentityList lists the accounts of other servers with which a person signs in, and the servers whose
// account the person can add.
type IdentityList struct {
	Rows []IdentityRow
	Add  []ServerButton
}

// IdentityRow is an account of another server. LastUsed is empty if it was never used.
type IdentityRow struct {
	Label, Added, LastUsed, RemoveURL string
	Gone                              bool // people cannot sign in with this server any more
}

// PasskeyList lists the passkeys of a person.
type PasskeyList struct {
	Rows   []PasskeyRow
	AddURL string
	Full   bool // the person may not add another one
}

// PasskeyRow is a passkey. LastUsed is empty if it was never used.
type PasskeyRow struct {
	Name, Added, LastUsed    string
	BackupEligible, BackedUp bool
	URL, RemoveURL           string
}

// Passkey changes the name of a passkey.
type Passkey struct {
	Frame
	Passkey           PasskeyRow
	Action, CancelURL string
	NameField         Field
}

// NewPasskey adds a passkey. Request is nil if the person may not add another one.
type NewPasskey struct {
	Frame
	Request   *Ceremony
	CancelURL string
	Most      int // how many a person may have
	Error     string
	Next      string // hidden field: where to go on; may be empty
	Required  bool   // the person cannot go on without it
}

// Fact is a name with its value.
type Fact struct{ Name, Value string }

// AuthorizedApp is an application that a person has approved. RevokeAction accepts a POST.
type AuthorizedApp struct {
	Name, Owner, Scopes, Since, RevokeAction string
	Document                                 string // the URL of its metadata document, if it came with one
	Resources                                []API  // the APIs at which it may act; empty: only this server
	Responsible                              string // who is responsible for it, in a sentence
	Unchecked                                bool   // nobody is responsible for it
	LastUsed                                 string // in a sentence
}

// SessionList lists the sessions of a person. EndAllAction accepts a POST.
type SessionList struct {
	Rows         []SessionRow
	EndAllAction string
}

// SessionRow is the session in one browser. EndAction accepts a POST.
type SessionRow struct {
	Device, Address, Since, LastSeen string
	Current                          bool
	EndAction                        string
}

// Users lists all people. It is for administrators.
type Users struct {
	Frame
	Rows   []UserRow
	Query  string
	Pager  Pager
	NewURL string

	InvitationsURL string // empty: nobody can use an invitation
}

// UserRow is one row of Users.
type UserRow struct {
	Username, URL, Name, Email, Groups string
	Active, Admin, Auditor             bool
}

// UserForm adds or changes a person.
type UserForm struct {
	Frame
	New                                       bool
	Action, CancelURL, DeleteURL              string
	UsernameField, Email, FirstName, LastName Field
	Password                                  Field  // optional if the person exists
	PasswordHint                              string // how long a new password must be, and what makes a good one
	Groups                                    []Option
	Administers                               []Option // the groups, of a person who exists
	Active, Administrator, Auditor            bool
	// it is the administrator's own account, which they cannot lock
	Self         bool
	Claims       *ClaimsForm   // nil without OpenID Connect
	Methods      SignInMethods // of a person who exists
	Sessions     SessionList   // likewise
	Owned        []OwnedApplication
	State        string // of the account that the administrator has seen: see people.StateOf
	ResetAction  string // makes a link with which the person chooses a new password
	ResetLink    string // that link, shown once
	ResetMinutes int    // for which it works
	Errors       []FieldError
	Glance       *Glance // of a person who exists
	Activity     Activity
	EventsURL    string
	UsableURL    string // what the person may use
	Temporary    []TemporaryMembership
	JoinURL      string // makes the person a member for a time; empty: there is no group
	Allowed      []AllowedRow
	Invited      []InvitedBy
}

// AllowedRow is an application to which a person has given access.
type AllowedRow struct{ Name, URL, Scopes, Since, RevokeURL string }

// InvitedBy is an invitation that a person has made.
type InvitedBy struct{ Email, URL, WithdrawURL, Until string }

// ClaimsForm is the part of UserForm with the claims that applications may get (OpenID Connect).
type ClaimsForm struct {
	EmailVerified, PhoneVerified                                  bool
	EmailVerifiedError, PhoneVerifiedError                        string
	MiddleName, Nickname, Gender, Birthdate, ZoneInfo, Locale     Field
	PhoneNumber, Profile, Picture, Website                        Field
	Address, StreetAddress, Locality, Region, PostalCode, Country Field
}

// Groups lists the groups and has a form that adds one.
type Groups struct {
	Frame
	Rows      []GroupRow
	Action    string
	NameField Field
}

// GroupRow is one row of Groups.
type GroupRow struct {
	Name      string
	Members   int
	DeleteURL string
}

// Resources lists the APIs that tokens can be issued for. It is for administrators.
type Resources struct {
	Frame
	Rows          []ResourceRow
	Query, NewURL string
	Pager         Pager
	Configured    bool // a row comes from the configuration
}

// ResourceRow is one row of Resources. URL is empty if the resource comes from the configuration.
// Scopes is empty for every scope.
type ResourceRow struct{ Name, URI, URL, Scopes, TokenFormat string }

// ResourceForm adds or changes a resource.
type ResourceForm struct {
	Frame
	New                          bool
	Action, CancelURL, DeleteURL string
	Version                      string // hidden field: the version of the resource that the page shows
	// the resource as somebody else changed it after the page was opened; usually empty
	NowURL                                   string
	NameField, URI, Lifetime, Introspectors  Field // the URI is fixed if the resource exists
	Scopes, Formats, Algorithms              []Option
	Constrained                              bool // only sender-constrained tokens
	ScopesError, FormatError, AlgorithmError string
	Typs                                     []Option // the typ of signed tokens
	TypError                                 string
	Errors                                   []FieldError
}

// Walk shows the messages of the code flow, step by step. Its first page has choices and no steps.
type Walk struct {
	Frame
	Intro      string
	Choices    []WalkChoice
	Steps      []WalkStep
	RestartURL string
}

// WalkChoice is a site at which the walk can begin.
type WalkChoice struct{ Title, Text, URL, Label string }

// WalkStep is one exchange of messages. Request and Response are shown as they are: HTTP messages or
// JSON.
type WalkStep struct {
	Title, Text       string
	Request, Response string
	Tokens            []WalkToken // the JWTs in these messages
	Checks            []string    // the checks that the site has made on the answer
}

// WalkToken is a JWT in readable form. Text says what it proves, and Clause where this is written.
type WalkToken struct {
	Title, Text, Clause string
	Raw                 string // the JWT itself
	Header, Claims      string // JSON
	Meanings            []Fact
}

// FormPost sends an authorization response to the application in a form that submits itself (OIDC Form
// Post Response Mode §2).
type FormPost struct {
	Frame
	Action     string // the application's redirect URI
	Parameters []Hidden
	// Unchecked is the redirect URI, if nobody has checked the application. The form does not submit
	// itself then.
	Unchecked   *Target
	Description string // what the developer of an unchecked application has to change
}

// Hidden is a hidden field of a form.
type Hidden struct{ Name, Value string }

// Members lists the groups that a person administers, or the members of one of them.
type Members struct {
	Frame
	Groups       []Option // the name and the address of each; of the page without a group
	Group        string
	Rows         []MemberRow
	Pager        Pager
	InviteAction string // empty: nobody can be invited
	Recipient    Field
}

// MemberRow is a member of a group.
type MemberRow struct {
	Username, Name, URL string
	Until               string // when the membership ends by itself; empty: never
	Active              bool
}

// Member is a member of a group, for a person who administers it. An empty action is not allowed.
type Member struct {
	Frame
	Row                                                   MemberRow
	Group, GroupURL, Email                                string
	Reasons                                               []string // why something is not allowed
	LinkAction, FactorsAction, ActiveAction, RemoveAction string
}
