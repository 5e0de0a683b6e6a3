package presets

// Format is the syntax of the settings of a program.
type Format string

// The formats.
const (
	Apache     Format = "apache"
	Env        Format = "env" // assignments, which a shell, Docker Compose and systemd read alike
	Go         Format = "go"
	INI        Format = "ini"
	JavaScript Format = "javascript"
	JSON       Format = "json"
	List       Format = "list" // a label and a value on each line, for a page of the program
	Properties Format = "properties"
	Python     Format = "python"
	Ruby       Format = "ruby"
	Shell      Format = "shell" // commands
	TOML       Format = "toml"
	YAML       Format = "yaml"
)

// How a row was verified.
const (
	Text = "text" // a person signed in, with exactly this text of the settings
	Run  = "run"  // a person signed in with this version; its settings were written by hand
	Read = "read" // from the documentation of the program, or from a guide that names this version
)

// Verified says how the facts of a row are known. Version may be empty: the documentation names none. What is about no
// program has nothing to verify.
type Verified struct{ How, Version, Date string }

// String is the text for people. It promises no more than what was done.
func (v Verified) String() string {
	if v.How == "" {
		return ""
	}
	text := map[string]string{Text: "tested", Run: "tested by hand", Read: "read in its documentation"}[v.How]
	if v.Version != "" {
		text += ", version " + v.Version
	}
	return text + ", " + v.Date
}

// The values of PKCE and Claims.
const (
	PKCERequired = "required" // it sends a code challenge with these settings
	PKCEIfSent   = "if-sent"  // it sends none, or not in all versions
	ClaimsOn     = "on"       // it reads the ID token only
	ClaimsOff    = "off"      // it reads UserInfo
)

// Program is a row of the table. A URI of it is a path below the address of the program, or complete. The name of
// its settings in the folder settings is Name.
type Program struct {
	Name, Title string
	Also        []string // other words by which people look for it
	Kind        string   // Application, Framework or Other
	Redirects   []string // none: the person has to say them
	PostLogout  []string
	BackChannel string
	Public      bool
	Grant       string // empty: authorization_code
	PKCE        string // empty: the server decides
	Claims      string // in the ID token; empty: the server decides
	AuthMethod  string // empty: it sends its secret in any way
	Rotation    string // of refresh tokens: on, off; empty: as the server is set
	Scopes      []string
	Since       string // the first version with these settings, if it matters
	File        string // where its settings belong
	Format      Format
	Address     string   // what its address is, if that is not obvious, with an example
	Part        Part     // of its address, which people leave out
	Notes       []string // what the person has to know
	Verified    Verified
}

// Part is a part of an address.
type Part string

// The parts that an address needs.
const (
	Realm Part = "realm" // it ends in /realms/ and a name
	Port  Part = "port"
)

// The kinds of programs.
const (
	Application = "application"
	Framework   = "framework"
	Other       = "other"
)
