package policy

import (
	"net/http"
	"slices"

	"mandate/provider/oauth"
	"mandate/storage"
)

// NotManaged returns an Error that says why an administrator of a group may not do something to a member, or nil. It is
// the one rule of delegated administration: whoever administers a group acts only on members whose rights they hold
// all.
//
// An act on the account gives or takes all that the member has: whoever may remove a second factor or send a link can
// get into the account with a little help. So the administrator must administer each group of the member, and the
// member owns no application. What an administrator has disabled stays disabled. Removal from the group takes nothing
// else, so other groups do not matter for it.
func NotManaged(by, of storage.Holder, group, act string) error {
	holds := func(name string) bool { return slices.Contains(by.Administers, name) }
	lacks := func(names []string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return !holds(name) })
	}
	const refused = http.StatusForbidden
	switch {
	case !by.Active || !holds(group):
		return oauth.ForPerson(refused, "access_denied", "",
			"You do not administer this group any more.")
	case !slices.Contains(of.Groups, group):
		return oauth.ForPerson(refused, "access_denied", "",
			"This person is no member of the group any more.")
	case by.ID == of.ID:
		return oauth.ForPerson(refused, "access_denied", "",
			"This is you. Ask an administrator, or use the account page.")
	case of.Administrator || of.Auditor:
		return oauth.ForPerson(refused, "access_denied", "",
			"Only an administrator can help an administrator or an auditor.")
	case lacks(of.Administers):
		return oauth.ForPerson(refused, "access_denied", "",
			"This person administers a group that you do not administer.")
	case act == storage.ActRemove:
		return nil
	case lacks(of.Groups):
		return oauth.ForPerson(refused, "access_denied", "",
			"This person is also in a group that you do not administer. Ask an administrator.")
	case of.Stopped:
		return oauth.ForPerson(refused, "access_denied", "",
			"An administrator has disabled this account. Ask an administrator.")
	case of.Owns:
		return oauth.ForPerson(refused, "access_denied", "",
			"This person owns an application. Ask an administrator.")
	}
	return nil
}
