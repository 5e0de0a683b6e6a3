package demo

import (
	"context"

	"mandate/conformance"
	"mandate/provider"
)

// WriteTarget registers an application for each role of the conformance runner, and
// writes the target file. The demo calls no other server, so the role for
// back-channel logout is missing.
func (c *Cast) WriteTarget(ctx context.Context, path string) error {
	t := &conformance.Target{Issuer: c.issuer, Scope: "openid profile email read groups", Clients: map[conformance.Need]*conformance.Client{},
		User: conformance.User{Username: c.alice.Username, Password: c.alice.Password},
		API:  conformance.API{URL: c.base + "/resource", Wider: c.base + "/groups/", Scope: "groups"}}
	for _, role := range conformance.Roles() {
		if role.Backchannel {
			continue
		}
		r := provider.Registration{Name: "conformance " + string(role.Name), GrantTypes: []string{role.Grant},
			RedirectURIs: role.RedirectURIs, PostLogoutURIs: role.AfterLogout, MayIntrospect: role.Introspects, Pairwise: role.Pairwise,
			Algorithm: role.IDTokenAlgorithm, UserInfoAlgorithm: role.UserInfoAlgorithm}
		if role.SignedAccess {
			r.GrantTypes, r.AccessTokenFormat = append(r.GrantTypes, provider.GrantClient), provider.FormatJWT
		}
		if role.Public {
			r.ClientType = provider.Public
		}
		made, err := c.fillApplication(ctx, r)
		if err != nil {
			return err
		}
		t.Clients[role.Name] = conformance.NewClient(role, made.id, made.secret)
	}
	return t.Write(path)
}
