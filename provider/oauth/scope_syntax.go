package oauth

import (
	"slices"
	"strings"
)

// ParseScope returns the names in a scope parameter, each once, or an Error with the
// code invalid_scope.
//
// RFC 6749 §3.3: names have printable ASCII characters without quote and backslash, and
// one space separates two names. Order and repetition have no meaning.
// RFC 6749 §3.1, §3.2: a parameter without a value counts as omitted.
func ParseScope(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, " ") {
		if name == "" {
			return nil, Refuse("invalid_scope", "scope must be a list of names, separated by single spaces.")
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return nil, Refuse("invalid_scope", "scope contains a character that a scope name must not contain.")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
