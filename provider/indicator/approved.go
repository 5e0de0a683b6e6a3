package indicator

import (
	"slices"
	"strings"
)

// Approved is what a person has approved for an application: scopes at resources, each pair by itself.
type Approved []Approval

// Approval has the scopes that a person has approved at one resource: for as long as the session, and for longer. The
// second includes the first.
type Approval struct {
	Resource string // as Stored names it; "": the server itself
	Scopes   []string
	Lasting  []string
	Unpaired bool // nobody knows for which scopes: an older release stored it
}

// NewApproval returns the approval of scopes at a resource. lasting means that it outlives the session.
func NewApproval(resource string, scopes []string, lasting bool) Approval {
	if lasting {
		return Approval{Resource: resource, Lasting: scopes}
	}
	return Approval{Resource: resource, Scopes: scopes}
}

// lasts separates the scopes of a line. No scope has this sign (RFC 6749 §3.3).
const lasts = `\`

// ReadApproved reads the columns scope and resource of a consent. A line of resource is the name of a resource, a
// space, and the scopes that were approved there; those after a backslash outlive the session. Older releases stored
// the names without scopes, or nothing for the server.
func ReadApproved(scope, resource string) Approved {
	scopes := strings.Fields(scope)
	// OIDC Core §11: without offline_access, what belongs to a login ends with it.
	lasting := !slices.Contains(scopes, "openid") || slices.Contains(scopes, "offline_access")
	switch {
	case resource == "" && len(scopes) == 0:
		return nil
	case resource == "":
		return Approved{NewApproval("", scopes, lasting)}
	}
	var approved Approved
	for line := range strings.SplitSeq(resource, "\n") {
		name, at, paired := strings.Cut(line, " ")
		until, longer, _ := strings.Cut(at, lasts)
		approved = append(approved, Approval{name, strings.Fields(until), strings.Fields(longer), !paired})
	}
	// Each request has a scope, so the only one was approved at the only resource. Of two scopes, one may have been
	// approved for the server alone.
	if len(approved) == 1 && approved[0].Unpaired && len(scopes) == 1 {
		return Approved{NewApproval(approved[0].Resource, scopes, lasting)}
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
		if len(one.Lasting) > 0 {
			line += lasts + strings.Join(one.Lasting, " ")
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
		if i < 0 || a[i].Unpaired || len(one.beyond(a[i])) > 0 {
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
			scopes = append(scopes, one.beyond(a[i])...)
		case one.Resource == "" && !unknown:
			scopes = append(scopes, one.beyond(Approval{})...)
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
		had := all[i]
		lasting := slices.Concat(had.Lasting, without(one.Lasting, had.Lasting))
		scopes := without(slices.Concat(had.Scopes, without(one.Scopes, had.Scopes)), lasting)
		all[i] = Approval{Resource: one.Resource, Scopes: scopes, Lasting: lasting}
	}
	return all
}

// beyond returns the scopes of a that another approval does not include.
func (a Approval) beyond(other Approval) []string {
	return slices.Concat(without(without(a.Scopes, other.Scopes), other.Lasting), without(a.Lasting, other.Lasting))
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
