package provider

import (
	"strings"
	"testing"

	"mandate/provider/clients"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/provider/seal"
)

// All combinations of challenge and verifier, at both endpoints.
func TestPKCE(t *testing.T) {
	f := begin(t)
	s := f.login("alice")
	required := f.app(func(r *clients.Registration) { r.PKCE = policy.PKCERequired })
	apps := map[string]*clients.Registered{"usual": f.app(), "required": required, "exempt": f.app(exempt),
		"public": f.app(public)}
	for name, app := range apps {
		challenges := map[string][]string{"valid": nil}
		if name == "usual" || name == "exempt" {
			challenges["none"] = []string{"code_challenge", "-", "code_challenge_method", "-"}
		}
		for c, request := range challenges {
			for v, answer := range map[string]string{"none": "-", "right": verifier, "wrong": strings.Repeat("a", 43),
				"short": "a", "long": strings.Repeat("a", 129), "bad": verifier[:42] + "="} {
				t.Run(name+" application, challenge "+c+", verifier "+v, func(t *testing.T) {
					code := f.code(app, s, request...)
					want := "400 invalid_grant"
					if c == "valid" && v == "right" || c == "none" && v == "none" {
						want = "no error"
					}
					_, err := f.exchange(app, code, "code_verifier", answer)
					wantError(t, err, want)
				})
			}
		}
	}
	t.Run("a wrong verifier spends nothing", func(t *testing.T) {
		code := f.code(apps["required"], s)
		for _, v := range []string{"-", strings.Repeat("a", 43), "a"} {
			_, err := f.exchange(apps["required"], code, "code_verifier", v)
			if err == nil {
				t.Fatal("accepted", v)
			}
		}
		_, err := f.exchange(apps["required"], code)
		wantError(t, err, "no error")
	})
	t.Run("RFC7636/4.4 each code has a challenge of its own", func(t *testing.T) {
		other := strings.Repeat("b", 43)
		first, second := f.code(apps["public"], s), f.code(apps["public"], s, "code_challenge", seal.Digest(other))
		_, err := f.exchange(apps["public"], first, "code_verifier", other)
		wantError(t, err, "400 invalid_grant")
		_, err = f.exchange(apps["public"], second, "code_verifier", other)
		wantError(t, err, "no error")
	})
}

// Whoever loses administrator rights changes the rest of an application that comes without PKCE. It needs PKCE from
// then on, and no other application gets the right.
func TestPKCEOfAFormerAdministrator(t *testing.T) {
	f := begin(t)
	admin := people.Person{Username: "root", Password: goodPassword, Administrator: true}
	root, err := f.People.AddUser(t.Context(), policy.Operator(), admin)
	if err != nil {
		t.Fatal(err)
	}
	admin.Username = "second"
	_, err = f.People.AddUser(t.Context(), policy.Operator(), admin)
	if err != nil {
		t.Fatal(err)
	}
	r := clients.Registration{Name: "Client", ClientType: policy.Confidential, GrantTypes: []string{policy.GrantCode},
		RedirectURIs: []string{callback}, HashClientSecret: true}
	plain, err := f.Clients.Register(t.Context(), policy.By(root), r)
	if err != nil {
		t.Fatal(err)
	}
	r.PKCE = policy.PKCEIfSent
	without, err := f.Clients.Register(t.Context(), policy.By(root), r)
	if err != nil {
		t.Fatal(err)
	}
	wantError(t, f.People.UpdateUser(t.Context(), policy.Operator(), root.ID, people.Person{Username: "root"}), "no error")
	root = f.login("root").User
	r.Name = "Another name"
	_, err = f.Clients.Update(t.Context(), policy.By(root), without.Application.ID, f.version(without.Application.ID), r)
	wantError(t, err, "no error")
	_, err = f.Clients.Update(t.Context(), policy.By(root), plain.Application.ID, f.version(plain.Application.ID), r)
	wantInvalid(t, err, "pkce")
	asked, err := f.Authorizations.Authorize(t.Context(),
		f.query(without, "code_challenge", "-", "code_challenge_method", "-"))
	if err != nil || asked.Refused == nil || asked.Refused.Code != "invalid_request" {
		t.Error(asked, err)
	}
}
