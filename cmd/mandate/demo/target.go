package demo

import (
	"context"
	"encoding/json"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/provider/resources"
)

// WriteTarget registers an application for each role of the conformance runner, and
// writes the target file. The demo calls no other server than the host of metadata
// documents, and has no TLS, so the roles for back-channel logout and for certificates are
// missing.
func (c *Cast) WriteTarget(ctx context.Context, documents target.Documents, path string) error {
	documents.Scope = "read groups" // an application for which nobody is responsible may have no other
	t := &target.Target{
		Register:  target.Once,
		Issuer:    c.issuer,
		Scope:     "openid profile email read groups",
		Clients:   map[need.Need]*target.Client{},
		User:      target.User{Username: c.alice.Username, Password: c.alice.Password},
		API:       target.API{URL: c.base + "/resource", Restricted: c.base + "/groups/", Scope: "groups", Resource: c.base},
		Documents: documents,
	}
	for _, role := range need.Roles() {
		if role.Backchannel || role.Auth == need.CertificateAuth {
			continue
		}
		client := target.NewClient(role, "", "")
		r := clients.Registration{
			Name:              "conformance " + string(role.Name),
			GrantTypes:        []string{role.Grant},
			RedirectURIs:      role.RedirectURIs,
			PostLogoutURIs:    role.AfterLogout,
			MayIntrospect:     role.Introspects,
			Pairwise:          role.Pairwise,
			Algorithm:         role.IDTokenAlgorithm,
			UserInfoAlgorithm: role.UserInfoAlgorithm,
			Profile:           role.Profile,
		}
		if role.Machine {
			r.GrantTypes = append(r.GrantTypes, policy.GrantClient)
		}
		if role.SignedAccess {
			r.AccessTokenFormat = policy.FormatJWT
		}
		r.Authentication.Method = role.Auth
		if keys := client.Keys(); keys != nil {
			text, err := json.Marshal(keys)
			if err != nil {
				return err
			}
			r.Authentication.JWKS = string(text)
		}
		if role.Public {
			r.ClientType = policy.Public
		}
		made, err := c.fillApplication(ctx, r)
		if err != nil {
			return err
		}
		client.ID, client.Secret = made.id, made.secret
		t.Clients[role.Name] = client
	}
	for _, api := range []target.Resource{{
		URI:   "https://one.example/v1",
		Scope: "read",
	}, {URI: "https://two.example/v1", Scope: "write"}} {
		_, err := c.provider.Resources.Add(ctx, policy.Operator(), resources.Registration{
			URI:           api.URI,
			Name:          "conformance " + api.Scope,
			Scopes:        []string{api.Scope, "groups"},
			Introspectors: []string{t.Clients[need.Introspect].ID},
		})
		if err != nil {
			return err
		}
		t.Resources = append(t.Resources, api)
	}
	return t.Write(path)
}
