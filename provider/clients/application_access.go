package clients

import (
	"context"
	"reflect"
	"slices"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// maxGroups is the largest number of groups in a list of an application.
const maxGroups = 100

// checkWhoseAccess checks that only an administrator decides who may use an application. Nobody else knows the groups.
func checkWhoseAccess(found *oauth.Invalid, actor policy.Actor, r Registration, was storage.Application) {
	had := registrationOf(was)
	for _, f := range fields {
		if f.Access && !actor.Administers() && !sameValue(f.Value(&r), f.Value(&had)) {
			found.Add(f.Name, "Only an administrator may change this.")
		}
	}
	// Without the consent page nobody gives it access that is stored.
	if r.NobodyNew && r.SkipConsent {
		found.Add("nobody_new", "An application that skips the consent page does not know who has used it: nobody could "+
			"use it any more. Turn one of the two off.")
	}
}

func sameValue(now, was any) bool {
	if list, is := now.(*[]string); is {
		return oauth.SameSet(*list, *was.(*[]string))
	}
	return reflect.DeepEqual(now, was)
}

// checkGroups checks that the groups of an application exist, and writes each once.
func (p *Clients) checkGroups(ctx context.Context, found *oauth.Invalid, r *Registration) error {
	r.AllowedGroups, r.DeniedGroups = oauth.Union(nil, r.AllowedGroups), oauth.Union(nil, r.DeniedGroups)
	if len(r.AllowedGroups)+len(r.DeniedGroups) == 0 {
		return nil
	}
	groups, err := p.people.Groups(ctx)
	if err != nil {
		return err
	}
	for field, names := range map[string][]string{"allowed_groups": r.AllowedGroups, "denied_groups": r.DeniedGroups} {
		if len(names) > maxGroups {
			found.Add(field, "Name at most %d groups.", oauth.Own(maxGroups))
		}
		for _, name := range names {
			if !slices.ContainsFunc(groups, func(g storage.Group) bool { return g.Name == name }) {
				found.Add(field, "There is no group %q: add it first.", oauth.Clip(name, 150))
			}
		}
	}
	return nil
}
