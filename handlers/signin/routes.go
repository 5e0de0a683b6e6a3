// Package signin is the pages on which people sign in and out, and answer the requests of applications.
package signin

import (
	"net/http"

	"mandate/handlers/web"
)

// Routes adds the pages on which people sign in and out, and answer the requests of applications.
func Routes(site *web.Site, at web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{flows{site}}
	// Other sites send browsers to this endpoint on purpose (OIDC Core §3.1.2.1).
	at("/o/authorize/", s.Page, on{get: s.authorize, post: s.authorize})
	if s.Config.OpenID && s.Config.RPLogout {
		// Other sites send browsers here too (OIDC RP-Logout §2).
		at("/o/logout/", s.Page, on{get: s.logoutRequest, post: s.logoutRequest})
	}
	at("/login/", s.Login, on{get: s.loginPage, post: s.login})
	at(cookiesPath, s.Own, on{get: s.cookiesPage})
	at("/login/factor/", s.Unbounded, on{get: s.factorPage, post: s.factor})
	at("/login/passkey/", s.Unbounded, on{get: s.toLoginPage, post: s.Offered(s.passkeySignIn)})
	at("/login/with/{name}/", s.Login, on{get: s.toLoginPage, post: s.leave})
	// The other server sends the browser here (OIDC Core §3.1.2.5).
	at("/login/with/{name}/callback/", s.Page, on{get: s.arrive})
	at("/logout/with/{name}/", s.Page, on{get: s.leaveSignedOut})
	at("/logout/", s.Unbounded, on{get: s.logoutPage, post: s.logout})
	at(forgotPath, s.Unbounded, on{get: s.forgotPage, post: s.forgot})
	at("/password/reset/{link}/", s.Unbounded, on{get: s.resetPage, post: s.reset})
	at(signUpPath, s.Unbounded, on{get: s.askSignUpPage, post: s.askSignUp})
	at(askedSignUpPath, s.Own, on{get: s.askedSignUpPage})
	at(signUpPath+"{link}/", s.Unbounded, on{get: s.signUpPage, post: s.signUp})
	at(signUpPath+"{link}/passkey/", s.Unbounded, on{get: s.toSignUpPage, post: s.Offered(s.signUpWithPasskey)})
	at("/setup/{link}/", s.Unbounded, on{get: s.setupPage, post: s.setup})
	at("/o/consent/", s.Own, on{post: s.consent})
	at("/device/", s.Own, on{get: s.devicePage, post: s.findDevice})
	at("/device/answer/", s.Own, on{get: s.toDevicePage, post: s.answerDevice})
	at(web.NewPasskeyPath, s.Own, on{get: s.Offered(s.newPasskeyPage), post: s.Offered(s.addPasskey)})
	at("/account/identities/new/{name}/", s.Lasting, on{get: s.newIdentityPage, post: s.addIdentity})
	at("/account/sessions/end/", s.Unbounded, on{get: s.ToAccount, post: s.endSessions})
}
