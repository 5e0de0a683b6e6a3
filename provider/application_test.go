package provider

import (
	"slices"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/storage"
)

// If an administrator is responsible for an application, its owner cannot change its redirect
// URIs, scopes, grant types or client type.
func TestVouchedApplication(t *testing.T) {
	f := begin(t)
	owner, root := f.person("owner"), storage.User{ID: "root", Administrator: true}
	for vouched, vouch := range map[string]func(*clients.Registration){
		"skip_consent": func(r *clients.Registration) { r.SkipConsent = true },
		"pkce":         exempt,
		"nothing":      func(*clients.Registration) {},
	} {
		r := clients.Registration{Name: "Client", ClientType: policy.Confidential,
			GrantTypes:   []string{policy.GrantCode, policy.GrantPassword},
			RedirectURIs: []string{callback, elsewhere}, Scopes: []string{"read", "write"}, HashClientSecret: true,
			Owner: "owner"}
		vouch(&r)
		by := policy.By(owner)
		if vouched != "nothing" {
			by = policy.Operator()
		}
		made, err := f.Clients.Register(t.Context(), by, r)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			field, rule string
			change      func(*clients.Registration)
		}{
			{"redirect_uris", "another redirect URI",
				func(r *clients.Registration) { r.RedirectURIs = []string{callback, "https://evil.example/"} }},
			{"redirect_uris", "one more redirect URI", func(r *clients.Registration) {
				r.RedirectURIs = append(slices.Clone(r.RedirectURIs), "https://evil.example/")
			}},
			{"redirect_uris", "one redirect URI less", func(r *clients.Registration) { r.RedirectURIs = []string{callback} }},
			{"scope", "one more scope", func(r *clients.Registration) { r.Scopes = []string{"read", "write", "groups"} }},
			{"scope", "every scope", func(r *clients.Registration) { r.Scopes = nil }},
			{"grant_type", "one more grant type", func(r *clients.Registration) {
				r.GrantTypes = []string{policy.GrantCode, policy.GrantPassword, policy.GrantClient}
			}},
			{"grant_type", "one grant type less", grants(policy.GrantCode)},
			{"client_type", "another client type", func(r *clients.Registration) { r.ClientType = policy.Public }},
		} {
			t.Run(vouched+": "+test.rule, func(t *testing.T) {
				change := r
				test.change(&change)
				_, err := f.Clients.Update(t.Context(), policy.ByConfirmed(owner), made.Application.ID,
					f.version(made.Application.ID), change)
				if vouched != "nothing" {
					wantInvalid(t, err, test.field)
				} else {
					wantError(t, err, "no error")
				}
				if change.ClientType == policy.Confidential {
					_, err = f.Clients.Update(t.Context(), policy.ByConfirmed(root), made.Application.ID,
						f.version(made.Application.ID), change)
					wantError(t, err, "no error")
				}
				_, err = f.Clients.Update(t.Context(), policy.Operator(), made.Application.ID, f.version(made.Application.ID), r)
				wantError(t, err, "no error")
			})
		}
		t.Run(vouched+": the rest is the owner's", func(t *testing.T) {
			change := r
			change.Name, change.AccessTokenLifetime = "New", 60
			change.RedirectURIs, change.Scopes = []string{elsewhere, callback}, []string{"write", "read"} // in another order
			_, err := f.Clients.Update(t.Context(), policy.ByConfirmed(owner), made.Application.ID,
				f.version(made.Application.ID), change)
			wantError(t, err, "no error")
			_, err = f.Clients.RotateSecret(t.Context(), policy.ByConfirmed(owner), made.Application.ID, 0)
			wantError(t, err, "no error")
		})
	}
}

// The owner cannot change how the tokens of such an application are made, either.
func TestVouchedApplicationsTokens(t *testing.T) {
	f := begin(t, withOpenID)
	owner := f.person("owner")
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{callback}, HashClientSecret: true, Owner: "owner",
		Pairwise: true, Algorithm: policy.DefaultAlgorithm}
	made, err := f.Clients.Register(t.Context(), policy.Operator(), r)
	if err != nil {
		t.Fatal(err)
	}
	for field, change := range map[string]func(*clients.Registration){
		"algorithm":              func(r *clients.Registration) { r.Algorithm = "ES256" },
		"userinfo_algorithm":     func(r *clients.Registration) { r.UserInfoAlgorithm = "ES256" },
		"pairwise":               func(r *clients.Registration) { r.Pairwise = false },
		"hash_client_secret":     func(r *clients.Registration) { r.HashClientSecret = false },
		"access_token_format":    func(r *clients.Registration) { r.AccessTokenFormat = policy.FormatJWT },
		"access_token_lifetime":  func(r *clients.Registration) { r.AccessTokenLifetime = 36001 },
		"refresh_token_lifetime": func(r *clients.Registration) { r.RefreshTokenLifetime = 30*24*3600 + 1 },
	} {
		r := r
		change(&r)
		_, err := f.Clients.Update(t.Context(), policy.By(owner), made.Application.ID, f.version(made.Application.ID), r)
		wantInvalid(t, err, field)
	}
}

// The operator removes a scope, or turns OpenID Connect off. An application that is registered for the scope can still
// be changed. Its scope has no effect meanwhile, and nobody gets one that he does not have.
func TestScopeThatTheOperatorRemovesBlocksNoOtherChange(t *testing.T) {
	f := begin(t, withOpenID)
	owner := f.person("owner")
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{callback}, HashClientSecret: true, Owner: "owner",
		Scopes: []string{"read", "write", "openid"}}
	made, err := f.Clients.Register(t.Context(), policy.By(owner), r)
	if err != nil {
		t.Fatal(err)
	}
	config := f.config
	config.OpenID = false
	config.Scopes = []policy.Scope{{Name: "read", Description: "Read"}, {Name: "groups", Description: "Groups"}}
	p, err := New(t.Context(), config, f.store, f.log)
	if err != nil {
		t.Fatal(err)
	}
	r.Name = "Other"
	after, err := p.Clients.Update(t.Context(), policy.By(owner), made.Application.ID, made.Application.Version, r)
	if err != nil {
		t.Fatal(err)
	}
	changed := after.Application
	if changed.Scopes != "read write openid" {
		t.Errorf("the registered scopes are %q", changed.Scopes)
	}
	if allowed := p.Rules.AllowedScopes(changed); !slices.Equal(allowed, []string{"read"}) {
		t.Errorf("it may request %q", allowed)
	}
	for _, more := range []string{"email", "files"} {
		r.Scopes = []string{"read", "write", "openid", more}
		_, err = p.Clients.Update(t.Context(), policy.By(owner), changed.ID, changed.Version, r)
		wantInvalid(t, err, "scope")
	}
}
