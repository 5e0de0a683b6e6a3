package people

import (
	"slices"
	"unicode"
)

// together are the scripts that one language writes together (UTS 39 §5.2, Highly Restrictive).
var together = [...][]string{{"Latin", "Han", "Hiragana", "Katakana"}, {"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"}}

// mixesScripts reports whether a name has letters of scripts that no language writes together: it could look like
// the name of somebody else. Digits and signs belong to every script.
func mixesScripts(name string) bool {
	var found []string
	for _, r := range name {
		script := scriptOf(r)
		if script != "" && !slices.Contains(found, script) {
			found = append(found, script)
		}
	}
	return len(found) > 1 && !slices.ContainsFunc(together[:], func(set []string) bool {
		return !slices.ContainsFunc(found, func(script string) bool { return !slices.Contains(set, script) })
	})
}

// scriptOf returns the script of a character, or "" if it belongs to several.
func scriptOf(r rune) string {
	if unicode.In(r, unicode.Common, unicode.Inherited) {
		return ""
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return ""
}
