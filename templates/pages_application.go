package templates

// Applications lists the applications of one person, or of all people.
type Applications struct {
	Frame
	TokensURL string // of the initial access tokens; empty unless the reader may make some
	Rows      []ApplicationRow
	Query     string
	Filters   []Filter // empty unless the reader is an administrator
	Selected  bool     // the list contains only what a search or a filter selects
	ShowOwner bool
	Pager     Pager
	Registers bool // the reader may register applications
}

// Filter is a list of choices of which a list shows one. ID is the name of the parameter.
type Filter struct {
	ID, Label string
	Options   []Option
}

// ApplicationRow is one row of Applications.
type ApplicationRow struct {
	Name, URL, ClientID, ClientType, Grants, Owner, LastUsed string

	Suspended    bool
	CameByItself bool
}

// Card is a choice that leads to another page.
type Card struct{ URL, Title, Text string }

// FormKind makes ApplicationForm the form for one kind of application: it shows only the fields that the
// kind needs, and the others under Advanced.
type FormKind struct {
	ID, Title, Text        string // ID is sent back with the form
	RedirectHint           string // empty: the kind needs no redirect URI
	Introspects            bool
	Refusal                string // why this person cannot register one; then there is no form
	Advanced               bool   // shows the advanced fields at once
	ChooseURL, ResourceURL string
	// what a program with OpenID Connect asks for; empty if it is off, or if the kind has no redirect URI
	IssuerURL string
}

// ApplicationForm registers an application or changes one. A new registration begins with Cards, or has a
// Kind; both are empty for the form with all fields.
type ApplicationForm struct {
	Frame
	Cards             []Card
	ProgramsURL       string // the programs that are known; empty: they need what this server does not have
	Kind              *FormKind
	Action, CancelURL string
	Version           string // hidden field: the version of the application that the page shows
	NowURL            string // the application as somebody else changed it after the page was opened; usually empty
	New               bool
	Admin             bool   // the reader is an administrator
	Privileges        bool   // the fields of administrators can be set
	OwnerURL          string // where an administrator takes the application over

	Name, RedirectURIs, ClientType, Grants, Scopes, MayIntrospect Control
	Others                                                        []Control // the other fields
	// those of administrators, but for MayIntrospect
	Guarded []Control

	Errors []FieldError
}

// ApplicationUse says where an application came from, and what it holds now.
type ApplicationUse struct {
	Origin, LastUsed string
	Statement        string // whose software statement it has; may be empty
	People, Tokens   string // numbers, or "more than 1,000"
	Signed           bool   // its access tokens are signed, and so not counted
	RevokeAllURL     string
}

// RefusedRequests lists the last refused requests about an application.
type RefusedRequests struct {
	Rows      []RefusedRequest
	More      bool
	EventsURL string // of the event log; empty unless the reader is an administrator
}

// RefusedRequest is one kind of request that was refused or did not get a scope, and what to change.
type RefusedRequest struct {
	Request, Error, Description string
	Granted                     bool   // it was not refused, but it did not get a scope; there is no Error
	Sender                      string // in words, unless it is known to be the application; may be empty
	Times                       int64
	First, Last                 string // First is empty if it is the same
	Remedy                      string // may be empty
	RemedyURL, RemedyLabel      string // may be empty
}

// ApplicationKey is a public key of an application. Kind and Algorithm may be empty.
type ApplicationKey struct{ ID, Kind, Algorithm, LastUsed string }

