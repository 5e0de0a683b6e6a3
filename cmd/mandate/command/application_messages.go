package command

import (
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/clients"
	"mandate/provider/jose"
	"mandate/provider/policy"
)

// messageFlags are the flags for signed authorization requests and responses.
type messageFlags struct{ said clients.Messages }

func (m *messageFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(
		&m.said.ObjectAlgorithm, "request-object-algorithm", "",
		"the only `ALGORITHM` of its request objects: "+strings.Join(
			clients.ObjectAlgorithms(), ", ",
		)+" (default: any of them)",
	)
	f.BoolVar(
		&m.said.RequireSigned, "require-signed-request-object", false,
		"refuse its authorization requests that it did not sign (RFC 9101)",
	)
	f.StringArrayVar(&m.said.RequestURIs, "request-uri", nil, "`URI` of its request objects; may be repeated")
	f.StringVar(
		&m.said.ResponseAlgorithm,
		"response-algorithm",
		"",
		"`ALGORITHM` that signs its authorization responses (JARM): "+strings.Join(
			jose.Algorithms(),
			", ",
		)+" (default: "+policy.DefaultAlgorithm+")",
	)
	f.Var(
		(*narrowing)(&m.said.ResponseModes),
		"response-mode",
		"response `MODE` that it may use: "+strings.Join(
			clients.ResponseModes(),
			", ",
		)+"; may be repeated (default: any; "+everything+" stands for that)",
	)
}

// read sets the values whose flags are present.
func (m *messageFlags) read(c *cobra.Command, into *clients.Messages) {
	changed := c.Flags().Changed
	if changed("request-object-algorithm") {
		into.ObjectAlgorithm = m.said.ObjectAlgorithm
	}
	if changed("require-signed-request-object") {
		into.RequireSigned = m.said.RequireSigned
	}
	if changed("request-uri") {
		into.RequestURIs = withoutEmpty(m.said.RequestURIs)
	}
	if changed("response-algorithm") {
		into.ResponseAlgorithm = m.said.ResponseAlgorithm
	}
	if changed("response-mode") {
		into.ResponseModes = (*narrowing)(&m.said.ResponseModes).list()
	}
}

// withoutEmpty returns a list without empty texts: a flag with an empty text empties the list.
func withoutEmpty(list []string) []string {
	var kept []string
	for _, one := range list {
		if one != "" {
			kept = append(kept, one)
		}
	}
	return kept
}
