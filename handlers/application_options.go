package handlers

import (
	"cmp"
	"slices"

	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/templates"
)

// scopeOptions returns the choices of scopes. An application keeps a scope that the server no longer has, until
// somebody removes it from the list.
func (s *server) scopeOptions(names, chosen []string) []templates.Option {
	var options []templates.Option
	for _, scope := range s.provider.Rules.Describe(names) {
		help := cmp.Or(scope.Description, "This server does not have this scope now, so it has no effect.")
		options = append(options, templates.Option{Value: scope.Name, Help: help})
	}
	return checked(chosen, options...)
}

func grantOptions() []templates.Option {
	var options []templates.Option
	for _, g := range policy.Grants() {
		options = append(options, templates.Option{Value: g.Name, Label: g.Label, Help: g.Help})
	}
	return options
}

// algorithms returns the signing algorithms, the cheapest first.
func algorithms() []templates.Option {
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

// idTokenAlgorithms returns the algorithms for what only the application itself verifies.
func idTokenAlgorithms() []templates.Option {
	return append(algorithms(), templates.Option{
		Value: "HS256",
		Help:  "Signed with the client secret, so everybody who can verify a signature can also create one. Only for a confidential application whose secret is kept encrypted, not as a hash. The secret must have at least 32 bytes.",
	})
}

// offered removes the options that are neither available nor chosen.
func offered(values, chosen []string, options ...templates.Option) []templates.Option {
	return slices.DeleteFunc(
		checked(chosen, options...),
		func(o templates.Option) bool { return !o.Checked && !slices.Contains(values, o.Value) },
	)
}

// checked marks the options whose values were chosen.
func checked(chosen []string, options ...templates.Option) []templates.Option {
	for i := range options {
		options[i].Checked = slices.Contains(chosen, options[i].Value)
	}
	return options
}
