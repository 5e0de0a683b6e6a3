// Package errorcode explains the error codes that this server sends: the clause that defines a code, what causes it,
// and what to change. The pages to which error_uri leads (RFC 6749 §4.1.2.1, §5.2), the command mandate explain, the
// page of an application and the table in docs follow from its one table.
package errorcode

import (
	"slices"
)

// Path is the path of the pages, below the base URL.
const Path = "/errors/"

// All returns every code, in the order in which a page lists them.
func All() []Code { return slices.Clone(table[:]) }

// Find returns a code by its name.
func Find(name string) (Code, bool) {
	for i := range table {
		if table[i].Name == name {
			return table[i], true
		}
	}
	return Code{}, false
}

// URI returns the address of the page that explains an error, or "" for a code that the table does not have. It
// contains nothing that a request can choose: the parts are the base URL, a name and an anchor of the table.
//
// RFC 6749 §4.1.2.1, §5.2: it has no space, quote or backslash.
func URI(base, code, description string) string {
	c, found := Find(code)
	if !found {
		return ""
	}
	uri := base + Path + c.Name + "/"
	if one, found := c.Case(description); found {
		uri += "#" + one.ID
	}
	return uri
}
