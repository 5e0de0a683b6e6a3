package indicator

import (
	"slices"
	"strings"
)

// Approved is what a person has approved for an application: scopes at resources, each pair by itself.
type Approved []Approval

// Approval has the scopes that a person has approved at one resource.
type Approval struct {
	Resource string // as Stored names it; "": the server itself
	Scopes   []string
	Unpaired bool // nobody knows for which scopes: an older release stored it
}

// ReadApproved reads the columns scope and resource of a consent. A line of resource is the name of a resource, a
// space, and the scopes that were approved there. Older releases stored the names without scopes, or nothing for the
// server.
func ReadApproved(scope, resource string) Approved {
	scopes := strings.Fields(scope)
	switch {
	case resource == "" && len(scopes) == 0:
		return nil
	case resource == "":
		return Approved{{Scopes: scopes}}
	}
	var approved Approved
	for line := range strings.SplitSeq(resource, "\n") {
		name, at, paired := strings.Cut(line, " ")
		approved = append(approved, Approval{name, strings.Fields(at), !paired})
	}
	// Each request has a scope, so the only one was approved at the only resource. Of two scopes, one may have been
	// approved for the server alone.
	if len(approved) == 1 && approved[0].Unpaired && len(scopes) == 1 {
		return Approved{{Resource: approved[0].Resource, Scopes: scopes}}
	}
	return approved
}

// String returns the column resource of a consent.
func (a Approved) String() string {
	var lines []string
	for _, one := range a {
		line := one.Resource
		if !one.Unpaired {
			line += " " + strings.Join(one.Scopes, " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// Resources returns the names of the resources, without the server itself.
func (a Approved) Resources() []string {
	var names []string
	for _, one := range a {
		if one.Resource != "" {
			names = append(names, one.Resource)
		}
	}
	return names
}

func (a Approved) find(resource string) int {
	return slices.IndexFunc(a, func(one Approval) bool { return one.Resource == resource })
}

// Covers reports whether everything that is wanted was approved, at the resource where it is wanted. A resource without
// any scope must have been approved too: a token for it says who the person is.
func (a Approved) Covers(wanted Approved) bool {
	for _, one := range wanted {
		i := a.find(one.Resource)
		if i < 0 || a[i].Unpaired || len(without(one.Scopes, a[i].Scopes)) > 0 {
			return false
		}
	}
	return true
}

// New returns the wanted scopes that were not approved at a resource that was, or at the server. Where an older release
// did not store the scopes, none of them is new.
func (a Approved) New(wanted Approved) []string {
	unknown := slices.ContainsFunc(a, func(one Approval) bool { return one.Unpaired })
	var scopes []string
	for _, one := range wanted {
		i := a.find(one.Resource)
		switch {
		case i >= 0 && !a[i].Unpaired:
			scopes = append(scopes, without(one.Scopes, a[i].Scopes)...)
		case one.Resource == "" && !unknown:
			scopes = append(scopes, one.Scopes...)
		}
	}
	return scopes
}

// With returns a with everything that is approved now.
func (a Approved) With(now Approved) Approved {
	all := slices.Clone(a)
	for _, one := range now {
		i := all.find(one.Resource)
		if i < 0 {
			all = append(all, one)
			continue
		}
		had := all[i].Scopes
		all[i] = Approval{Resource: one.Resource, Scopes: slices.Concat(had, without(one.Scopes, had))}
	}
	return all
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
