package policy

import (
	"strings"

	"mandate/provider/oauth"
)

// Requested are the scopes of a request.
type Requested struct {
	Names   []string // those that the application gets, unless a person decides otherwise
	LeftOut LeftOut
}

// LeftOut lists the scopes that a request names and that the application cannot get. A stranger can
// choose the names, so each is clipped, and a long list ends early.
type LeftOut []Omitted

// Omitted is a scope that is left out.
type Omitted struct{ Name, Why string }

const (
	maxLeftOut = 5
	isUnknown  = "unknown"
	notAllowed = "not allowed"
	andSoOn    = "…"
)

// with returns the list with one more scope.
func (l LeftOut) with(name, why string) LeftOut {
	switch {
	case len(l) > maxLeftOut:
		return l
	case len(l) == maxLeftOut:
		return append(l, Omitted{Name: andSoOn})
	}
	return append(l, Omitted{oauth.Clip(name, 80), why})
}

// Names returns the scopes for people.
func (l LeftOut) Names() []string {
	var names []string
	for _, one := range l {
		names = append(names, one.Name)
	}
	return names
}

// String returns the scopes for the log: each with the reason for which it is left out.
func (l LeftOut) String() string {
	var b strings.Builder
	for i, one := range l {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(one.Name)
		if one.Why != "" {
			b.WriteString(" (" + one.Why + ")")
		}
	}
	return b.String()
}
