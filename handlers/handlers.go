// Package handlers implements the HTTP side of the provider. It reads a request,
// calls the provider, and writes the response: JSON for programs, HTML pages for
// people.
package handlers

import (
	"net/http"

	"mandate/handlers/protocol"
	"mandate/handlers/web"
	"mandate/provider"
	"mandate/templates"
)

type (
	// Config contains the operator's settings for HTTP. Only BaseURL is required.
	Config = web.Config
	// Ops contains what the operations listener serves.
	Ops = protocol.Ops
)

// New returns the handler of all routes.
func New(c Config, p *provider.Provider, pages *templates.Pages) (http.Handler, error) {
	site, err := web.New(c, p, pages)
	if err != nil {
		return nil, err
	}
	return site.Requests.Observe(routes(site)), nil
}

// NewOps returns the handler of the operations listener. Only operators can reach
// that listener.
func NewOps(o Ops) http.Handler { return protocol.NewOps(o) }
