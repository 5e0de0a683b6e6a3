package policy

import (
	"slices"
	"strings"
	"testing"

	"mandate/provider/acr"
	"mandate/storage"
)

func TestGrantTable(t *testing.T) {
	if got, want := GrantNames(), []string{GrantCode, GrantClient, GrantPassword, GrantDevice}; !slices.Equal(got, want) {
		t.Errorf("registrable: %v, want %v", got, want)
	}
	if got, want := TokenGrants(),
		[]string{GrantCode, GrantClient, GrantPassword, GrantDevice, GrantRefresh}; !slices.Equal(got, want) {
		t.Errorf("at the token endpoint: %v, want %v", got, want)
	}
	for _, name := range TokenGrants() {
		if !SupportsGrant(name) {
			t.Errorf("%s is listed, but not supported", name)
		}
	}
	for _, name := range []string{"", "implicit", "Password", GrantRefresh + " "} {
		if SupportsGrant(name) {
			t.Errorf("%q is supported", name)
		}
	}
	if _, registrable := GrantOf(GrantRefresh); registrable {
		t.Error("an application can be registered for refresh tokens alone")
	}
	// A caller cannot change the table.
	Grants()[0].Name = "changed"
	if Grants()[0].Name != GrantCode {
		t.Error("the table has changed")
	}
}

// A new grant type is for applications of administrators only, unless its row says more.
func TestGrantsOfOwners(t *testing.T) {
	if got, want := OwnerGrants(), []string{GrantCode, GrantClient, GrantPassword, GrantDevice}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	for grant, want := range map[string]bool{GrantCode: false, GrantClient: true, GrantPassword: false, GrantDevice: false,
		GrantRefresh: false, "unknown": false} {
		if WithoutPerson([]string{GrantCode, grant}) != want {
			t.Errorf("%s gives tokens without a person: want %t", grant, want)
		}
	}
}

// A grant whose row does not say that the person signs in here gives no tokens where a second factor is required.
func TestGrantWithoutASignInReachesNoSecondFactor(t *testing.T) {
	for _, g := range append(Grants(), GrantType{Name: "new", Person: true}) {
		want := g.Name == GrantPassword || g.Name == "new"
		for required, weak := range map[string]bool{"": false, acr.Password: false, acr.MFA: want, "phr": want} {
			if g.TooWeak(required) != weak {
				t.Errorf("%s where %q is required: want too weak %t", g.Name, required, weak)
			}
		}
	}
}

func TestRefreshTokensComeWithPersons(t *testing.T) {
	for grants, refresh := range map[string]bool{GrantCode: true, GrantPassword: true, GrantDevice: true,
		GrantClient: false, "": false,
		GrantClient + " " + GrantPassword: true, GrantClient + " " + GrantCode: true} {
		a := storage.Application{GrantTypes: grants}
		if HasGrant(a, GrantRefresh) != refresh {
			t.Errorf("%q: refresh tokens %v", grants, !refresh)
		}
		for _, name := range strings.Fields(grants) {
			if !HasGrant(a, name) {
				t.Errorf("%q: not %s", grants, name)
			}
		}
		if HasGrant(a, "implicit") {
			t.Errorf("%q: implicit", grants)
		}
	}
}
