package clients

import (
	"slices"

	"mandate/handlers/web"
	"mandate/templates"
)

// idTokenAlgorithms returns the algorithms for what only the application itself verifies.
func idTokenAlgorithms() []templates.Option {
	return append(web.Algorithms(), templates.Option{
		Value: "HS256",
		Help:  "Signed with the client secret, so everybody who can verify a signature can also create one. Only for a confidential application whose secret is kept encrypted, not as a hash. The secret must have at least 32 bytes.",
	})
}

// offered removes the options that are neither available nor chosen.
func offered(values, chosen []string, options ...templates.Option) []templates.Option {
	return slices.DeleteFunc(
		web.Checked(chosen, options...),
		func(o templates.Option) bool { return !o.Checked && !slices.Contains(values, o.Value) },
	)
}
