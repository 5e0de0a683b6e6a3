// Package parameter finds parameters in a query, in each way in which a program could read them.
package parameter

import (
	"net/url"
	"strings"
)

// In returns the first of some names that a program could read in a query, or "". It looks only at the names of the
// parameters, and reads each name as leniently as any known program does: the case does not matter, a semicolon
// separates parameters too, and PHP converts names to names of variables.
func In(query string, names ...string) string {
	for pair := range strings.FieldsFuncSeq(query, func(c rune) bool { return c == '&' || c == ';' }) {
		escaped, _, _ := strings.Cut(pair, "=")
		// Some programs ignore spaces around a name, and PHP those before it, and all after a NUL.
		found, _, _ := strings.Cut(strings.TrimLeft(unescapeLenient(escaped), " \t\r\n"), "\x00")
		// name[] and name[key] are elements of an array of that name.
		array, _, _ := strings.Cut(found, "[")
		trimmed, found, array := strings.TrimSpace(array), variable.Replace(found), variable.Replace(array)
		for _, name := range names {
			if strings.EqualFold(found, name) || strings.EqualFold(array, name) || strings.EqualFold(trimmed, name) {
				return name
			}
		}
	}
	return ""
}

// variable replaces the characters that the name of a PHP variable cannot contain.
var variable = strings.NewReplacer(" ", "_", ".", "_", "[", "_")

// unescapeLenient decodes a part of a query. An escape sequence that is not valid stays
// as it is: url.QueryUnescape refuses it, but PHP accepts it.
func unescapeLenient(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '+':
			b.WriteByte(' ')
		case '%':
			decoded, err := url.PathUnescape(s[i:min(i+3, len(s))])
			if err != nil {
				b.WriteByte(c)
				continue
			}
			b.WriteString(decoded)
			i += 2
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
