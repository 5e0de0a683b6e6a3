package redirect

import (
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/ory/fosite"
)

func TestRedirectURIAtRegistration(t *testing.T) {
	good := []string{
		"https://client.example", "https://client.example/", "https://client.example/cb", "https://client.example:8443/cb",
		"https://client.example:65535/cb", "http://127.0.0.1:1/cb",
		"https://client.example/code?codes=1&encode=state&a=code&x[code]=1", "https://client.example/cb?a=b&a=c",
		"https://client.example/cb?", "https://client.example/a%20b", "https://client.example/a//b",
		"https://client.example/..a/b..", "https://client.example/?next=../x", "https://CLIENT.example/Cb",
		"https://192.0.2.1/cb",
		"https://[2001:db8::1]/cb", "https://[2001:db8::1]:8443/cb", "https://xn--bcher-kva.example/cb",
		"http://127.0.0.1/cb", "http://127.0.0.1:8080/cb", "http://[::1]/cb", "http://[::1]:8080/cb", "http://localhost/cb",
		"http://localhost:3000", "http://client.localhost/cb",
		"com.example.app:/", "com.example.app:/cb", "com.example.app:/cb?a=b",
		"https://client.example/" + strings.Repeat("a", maxLength-len("https://client.example/")),
	}
	for _, uri := range good {
		if wrong := (Policy{}).Check(uri); wrong != "" {
			t.Errorf("%.80s is refused: %s", uri, wrong)
		}
	}
	bad := map[string][]string{
		"RFC6749/3.1.2 the URI is absolute": {"", "/cb", "//client.example/cb", "cb", "client.example/cb", "?a=b", "https",
			":", "://client.example/cb",
			"https:", "https:/", "https://", "https:///x", "https:x", "https:/client.example/cb", "https://:443/cb",
			"https://?a=b"},
		"RFC6749/3.1.2 the URI has no fragment": {"https://client.example/cb#", "https://client.example/cb#x",
			"https://client.example#", "com.example.app:/cb#x", "http://127.0.0.1/#"},
		"RFC9700/4.1.3 the URI has no wildcard": {"https://*.client.example/cb", "https://client.example/*",
			"https://client.example/cb?*", "https://*", "*", "http://127.0.0.1:*/cb", "*://client.example/cb"},
		"RFC9700/2.6 http is for this computer only": {"http://client.example/cb", "http://127.0.0.2/cb", "http://127.1/cb",
			"http://2130706433/cb", "http://0.0.0.0/cb", "http://0/cb",
			"http://127.0.0.1.client.example/cb", "http://localhost.client.example/cb", "http://localhost./cb",
			"http://127.0.0.1./cb",
			"http://LOCALHOST/cb", "http://App.localhost/cb", "http://.localhost/cb", "http://[::2]/cb",
			"http://[::ffff:127.0.0.1]/cb", "http://[0:0:0:0:0:0:0:1]/cb", "http:", "http:/cb", "http:127.0.0.1/cb",
			"http:///127.0.0.1/cb"},
		"the URI has no user information": {"https://user@client.example/cb", "https://user:password@client.example/cb",
			"https://@client.example/cb", "https://:@client.example/cb",
			"http://127.0.0.1@evil.example/cb", "http://evil.example@127.0.0.1/cb", "http://127.0.0.1:80@evil.example/cb"},
		"the scheme runs no script and shows no file": {"javascript:alert(1)", "javascript://client.example/%0aalert(1)",
			"data:text/html,x", "data:text/html;base64,eA==", "vbscript:x", "file:///etc/passwd",
			"blob:https://client.example/x", "filesystem:https://client.example/x", "view-source:https://client.example",
			"about:blank", "ws://client.example/cb", "ftp://client.example/cb", "intent://x", "mailto:a@b.example",
			"urn:ietf:wg:oauth:2.0:oob"},
		"RFC8252/7.1 a private scheme has a dot and one slash": {"myapp:/cb", "myapp://cb", "com.example.app",
			"com.example.app:", "com.example.app:cb", "com.example.app://cb", "com.example.app://", "com.example.app:///cb",
			"com.example.app:?x"},
		"the scheme is in lower case": {"HTTPS://client.example/cb", "Https://client.example/cb",
			"hTTp://127.0.0.1/cb", "Com.Example.App:/cb", "JavaScript:alert(1)"},
		"no path walks up": {"https://client.example/..", "https://client.example/.", "https://client.example/a/../b",
			"https://client.example/a/./b", "https://client.example/a/%2e%2e/b", "https://client.example/a/%2E%2e/b",
			"https://client.example/a/.%2E/b", "https://client.example/%2e", "https://client.example/a/..?x",
			"com.example.app:/../cb"},
		"a browser reads the URI as it stands": {`https://client.example\cb`, `https:\\client.example/cb`,
			`https://client.example/a\..\b`, "https://client.example/a b", " https://client.example/cb",
			"https://client.example/cb ",
			"https://client.example/\x00", "https://client.example/\t", "https://client.example/cb\n",
			"https://client.example/\r", "https://client.example/\x7f", "java\nscript:x",
			"https://clïent.example/cb", "https://client.example/\u202e", "https://client。example/cb",
			"https://client.example/\xff",
			`https://client.example/"`, "https://client.example/<x>", "https://client.example/`", "https://client.example/{x}",
			"https://client.example/a|b", "https://client.example/^"},
		"the host is a plain name or address": {"https://client.example:/cb", "https://client.example:x/cb",
			"https://client.example:-1/cb", "https://client.example:80:80/cb", "https://client%2eexample/cb",
			"https://[fe80::1%25eth0]/cb",
			"https://[::1/cb", "https://::1/cb", "https://client.example%00/cb", "https://client.example%40evil.example/cb",
			"https://%D0%B0pple.com/cb", "https://127.%EF%BC%91/cb", "https://%EF%BD%8Cocalhost/cb",
			"https://apple.com%E2%88%95login.example/cb", "vscode://%D0%B0.b/cb"},
		"the port exists": {"https://client.example:65536/cb", "https://client.example:99999/cb",
			"https://client.example:443000000000000000000/cb",
			"http://127.0.0.1:65536/cb", "http://localhost:70000/cb", "https://[2001:db8::1]:65536/cb"},
		"RFC6749/3.1 no parameter of the response is in the query": {"https://client.example/cb?code=x",
			"https://client.example/cb?a=b&state=x", "https://client.example/cb?iss=https://other.example",
			"https://client.example/cb?error=x",
			"https://client.example/cb?response=x", "https://client.example/cb?error_description=x",
			"https://client.example/cb?error_uri=x", "https://client.example/cb?a=b;code=x",
			"https://client.example/cb?c%6fde=x",
			"https://client.example/cb?code", "https://client.example/cb?code[]=x", "https://client.example/cb?Code=x",
			"https://client.example/cb?+state=x", "https://client.example/cb?error.description=x",
			"https://client.example/cb?error+description=x", "https://client.example/cb?error[description=x",
			"https://client.example/cb?code%00x=y", "https://client.example/cb?%20code=x", "https://client.example/cb?state+=x",
			"http://127.0.0.1/cb?code=x", "com.example.app:/cb?state=x"},
		"the URI has at most 2000 bytes": {"https://client.example/" +
			strings.Repeat("a", maxLength-len("https://client.example/")+1)},
		"percent-encoding is complete": {"https://client.example/%", "https://client.example/%zz",
			"https://client.example/%2"},
	}
	for rule, uris := range bad {
		t.Run(rule, func(t *testing.T) {
			for _, uri := range uris {
				if (Policy{}).Check(uri) == "" {
					t.Errorf("%q is accepted", uri)
				}
			}
		})
	}
	t.Run("the operator can restrict the schemes", func(t *testing.T) {
		c := Policy{Schemes: []string{"https"}}
		for uri, want := range map[string]bool{"https://client.example/cb": true, "http://127.0.0.1/cb": false,
			"com.example.app:/cb": false, "HTTPS://client.example/cb": false} {
			if got := c.Check(uri) == ""; got != want {
				t.Errorf("%s is accepted: %t", uri, got)
			}
		}
	})
}

