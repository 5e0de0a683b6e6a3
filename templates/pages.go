package templates

// Frame is what every page embeds: the parts of the layout that change.
type Frame struct {
	Title    string // of the document; empty means the page's own
	Username string // the signed-in person, empty if nobody
	Admin    bool   // shows the administrators' part of the navigation
	Notice   string // a message of success, shown once at the top
}

// Field is a text control of a form: what was typed, and what is wrong with it.
type Field struct{ Value, Error string }

// FieldError is a line of the summary above a form. ID is the field's name, which is also the id of its control or fieldset.
type FieldError struct{ ID, Message string }

// Option is one radio button or checkbox of a group.
type Option struct {
	Value, Label, Help string
	Checked            bool
}

// Pager says which part of a long list is shown. An empty URL means there is no such page.
type Pager struct {
	Page, Pages, Total int
	PrevURL, NextURL   string
}

// Home is "/": three cards for a signed-in person, what this server is for anybody else.
type Home struct {
	Frame
	Applications, AuthorizedApps, Sessions int
	SignedOut                              bool // the session has just ended in this browser
}

// Login asks for a name and a password.
type Login struct {
	Frame
	Name          Field
	PasswordError string
	Error         string // about the attempt as a whole: wrong name or password, too many attempts
	Next          string // where to go afterwards, sent back as it came
	Action        string
	Again         Again
}

// Again tells a person who has a session why they have to sign in again. It is
// empty if they came to the login page for no such reason.
type Again struct {
	Reason  string // hidden field: it is sent back with the form
	Heading string
	Text    string
}

// Setup makes the first administrator. It is reached by a link that works once.
type Setup struct {
	Frame
	Action                         string
	UsernameField, Email, Password Field
	Error                          string
}

// Logout asks before it ends the session, because any site can send a browser here.
type Logout struct {
	Frame
	Action      string
	Application string // which one asks, chosen by a stranger; empty where the person came by themselves
	Ticket      string // hidden field: the request of that application
	OpenID      bool   // logins at applications end too
	GoesTo      string // nobody is signed in: all that is left is to go there
}

// Consent asks a person whether an application may act for them.
type Consent struct {
	Frame
	Application, Owner string // who asks; both are chosen by strangers, Owner may be empty
	RedirectHost       string // where the answer goes, for a person: a host, or "an app on this device (com.example.app:/)"
	RedirectURI        string // where the answer goes, in full
	Loopback           bool   // the answer goes to a program on this very computer
	Scopes             []ConsentScope
	Ticket             string // hidden field: the request that is being answered
	Action             string
	Offline            bool   // the access outlives the session
	SwitchURL          string // signs in as somebody else
}

// ConsentScope is one permission. New means it was not part of the last approval.
type ConsentScope struct {
	Name, Description string
	New               bool
}

// ErrorPage explains what went wrong to a person, and in a part of its own to the developer.
type ErrorPage struct {
	Frame
	Status             int
	Heading, Message   string
	Code               string   // the protocol's error code, may be empty
	Diff               *URIDiff // set when a redirect URI is not registered
	RequestID          string   // finds the log line
	BackURL, BackLabel string
}

// URIDiff shows in which part a redirect URI differs from the nearest registered one.
type URIDiff struct {
	Of      string // what the URI is called
	Part    string // "scheme", "host", "port", "path", "query", or "nothing is registered"
	Sent    []Segment
	Nearest []Segment
}

// Segment is a stretch of a URI.
type Segment struct {
	Text    string
	Differs bool
}

// Applications lists client applications, a person's own or everybody's.
type Applications struct {
	Frame
	Rows      []ApplicationRow
	Query     string
	ShowOwner bool
	Pager     Pager
}

// ApplicationRow is a line of Applications.
type ApplicationRow struct {
	Name, URL, ClientID, ClientType, Grants, Owner, Created string

	Suspended bool
}

// ApplicationForm registers an application or changes one.
type ApplicationForm struct {
	Frame
	Action, CancelURL             string
	New                           bool
	Admin                         bool   // an administrator reads it
	Privileges                    bool   // MayIntrospect, SkipConsent and PKCEExempt can be set
	OwnerURL                      string // where an administrator takes the application over
	Name, RedirectURIs            Field  // RedirectURIs holds one a line
	ClientType                    []Option
	ClientTypeError               string
	Grants                        []Option
	GrantsError                   string
	HashSecret                    bool
	HashSecretError               string
	Scopes                        []Option
	ScopesError                   string
	MayIntrospect                 bool
	SkipConsent                   bool
	PKCEExempt                    bool
	AccessLifetime                Field // seconds; empty means the server's
	RefreshLifetime               Field
	DefaultAccess, DefaultRefresh string   // the server's own, as "36000 seconds (10 hours)"
	Formats                       []Option // of access tokens
	FormatError                   string

	OpenID                 bool // the rest is of OpenID Connect
	Algorithms             []Option
	AlgorithmError         string
	UserInfoAlgorithms     []Option
	UserInfoAlgorithmError string
	Pairwise               bool
	PairwiseError          string
	PostLogoutURIs         Field // one a line
	BackchannelURI         Field

	Errors []FieldError
}

