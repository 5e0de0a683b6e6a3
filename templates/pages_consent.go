package templates

// Asker is an application that asks for something, and what it says about itself.
type Asker struct {
	// the application that asks, and its owner; strangers choose both names, and both may be empty
	Application, Owner string
	DocumentHost       string // the host of the metadata document with which the application came; may be empty
	DocumentURL        string
	Unchecked          bool // nobody is responsible for what the application says about itself
	LocalOnly          bool // Unchecked, and all its redirect URIs belong to programs on the person's own device
	// the issuer of a software statement who vouches for the name and the redirect URIs; may be empty
	Voucher string

	LogoURL                      string // the path of its logo at this server; may be empty
	HomeURL, PolicyURL, TermsURL string // pages of the application itself; each may be empty
}

// Access is what an application asks a person for.
type Access struct {
	Asker
	Scopes     []ConsentScope
	Beyond     Beyond
	Resources  []API // the APIs that the access is for; empty: only this server
	AlsoServer bool  // the access is for this server too, beside the resources
	Offline    bool  // the access continues after the session ends
	Learns     []Learned
}

// Learned is a claim of the application's own that no scope stands for.
type Learned struct {
	Claim string
	Field string // of the profile; "": it comes from the groups
}

// Beyond is what an application asks for and cannot get.
type Beyond struct {
	Scopes  string // names of scopes of this server; may be empty
	Unknown int    // the number of others: a stranger chooses their names
}

// Consent asks a person whether an application may act for them.
type Consent struct {
	Frame
	Access
	RedirectHost string // where the answer goes, in words: a host, or "an app on this device (com.example.app:/)"
	RedirectURI  string // where the answer goes, as the full URI
	Loopback     bool   // the answer goes to a program on this computer
	Ticket       string // hidden field: the request that the person decides on
	Action       string
	SwitchURL    string // leads to the login page, for another account
}

// Device asks for the code that a device shows (RFC 8628 §3.3).
type Device struct {
	Frame
	Code      Field
	Linked    bool // the code comes from a link or a QR code
	Action    string
	SwitchURL string // leads to the login page, for another account
}

// DeviceApproval asks a person whether the application on a device may act for them.
type DeviceApproval struct {
	Frame
	Access
	Code      string // as the device shows it
	Program   string // what the device calls itself; a stranger chooses it, may be empty
	Address   string // from which the device asks
	Near      bool   // the device has the network address of this browser
	Asked     string // when
	Ticket    string // hidden field: the request that the person decides on
	Action    string
	SwitchURL string // leads to the login page, for another account
}

// Excluded says that a person may not use an application.
type Excluded struct {
	Frame
	Application string // may be empty
	Email       string // of the person; may be empty
	Groups      string // whose members may use it; may be empty
	NobodyNew   bool   // only people who use it already may use it
	SwitchURL   string // leads to the login page, for another account

	// The way back to the application: an address, or a form that is sent to it; both may be empty.
	BackURL    string
	BackURI    string
	Parameters []Hidden
	Unchecked  *Target // nobody has checked the application: where the way leads; usually nil
}

// DeviceAnswered says that the device learns the decision.
type DeviceAnswered struct {
	Frame
	Allowed    bool
	AccountURL string
}

// ConsentScope is one scope. New means that the last consent did not contain it.
type ConsentScope struct {
	Name, Description string
	New               bool
}

// API is a resource as people see it. New means that the last consent was not for it.
type API struct {
	Name, URI string
	New       bool
}