// Application shows one application to its developer.
type Application struct {
	Frame
	Name, ClientID, ClientType, Owner, Created string
	Use                                        ApplicationUse
	Samples                                    []Sample // programs with the identifiers of the application
	NeedsLibrary                               bool     // it must do more than simple programs can
	Public                                     bool
	Grants, RedirectURIs, Scopes               []string
	Resources                                  []string // the URIs; the first is the default
	// it authenticates with a certificate; empty: it has a secret, or is public
	CertificateSubject              string
	HashSecret                      bool
	AuthMethod                      string // how it authenticates; empty: by its secret, in any way
	NoSecret                        bool   // it is confidential, and has a private key instead
	Keys                            []ApplicationKey
	JWKSURI                         string   // the address of its keys
	UsesKeys                        bool     // it authenticates by them
	TestKeyURL                      string   // makes a key pair for tests; empty: it cannot have one here
	TestAlgorithms                  []Option // of such a key pair
	NewKey                          string   // the private key of such a pair, shown once
	MayIntrospect, SkipConsent      bool
	PKCE                            string // whether its requests need a code challenge; empty: it sends none
	WithoutPKCE                     string // when it last got a code without one; empty: never
	EndpointAudience                bool
	RequirePushed, RequireSigned    bool   // its authorization requests
	Profile, Bound                  string // its profile, and what its access tokens are bound to; empty: none
	DefaultLogin                    string // how they sign in if a request says nothing; empty: as they like
	RequiredLogin                   string // how people must sign in for it; empty: in any way
	IDTokenClaims                   string // whether ID tokens have the claims of the scopes
	Rotation                        string // of its refresh tokens; empty: as the server is set
	AccessLifetime, RefreshLifetime string
	Standing                        string // who is responsible for it
	Suspended                       string // why it may do nothing; empty: it may
	// its client ID is the URL of the metadata document with which it came
	FromDocument            bool
	FollowsDocument         bool   // the document still describes it
	HasUnusableRights       bool   // its standing does not allow everything that is registered
	OwnerURL                string // empty unless the reader is an administrator
	SignedWith              string // the algorithm of JWT access tokens; empty if they are opaque
	NewSecret               string // shown once, after registration or rotation
	OldSecretUntil          string // until when the secret before the rotation still works
	AuthorizeURL, DeviceURL string // each empty if the application does not use it
	TokenURL, IntrospectURL string // the same
	// of signed introspection responses; empty: the usual one, or it may not introspect
	IntrospectionAlgorithm                   string
	IssuerURL, Algorithm, UserInfoAlgorithm  string // empty without OpenID Connect
	Sector                                   string // the sector of its pairwise subjects
	PostLogoutURIs                           []string
	BackchannelURI                           string
	LaunchURL                                string
	For                                      Restriction // without the denied groups for whoever is only the owner
	PeopleURL                                string      // who may use it; empty unless the reader may see people
	UpdateURL, DeleteURL, RotateURL, ListURL string
	PushURL                                  string // empty unless it must push its authorization requests
	AssertionAudience                        string // aud of its client assertions; empty: it makes none
	Certificate                              bool   // it authenticates with a certificate
	Refused                                  RefusedRequests
	Warnings                                 []string // what its redirect URIs risk
	Settings                                 *ProgramSettings
	Plain                                    []PlainText // what decides nothing
}

// PlainText is a text about an application, with its label.
type PlainText struct{ Label, Text string }

// ProgramSettings is what belongs into the settings of the program for which an application was registered.
type ProgramSettings struct {
	Program, File, Text string
	Notes               []string
	Verified            string
	// the text has the client secret, or other words in its place; neither: there is no secret
	WithSecret, WithoutSecret bool
}

// Programs lists the programs that are known.
type Programs struct {
	Frame
	Query                string
	Installed, Libraries []ProgramRow
	OtherURL, KindsURL   string // for a website that is not in the list, and for all else
}

// ProgramRow is a program in the list.
type ProgramRow struct{ Title, URL string }

// ProgramForm registers an application for a program.
type ProgramForm struct {
	Frame
	Program, Title, Action, ListURL string
	Library                         bool // with which people write a program
	Name                            Field
	Address                         *Field // nil: it has none
	Questions                       *Questions
	Errors                          []FieldError
}

// Questions are what matters of a website that is not in the list. PKCE and Claims are empty if the reader may not set
// them.
type Questions struct {
	RedirectURIs         Field
	PKCE, Claims, Groups []Option
}

// Rotate replaces a client secret. Overlap is the time in which the old secret still works.
type Rotate struct {
	Frame
	Name, Action, CancelURL string
	Overlap                 []Option
	Error                   string
}

// Owner asks an administrator who is to be responsible for an application.
type Owner struct {
	Frame
	Name, Owner, Standing string
	Suspended             string // why it is suspended; empty: it is not
	Mine                  bool   // this administrator is already responsible for it
	Action, CancelURL     string
	Username              Field
	RedirectURIs          []string
	Version               string // of the application that the page shows; the forms send it back
}

// OwnedApplication is an application of a person, as an administrator sees it.
type OwnedApplication struct {
	ID, Name, ClientID, URL string
	Stays                   bool // an administrator is responsible, so it stays if the person is deleted
	Suspended               bool
	DeleteURL               string // empty: the row has no button
}