// The registered URIs that the attacks below start from.
var registeredURIs = []string{
	"https://client.example/cb", "https://client.example/Cb?a=B&c=d", "https://client.example:8443/",
	"https://client.example", "com.example.app:/cb",
	"http://127.0.0.1/cb", "http://127.0.0.1:8080/cb?x=1", "http://[::1]:9/cb", "http://[::1]", "http://localhost:3000/cb",
	"https://[2001:db8::1]:1/cb", "https://127.0.0.1:8080/cb",
}

// onlyPortDiffers reports whether sent is the loopback URI known with another port. It
// does not use the code under test.
func onlyPortDiffers(sent, known string) bool {
	for _, host := range []string{"http://127.0.0.1", "http://[::1]"} {
		a, ok := strings.CutPrefix(sent, host)
		b, known := strings.CutPrefix(known, host)
		if ok && known {
			return afterPort(a) == afterPort(b) && afterPort(a) != "invalid"
		}
	}
	return false
}

func afterPort(rest string) string {
	if !strings.HasPrefix(rest, ":") {
		return rest
	}
	n := 1
	for n < len(rest) && '0' <= rest[n] && rest[n] <= '9' {
		n++
	}
	if number, err := strconv.Atoi(rest[1:n]); err != nil || number > 65535 {
		return "invalid"
	}
	return rest[n:]
}

