package oauth

import (
	"slices"
	"strings"
)

// maxScopes limits how many scopes a parameter may name.
const maxScopes = 1000

// ParseScope returns the names in a scope parameter, each once, or an Error with the
// code invalid_scope.
//
// RFC 6749 §3.3: names have printable ASCII characters without quote and backslash. Order and
// repetition have no meaning. One space separates two names, but clients that join lists send
// further ones, which can mean nothing else.
// RFC 6749 §3.1, §3.2: a parameter without a value counts as omitted.
func ParseScope(text string) ([]string, error) {
	var names []string
	for name := range strings.SplitSeq(text, " ") {
		switch {
		case name == "" || slices.Contains(names, name):
		case strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }):
			return nil, Refuse("invalid_scope", "scope contains a character that a scope name must not contain.")
		case len(names) == maxScopes:
			return nil, Refuse("invalid_scope", "scope names more than %d scopes.", Own(maxScopes))
		default:
			names = append(names, name)
		}
	}
	return names, nil
}
