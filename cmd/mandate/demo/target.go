package demo

import (
	"context"

	"mandate/conformance"
	"mandate/provider"
)

// WriteTarget registers an application for each role that the conformance
// runner tries the server with, and writes the file that it reads. The demo
// calls nobody, so that there is none for the back channel.
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
		t.Clients[role.Name] = role.Client(made.id, made.secret)
	}
	return t.Write(path)
}
