package web

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/templates"
)

// Unnamed stands for a form without a scope. The provider reads an empty list as
// every scope, but refuses a scope that does not exist.
const Unnamed = ""

// Checked marks the options whose values were chosen.
func Checked(chosen []string, options ...templates.Option) []templates.Option {
	for i := range options {
		options[i].Checked = slices.Contains(chosen, options[i].Value)
	}
	return options
}

// ScopeOptions returns the choices of scopes. An application keeps a scope that the server no longer has, until
// somebody removes it from the list.
func (s *Site) ScopeOptions(names, chosen []string) []templates.Option {
	var options []templates.Option
	for _, scope := range s.Provider.Rules.Describe(names) {
		help := cmp.Or(scope.Description, "This server does not have this scope now, so it has no effect.")
		options = append(options, templates.Option{Value: scope.Name, Help: help})
	}
	return Checked(chosen, options...)
}

func GrantOptions() []templates.Option {
	var options []templates.Option
	for _, g := range policy.Grants() {
		options = append(options, templates.Option{Value: g.Name, Label: g.Label, Help: g.Help})
	}
	return options
}

// Algorithms returns the signing algorithms, the cheapest first.
func Algorithms() []templates.Option {
	help := map[string]string{
		"ES256": "Elliptic curve P-256. Signing is much faster than with RSA. Every current library supports it.",
		"EdDSA": "Ed25519. Signing is as fast as with ES256. Some libraries do not support it.",
		"RS256": "RSA. Libraries expect it by default. Choose it if you are not sure.",
		"PS256": "RSA with PSS padding. For profiles that require it."}
	var options []templates.Option
	for _, name := range jose.Algorithms() {
		options = append(options, templates.Option{Value: name, Help: help[name]})
	}
	return options
}

// ChooseOne replaces the message about a list of checkboxes of which none is chosen.
func ChooseOne(invalid *oauth.Invalid, field string) {
	for i, f := range invalid.Fields {
		if f.Field == field {
			invalid.Fields[i].Message = "Choose at least one."
		}
	}
}

// ChosenScopes returns the scopes of a form as the provider reads them: none for every scope
// that is offered, and unnamed if none is chosen.
func ChosenScopes(chosen, offers []string, every bool) []string {
	unchosen := func(scope string) bool { return !slices.Contains(chosen, scope) }
	switch {
	case len(offers) == 0:
	case len(chosen) == 0:
		return []string{Unnamed}
	case every && len(chosen) == len(offers) && !slices.ContainsFunc(offers, unchosen):
		return nil
	}
	return chosen
}

// Seconds reads a lifetime in seconds. It returns 0 for an empty text, which leaves
// the lifetime to the server, and -1 for a text that is no number. The provider
// refuses -1.
func Seconds(text string) int64 {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return -1
	}
	return n
}

func Unique(names []string) []string { return oauth.Union(nil, names) }

// Lines splits a text that has one entry per line.
func Lines(text string) []string {
	var entries []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line != "" && !slices.Contains(entries, line) {
			entries = append(entries, line)
		}
	}
	return entries
}

// Span writes a number of seconds, and the same duration in a larger unit.
func Span(d time.Duration) string {
	text := fmt.Sprintf("%d seconds", int64(d/time.Second))
	if units := InUnits(d); units != "" {
		text += " (" + units + ")"
	}
	return text
}

// InUnits returns a time in days, hours or minutes, or "" if it is not a whole number of them.
func InUnits(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"day", 24 * time.Hour}, {"hour", time.Hour}, {"minute", time.Minute}} {
		n := d / unit.of
		if n == 1 && d%unit.of == 0 {
			return "1 " + unit.name
		}
		if n > 1 && d%unit.of == 0 {
			return fmt.Sprintf("%d %ss", n, unit.name)
		}
	}
	return ""
}

// SentVersion returns the version that the page of a form showed, or -1, which nothing has.
func SentVersion(form url.Values) int64 { return ReadVersion(form.Get("version")) }

func ReadVersion(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return -1
	}
	return n
}
