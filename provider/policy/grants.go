package policy

import (
	"slices"
	"strings"

	"mandate/provider/acr"
	"mandate/storage"
)

// Grant types, as an application's record stores them.
const (
	GrantCode     = "authorization_code"
	GrantClient   = "client_credentials"
	GrantPassword = "password"
	GrantRefresh  = "refresh_token"
	GrantDevice   = "urn:ietf:params:oauth:grant-type:device_code"
)

// GrantType describes a grant type for which an application can be registered.
type GrantType struct {
	Name       string // the value of grant_type
	Label      string // the name on pages
	Help       string // what it is for, on pages
	Person     bool   // the tokens are about a person, so refresh tokens come with them
	WithSecret bool   // only for confidential clients
	// SignIn says that the person signs in at this server, which checks that the login is as strong as the application
	// requires. Without it, an application that requires more than a password gets no tokens about a person.
	SignIn bool
	// Owners says that people may register their own applications for it, unless GRANTS_BY_ADMINISTRATOR has it.
	Owners bool
}

// grants is the table of grant types. Everything that lists them reads it: the check of
// a registration, the token endpoint, the metadata, the pages, the command line, the
// configuration and the metrics. Nothing changes it.
var grants = [...]GrantType{
	{Name: GrantCode, Label: "Authorization code", Help: "A person signs in here and allows the application to act for " +
		"them.", Person: true, SignIn: true, Owners: true},
	// RFC 6749 §4.4: the client credentials grant is for confidential clients only.
	{Name: GrantClient, Label: "Client credentials", Help: "The application acts for itself. Confidential applications " +
		"only.", WithSecret: true, Owners: true},
	{Name: GrantPassword, Label: "Password", Person: true, Owners: true,
		Help: "A person types their password into the application. Deprecated (RFC 9700 §2.4): use it only if nothing else " +
			"works."},
	// RFC 10027 §2: the flow can be used for phishing. Only an application that needs it is
	// registered for it.
	{Name: GrantDevice, Label: "Device code", Person: true, SignIn: true, Owners: true,
		Help: "A person types a code of the device on another one, such as a phone, and allows access there. For " +
			"televisions and command lines: others can misuse it for phishing (RFC 10027)."},
}

// Grants returns the grant types for which an application can be registered.
func Grants() []GrantType { return slices.Clone(grants[:]) }

// GrantOf returns the grant type with this name.
func GrantOf(name string) (GrantType, bool) {
	for _, g := range grants {
		if g.Name == name {
			return g, true
		}
	}
	return GrantType{}, false
}

// TooWeak reports whether nobody can sign in as strongly as an application requires before its tokens are issued by
// this grant.
func (g GrantType) TooWeak(required string) bool {
	return g.Person && !g.SignIn && required != "" && required != acr.Password
}

// SupportsGrant reports whether the token endpoint supports a value of grant_type.
func SupportsGrant(name string) bool {
	_, known := GrantOf(name)
	return known || name == GrantRefresh
}

// GrantNames returns the names of the grant types for which an application can be
// registered.
func GrantNames() []string { return grantsWith(func(GrantType) bool { return true }) }

// PersonGrants returns the names of the grant types that issue refresh tokens.
func PersonGrants() []string { return grantsWith(func(g GrantType) bool { return g.Person }) }

// OwnerGrants returns the names of the grant types for which people may register their own applications.
func OwnerGrants() []string { return grantsWith(func(g GrantType) bool { return g.Owners }) }

// WithoutPerson reports whether one of these grants issues tokens that are about no person: such an application asks
// nobody.
func WithoutPerson(names []string) bool {
	return slices.ContainsFunc(grants[:], func(g GrantType) bool { return !g.Person && slices.Contains(names, g.Name) })
}

// TokenGrants returns the values of grant_type that the token endpoint supports.
func TokenGrants() []string { return append(GrantNames(), GrantRefresh) }

func grantsWith(property func(GrantType) bool) []string {
	var names []string
	for _, g := range grants {
		if property(g) {
			names = append(names, g.Name)
		}
	}
	return names
}

// GrantTypes returns the grant types of an application. The refresh token grant comes with
// each grant that is about a person.
func GrantTypes(a storage.Application) []string {
	types := strings.Fields(a.GrantTypes)
	for _, name := range types {
		if g, _ := GrantOf(name); g.Person {
			return append(types, GrantRefresh)
		}
	}
	return types
}

// HasGrant reports whether an application is registered for a grant type.
func HasGrant(a storage.Application, grant string) bool {
	return slices.Contains(GrantTypes(a), grant)
}
