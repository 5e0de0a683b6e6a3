// Package protocol is the endpoints that programs call: OAuth, OpenID Connect, the sample API, health.
package protocol

import (
	"net/http"
	"net/url"

	"mandate/handlers/web"
	"mandate/provider/checkup"
	"mandate/provider/errorcode"
)

// Routes adds the endpoints that programs call. The paths of root do not begin with the base path of the site.
func Routes(site *web.Site, at, root web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{site}
	// Scripts of every site may call these endpoints, because they use no cookie.
	// RFC 9700 §2.6: the authorization endpoint must not be one of them.
	shared := func(m on) http.Handler { return anyOrigin(s.Endpoint(m), m) }
	// RFC 6749 §5.2, and the documents that use it for their endpoints: RFC 7009 §2.2.1, RFC 7662 §2.3, RFC 8628 §3.2,
	// RFC 9126 §2.3. An error has error_uri.
	oauth := func(m on) http.Handler { return s.oauth(m.Serve) }
	sharedOAuth := func(m on) http.Handler { return anyOrigin(s.oauth(m.Serve), m) }
	at("/o/token/", sharedOAuth, on{post: s.proven(s.token)})
	at("/o/revoke_token/", sharedOAuth, on{post: s.revoke})
	at("/o/revoke/", sharedOAuth, on{post: s.revoke})
	at("/o/device_authorization/", sharedOAuth, on{post: s.deviceAuthorization})
	at("/o/device-authorization/", sharedOAuth, on{post: s.deviceAuthorization}) // as in django-oauth-toolkit
	at("/o/par/", sharedOAuth, on{post: s.proven(s.pushRequest)})
	at("/o/introspect/", oauth, on{post: s.proven(s.introspect)})
	if s.Config.Registration {
		at("/o/register/", shared, on{post: s.registerClient})
		at("/o/register/{id}/", shared, on{get: s.client, http.MethodPut: s.changeClient, http.MethodDelete: s.deleteClient})
	}
	// RFC 8414 §3.1 puts the well-known part before the path of the issuer. Many
	// clients append it, or drop the path of the issuer. A proxy may remove the base path
	// or keep it.
	const metadata = "/.well-known/oauth-authorization-server"
	// What they append it to, somebody may have written with a slash at its end.
	appended := func(path string) {
		for _, to := range [...]string{"", "/", "/o", "/o/"} {
			at(to+path, shared, on{get: s.metadata})
		}
	}
	appended(metadata)
	at(metadata+"/o", shared, on{get: s.metadata})
	root(metadata+s.Base+"/o", shared, on{get: s.metadata})
	root(metadata, shared, on{get: s.metadata})

	// The keys are needed for ID tokens, and for signed access tokens without OpenID
	// Connect.
	at("/o/.well-known/jwks.json", shared, on{get: s.jwks})
	if s.Config.OpenID {
		const discovery = "/.well-known/openid-configuration"
		appended(discovery)
		at(discovery+"/o", shared, on{get: s.metadata})
		root(discovery+s.Base+"/o", shared, on{get: s.metadata})
		root(discovery, shared, on{get: s.metadata})
		at("/o/userinfo/", shared, on{get: s.proven(s.userInfo), post: s.proven(s.userInfo)})
	}

	at(checkup.ArrivalPath, s.Endpoint, on{get: s.arrival})

	at(errorcode.Path, s.Page, on{get: s.errorCodes})
	at(errorcode.Path+"{code}/", s.Page, on{get: s.errorCode})
	at("/logo/{name}/", s.Endpoint, on{get: s.logo})

	if !s.Config.SeparateOpsListener {
		at("/healthz", s.Endpoint, on{get: s.healthy})
		at("/readyz", s.Endpoint, on{get: s.ready})
		// Operators check one node directly, without the base URL.
		root("/healthz", s.Endpoint, on{get: s.healthy})
		root("/readyz", s.Endpoint, on{get: s.ready})
	}
	if s.Config.SampleAPI != nil {
		s.sample(at, root)
	}
}

// sample adds the sample API.
func (s *server) sample(at, root web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	guard := s.Config.SampleAPI
	api := func(m on) http.Handler { return guard.Wrap(s.api(m.Serve)) }
	read, write := s.Config.ReadScope, s.Config.WriteScope
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
