package oauth

import (
	"slices"
	"strings"
)

// parseScope reads a scope parameter.
//
// RFC 6749 §3.3: names of printable ASCII without quote and backslash, each
// separated by one space. An order or a repetition means nothing.
// RFC 6749 §3.1, §3.2: a parameter without a value counts as left out.
func ParseScope(text string) ([]string, error) {
	if text == "" {
		return nil, nil
	}
	var names []string
	for name := range strings.SplitSeq(text, " ") {
		if name == "" {
			return nil, Refuse("invalid_scope", "scope must be names separated by single spaces.")
		}
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || r == '"' || r == '\\' }) {
			return nil, Refuse("invalid_scope", "scope has a character that no scope name may have.")
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}
