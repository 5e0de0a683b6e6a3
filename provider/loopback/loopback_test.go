package loopback

import "testing"

func TestHosts(t *testing.T) {
	for host, want := range map[string]struct{ is, name bool }{
		"127.0.0.1": {is: true}, "127.1.2.3": {is: true}, "::1": {is: true}, "localhost": {is: true, name: true},
		"LocalHost": {name: true}, "app.localhost": {name: true}, "a.b.LOCALHOST": {name: true},
		"": {}, ".localhost": {}, "localhost.": {}, "notlocalhost": {}, "localhost.example": {}, "app.localhost.example": {},
		"0.0.0.0": {}, "::": {}, "10.0.0.1": {}, "127.0.0.1.example": {}, "[::1]": {},
	} {
		if got := Is(host); got != want.is {
			t.Errorf("Is(%q) = %t", host, got)
		}
		if got := IsName(host); got != want.name {
			t.Errorf("IsName(%q) = %t", host, got)
		}
		if got := InBrowser(host); got != (want.is || want.name) {
			t.Errorf("InBrowser(%q) = %t", host, got)
		}
	}
}
