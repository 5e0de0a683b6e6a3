// Package sites answers the reverse proxies of applications that know no OpenID Connect, and signs browsers in below
// the hosts of these applications.
package sites

import (
	"net/http"

	"mandate/handlers/web"
	"mandate/provider/sites"
)

// Routes adds the endpoints for reverse proxies, and the paths below the hosts of sites. These do not begin with the
// base path of this server.
func Routes(site *web.Site, at, root web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{site}
	at("/authz/forward", s.anyMethod, on{get: s.forward})
	at("/authz/request", s.anyMethod, on{get: s.request})
	at(envoyPath, s.anyMethod, on{get: s.envoy})
	at(envoyPath+"{target:.*}", s.anyMethod, on{get: s.envoy})
	root(sites.SignInPath, s.plain, on{get: s.signIn})
	root(sites.CallbackPath, s.plain, on{get: s.callback})
	root(sites.SignOutPath, s.plain, on{get: s.signOut, post: s.signOut})
}

// anyMethod is for the endpoints that reverse proxies ask: some send the method of the request that they ask about.
func (s *server) anyMethod(m web.On) http.Handler { return s.Protocol(m[http.MethodGet]) }

// plain is for the paths below the host of a site. Its pages are text: the styles of this server are at another host.
func (s *server) plain(m web.On) http.Handler { return web.Adapt(m.Serve, web.Uncached, s.text) }
