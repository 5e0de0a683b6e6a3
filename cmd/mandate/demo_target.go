package main

import (
	"context"
	"path/filepath"

	"mandate/conformance"
	"mandate/provider"
)

const demoTargetFile = "target.yaml"

// demoRoles are the applications that the conformance runner tries the server
// with. Their redirect URIs lead nowhere: it reads the answer on its way.
var demoRoles = map[conformance.Need]provider.Registration{
	conformance.NeedCode:       {RedirectURIs: []string{"https://client.example/code"}},
	conformance.NeedSecond:     {RedirectURIs: []string{"https://client.example/second"}},
	conformance.NeedPublic:     {RedirectURIs: []string{"https://client.example/public"}, ClientType: provider.Public},
	conformance.NeedLoopback:   {RedirectURIs: []string{"http://127.0.0.1/loopback"}, ClientType: provider.Public},
	conformance.NeedScheme:     {RedirectURIs: []string{"com.example.conformance:/callback"}, ClientType: provider.Public},
	conformance.NeedSeveral:    {RedirectURIs: []string{"https://client.example/one", "https://client.example/two"}},
	conformance.NeedMachine:    {GrantTypes: []string{provider.GrantClient}},
	conformance.NeedPassword:   {GrantTypes: []string{provider.GrantPassword}},
	conformance.NeedIntrospect: {GrantTypes: []string{provider.GrantClient}, MayIntrospect: true},
	conformance.NeedHS256:      {RedirectURIs: []string{"https://client.example/hs256"}, Algorithm: "HS256"},
	conformance.NeedPairwise:   {RedirectURIs: []string{"https://other.example/pairwise"}, Pairwise: true},
	conformance.NeedElsewhere:  {RedirectURIs: []string{"https://elsewhere.example/pairwise"}, Pairwise: true},
	conformance.NeedSigned:     {RedirectURIs: []string{"https://client.example/signed"}, UserInfoAlgorithm: "ES256"},
	conformance.NeedLogout:     {RedirectURIs: []string{"https://client.example/logout"}, PostLogoutURIs: []string{"https://client.example/bye"}},
}

// writeTarget registers them and writes the file that the runner reads.
func (o *opened) writeTarget(ctx context.Context, cast *demoCast, dir string) error {
	t := &conformance.Target{Issuer: cast.issuer, Scope: "openid profile email read groups", Clients: map[conformance.Need]*conformance.Client{},
		User: conformance.User{Username: cast.alice.Username, Password: cast.alice.Password},
		API:  conformance.API{URL: cast.base + "/resource", Wider: cast.base + "/groups/", Scope: "groups"}}
	for role, r := range demoRoles {
		r.Name = "conformance " + string(role)
		if r.GrantTypes == nil {
			r.GrantTypes = []string{provider.GrantCode}
		}
		made, err := o.fillApplication(ctx, cast, r)
		if err != nil {
			return err
		}
		t.Clients[role] = &conformance.Client{ID: made.id, Secret: made.secret, RedirectURIs: r.RedirectURIs, PostLogoutRedirectURIs: r.PostLogoutURIs}
	}
	return t.Write(filepath.Join(dir, demoTargetFile))
}
