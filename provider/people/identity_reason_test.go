package people

import (
	"testing"

	"mandate/provider/acr"
	"mandate/provider/upstream"
)

// nOAuth (2023): the address in a token of Entra ID is what somebody has typed. It counts only where the operator says
// so, in the domains that the operator names, and never against the word of the other server.
func TestAttackAddressThatNobodyHasVerified(t *testing.T) {
	strict := &server{Server: Server{NewPeople: NewPeopleDomains, AllowedDomains: []string{"company.example"},
		TrustedForEmail: true}}
	assumes := &server{Server: strict.Server}
	assumes.AssumeVerified = true
	said := func(email string) upstream.Person { return upstream.Person{Email: email, EmailVerified: true} }
	unsaid := func(email string) upstream.Person { return upstream.Person{Email: email, EmailUnsaid: true} }
	for _, test := range []struct {
		name              string
		person            upstream.Person
		strictly, assumed condition
	}{
		{"verified", said("ann@company.example"), "", ""},
		{"verified, of another domain", said("ann@elsewhere.example"), "", ""},
		{"unsaid", unsaid("ann@company.example"), verifiedMissing, ""},
		{"unsaid, another case", unsaid("Ann@Company.Example"), verifiedMissing, ""},
		{"unsaid, of another domain", unsaid("ann@elsewhere.example"), verifiedMissing, otherDomain},
		{"unsaid, of a domain below", unsaid("ann@x.company.example"), verifiedMissing, otherDomain},
		{"unsaid, two at signs", unsaid("ann@company.example@elsewhere.example"), unusableAddress, unusableAddress},
		{"unsaid, no domain", unsaid("company.example"), unusableAddress, unusableAddress},
		{"unsaid, not ASCII", unsaid("änn@company.example"), unusableAddress, unusableAddress},
		{"denied", upstream.Person{Email: "ann@company.example"}, notVerified, notVerified},
		{"no address", upstream.Person{EmailUnsaid: true}, noAddress, noAddress},
		{"no address, and verified", upstream.Person{EmailVerified: true}, noAddress, noAddress},
	} {
		if got := strict.addressOf(test.person); got != test.strictly {
			t.Errorf("%s: %q, expected %q", test.name, got, test.strictly)
		}
		if got := assumes.addressOf(test.person); got != test.assumed {
			t.Errorf("%s, assumed: %q, expected %q", test.name, got, test.assumed)
		}
		if got := assumes.mayBeNew(test.person); got && test.assumed != "" {
			t.Errorf("%s: comes without an account", test.name)
		}
	}
	if acr.Password != strict.acrOf(said("ann@company.example")) {
		t.Error("the word about an address makes the login stronger")
	}
}

// A server that sends only the whole name loses nothing of it.
func TestNameOfANewPerson(t *testing.T) {
	i, s := &Identities{}, &server{Server: Server{NewPeople: NewPeopleInvited}}
	for _, test := range []struct{ given, family, name, first, last string }{
		{"Ann", "Example", "Ann B. Example", "Ann", "Example"},
		{"", "", "Ann B. Example", "Ann B. Example", ""},
		{"Ann", "", "Ann Example", "Ann", ""},
		{"", "", "", "", ""},
		{"", "", "Ann\u202eExample", "", ""},
		{"\u202e", "", "Ann Example", "Ann Example", ""},
	} {
		u, err := i.newPerson(s, upstream.Person{Email: "ann@company.example", EmailVerified: true, GivenName: test.given,
			FamilyName: test.family, Name: test.name})
		if err != nil || u.FirstName != test.first || u.LastName != test.last {
			t.Errorf("%+v: %q %q, %v", test, u.FirstName, u.LastName, err)
		}
	}
}
