// Package admin is the pages of administrators: people, groups, invitations, resources, sites, the event log, the
// server check.
package admin

import (
	"net/http"

	"mandate/handlers/person"
	"mandate/handlers/web"
)

// Routes adds the pages of administrators.
func Routes(site *web.Site, at web.Routing) {
	type on = web.On
	const get, post = http.MethodGet, http.MethodPost
	s := &server{accounts{site, person.Shown{Site: site}}, newLastCheck()}
	at("/admin/users/", s.Own, on{get: web.Audited(s.users)})
	at("/admin/users/new/", s.Lasting, on{get: s.newUserPage, post: s.newUser})
	at("/admin/users/{id}/", s.Lasting, on{get: web.Audited(s.userPage), post: s.updateUser})
	at("/admin/users/{id}/sessions/end/", s.Own, on{get: s.userPage, post: s.endUserSessions})
	at("/admin/users/{id}/sessions/{session}/end/", s.Own, on{get: s.userPage, post: s.endUserSession})
	at("/admin/users/{id}/passkeys/{of}/remove/", s.Lasting, on{get: s.removePasskeyOfPage, post: s.removePasskeyOf})
	at("/admin/users/{id}/identities/{of}/remove/", s.Lasting, on{get: s.removeIdentityOfPage, post: s.removeIdentityOf})
	at("/admin/users/{id}/applications/{of}/revoke/", s.Lasting, on{
		get:  s.revokeApplicationOfPage,
		post: s.revokeApplicationOf,
	})
	at("/admin/users/{id}/factors/", s.Lasting, on{get: s.resetFactorsPage, post: s.resetFactors})
	at("/admin/users/{id}/reset-link/", s.Lasting, on{get: s.toResetLink, post: s.makeResetLink})
	at("/admin/users/{id}/delete/", s.Lasting, on{get: s.deleteUserPage, post: s.deleteUser})
	at("/admin/users/{id}/membership/", s.Lasting, on{get: s.membershipPage, post: s.addMembership})
	at("/admin/users/{id}/access/", s.Own, on{get: web.Audited(s.usable)})
	at("/admin/users/{id}/access/export/", s.Own, on{get: web.Audited(s.exportUsable)})
	at(web.PeopleOfPath("{id}"), s.Own, on{get: web.Audited(s.peopleOf)})
	at(web.PeopleOfPath("{id}")+"export/", s.Own, on{get: web.Audited(s.exportPeopleOf)})
	at(checkRoute("{id}"), s.Own, on{get: web.Audited(s.checkAccess)})
	at(invitationsPath, s.Own, on{get: web.Audited(s.invitations)})
	at(invitationsPath+"new/", s.Lasting, on{get: s.invitePage, post: s.invite})
	at(invitationsPath+"list/", s.Lasting, on{get: s.inviteListPage, post: s.inviteList})
	at(invitationsPath+"{id}/", s.Own, on{get: web.Audited(s.invitationPage)})
	at(invitationsPath+"{id}/renew/", s.Lasting, on{get: s.invitationPage, post: s.renewInvitation})
	at(invitationsPath+"{id}/withdraw/", s.Lasting, on{get: s.withdrawInvitationPage, post: s.withdrawInvitation})
	at("/admin/groups/", s.Lasting, on{get: web.Audited(s.groups), post: s.addGroup})
	at("/admin/groups/{name}/delete/", s.Lasting, on{get: s.deleteGroupPage, post: s.deleteGroup})
	at("/admin/resources/", s.Own, on{get: web.Audited(s.resources)})
	at("/admin/resources/new/", s.Lasting, on{get: s.newResourcePage, post: s.newResource})
	at("/admin/resources/change/", s.Lasting, on{get: web.Audited(s.resourcePage), post: s.changeResource})
	at("/admin/resources/delete/", s.Lasting, on{get: s.deleteResourcePage, post: s.deleteResource})
	at("/members/", s.Own, on{get: s.myGroups})
	at("/members/{name}/", s.Own, on{get: s.members})
	at("/members/{name}/invite/", s.Lasting, on{get: s.members, post: s.inviteMember})
	at("/members/{name}/people/{id}/", s.Own, on{get: s.member})
	for _, act := range memberActs {
		at("/members/{name}/people/{id}/"+act+"/", s.Lasting, on{get: s.toMember, post: s.manage(act)})
	}
	at(sitesPath, s.Own, on{get: web.Audited(s.sites)})
	at(sitesPath+"new/", s.Lasting, on{get: s.newSitePage, post: s.newSite})
	at(sitesPath+"{id}/", s.Lasting, on{get: web.Audited(s.sitePage), post: s.changeSite})
	at(sitesPath+"{id}/delete/", s.Lasting, on{get: s.deleteSitePage, post: s.deleteSite})
	at(serverCheckPath, s.Own, on{get: web.Audited(s.serverCheck)})
	at(web.EventsPath, s.Own, on{get: web.Audited(s.events)})
	at(web.EventsPath+"export/", s.Own, on{get: s.toEvents, post: s.exportEvents})
	if s.Config.Registration {
		at(web.InitialTokensPath, s.Lasting, on{get: web.Audited(s.initialTokens), post: s.addInitialToken})
		at(web.InitialTokensPath+"{id}/delete/", s.Lasting, on{get: s.deleteInitialTokenPage, post: s.deleteInitialToken})
	}
}
