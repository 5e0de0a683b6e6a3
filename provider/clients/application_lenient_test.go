package clients

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// What protects people less is chosen by administrators alone, for applications that an administrator is responsible
// for. What protects people more is chosen by anybody.
func TestLenientValues(t *testing.T) {
	with := func(value func(lenient) string) Registration {
		r := Registration{ClientType: policy.Confidential}
		for _, of := range lenients(&r, storage.Application{}) {
			*of.said = value(of)
		}
		return r
	}
	loose := with(func(of lenient) string { return of.value })
	strict := with(func(of lenient) string {
		return of.values[slices.IndexFunc(of.values, func(one string) bool { return one != of.value })]
	})
	unknown := with(func(lenient) string { return "never" })
	public := loose
	public.ClientType = policy.Public
	was := storage.Application{
		RefreshRotation: loose.RefreshRotation,
		ClaimsInIDToken: loose.ClaimsInIDToken,
		PKCE:            loose.PKCE,
	}
	person := policy.By(storage.User{ID: "alice"})
	for what, test := range map[string]struct {
		actor   policy.Actor
		r       Registration
		was     storage.Application
		vouched bool
		want    string // a part of each message; "": none is refused
		only    string // the one field that is refused; "": all are
	}{
		"an administrator, loose": {policy.Operator(), loose, storage.Application{}, true, "", ""},
		"an administrator, for a stranger": {policy.Operator(), loose, storage.Application{}, false,
			"take it over first", ""},
		"a person, loose":      {person, loose, storage.Application{}, true, "Only an administrator may", ""},
		"a person, strict":     {person, strict, storage.Application{}, false, "", ""},
		"a person, nothing":    {person, Registration{}, was, true, "", ""},
		"a person, as it was":  {person, loose, was, true, "", ""},
		"unknown":              {policy.Operator(), unknown, storage.Application{}, true, "is not supported", ""},
		"a public application": {policy.Operator(), public, was, true, "has no secret, so it needs PKCE", "pkce"},
	} {
		found := &oauth.Invalid{}
		checkLenient(found, test.actor, &test.r, test.was, policy.Allowance{AdministratorRights: test.vouched})
		refused := map[string]bool{}
		for _, f := range found.Fields {
			refused[f.Field] = true
			if test.want == "" || !strings.Contains(f.Message, test.want) {
				t.Errorf("%s: %s: %q", what, f.Field, f.Message)
			}
		}
		wants := []string{"claims_in_id_token", "pkce", "refresh_rotation"}
		switch {
		case test.want == "":
			wants = nil
		case test.only != "":
			wants = []string{test.only}
		}
		if got := slices.Sorted(maps.Keys(refused)); !slices.Equal(got, wants) {
			t.Errorf("%s: %v is refused, want %v", what, got, wants)
		}
	}

	kept := strict
	dropLenient(&loose, was)
	dropLenient(&kept, was)
	if got := loose.RefreshRotation + loose.ClaimsInIDToken + loose.PKCE; got != "" || kept.PKCE != strict.PKCE ||
		kept.ClaimsInIDToken != strict.ClaimsInIDToken ||
		kept.RefreshRotation != strict.RefreshRotation {
		t.Errorf("%q is left of what is loose, and %+v of what is strict", got, kept)
	}
}
