// Package account is the start page, and the pages of a person about their own account.
package account

import (
	"net/http"

	"mandate/handlers/person"
	"mandate/handlers/web"
)

// Routes adds the start page, and the pages of a person about their own account.
func Routes(site *web.Site, at web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{site, person.Shown{Site: site}}
	at("/", s.Own, on{get: s.home})
	at("/o/authorized_tokens/", s.Own, on{get: s.ToAccount})
	at("/account/", s.Own, on{get: s.account})
	at(profilePath, s.Own, on{get: s.profilePage, post: s.changeProfile})
	at(emailPath, s.Lasting, on{get: s.emailPage, post: s.askEmail})
	at(emailPath+"{link}/", s.Unbounded, on{get: s.newEmailPage, post: s.confirmEmail})
	at(emailPath+"back/{link}/", s.Unbounded, on{get: s.formerEmailPage, post: s.returnEmail})
	at("/account/password/", s.Unbounded, on{get: s.ToAccount, post: s.changePassword})
	at(web.TotpPath, s.Lasting, on{get: s.totpPage, post: s.addTOTP})
	at(web.TotpPath+"remove/", s.Lasting, on{get: s.removeTOTPPage, post: s.removeTOTP})
	at(web.CodesPath, s.Lasting, on{get: s.codesPage, post: s.newCodes})
	at("/account/passkeys/{id}/", s.Lasting, on{get: s.Offered(s.passkeyPage), post: s.Offered(s.renamePasskey)})
	at("/account/passkeys/{id}/remove/", s.Lasting, on{
		get:  s.Offered(s.removePasskeyPage),
		post: s.Offered(s.removePasskey),
	})
	at("/account/address/", s.Own, on{get: s.ToAccount, post: s.askAddress})
	at("/account/address/{link}/", s.Unbounded, on{get: s.addressPage, post: s.verifyAddress})
	at("/account/identities/{id}/remove/", s.Lasting, on{get: s.removeIdentityPage, post: s.removeIdentity})
	at("/account/sessions/{id}/end/", s.Unbounded, on{get: s.ToAccount, post: s.endSession})
	at("/account/applications/{id}/revoke/", s.Unbounded, on{get: s.ToAccount, post: s.revokeApplication})
}
