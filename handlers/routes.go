package handlers

import (
	"net/http"
	"strings"

	"github.com/gorilla/mux"

	"mandate/handlers/account"
	"mandate/handlers/admin"
	"mandate/handlers/clients"
	"mandate/handlers/protocol"
	"mandate/handlers/signin"
	"mandate/handlers/sites"
	"mandate/handlers/web"
)

// routes returns the routes of all areas of the site. Each area lists its paths in its own routes.go: the handler for
// each method, and the adapter, which says who may call it. Each path works with and without its final slash.
func routes(site *web.Site) http.Handler {
	// The router matches encoded paths, so that the name of a group may contain a
	// slash. It does not clean paths: a path that is not clean is not found, where a
	// redirect would turn a POST into a GET.
	r := &router{mux.NewRouter().UseEncodedPath().SkipClean(true), map[string]http.Handler{}}
	r.NotFoundHandler = site.NotFound()
	// root adds paths that do not begin with the base path.
	root := func(path string, adapter web.Adapter, methods web.On) {
		path = strings.TrimSuffix(path, "/")
		named := site.Requests.Route(path+"/", adapter(methods))
		r.add(path+"/", named)
		if path != "" {
			r.add(path, named)
		}
	}
	at := func(path string, adapter web.Adapter, methods web.On) { root(site.Base+path, adapter, methods) }
	protocol.Routes(site, at, root)
	signin.Routes(site, at)
	account.Routes(site, at)
	clients.Routes(site, at)
	admin.Routes(site, at)
	sites.Routes(site, at, root)
	static := site.Base + "/static/"
	r.PathPrefix(static).Handler(site.Requests.Route(static, http.StripPrefix(site.Base, site.Pages.Static())))
	return r
}

// router looks up a path without variables in a map. All protocol endpoints have
// such paths. mux would try one expression after the other.
type router struct {
	*mux.Router
	fixed map[string]http.Handler
}

func (r *router) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	if h := r.fixed[q.URL.EscapedPath()]; h != nil {
		h.ServeHTTP(w, q)
		return
	}
	r.Router.ServeHTTP(w, q)
}

func (r *router) add(path string, h http.Handler) {
	if strings.Contains(path, "{") {
		r.Handle(path, h)
	} else {
		r.fixed[path] = h
	}
}
