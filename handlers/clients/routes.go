// Package clients is the pages on which people register and change applications.
package clients

import (
	"net/http"

	"mandate/handlers/web"
)

// Routes adds the pages on which people register and change applications.
func Routes(site *web.Site, at web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{site}
	at("/o/applications/", s.Own, on{get: s.applications})
	at("/o/applications/register/", s.Lasting, on{get: s.registerPage, post: s.register})
	at(programsPath, s.Lasting, on{get: s.programs, post: s.registerProgram})
	at("/o/applications/{id}/", s.Own, on{get: s.application})
	at("/o/applications/{id}/update/", s.Lasting, on{get: s.updatePage, post: s.update})
	at("/o/applications/{id}/owner/", s.Lasting, on{get: s.ownerPage, post: s.changeOwner})
	at("/o/applications/{id}/rotate/", s.Lasting, on{get: s.rotatePage, post: s.rotate})
	at("/o/applications/{id}/test-key/", s.Lasting, on{get: s.toTestKey, post: s.testKey})
	at("/o/applications/{id}/revoke/", s.Lasting, on{get: s.revokeAllPage, post: s.revokeAll})
	at("/o/applications/{id}/delete/", s.Lasting, on{get: s.deleteApplicationPage, post: s.deleteApplication})
}
