package policy

import (
	"slices"
	"strings"

	"mandate/storage"
)

// GrantTypes gives the grant types of an application. The refresh token grant comes with
// each grant that is about a person.
func GrantTypes(a storage.Application) []string {
	types := strings.Fields(a.GrantTypes)
	for _, g := range types {
		if g == GrantCode || g == GrantPassword {
			return append(types, GrantRefresh)
		}
	}
	return types
}

// HasGrant says whether an application is registered for a grant type.
func HasGrant(a storage.Application, grant string) bool {
	return slices.Contains(GrantTypes(a), grant)
}