// The message names what is missing, and not the scheme for which a host was taken.
func TestRedirectURIWithoutScheme(t *testing.T) {
	for _, uri := range []string{"127.0.0.1:3000/cb", "localhost:3000/cb", "app.example.com:443/cb", "[::1]:3000/cb",
		"localhost:3000", "app.example.com/cb", "/cb"} {
		if got := (Policy{}).Check(uri); got != notAbsolute {
			t.Errorf("%s: %q", uri, got)
		}
	}
	for _, uri := range []string{"https://127.0.0.1:3000/cb", "http://[::1]:3000/cb", "com.example.app:/3000"} {
		if got := (Policy{}).Check(uri); got != "" {
			t.Errorf("%s: %q", uri, got)
		}
	}
}

func TestRedirectURIMatch(t *testing.T) {
	c := Policy{}
	t.Run("RFC9700/2.1 each registered URI matches itself", func(t *testing.T) {
		for _, known := range registeredURIs {
			if !c.Match(known, registeredURIs) || !c.Match(known, []string{known}) {
				t.Errorf("%s does not match itself", known)
			}
		}
	})
	t.Run("RFC9700/2.1 no mutation matches but of a loopback port", func(t *testing.T) {
		n := 0
		for _, known := range registeredURIs {
			check := func(sent string) {
				n++
				if got, want := c.Match(sent, []string{known}), sent == known || onlyPortDiffers(sent, known); got != want {
					t.Errorf("%q for %s: matches %t, want %t", sent, known, got, want)
				}
			}
			for i := range len(known) + 1 {
				for b := range 256 {
					check(known[:i] + string([]byte{byte(b)}) + known[i:])
					if i < len(known) {
						check(known[:i] + string([]byte{byte(b)}) + known[i+1:])
					}
				}
				check(known[:i])
				check(known[i:])
				if i < len(known) {
					check(known[:i] + known[i+1:])
				}
			}
			check(strings.ToUpper(known))
			check(known + known)
		}
		t.Log(n, "mutations")
	})
	t.Run("RFC8252/7.3 the port of a loopback address may vary", func(t *testing.T) {
		for _, sent := range []string{"http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb"} {
			for _, known := range []string{"http://127.0.0.1/cb", "http://127.0.0.1:8080/cb"} {
				if !c.Match(sent, []string{known}) {
					t.Errorf("%s does not match %s", sent, known)
				}
			}
		}
	})
	attacks := map[string][][2]string{
		"CVE-2020-15233 nothing but the port may vary": {
			{"http://127.0.0.1:8080/evil", "http://127.0.0.1/cb"}, {"http://127.0.0.1:8080/cb?evil=1", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:8080/cb/evil", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:8080", "http://127.0.0.1/"}, {"http://127.0.0.1:8080/", "http://127.0.0.1"},
			{"http://[::1]/cb", "http://127.0.0.1/cb"}, {"https://127.0.0.1:1/cb", "http://127.0.0.1/cb"},
			{"https://127.0.0.1:9/cb", "https://127.0.0.1:8/cb"},
			{"http://127.0.0.1:8080/cb?b=2&a=1", "http://127.0.0.1/cb?a=1&b=2"},
			{"http://127.0.0.2:1/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:8080/%63b", "http://127.0.0.1/cb"}, {"http://127.0.0.1:8080/cb#x", "http://127.0.0.1/cb"},
			{"com.example.app:/evil", "com.example.app:/cb"}},
		"CVE-2020-15234 case is kept": {
			{"https://client.example/CB", "https://client.example/cb"},
			{"https://CLIENT.example/cb", "https://client.example/cb"},
			{"HTTPS://client.example/cb", "https://client.example/cb"},
			{"https://client.example/cb?A=b", "https://client.example/cb?a=b"},
			{"https://client.example/%2F", "https://client.example/%2f"}, {"HTTP://127.0.0.1:1/cb", "http://127.0.0.1/cb"}},
		"user information does not move the host": {
			{"http://127.0.0.1:80@evil.example/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1@evil.example/cb", "http://127.0.0.1/cb"}, {"http://evil@127.0.0.1:9/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:80:@evil.example/cb", "http://127.0.0.1/cb"},
			{"https://client.example@evil.example/cb", "https://client.example/cb"},
			{"http://[::1]:1@evil.example/cb", "http://[::1]/cb"}},
		"no prefix and no suffix is enough": {
			{"http://127.0.0.1.evil.example/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:1.evil.example/cb", "http://127.0.0.1/cb"}, {"http://127.0.0.10/cb", "http://127.0.0.1/cb"},
			{"http://[::1].evil.example/cb", "http://[::1]/cb"},
			{"https://client.example.evil.example/cb", "https://client.example/cb"},
			{"https://evil-client.example/cb", "https://client.example/cb"},
			{"https://evil.example/?https://client.example/cb", "https://client.example/cb"},
			{"https://client.example/cb/../evil", "https://client.example/cb"},
			{"https://client.example/cb?x", "https://client.example/cb"},
			{"https://client.example/cb?", "https://client.example/cb"}},
		"a port is of one to five digits": {
			{"http://127.0.0.1:/cb", "http://127.0.0.1/cb"}, {"http://127.0.0.1:123456/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:-1/cb", "http://127.0.0.1/cb"}, {"http://127.0.0.1:+1/cb", "http://127.0.0.1/cb"},
			{"http://127.0.0.1:1:2/cb", "http://127.0.0.1/cb"}, {"http://127.0.0.1:١/cb", "http://127.0.0.1/cb"},
			{`http://127.0.0.1:1\@evil.example/cb`, "http://127.0.0.1/cb"},
			{"http://127.0.0.1:1;@evil.example/cb", "http://127.0.0.1/cb"}},
		"nothing registered matches nothing": {{"https://client.example/cb", ""}, {"", "https://client.example/cb"}},
	}
	for rule, pairs := range attacks {
		t.Run(rule, func(t *testing.T) {
			for _, pair := range pairs {
				if c.Match(pair[0], strings.Fields(pair[1])) {
					t.Errorf("%s matches %q", pair[0], pair[1])
				}
			}
		})
	}
	t.Run("the port of localhost varies with the setting only", func(t *testing.T) {
		loose := Policy{LocalhostLoopback: true}
		for _, test := range []struct {
			sent, known string
			want        bool
		}{
			{"http://localhost:1/cb", "http://localhost/cb", true}, {"http://localhost/cb", "http://localhost:1/cb", true},
			{"http://localhost:1/evil", "http://localhost/cb", false},
			{"http://127.0.0.1:1/cb", "http://localhost/cb", false},
			{"http://localhost.evil.example/cb", "http://localhost/cb", false},
			{"http://localhost:1@evil.example/cb", "http://localhost/cb", false},
		} {
			if got := loose.Match(test.sent, []string{test.known}); got != test.want {
				t.Errorf("with the setting %s matches %s: %t", test.sent, test.known, got)
			}
			if c.Match(test.sent, []string{test.known}) {
				t.Errorf("without the setting %s matches %s", test.sent, test.known)
			}
		}
	})
}

