package handlers

import (
	"net/url"
	"testing"
)

// A website listens on the port of its redirect URI, if that leads to the same computer.
func TestPortOfAWebsite(t *testing.T) {
	for uri, want := range map[string]uint64{
		"http://127.0.0.1:9099/back": 9099, "http://localhost:3000": 3000, "http://[::1]:4000/": 4000,
		"http://localhost/back": 8080, "http://127.0.0.1:0/back": 8080, "http://127.0.0.1:70000/back": 8080,
		"https://localhost:8443/back": 8080, "https://app.example:8443/back": 8080, "http://192.0.2.1:9099/back": 8080,
	} {
		u, err := url.Parse(uri)
		if err != nil {
			t.Fatal(err)
		}
		if got := ownPort(u); got != want {
			t.Errorf("%s: port %d, want %d", uri, got, want)
		}
	}
}
