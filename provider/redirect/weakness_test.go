package redirect

import (
	"strings"
	"testing"
)

// The redirect URIs of real programs that are not as RFC 8252 §7.1 or RFC 9700 §2.6 want them.
var weakURIs = map[string]Weakness{
	"audiobookshelf://oauth": Undotted, "kitchenowl:/signin/redirect": Undotted, "oc://ios.owncloud.com": Undotted,
	"cursor://anysphere.cursor-mcp/oauth/callback?a=b": Undotted, "app:///cb": Undotted,
	"app.immich:///oauth-callback": Slashes, "oc.ios://ios.owncloud.com": Slashes,
	"com.engomo.engomo://callback/":               Slashes,
	"http://grafana.lan:3000/login/generic_oauth": Plain, "http://192.168.1.10:3000/cb": Plain, "http://10.0.0.1/": Plain,
	"http://172.31.255.255/cb": Plain, "http://[fd00::1]:8080/cb": Plain,
	"http://grafana/cb": Plain, "http://my_app:3000/cb": Plain, "http://nas.local/cb": Plain,
	"http://a.b.internal/cb": Plain, "http://pi.home.arpa": Plain, "http://a.home/": Plain, "http://a.corp/": Plain,
	"http://a.intranet/": Plain, "http://a.private/": Plain,
}

// Only with somebody who answers for it is a weak redirect URI registered; everybody else is told who can.
func TestWeakRedirectURI(t *testing.T) {
	vouched := Policy{Vouched: true}
	for uri, weak := range weakURIs {
		if got := WeaknessOf(uri); got != weak {
			t.Errorf("%s: the weakness is %q, want %q", uri, got, weak)
		}
		if wrong := vouched.Check(uri); wrong != "" {
			t.Errorf("%s: %s", uri, wrong)
		}
		if warning := Warning(uri); !strings.HasPrefix(warning, uri+": ") ||
			!strings.Contains(warning, map[Weakness]string{Undotted: "RFC 8252", Slashes: "RFC 8252", Plain: "RFC 9700"}[weak]) {
			t.Errorf("%s: the warning is %q", uri, warning)
		}
		for name, strict := range map[string]Policy{"a person": {}, "a stranger": {PlainPrivate: true}} {
			if wrong := strict.Check(uri); wrong == "" || name == "a person" &&
				!strings.Contains(wrong, "an administrator can register it") {
				t.Errorf("%s, by %s: %q", uri, name, wrong)
			}
		}
		if wrong := (Policy{Vouched: true, Schemes: []string{"https"}}).Check(uri); !strings.Contains(wrong, "use https") {
			t.Errorf("%s although the operator allows https alone: %q", uri, wrong)
		}
		// RFC 9700 §2.1: exact string comparison.
		for _, other := range []string{uri + "/", strings.TrimSuffix(uri, "/") + "x", strings.Replace(uri, "://", ":/", 1),
			strings.Replace(uri, ":///", "://", 1), strings.Replace(uri, ":/", "://", 1), strings.ToUpper(uri),
			strings.Replace(uri, ":3000", ":3001", 1), strings.Replace(uri, ":3000", "", 1)} {
			if other != uri && vouched.Match(other, []string{uri}) {
				t.Errorf("%s matches %s", other, uri)
			}
		}
		if !vouched.Match(uri, []string{uri}) {
			t.Errorf("%s does not match itself", uri)
		}
	}
	for _, uri := range append(registeredURIs, "http://client.localhost/cb", "com.example.app:/cb?a=b") {
		if WeaknessOf(uri) != "" || Warning(uri) != "" {
			t.Errorf("%s: %q", uri, WeaknessOf(uri))
		}
	}
}

// An administrator is deceived, or makes a mistake: what runs a script, belongs to the browser or the system, or looks
// like a website is no redirect URI.
//
// CVE-2022-30190 (ms-msdt:) and CVE-2020-28168 (open redirect to javascript:) are of the class.
func TestAttackSchemesOfBrowsersAndSystems(t *testing.T) {
	vouched := Policy{Vouched: true}
	for _, uri := range []string{
		"javascript://client.example/%0aalert(1)", "javascript:/x", "livescript:/x", "vbscript:/x", "data:/text/html,x",
		"data://x", "file:///etc/passwd", "file://host/x", "blob:/x", "about:/blank", "about://blank", "mailto:/a",
		"view-source:/x",
		"chrome://settings/", "chrome-extension://id/x", "moz-extension://id/x", "safari-web-extension://id/x",
		"edge://settings", "devtools://x", "res://x", "resource://x", "jar:/x", "filesystem:/x", "ws://client.example/cb",
		"wss://x/cb", "ftp://x/cb", "intent://x#Intent", "intent://x",
		"ms-msdt:/id", "ms-officecmd:/x", "search-ms:/x", "search:/x", "shell:/x", "smb://host/x", "ssh://host",
		"telnet://host", "tel:/1", "sms:/1", "ldap://x/y", "urn:/x",
		"http:///cb", "httpx://client.example/cb", "https2://client.example/", "httpss://client.example/cb",
		"htttps://client.example/cb", "htps://client.example/cb", "ttps://client.example/cb", "hxxps://client.example/cb",
		"c:/cb", "x://y",
	} {
		if vouched.Check(uri) == "" {
			t.Errorf("%s is accepted", uri)
		}
	}
	for rule, uris := range map[string][]string{
		"RFC 9700 §2.6: http within a private network only": {"http://client.example/cb", "http://grafana.lan.example/cb",
			"http://lan/../x", "http://.lan/cb", "http://grafana.lan./cb", "http://Grafana.lan/cb", "http://fritz.box/cb",
			"http://a.ts.net/cb",
			"http://8.8.8.8/cb", "http://172.15.0.1/cb", "http://172.32.0.1/cb", "http://192.169.0.1/", "http://11.0.0.1/",
			"http://169.254.169.254/cb", "http://100.64.0.1/cb", "http://127.0.0.2/cb", "http://0.0.0.0/", "http://[fe80::1]/cb",
			"http://[2001:db8::1]/cb",
			"http://[::ffff:192.168.1.10]/cb", "http://[FD00::1]/cb", "http://[fd00:0::1]/cb", "http://3232235786/cb",
			"http://0xc0a8010a/cb", "http://192.168.266/cb", "http://grafana.lan@evil.example/cb", "http://user@grafana.lan/cb",
			"http://evil.example#.lan", "http://evil.example\\.lan/cb", "http:grafana/cb"},
		"the rules for all hold": {"app://x#y", "app://*/cb", "app://x/../y", "app:/x?code=1", "app://x y", "App://x",
			"app:x", "app:", "app.immich:x", "audiobookshelf:oauth", "app://user@x/cb", "app://%D0%B0/cb", "app://x:99999/cb"},
		"no host for a scheme":     {"//grafana/cb", "/cb", "grafana:3000/cb"},
		"the length has its limit": {"app://" + strings.Repeat("a", maxLength)},
	} {
		for _, uri := range uris {
			if vouched.Check(uri) == "" {
				t.Errorf("%s: %s is accepted", rule, uri)
			}
		}
	}
}

// RFC 6749 §4.1.2: the parameters are added to the query of any form of redirect URI, and nothing else changes.
func TestResponseToEachFormOfScheme(t *testing.T) {
	for uri := range weakURIs {
		separator := "?"
		if strings.Contains(uri, "?") {
			separator = "&"
		}
		r := Response{RedirectURI: uri, Parameters: []Parameter{{"code", "c"}, {"state", "a b"}}}
		if got, want := r.Location(), uri+separator+"code=c&state=a%20b"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
