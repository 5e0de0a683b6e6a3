package handlers

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"mandate/provider"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes is every path: who answers it, by which methods, and in which form its
// errors are written. Each path is answered with and without its last slash. It
// is long for a function so that there is no other place to look.
func (s *server) routes() http.Handler {
	// Encoded paths keep the slash in the name of a group; a path that is not
	// clean is nobody's, where a redirect would turn a POST into a GET.
	r := &router{mux.NewRouter().UseEncodedPath().SkipClean(true), map[string]http.Handler{}}
	r.NotFoundHandler = s.page(s.notFound)
	at := s.at(r)

	// A script of any site may call these: they take no cookie. Never authorize.
	// RFC 9700 §2.6.
	shared := func(h handle) http.Handler { return anyOrigin(s.protocol(h)) }
	at("/o/token/", shared, on{post: s.token})
	at("/o/revoke_token/", shared, on{post: s.revoke})
	at("/o/revoke/", shared, on{post: s.revoke})
	at("/o/introspect/", s.protocol, on{post: s.introspect})
	// RFC 8414 §3.1 puts the well-known part before the issuer's path, many clients
	// behind it. A proxy may take the base path off, or not.
	const metadata = "/.well-known/oauth-authorization-server"
	at(metadata, shared, on{get: s.metadata})
	at(metadata+"/o", shared, on{get: s.metadata})
	at("/o"+metadata, shared, on{get: s.metadata})
	s.atRoot(r)(metadata+s.base+"/o", shared, on{get: s.metadata})

	// With OpenID Connect, or where an application's access tokens are signed.
	at("/o/.well-known/jwks.json", shared, on{get: s.jwks})
	if s.config.OpenID {
		const discovery = "/.well-known/openid-configuration"
		at(discovery, shared, on{get: s.metadata})
		at(discovery+"/o", shared, on{get: s.metadata})
		at("/o"+discovery, shared, on{get: s.metadata})
		s.atRoot(r)(discovery+s.base+"/o", shared, on{get: s.metadata})
		at("/o/userinfo/", shared, on{get: s.userInfo, post: s.userInfo})
	}

	// Other sites send browsers here on purpose (OIDC Core §3.1.2.1).
	at("/o/authorize/", s.page, on{get: s.authorize, post: s.authorize})

	if s.config.OpenID && s.config.RPLogout {
		// Likewise (OIDC RP-Logout §2).
		at("/o/logout/", s.page, on{get: s.logoutRequest, post: s.logoutRequest})
	}

	// What a person's cookie does is asked for by our own pages only.
	login := func(h handle) http.Handler { return s.page(sameOrigin(s.loginForms, h)) }
	own := func(h handle) http.Handler { return s.page(sameOrigin(s.ownForms, h)) }
	at("/", own, on{get: s.home})
	at("/login/", login, on{get: s.loginPage, post: s.login})
	at("/logout/", own, on{get: s.logoutPage, post: s.logout})
	at("/setup/{link}/", own, on{get: s.setupPage, post: s.setup})
	at("/o/consent/", own, on{post: s.consent})
	at("/o/authorized_tokens/", own, on{get: s.toAccount})
	at("/account/", own, on{get: s.account})
	at("/account/password/", own, on{get: s.toAccount, post: s.changePassword})
	at("/account/sessions/end/", own, on{get: s.toAccount, post: s.endSessions})
	at("/account/sessions/{id}/end/", own, on{get: s.toAccount, post: s.endSession})
	at("/account/applications/{id}/revoke/", own, on{get: s.toAccount, post: s.revokeApplication})
	at("/o/applications/", own, on{get: s.applications})
	at("/o/applications/register/", own, on{get: s.registerPage, post: s.register})
	at("/o/applications/{id}/", own, on{get: s.application})
	at("/o/applications/{id}/update/", own, on{get: s.updatePage, post: s.update})
	at("/o/applications/{id}/owner/", own, on{get: s.ownerPage, post: s.changeOwner})
	at("/o/applications/{id}/rotate/", own, on{get: s.rotatePage, post: s.rotate})
	at("/o/applications/{id}/delete/", own, on{get: s.deleteApplicationPage, post: s.deleteApplication})
	at("/admin/users/", own, on{get: s.users})
	at("/admin/users/new/", own, on{get: s.newUserPage, post: s.newUser})
	at("/admin/users/{id}/", own, on{get: s.userPage, post: s.updateUser})
	at("/admin/users/{id}/sessions/end/", own, on{get: s.userPage, post: s.endUserSessions})
	at("/admin/users/{id}/sessions/{session}/end/", own, on{get: s.userPage, post: s.endUserSession})
	at("/admin/users/{id}/delete/", own, on{get: s.deleteUserPage, post: s.deleteUser})
	at("/admin/groups/", own, on{get: s.groups, post: s.addGroup})
	at("/admin/groups/{name}/delete/", own, on{get: s.deleteGroupPage, post: s.deleteGroup})
	r.PathPrefix(s.base + "/static/").Handler(s.watched(s.base+"/static/", http.StripPrefix(s.base, s.pages.Static())))

	if !s.config.OwnOps {
		at("/healthz", s.protocol, on{get: s.healthy})
		at("/readyz", s.protocol, on{get: s.ready})
		// Whoever looks after one node asks it directly, not by way of the base URL.
		s.atRoot(r)("/healthz", s.protocol, on{get: s.healthy})
		s.atRoot(r)("/readyz", s.protocol, on{get: s.ready})
	}

	if s.config.SampleAPI != nil {
		read, write := s.config.ReadScope, s.config.WriteScope
		at("/users/", s.api, on{get: s.guarded(s.apiUsers, read), post: s.guarded(s.apiAddUser, write)})
		at("/users/{id}/", s.api, on{get: s.guarded(s.apiUser, read)})
		at("/groups/", s.api, on{get: s.guarded(s.apiGroups, "groups")})
		at("/resource", s.api, on{get: s.guarded(s.apiResource)})
	}
	return r
}

