// Package claims holds the rules by which an application learns more about a person than its scopes say: an
// administrator gives it a role that follows from the groups of the person, for example. A rule is declarative. It
// calls nothing, and its cost is limited.
package claims

import (
	"fmt"
	"slices"
	"strings"
)

// Set is the rules of an application, in their order.
type Set []Rule

// Read reads the rules of an application as it is stored: a rule in each line.
func Read(stored string) (Set, error) {
	var set Set
	for line := range strings.SplitSeq(stored, "\n") {
		if line == "" {
			continue
		}
		rule, err := Parse(line)
		if err != nil {
			return nil, fmt.Errorf("read a stored claim rule: %w", err)
		}
		set = append(set, rule)
	}
	return set, nil
}

// At returns the rules whose claims are in a place, if these scopes were granted.
func (s Set) At(place string, scopes []string) Set {
	return slices.DeleteFunc(slices.Clone(s), func(r Rule) bool {
		return !slices.Contains(r.In, place) || r.Scope != "" && !slices.Contains(scopes, r.Scope)
	})
}

// For returns the rules whose claims every API of an audience may learn.
func (s Set) For(resources []string) Set {
	return slices.DeleteFunc(slices.Clone(s), func(r Rule) bool {
		return len(r.Resources) > 0 && slices.ContainsFunc(
			resources, func(uri string) bool { return !slices.Contains(r.Resources, uri) },
		)
	})
}

// Needs reports whether a rule has this source.
func (s Set) Needs(source string) bool {
	return slices.ContainsFunc(s, func(r Rule) bool { return r.From == source })
}

// Named returns the rule of a claim.
func (s Set) Named(name string) (Rule, bool) {
	at := slices.IndexFunc(s, func(r Rule) bool { return r.Name == name })
	if at < 0 {
		return Rule{}, false
	}
	return s[at], true
}

// Unasked returns the rules that tell something about the person and need no scope: no scope of the consent page stands
// for them, so the page names them. Rules that cannot be read have none, because no token has their claims.
func Unasked(stored string) Set {
	set, err := Read(stored)
	if err != nil {
		return nil
	}
	return slices.DeleteFunc(set, func(r Rule) bool { return r.From == Fixed || r.Scope != "" })
}

// Approvals are the names under which a person approves them.
func (s Set) Approvals() []string {
	var names []string
	for _, r := range s {
		names = append(names, "claim:"+r.Name)
	}
	return names
}

// Claims returns the values for a person. A claim without a value is left out.
func (s Set) Claims(of Person) map[string]any {
	all := map[string]any{}
	for _, r := range s {
		if value := r.Of(of); value != nil {
			all[r.Name] = value
		}
	}
	return all
}

// RenameGroup returns the stored rules after a group got another name.
func RenameGroup(stored, from, to string) (string, error) {
	set, err := Read(stored)
	if err != nil {
		return "", err
	}
	lines := strings.Split(stored, "\n")
	for i, rule := range set {
		named := func(name string) func(Pair) bool { return func(p Pair) bool { return p.From == name } }
		if rule.From != Groups || !slices.ContainsFunc(rule.Map, named(from)) {
			continue
		}
		rule.Map = slices.DeleteFunc(rule.Map, named(to)) // it had no group until now
		rule.Map[slices.IndexFunc(rule.Map, named(from))].From = to
		lines[i] = rule.String()
	}
	return strings.Join(lines, "\n"), nil
}