// Application shows one application to its developer.
type Application struct {
	Frame
	Name, ClientID, ClientType, Owner, Created string
	Public                                     bool
	Grants, RedirectURIs, Scopes               []string
	HashSecret                                 bool
	MayIntrospect, SkipConsent, PKCEExempt     bool
	AccessLifetime, RefreshLifetime            string
	Standing                                   string // who answers for it
	Suspended                                  bool   // nobody does, so it may do nothing
	Dormant                                    bool   // something is registered that its standing does not allow
	OwnerURL                                   string // empty unless an administrator reads it
	SignedWith                                 string // the algorithm of access tokens that are JWTs
	NewSecret                                  string // after registration or rotation, this once
	OldSecretUntil                             string // until when a rotated secret still works
	AuthorizeURL, TokenURL                     string
	IssuerURL, Algorithm, UserInfoAlgorithm    string // empty without OpenID Connect
	Sector                                     string // the subjects are made for it alone
	PostLogoutURIs                             []string
	BackchannelURI                             string
	UpdateURL, DeleteURL, RotateURL, ListURL   string
}

// Rotate replaces a client secret. Overlap says how long the old one goes on working.
type Rotate struct {
	Frame
	Name, Action, CancelURL string
	Overlap                 []Option
	Error                   string
}

// Owner asks an administrator who is to answer for an application.
type Owner struct {
	Frame
	Name, Owner, Standing string
	Suspended, Mine       bool // Mine: the administrator answers for it already
	Action, CancelURL     string
	Username              Field
}

// OwnedApplication is an application of a person whom an administrator looks at.
type OwnedApplication struct {
	ID, Name, ClientID, URL string
	Vouched                 bool // the operator answers for it, whatever becomes of the person
	Suspended               bool
}

// Confirm asks before something that cannot be taken back.
type Confirm struct {
	Frame
	Heading, Message          string
	Action, Button, CancelURL string
	Danger                    bool
	Details                   []string // what will be lost

	Owned     []OwnedApplication // of a person who is deleted
	Fate      []Option           // what becomes of those that only this person answers for
	FateError string
}

// Account is a person's own page: who they are, what may act for them, where they are signed in.
type Account struct {
	Frame
	FullName, Email              string
	Claims                       []Fact // what else applications may be told; empty without OpenID Connect
	Authorized                   []AuthorizedApp
	Sessions                     SessionList
	PasswordAction               string
	CurrentPassword, NewPassword Field
	KeepApprovals                bool // clears the box that ends what was allowed elsewhere
}

// Fact is a line of what is known.
type Fact struct{ Name, Value string }

// AuthorizedApp is an application that a person has approved. RevokeAction takes a POST.
type AuthorizedApp struct{ Name, Owner, Scopes, Since, RevokeAction string }

// SessionList is where a person is signed in. EndAllAction takes a POST.
type SessionList struct {
	Rows         []SessionRow
	EndAllAction string
}

// SessionRow is a browser in which a person is signed in. EndAction takes a POST.
type SessionRow struct {
	Device, Address, Since, LastSeen string
	Current                          bool
	EndAction                        string
}

// Users lists people, for administrators.
type Users struct {
	Frame
	Rows   []UserRow
	Query  string
	Pager  Pager
	NewURL string
}

// UserRow is a line of Users.
type UserRow struct {
	Username, URL, Name, Email, Groups string
	Active, Admin                      bool
}

// UserForm adds a person or changes one.
type UserForm struct {
	Frame
	New                                       bool
	Action, CancelURL, DeleteURL              string
	UsernameField, Email, FirstName, LastName Field
	Password                                  Field // optional when a person is changed
	Groups                                    []Option
	Active, Administrator                     bool
	Self                                      bool        // it is their own record: they cannot lock themselves out
	Claims                                    *ClaimsForm // nil without OpenID Connect
	Sessions                                  SessionList // of somebody who is there already
	Owned                                     []OwnedApplication
	State                                     string // of the account, as the page shows it
	Errors                                    []FieldError
}

// ClaimsForm is the part of UserForm that applications are told by OpenID Connect.
type ClaimsForm struct {
	EmailVerified, PhoneVerified                                  bool
	EmailVerifiedError, PhoneVerifiedError                        string
	MiddleName, Nickname, Gender, Birthdate, ZoneInfo, Locale     Field
	PhoneNumber, Profile, Picture, Website                        Field
	Address, StreetAddress, Locality, Region, PostalCode, Country Field
}

// Groups lists the groups, with a form that adds one.
type Groups struct {
	Frame
	Rows      []GroupRow
	Action    string
	NameField Field
}

// GroupRow is a line of Groups.
type GroupRow struct {
	Name      string
	Members   int
	DeleteURL string
}

// Walk shows the messages of the code flow, step by step. Its first page has choices and no steps.
type Walk struct {
	Frame
	Intro      string
	Choices    []WalkChoice
	Steps      []WalkStep
	RestartURL string
}

// WalkChoice is a site that a walk can begin at.
type WalkChoice struct{ Title, Text, URL, Label string }

// WalkStep is one exchange. Request and Response are shown as they are: HTTP messages, JSON.
type WalkStep struct {
	Title, Text       string
	Request, Response string
	Token             *WalkToken
	Checks            []string // what the site has held the answer against
}

// WalkToken is an ID token in readable form.
type WalkToken struct {
	Header, Claims string // JSON
	Meanings       []Fact
}

// FormPost carries an answer to the application in a form that sends itself (OIDC Form Post Response Mode §2).
type FormPost struct {
	Frame
	Action     string // the application's redirect URI
	Parameters []Hidden
}

// Hidden is a field that nobody sees.
type Hidden struct{ Name, Value string }
