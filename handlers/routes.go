package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gorilla/mux"

	"mandate/provider/checkup"
	"mandate/provider/errorcode"
	"mandate/provider/oauth"
)

const (
	get  = http.MethodGet
	post = http.MethodPost
)

// routes lists every path: its handler for each method, and the format of its
// errors. Each path works with and without its final slash. The function is long, so
// that there is only one place to look.
func (s *server) routes() http.Handler {
	// The router matches encoded paths, so that the name of a group may contain a
	// slash. It does not clean paths: a path that is not clean is not found, where a
	// redirect would turn a POST into a GET.
	r := &router{mux.NewRouter().UseEncodedPath().SkipClean(true), map[string]http.Handler{}}
	r.NotFoundHandler = s.page(s.notFound)
	at := s.at(r)

	protocol := func(m on) http.Handler { return s.protocol(m.serve) }
	page := func(m on) http.Handler { return s.page(m.serve) }

	// Scripts of every site may call these endpoints, because they use no cookie.
	// RFC 9700 §2.6: the authorization endpoint must not be one of them.
	shared := func(m on) http.Handler { return anyOrigin(s.protocol(m.serve), m) }
	// RFC 6749 §5.2, and the documents that use it for their endpoints: RFC 7009 §2.2.1, RFC 7662 §2.3, RFC 8628 §3.2,
	// RFC 9126 §2.3. An error has error_uri.
	oauth := func(m on) http.Handler { return s.oauth(m.serve) }
	sharedOAuth := func(m on) http.Handler { return anyOrigin(s.oauth(m.serve), m) }
	at("/o/token/", sharedOAuth, on{post: s.proven(s.token)})
	at("/o/revoke_token/", sharedOAuth, on{post: s.revoke})
	at("/o/revoke/", sharedOAuth, on{post: s.revoke})
	at("/o/device_authorization/", sharedOAuth, on{post: s.deviceAuthorization})
	at("/o/device-authorization/", sharedOAuth, on{post: s.deviceAuthorization}) // as in django-oauth-toolkit
	at("/o/par/", sharedOAuth, on{post: s.proven(s.pushRequest)})
	at("/o/introspect/", oauth, on{post: s.proven(s.introspect)})
	if s.config.Registration {
		at("/o/register/", shared, on{post: s.registerClient})
		at("/o/register/{id}/", shared, on{get: s.client, http.MethodPut: s.changeClient, http.MethodDelete: s.deleteClient})
	}
	// RFC 8414 §3.1 puts the well-known part before the path of the issuer. Many
	// clients append it, or drop the path of the issuer. A proxy may remove the base path
	// or keep it.
	const metadata = "/.well-known/oauth-authorization-server"
	root := s.atRoot(r)
	// What they append it to, somebody may have written with a slash at its end.
	appended := func(path string) {
		for _, to := range [...]string{"", "/", "/o", "/o/"} {
			at(to+path, shared, on{get: s.metadata})
		}
	}
	appended(metadata)
	at(metadata+"/o", shared, on{get: s.metadata})
	root(metadata+s.base+"/o", shared, on{get: s.metadata})
	root(metadata, shared, on{get: s.metadata})

	// The keys are needed for ID tokens, and for signed access tokens without OpenID
	// Connect.
	at("/o/.well-known/jwks.json", shared, on{get: s.jwks})
	if s.config.OpenID {
		const discovery = "/.well-known/openid-configuration"
		appended(discovery)
		at(discovery+"/o", shared, on{get: s.metadata})
		root(discovery+s.base+"/o", shared, on{get: s.metadata})
		root(discovery, shared, on{get: s.metadata})
		at("/o/userinfo/", shared, on{get: s.proven(s.userInfo), post: s.proven(s.userInfo)})
	}

	at(checkup.ArrivalPath, protocol, on{get: s.arrival})

	// Other sites send browsers to this endpoint on purpose (OIDC Core §3.1.2.1).
	at("/o/authorize/", page, on{get: s.authorize, post: s.authorize})

	if s.config.OpenID && s.config.RPLogout {
		// Other sites send browsers here too (OIDC RP-Logout §2).
		at("/o/logout/", page, on{get: s.logoutRequest, post: s.logoutRequest})
	}

	// Only the server's own pages may send forms that use a person's session.
	login := func(m on) http.Handler { return s.page(sameOrigin(s.loginForms, m.serve)) }
	own := func(m on) http.Handler { return s.page(sameOrigin(s.ownForms, s.bounded(m.serve))) }
	// What ends access, and what acts for whoever signs in or has a link, has no limit of the session: its thief could
	// use it up. Each works once, or has a limit of its own.
	unbounded := func(m on) http.Handler { return s.page(sameOrigin(s.ownForms, m.serve)) }
	// A form that changes what outlives the session needs a fresh sign-in. One that only leads there does not count.
	lasting := func(m on) http.Handler { return s.page(sameOrigin(s.ownForms, s.fresh(s.bounded(m.serve)))) }
	at("/", own, on{get: s.home})
	at(errorcode.Path, page, on{get: s.errorCodes})
	at(errorcode.Path+"{code}/", page, on{get: s.errorCode})
	at("/logo/{name}/", protocol, on{get: s.logo})
	at("/login/", login, on{get: s.loginPage, post: s.login})
	at(cookiesPath, own, on{get: s.cookiesPage})
	at("/login/factor/", unbounded, on{get: s.factorPage, post: s.factor})
	at("/login/passkey/", unbounded, on{get: s.toLoginPage, post: s.offered(s.passkeySignIn)})
	at("/login/with/{name}/", login, on{get: s.toLoginPage, post: s.leave})
	// The other server sends the browser here (OIDC Core §3.1.2.5).
	at("/login/with/{name}/callback/", page, on{get: s.arrive})
	at("/logout/with/{name}/", page, on{get: s.leaveSignedOut})
	at("/logout/", unbounded, on{get: s.logoutPage, post: s.logout})
	at(forgotPath, unbounded, on{get: s.forgotPage, post: s.forgot})
	at("/password/reset/{link}/", unbounded, on{get: s.resetPage, post: s.reset})
	at(signUpPath, unbounded, on{get: s.askSignUpPage, post: s.askSignUp})
	at(askedSignUpPath, own, on{get: s.askedSignUpPage})
	at(signUpPath+"{link}/", unbounded, on{get: s.signUpPage, post: s.signUp})
	at(signUpPath+"{link}/passkey/", unbounded, on{get: s.toSignUpPage, post: s.offered(s.signUpWithPasskey)})
	at("/setup/{link}/", unbounded, on{get: s.setupPage, post: s.setup})
	at("/o/consent/", own, on{post: s.consent})
	at("/device/", own, on{get: s.devicePage, post: s.findDevice})
	at("/device/answer/", own, on{get: s.toDevicePage, post: s.answerDevice})
	at("/o/authorized_tokens/", own, on{get: s.toAccount})
	at("/account/", own, on{get: s.account})
	at("/account/password/", unbounded, on{get: s.toAccount, post: s.changePassword})
	at(totpPath, lasting, on{get: s.totpPage, post: s.addTOTP})
	at(totpPath+"remove/", lasting, on{get: s.removeTOTPPage, post: s.removeTOTP})
	at(codesPath, lasting, on{get: s.codesPage, post: s.newCodes})
	at(newPasskeyPath, own, on{get: s.offered(s.newPasskeyPage), post: s.offered(s.addPasskey)})
	at("/account/passkeys/{id}/", lasting, on{get: s.offered(s.passkeyPage), post: s.offered(s.renamePasskey)})
	at("/account/passkeys/{id}/remove/", lasting, on{get: s.offered(s.removePasskeyPage), post: s.offered(s.removePasskey)})
	at("/account/address/", own, on{get: s.toAccount, post: s.askAddress})
	at("/account/address/{link}/", unbounded, on{get: s.addressPage, post: s.verifyAddress})
	at("/account/identities/new/{name}/", lasting, on{get: s.newIdentityPage, post: s.addIdentity})
	at("/account/identities/{id}/remove/", lasting, on{get: s.removeIdentityPage, post: s.removeIdentity})
	at("/account/sessions/end/", unbounded, on{get: s.toAccount, post: s.endSessions})
	at("/account/sessions/{id}/end/", unbounded, on{get: s.toAccount, post: s.endSession})
	at("/account/applications/{id}/revoke/", unbounded, on{get: s.toAccount, post: s.revokeApplication})
	at("/o/applications/", own, on{get: s.applications})
	at("/o/applications/register/", lasting, on{get: s.registerPage, post: s.register})
	at(programsPath, lasting, on{get: s.programs, post: s.registerProgram})
	at("/o/applications/{id}/", own, on{get: s.application})
	at("/o/applications/{id}/update/", lasting, on{get: s.updatePage, post: s.update})
	at("/o/applications/{id}/owner/", lasting, on{get: s.ownerPage, post: s.changeOwner})
	at("/o/applications/{id}/rotate/", lasting, on{get: s.rotatePage, post: s.rotate})
	at("/o/applications/{id}/test-key/", lasting, on{get: s.toTestKey, post: s.testKey})
	at("/o/applications/{id}/revoke/", lasting, on{get: s.revokeAllPage, post: s.revokeAll})
	at("/o/applications/{id}/delete/", lasting, on{get: s.deleteApplicationPage, post: s.deleteApplication})
	at("/admin/users/", own, on{get: s.users})
	at("/admin/users/new/", lasting, on{get: s.newUserPage, post: s.newUser})
	at("/admin/users/{id}/", lasting, on{get: s.userPage, post: s.updateUser})
	at("/admin/users/{id}/sessions/end/", own, on{get: s.userPage, post: s.endUserSessions})
	at("/admin/users/{id}/sessions/{session}/end/", own, on{get: s.userPage, post: s.endUserSession})
	at("/admin/users/{id}/passkeys/{of}/remove/", lasting, on{get: s.removePasskeyOfPage, post: s.removePasskeyOf})
	at("/admin/users/{id}/identities/{of}/remove/", lasting, on{get: s.removeIdentityOfPage, post: s.removeIdentityOf})
	at("/admin/users/{id}/applications/{of}/revoke/", lasting, on{get: s.revokeApplicationOfPage, post: s.revokeApplicationOf})
	at("/admin/users/{id}/factors/", lasting, on{get: s.resetFactorsPage, post: s.resetFactors})
	at("/admin/users/{id}/reset-link/", lasting, on{get: s.toResetLink, post: s.makeResetLink})
	at("/admin/users/{id}/delete/", lasting, on{get: s.deleteUserPage, post: s.deleteUser})
	at(invitationsPath, own, on{get: s.invitations})
	at(invitationsPath+"new/", lasting, on{get: s.invitePage, post: s.invite})
	at(invitationsPath+"list/", lasting, on{get: s.inviteListPage, post: s.inviteList})
	at(invitationsPath+"{id}/", own, on{get: s.invitationPage})
	at(invitationsPath+"{id}/renew/", lasting, on{get: s.invitationPage, post: s.renewInvitation})
	at(invitationsPath+"{id}/withdraw/", lasting, on{get: s.withdrawInvitationPage, post: s.withdrawInvitation})
	at("/admin/groups/", lasting, on{get: s.groups, post: s.addGroup})
	at("/admin/groups/{name}/delete/", lasting, on{get: s.deleteGroupPage, post: s.deleteGroup})
	at("/admin/resources/", own, on{get: s.resources})
	at("/admin/resources/new/", lasting, on{get: s.newResourcePage, post: s.newResource})
	at("/admin/resources/change/", lasting, on{get: s.resourcePage, post: s.changeResource})
	at("/admin/resources/delete/", lasting, on{get: s.deleteResourcePage, post: s.deleteResource})
	at(serverCheckPath, own, on{get: s.serverCheck})
	at(eventsPath, own, on{get: s.events})
	at(eventsPath+"export/", own, on{get: s.toEvents, post: s.exportEvents})
	if s.config.Registration {
		at(initialTokensPath, lasting, on{get: s.initialTokens, post: s.addInitialToken})
		at(initialTokensPath+"{id}/delete/", lasting, on{get: s.deleteInitialTokenPage, post: s.deleteInitialToken})
	}
	r.PathPrefix(s.base + "/static/").Handler(s.requests.Route(s.base+"/static/", http.StripPrefix(s.base, s.pages.Static())))

	if !s.config.SeparateOpsListener {
		at("/healthz", protocol, on{get: s.healthy})
		at("/readyz", protocol, on{get: s.ready})
		// Operators check one node directly, without the base URL.
		root("/healthz", protocol, on{get: s.healthy})
		root("/readyz", protocol, on{get: s.ready})
	}

	if guard := s.config.SampleAPI; guard != nil {
		api := func(m on) http.Handler { return guard.Wrap(s.api(m.serve)) }
		read, write := s.config.ReadScope, s.config.WriteScope
		at("/users/", api, on{get: s.guarded(s.apiUsers, read), post: s.guarded(s.apiAddUser, write)})
		at("/users/{id}/", api, on{get: s.guarded(s.apiUser, read)})
		at("/groups/", api, on{get: s.guarded(s.apiGroups, "groups")})
		at("/resource", api, on{get: s.guarded(s.apiResource)})
		at("/resource/recent", api, on{get: s.guardedRecently(s.apiResource)})
		// RFC 9728 §3.1: one document describes all of them. Its address has the path of
		// the API after the well-known part.
		if u, err := url.Parse(guard.MetadataURL()); err == nil && u.Path != "" {
			root(u.EscapedPath(), api, on{})
		}
	}
	return r
}

// routing adds a path to the routes.
type routing func(path string, adapter func(on) http.Handler, methods on)

func (s *server) at(r *router) routing {
	return func(path string, adapter func(on) http.Handler, methods on) {
		s.atRoot(r)(s.base+path, adapter, methods)
	}
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

// atRoot adds paths that do not begin with the base path.
func (s *server) atRoot(r *router) routing {
	return func(path string, adapter func(on) http.Handler, methods on) {
		path = strings.TrimSuffix(path, "/")
		named := s.requests.Route(path+"/", adapter(methods))
		r.add(path+"/", named)
		if path != "" {
			r.add(path, named)
		}
	}
}

func (s *server) notFound(http.ResponseWriter, *http.Request) error { return oauth.ErrNotFound }
