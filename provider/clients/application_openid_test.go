package clients

import (
	"testing"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// CWE-346: who has a host is proven by a certificate, and not by a name (OIDC Core §8.1).
func TestAttackSectors(t *testing.T) {
	registration := func(pairwise bool, uris ...string) Registration {
		return Registration{Pairwise: pairwise, RedirectURIs: uris}
	}
	for _, test := range []struct {
		rule string
		r    Registration
		was  string
		want string
		had  string
	}{
		{"none", registration(false, "https://client.example/cb"), "", "", ""},
		{"none any more", registration(false, "http://localhost/cb"), "localhost", "", ""},
		{"a host", registration(true, "https://A.example/cb"), "", "a.example", ""},
		{"one host", registration(true, "https://a.example/cb", "https://a.example:8443/x"), "", "a.example", ""},
		{"two hosts", registration(true, "https://a.example/cb", "https://b.example/cb"), "", "", ""},
		{"another host", registration(true, "https://b.example/cb"), "a.example", "b.example", ""},
		{"this computer, by name", registration(true, "http://LOCALHOST/cb"), "", "loopback own", ""},
		{"this computer, by https", registration(true, "https://localhost/cb"), "", "loopback own", ""},
		{"this computer, IPv4", registration(true, "http://127.0.0.1:8080/cb"), "", "loopback own", ""},
		{"this computer, IPv6", registration(true, "http://[::1]/cb"), "", "loopback own", ""},
		{"this computer, by another name", registration(true, "http://[::1]/cb"), "localhost", "loopback own", ""},
		{"moved to this computer", registration(true, "http://localhost/cb"), "a.example", "loopback own", ""},
		{"it has one of its own", registration(true, "http://localhost/cb"), "loopback own", "loopback own", ""},
		// Anybody can write the host of a website into a private-use scheme.
		{"a website's host in a private-use scheme", registration(true, "cursor://bank.example/cb"),
			"", "loopback own", ""},
		{"a private-use scheme", registration(true, "com.example.app:/cb"), "", "loopback own", ""},
		{"two private-use schemes", registration(true, "cursor://bank.example/cb", "vscode://bank.example/cb"),
			"", "loopback own", ""},
		{"everything on the device", registration(true, "cursor://bank.example/cb", "http://127.0.0.1/cb"),
			"", "loopback own", ""},
		{"a website and a private-use scheme", registration(true, "https://a.example/cb", "com.example.app:/cb"),
			"", "", ""},
		{"a website's host in both", registration(true, "https://bank.example/cb", "cursor://bank.example/cb"),
			"", "", ""},
		{"a website's host in both, from before", registration(true, "https://a.example/cb", "cursor://a.example/cb"),
			"a.example", "a.example", "https://a.example/cb\ncursor://a.example/cb"},
		{"a private-use scheme from before is kept", registration(true, "cursor://a.b/cb"),
			"a.b", "a.b", "cursor://a.b/cb"},
		{"nothing", registration(true), "", "", ""},
		{"one from before is kept", registration(true, "http://localhost/cb"),
			"localhost", "localhost", "http://localhost/old"},
		// Whoever has once named the host of a website must not keep its sector, and then receive codes on the device.
		{"from a website to a private-use scheme", registration(true, "cursor://bank.example/cb"),
			"bank.example", "loopback own", "https://bank.example/cb"},
		{"a private-use scheme beside a website", registration(true, "https://bank.example/cb", "cursor://bank.example/cb"),
			"bank.example", "", "https://bank.example/cb"},
		{"from a website to this computer", registration(true, "http://localhost/cb"),
			"localhost", "loopback own", "https://localhost.example/cb"},
	} {
		if got := sectorOf(test.r,
			storage.Application{ClientID: "own", Sector: test.was, RedirectURIs: test.had}); got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}

// Without OpenID Connect nobody could check what is registered, and it would take effect once the operator enables it.
func TestNoFieldOfOpenIDChangesWithoutIt(t *testing.T) {
	was := storage.Application{PostLogoutURIs: "https://a.example/\nhttps://b.example/"}
	none, all := registrationOf(was), filled()
	none.PostLogoutURIs = []string{"https://b.example/", "https://a.example/"} // the order does not count
	for _, f := range Fields() {
		r := none
		switch value := f.Value(&r).(type) {
		case *string:
			*value = *f.Value(&all).(*string)
		case *bool:
			*value = !*value
		case *int64:
			*value++
		case *[]string:
			*value = append([]string{"https://c.example/"}, *value...)
		}
		found := &oauth.Invalid{}
		checkUnchanged(found, r, was)
		if refused := found.At(f.Name) != ""; refused != f.OpenID || !f.OpenID && found.Err() != nil {
			t.Errorf("%s: of OpenID Connect %v, refused %v: %v", f.Name, f.OpenID, refused, found.Err())
		}
	}
	signed, found := none, &oauth.Invalid{}
	signed.AccessTokenFormat, signed.Algorithm = policy.FormatJWT, "ES256"
	checkUnchanged(found, signed, was)
	if found.Err() != nil {
		t.Errorf("the algorithm of its access tokens: %v", found.Err())
	}
}
