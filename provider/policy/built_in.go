package policy

import "slices"

// BuiltInScopes returns the names of the scopes that exist without configuration if OpenID Connect is on. The scope
// groups is our own. It is common: many clients ask every server for it.
func BuiltInScopes() []string {
	return []string{"openid", "profile", "email", "groups", "phone", "address", OfflineAccess}
}

// describeBuiltIn returns the description of a built-in scope. Pages show it in the language of the reader.
func describeBuiltIn(name string) string {
	switch name {
	case "openid":
		return "Sign you in, and recognize you the next time"
	case "profile":
		return "See your name, your username and the rest of your profile"
	case "email":
		return "See your email address"
	case "groups":
		return "See the groups that you belong to"
	case "phone":
		return "See your telephone number"
	case "address":
		return "See your postal address"
	case OfflineAccess:
		return "Keep this access while you are signed out"
	}
	return ""
}

// withBuiltIn returns the configured scopes, and after them the built-in ones that are not among them. An operator who
// configures one decides about its description and its place.
func withBuiltIn(configured []Scope) []Scope {
	all := slices.Clone(configured)
	for _, name := range BuiltInScopes() {
		if !slices.ContainsFunc(configured, func(s Scope) bool { return s.Name == name }) {
			all = append(all, Scope{Name: name, Description: describeBuiltIn(name), BuiltIn: true})
		}
	}
	return all
}