func TestRedirectURIMismatch(t *testing.T) {
	for _, test := range []struct {
		part, sent, known string
		sentPart          string // the segment that differs
		knownPart         string
	}{
		{"scheme", "http://client.example/cb", "https://client.example/cb", "", "s"},
		{"host", "https://evil.example/cb", "https://client.example/cb", "evil", "client"},
		{"port", "https://client.example:1/cb", "https://client.example:2/cb", "1", "2"},
		{"path", "https://client.example/cb/", "https://client.example/cb", "/", ""},
		{"path", "com.example.app:/x", "com.example.app:/cb", "x", "cb"},
		{"query", "https://client.example/cb?a=1", "https://client.example/cb", "?a=1", ""},
		{"query", "https://client.example/cb?", "https://client.example/cb", "?", ""},
		{"fragment", "https://client.example/cb#x", "https://client.example/cb", "#x", ""},
		{"user information", "https://me@client.example/cb", "https://client.example/cb", "me@", ""},
		{"spelling", "HTTPS://client.example/cb", "https://client.example/cb", "HTTPS", "https"},
		{"syntax", "https://client.example/%", "https://client.example/cb", "%", "cb"},
		{"path", "https://client.example/aaa", "https://client.example/aa", "a", ""}, // the halves must not overlap
	} {
		t.Run(test.sent, func(t *testing.T) {
			m := (Policy{}).Compare(test.sent, []string{test.known, "x:/", "org.other:/"}, "owner")
			got := []string{m.Part, m.Sent, m.Nearest, m.Sent[m.From:m.SentTo], m.Nearest[m.From:m.NearestTo],
				m.Sent[:m.From] + m.Nearest[m.From:m.NearestTo] + m.Sent[m.SentTo:], m.OwnerID}
			want := []string{test.part, test.sent, test.known, test.sentPart, test.knownPart, test.known, "owner"}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
	t.Run("with nothing registered there is nothing to compare", func(t *testing.T) {
		want := &Mismatch{Sent: "https://client.example/cb", SentTo: 25}
		if d := cmp.Diff(want, Policy{}.Compare("https://client.example/cb", nil, "")); d != "" {
			t.Error(d)
		}
	})
}

func FuzzRedirectURI(f *testing.F) {
	for _, uri := range append(registeredURIs, "javascript:alert(1)", "https:///x", "https://a/%2e%2e/",
		"http://127.0.0.1:80@evil.example/", "https://a#", "com.a:/b", "https://[::1%25x]/", "//a", "\x00") {
		f.Add(uri, 3, byte('x'))
	}
	f.Fuzz(func(t *testing.T, uri string, at int, b byte) {
		c := Policy{}
		Policy{}.Compare(uri, registeredURIs, "") // never panics
		if c.Check(uri) != "" {
			return
		}
		u, err := url.Parse(uri)
		if err != nil || !u.IsAbs() || u.Fragment != "" || strings.Contains(uri, "#") || u.User != nil ||
			u.Scheme == "http" && !isLoopback(u.Hostname()) {
			t.Fatalf("%q is accepted: %+v, %v", uri, u, err)
		}
		// A URI that can be registered must work at the authorization endpoint too.
		if !fosite.IsValidRedirectURI(u) {
			t.Fatalf("%q is accepted, and fosite refuses it", uri)
		}
		if !c.Match(uri, []string{uri}) {
			t.Fatalf("%q does not match itself", uri)
		}
		i := uint(at) % uint(len(uri))
		for _, sent := range []string{uri[:i] + string([]byte{b}) + uri[i+1:], uri[:i] + string([]byte{b}) + uri[i:],
			uri[:i] + uri[i+1:]} {
			if sent != uri && c.Match(sent, []string{uri}) && !onlyPortDiffers(sent, uri) {
				t.Fatalf("%q matches %q", sent, uri)
			}
		}
	})
}

// Two URIs without their ports are equal exactly if they match the same requests.
func TestWithoutPort(t *testing.T) {
	for _, localhost := range []bool{false, true} {
		p := Policy{LocalhostLoopback: localhost}
		for uri, want := range map[string]string{
			"http://127.0.0.1:1234/cb?a=b":   "http://127.0.0.1/cb?a=b",
			"http://127.0.0.1/cb":            "http://127.0.0.1/cb",
			"http://[::1]:80":                "http://[::1]",
			"https://127.0.0.1:1234/cb":      "https://127.0.0.1:1234/cb",
			"http://127.0.0.1:123456/cb":     "http://127.0.0.1:123456/cb",
			"http://127.0.0.1:1/http://a:2/": "http://127.0.0.1/http://a:2/",
			"http://127.0.0.1.evil.example/": "http://127.0.0.1.evil.example/",
			"com.example.app:/cb":            "com.example.app:/cb",
		} {
			if got := p.WithoutPort(uri); got != want {
				t.Errorf("%s: %s, want %s", uri, got, want)
			}
			if p.WithoutPort(uri) != uri && !p.Match(want, []string{uri}) {
				t.Errorf("%s does not match %s", want, uri)
			}
		}
		if same := p.WithoutPort("http://localhost:1/") == p.WithoutPort("http://localhost:2/"); same != localhost ||
			same != p.Match("http://localhost:1/", []string{"http://localhost:2/"}) {
			t.Errorf("localhost: %t", same)
		}
	}
}

// A browser reads a host whose last label is a number as an IPv4 address (WHATWG URL, host parsing): these
// are the computer of the person, and not a host with a certificate.
//
// CVE-2021-29921 and CVE-2021-29923 (Go, Python: octal addresses) are of the class.
func TestAttackNumberIsAnAddress(t *testing.T) {
	for _, host := range []string{
		"127.1", "2130706433", "0x7f.1", "0", "0177.0.0.1", "0x7f000001", "0X7F.1", "0x", "127.0.0.1.", "127.0.1", "1", "a.1",
		"example.0x7f", "example.0X7F.", "127.0.0.01", "0.0",
		"1.2.3.4.5", "256.1.1.1", "client.example.127", "client.example.08", "4294967296",
	} {
		uri := "https://" + host + "/cb"
		if wrong := (Policy{}).Check(uri); !strings.Contains(wrong, "IPv4") {
			t.Errorf("%s: %q", uri, wrong)
		}
		if AtHost(uri) {
			t.Errorf("%s leads to a host of the network", uri)
		}
	}
	if wrong := (Policy{}).Check("https:///cb"); wrong != "has no host" {
		t.Error(wrong)
	}
	for _, uri := range []string{"https://127.%EF%BC%91/cb", "https://%EF%BD%8Cocalhost/cb",
		"https://127.0.0.1%E3%80%82/cb"} {
		if AtHost(uri) {
			t.Errorf("%s leads to a host of the network", uri)
		}
	}
	for _, host := range []string{"192.0.2.1", "client.example", "my_app", "127.0.0.1.example", "1e3.example", "0x7g",
		"client.0x7fg", "a1", "1-a", "9.example.", "[2001:db8::1]"} {
		uri := "https://" + host + "/cb"
		if wrong := (Policy{}).Check(uri); wrong != "" || !AtHost(uri) {
			t.Errorf("%s: %q, at a host: %t", uri, wrong, AtHost(uri))
		}
	}
}

// A link of an editor is a command, unless it is for an extension: a stranger must not register one.
//
// CVE-2025-54133 (Cursor: a link that installs a server) is of the class.
func TestAttackCommandInThePath(t *testing.T) {
	strangers := Policy{PrivateSchemes: []string{"cursor", "vscode", "vscode-insiders", "windsurf", "zed"},
		PlainPrivate: true}
	for _, uri := range []string{
		"vscode://vscode-remote/ssh-remote+evil.example/x", "vscode://file//evil/share/x", "vscode://file/c:/x",
		"vscode:/mcp/install", "vscode:///mcp/install", "vscode://mcp/install",
		"vscode://settings/a.b", "vscode://file.", "vscode://file./x", "vscode://.file/x", "vscode://file..x/y",
		"vscode://file:80/a.b", "vscode://a.b:80/x", "vscode:/a.b/c", "cursor://file/x",
		"windsurf://windsurf-mcp-registry", "zed://file/x", "zed://extension/x", "vscode-insiders://vscode-remote/wsl+a.b",
		"cursor://anysphere.cursor-deeplink/mcp/install?name=x",
	} {
		if strangers.Check(uri) == "" || !IsCommand(uri) {
			t.Errorf("%s: %q, a command: %t", uri, strangers.Check(uri), IsCommand(uri))
		}
	}
	for _, uri := range []string{
		"cursor://anysphere.cursor-mcp/oauth/callback", "cursor://anysphere.cursor-retrieval/oauth/user-x/callback",
		"vscode://vscode.github-authentication/did-authenticate", "vscode-insiders://linear.linear-connect/callback",
		"windsurf://publisher.extension_1/callback", "vscode://publisher.extension", "com.example.app:/cb",
		"https://client.example/cb?a=b", "http://127.0.0.1/cb?a=b", "http://localhost:1/cb",
	} {
		if wrong := strangers.Check(uri); wrong != "" || IsCommand(uri) {
			t.Errorf("%s: %q, a command: %t", uri, wrong, IsCommand(uri))
		}
	}
	// Somebody answers for the others.
	if wrong := (Policy{PrivateSchemes: []string{"vscode"}}).Check("vscode://name/callback"); wrong != "" {
		t.Error(wrong)
	}
}