// routing adds a path to the routes.
type routing func(path string, adapter func(handle) http.Handler, methods on)

func (s *server) at(r *router) routing {
	return func(path string, adapter func(handle) http.Handler, methods on) {
		s.atRoot(r)(s.base+path, adapter, methods)
	}
}

// router finds a path without variables at once, which every endpoint of the
// protocol has: mux tries one expression after the other.
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

// atRoot is for paths that do not begin with the base path.
func (s *server) atRoot(r *router) routing {
	return func(path string, adapter func(handle) http.Handler, methods on) {
		path = strings.TrimSuffix(path, "/")
		named := s.watched(path+"/", adapter(methods.serve))
		r.add(path+"/", named)
		if path != "" {
			r.add(path, named)
		}
	}
}

// on says which handler answers which method of a path.
type on map[string]handle

func (m on) serve(w http.ResponseWriter, r *http.Request) error {
	h := m[r.Method]
	// RFC 9110 §9.3.2: HEAD is GET without the content.
	if h == nil && r.Method == http.MethodHead {
		h = m[get]
	}
	if h != nil {
		return h(w, r)
	}
	methods := slices.Sorted(maps.Keys(m))
	if m[get] != nil {
		methods = slices.Insert(methods, slices.Index(methods, get)+1, http.MethodHead)
	}
	// RFC 9110 §15.5.6: whoever refuses a method names those that there are.
	w.Header().Set("Allow", strings.Join(methods, ", "))
	return &provider.Error{Status: http.StatusMethodNotAllowed, Code: "invalid_request",
		Description: "This address does not take that method. Use " + strings.Join(methods, " or ") + "."}
}

// guarded lets in whoever has a live token with the scopes.
func (s *server) guarded(h handle, scopes ...string) handle {
	guard := s.config.SampleAPI.Require(s.api(h), scopes...)
	return func(w http.ResponseWriter, r *http.Request) error {
		guard.ServeHTTP(w, r)
		return nil
	}
}

func (s *server) notFound(http.ResponseWriter, *http.Request) error { return provider.ErrNotFound }
