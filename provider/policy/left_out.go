package policy

import (
	"slices"
	"strings"

	"mandate/provider/oauth"
)

// Requested are the scopes of a request.
type Requested struct {
	Names   []string // those that the application gets, unless a person decides otherwise
	LeftOut LeftOut
}

// LeftOut lists the scopes that a request names and that the application cannot get. A stranger can
// choose the names of unknown ones, so each is clipped, and only a few are listed.
type LeftOut []Omitted

// Omitted is a scope that is left out.
type Omitted struct {
	Name, Why string
	more      int          // unknown scopes that are not listed
	refused   *oauth.Error // what a request would get that has only this scope; nil for scopes that are not listed
}

const (
	maxUnknown = 5
	isUnknown  = "unknown"
	notAllowed = "not allowed"
	andSoOn    = "…"
)

// with returns the list with one more scope, and the error that says why it is left out.
func (l LeftOut) with(name, why string, refused *oauth.Error) LeftOut {
	unknown := 0
	for i := range l {
		if l[i].Why != notAllowed {
			unknown++
		}
		if l[i].more > 0 && why == isUnknown {
			l[i].more++
			return l
		}
	}
	if why == isUnknown && unknown == maxUnknown {
		return append(l, Omitted{Name: andSoOn, more: 1})
	}
	return append(l, Omitted{Name: oauth.Clip(name, 80), Why: why, refused: refused})
}

// Shown returns for people the names of the scopes that this server has, and the number of all others: their names
// are words of whoever has made the request, who could say anything with them on a page of this server.
func (l LeftOut) Shown() (names []string, unknown int) {
	for _, one := range l {
		switch one.Why {
		case notAllowed:
			names = append(names, one.Name)
		default:
			unknown += max(1, one.more)
		}
	}
	return names, unknown
}

// Errors returns why scopes were left out. Unknown ones are one error.
func (l LeftOut) Errors() []*oauth.Error {
	var all []*oauth.Error
	for _, one := range l {
		known := func(e *oauth.Error) bool { return e.Fixed() == one.refused.Fixed() }
		if one.refused == nil || slices.ContainsFunc(all, known) {
			continue
		}
		e := *one.refused
		e.Code = ScopeLeftOut
		all = append(all, &e)
	}
	return all
}

// ScopeLeftOut stands in the place of an error code where requests are listed that were granted without a scope.
const ScopeLeftOut = "scope_left_out"

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
