package clients

import (
	"strings"
	"testing"

	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// A page of this server links to the address: a browser must open another page with it, and run nothing.
func TestAttackLaunchAddress(t *testing.T) {
	for _, good := range []string{
		"https://wiki.example/", "https://wiki.example:8443/a/b?c=d&e", "https://xn--bcher-kva.example",
		"http://localhost:3000/", "http://127.0.0.1/", "http://[::1]:8080/", "http://wiki.localhost/",
		"HTTPS://wiki.example/",
	} {
		if wrong := WrongLaunch(good); wrong != "" {
			t.Errorf("%s %s", good, wrong)
		}
	}
	for _, bad := range []string{
		"", "wiki.example", "/o/authorize/", "//wiki.example/", "http://wiki.example/", "http://localhost.example/",
		"javascript:alert(1)", "JavaScript:alert(1)", " javascript:alert(1)", "java\nscript:alert(1)", "data:text/html,x",
		"vbscript:x", "file:///etc/passwd", "https:wiki.example", "https:///x", "https://", "https://user:pass@wiki.example/",
		"https://user@wiki.example/", `https://wiki.example\@evil.example/`, "https://wiki.example/ x",
		"https://wiki.example/\"",
		"https://%77iki.example/", "https://bücher.example/", "https://wiki.example:/", "https://wiki.example:99999/",
		"https://wiki.example/\u202e", "com.example.app:/x", "https://wiki.example/" + strings.Repeat("a", 2000),
	} {
		if WrongLaunch(bad) == "" {
			t.Errorf("%q may be linked to", bad)
		}
	}
}

// The start page shows the address under a name that the owner has chosen.
func TestAttackLaunchAddressOfSomebodyElse(t *testing.T) {
	owner := policy.By(storage.User{ID: "alice", Active: true})
	for _, test := range []struct {
		actor    policy.Actor
		was, now string
		refused  bool
	}{
		{owner, "", "https://wiki.example/", false},
		{owner, "", "https://WIKI.example:8443/start", false},
		{owner, "", "https://bank.example/", true},
		{owner, "", "https://sub.wiki.example/", true},
		{owner, "", "http://localhost:3000/", true},
		{owner, "https://bank.example/", "https://bank.example/", false}, // an administrator has set it
		{owner, "https://bank.example/", "https://bank.example/x", true},
		{owner, "https://bank.example/", "", false},
		{policy.Operator(), "", "https://bank.example/", false},
		{policy.Operator(), "", "javascript:alert(1)", true},
	} {
		found := &oauth.Invalid{}
		r := Registration{LaunchURL: test.now, RedirectURIs: []string{"com.example.app:/cb", "https://wiki.example/cb"}}
		checkLaunchURL(found, test.actor, r, storage.Application{LaunchURL: test.was})
		if (found.At("launch_url") != "") != test.refused {
			t.Errorf("%q after %q: %q", test.now, test.was, found.At("launch_url"))
		}
	}
}
