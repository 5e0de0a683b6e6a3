package claims

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// The places where an application, or an API that it calls, reads a claim.
const (
	IDToken       = "id_token"
	UserInfo      = "userinfo"
	AccessToken   = "access_token" // a signed one (RFC 9068)
	Introspection = "introspection"
)

// Places returns all of them.
func Places() []string { return []string{IDToken, UserInfo, AccessToken, Introspection} }

// Rule says what one claim contains, and where it is.
type Rule struct {
	Name  string
	From  string // Groups, Profile, Attribute or Fixed
	Field string // of the profile, or the name of the attribute
	Value any    // of Fixed

	Filter string // keeps the values that begin with it
	Trim   bool   // cuts Filter off
	Map    []Pair // replaces values, and drops those that it does not have; its order is the order of the result
	Prefix string // stands before each value
	Text   bool   // the first value alone, and not a list

	Default   any      // instead of no value; nil: the claim is left out
	In        []string // some of Places
	Scope     string   // which must have been granted; "": none
	Resources []string // access tokens and introspection only: the only APIs that learn it; empty: each API
}

// Pair is an entry of a map.
type Pair struct {
	From string
	To   any
}

// The sources of a claim.
const (
	Groups    = "groups"
	Profile   = "profile"
	Attribute = "attribute" // only those to which administrators give the values
	Fixed     = "value"
)

// Person is what the rules know of somebody.
type Person struct {
	Groups     []string
	Profile    map[string]any
	Attributes map[string]any // a list has the type []any
}

// Of returns the value for a person, or nil.
func (r Rule) Of(person Person) any {
	if r.From == Fixed {
		return r.Value
	}
	values, list := r.source(person)
	values = r.mapped(r.filtered(values))
	if r.Prefix != "" {
		for i := range values {
			values[i] = r.Prefix + text(values[i])
		}
	}
	switch {
	case len(values) == 0 && r.Default != nil:
		return r.Default
	case list && !r.Text:
		return values
	case len(values) == 0:
		return nil
	}
	return values[0]
}

// source returns what the rule is about, and whether it is a list.
func (r Rule) source(person Person) (values []any, list bool) {
	if r.From == Groups {
		values = []any{}
		for _, name := range person.Groups {
			values = append(values, name)
		}
		return values, true
	}
	from := person.Profile
	if r.From == Attribute {
		from = person.Attributes
	}
	value, known := from[r.Field]
	unproved := r.From == Profile && r.Field == "email" && len(r.Map) > 0 && from["email_verified"] != true
	if !known || unproved {
		return nil, false
	}
	if all, is := value.([]any); is {
		return slices.Clone(all), true
	}
	return []any{value}, false
}

func (r Rule) filtered(values []any) []any {
	if r.Filter == "" {
		return values
	}
	kept := []any{}
	for _, value := range values {
		rest, begins := strings.CutPrefix(text(value), r.Filter)
		switch {
		case begins && !r.Trim:
			kept = append(kept, value)
		case begins && rest != "":
			kept = append(kept, rest)
		}
	}
	return kept
}

// mapped replaces the values. The first entry of the map that fits is the first value, so an administrator decides
// which one counts if a claim has only one.
func (r Rule) mapped(values []any) []any {
	if len(r.Map) == 0 {
		return values
	}
	made := []any{}
	for _, pair := range r.Map {
		fits := slices.ContainsFunc(values, func(value any) bool { return text(value) == pair.From })
		if fits && !slices.Contains(made, pair.To) {
			made = append(made, pair.To)
		}
	}
	return made
}

// text returns a value as the key of a map has it.
func text(value any) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		return value.String()
	}
	return fmt.Sprint(value)
}
