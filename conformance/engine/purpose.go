package engine

import (
	"slices"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// Purpose is what somebody registers clients for.
type Purpose struct {
	Rules  []check.Rule
	Chosen bool   // somebody has chosen these rules: clients that none of them needs are left out
	Format string // one of ClientFormats, or "": nothing is printed
}

// Roles returns the roles of the clients to register. If the chosen rules need clients of FAPI 2.0, these are all: the
// few other rules of its profiles use clients that such a server may not allow.
func (p Purpose) Roles() []need.Role {
	forFAPI := p.forFAPI()
	return slices.DeleteFunc(need.Roles(), func(r need.Role) bool {
		return p.Chosen && Needing(p.Rules, r) == 0 || forFAPI && r.Profile == ""
	})
}

// forFAPI reports whether the chosen rules need clients of FAPI 2.0.
func (p Purpose) forFAPI() bool {
	return p.Chosen && slices.ContainsFunc(need.Roles(),
		func(r need.Role) bool { return r.Profile != "" && Needing(p.Rules, r) > 0 })
}

// Needing returns how many of the rules need a role.
func Needing(rules []check.Rule, role need.Role) int {
	n := 0
	for _, rule := range rules {
		if rule.Check != nil && slices.Contains(rule.Needs, role.Name) {
			n++
		}
	}
	return n
}
