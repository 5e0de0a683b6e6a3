package authority

import (
	"encoding/json"
	"math/rand/v2"
	"os/exec"
	"strings"
	"testing"

	"mandate/testkit"
)

// plain lists authorities that are written as a browser reads them.
var plain = map[string]string{
	"client.example": "client.example", "CLIENT.Example:8443": "client.example:8443",
	"client.example:443": "client.example", "client.example:0443": "client.example",
	"client.example:080": "client.example:80", "client.example.": "client.example.", "my_app": "my_app",
	"my_app.internal:8080": "my_app.internal:8080", "_x.example": "_x.example",
	"r3---sn-4g5e.client.example": "r3---sn-4g5e.client.example", "ab--cd.example": "ab--cd.example",
	"9.example": "9.example", "1e3.example": "1e3.example", "0x7g": "0x7g",
	"xn--bcher-kva.example": "xn--bcher-kva.example", "XN--BCHER-KVA.example": "xn--bcher-kva.example",
	"xn--pple-43d.com": "xn--pple-43d.com", "xn--strae-oqa.example": "xn--strae-oqa.example",
	"192.0.2.1": "192.0.2.1", "127.0.0.1:80": "127.0.0.1:80", "[2001:db8::1]": "[2001:db8::1]",
	"[2001:DB8:0:0::1]:8443": "[2001:db8::1]:8443", "[::1]": "[::1]",
	"[::ffff:127.0.0.1]": "[::ffff:7f00:1]", "[0:0:0:0:0:0:0:0]": "[::]", "localhost": "localhost",
	"app.localhost:3000":                 "app.localhost:3000",
	strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
}

// foreign lists hosts that are not in ASCII, and as what a browser reads them; "": it goes nowhere.
var foreign = map[string]string{
	"bücher.example": "xn--bcher-kva.example", "b%C3%BCcher.example": "xn--bcher-kva.example",
	"BÜCHER.example": "xn--bcher-kva.example", "straße.example": "xn--strae-oqa.example",
	"%D0%B0pple.com": "xn--pple-43d.com", "apple.com%E2%88%95login.example": "apple.xn--comlogin-0f7d.example",
	"127.%EF%BC%91": "", "%EF%BD%8Cocalhost": "localhost",
	"127.0.0.1%E3%80%82": "", "%E2%91%A0.1.1.1": "1.1.1.1", "apple.com%E3%80%82evil.example": "apple.com.evil.example",
	"%E2%80%8Bexample.com": "example.com", "example.com%C2%AD": "example.com",
	"login.bank.example%E2%80%8E": "", "client。example": "client.example", "①.example": "1.example",
	"client.example%00": "", "a%2eexample": "a.example", "%61.example": "a.example",
	"\u202eclient.example": "", "日本語.example": "xn--wgv71a119e.example", "client%20.example": "", "%": "",
	"client.example%": "", "\xff.example": "",
}

// broken lists other authorities that nobody can read, or that each reads in another way.
var broken = []string{
	"", ":443", "user@client.example", "@client.example", "client.example:443@evil.example", "client.example:",
	"client.example:x", "client.example:-1", "client.example:+1", "client.example:65536",
	"client.example:80:80", "client.example:١", "127.1", "2130706433", "0x7f.1", "0177.0.0.1", "127.0.0.1.", "256.1.1.1",
	"a.1", "1.2.3.4.5", "0x", "-client.example", "client-.example", "client..example", ".example", ".",
	"[::1", "[::1]x", "[fe80::1%25eth0]", "[fe80::1%eth0]", "[::%00 ]", "[127.0.0.1]", "[]", "::1", "xn--.example",
	"xn--abc-.example", "xn--a.example", "xn--localhost-", "xn--ls8h=.example", "client.example;x", "client.example,x",
	"*.client.example",
	"client$.example", "client+.example", "client!.example", "(client).example", strings.Repeat("a", 64) + ".example",
	strings.Repeat("a.", 127) + "example", "xn--" + "ocalhost-6s34d",
}

func TestAuthority(t *testing.T) {
	for written, shown := range plain {
		for _, rest := range []string{"", "/", "/cb?a=b@c:d", "?a=%D0%B0", "#%D0%B0@x"} {
			uri := "https://" + written + rest
			if wrong, got := Check(uri), Shown(uri); wrong != "" || got != shown {
				t.Errorf("%s: %q, shown as %q", uri, wrong, got)
			}
		}
	}
	for written, name := range foreign {
		wrong := Check("https://" + written + "/cb")
		if name == "" && wrong != notPlain || name != "" && wrong != "has a host that is not in ASCII: write it as "+name {
			t.Errorf("%q: %q", written, wrong)
		}
		if shown := Shown("https://" + written + "/cb"); !isASCII(shown) || name != "" && shown != name {
			t.Errorf("%q is shown as %q", written, shown)
		}
	}
	for _, written := range broken {
		for _, scheme := range []string{"https", "http", "HTTPS"} {
			if Check(scheme+"://"+written+"/cb") == "" {
				t.Errorf("%q is accepted", written)
			}
		}
	}
	// A browser reads a host here, and most libraries do not.
	for _, uri := range []string{"https:client.example/cb", "https:/client.example/cb", "https:///client.example/cb",
		`https:\\client.example/cb`, "http:"} {
		if wrong := Check(uri); wrong != "has no host" {
			t.Errorf("%s: %q", uri, wrong)
		}
	}
	// A private-use scheme has no host, or the name of a program.
	for _, uri := range []string{"com.example.app:/cb", "com.example.app:/a@b%D0%B0", "myapp://name",
		"vscode://publisher.extension_1/cb", "myapp:///cb", "app://1", "urn:a:b"} {
		if wrong := Check(uri); wrong != "" {
			t.Errorf("%s: %s", uri, wrong)
		}
	}
	for _, uri := range []string{"myapp://%D0%B0.b/cb", "myapp://user@name/cb", "myapp://a:70000/cb", "myapp://\u202e/"} {
		if Check(uri) == "" {
			t.Errorf("%s is accepted", uri)
		}
	}
}

// nodeHosts returns the host of each URL as Node reads it; "": it reads none.
func nodeHosts(t testing.TB, urls []string) []string {
	const program = `const urls = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(urls.map(url => { try { return new URL(url).host } catch { return "" } })))`
	cmd := exec.Command(testkit.Program(t, "node", "nodejs"), "-e", program)
	input, err := json.Marshal(urls)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdin = strings.NewReader(string(input))
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var hosts []string
	err = json.Unmarshal(output, &hosts)
	if err != nil || len(hosts) != len(urls) {
		t.Fatal(err, len(hosts), len(urls))
	}
	return hosts
}

// The host that people see and that this server compares is the one to which a browser goes.
//
// CVE-2019-0654, CVE-2018-12361 and CWE-1007 (homographs), CVE-2022-3602 (mapping of names) are of the class; so is
// "HostSplit" (Black Hat 2019).
func TestAttackHostOfABrowser(t *testing.T) {
	var urls []string
	for _, all := range []map[string]string{plain, foreign} {
		for written := range all {
			urls = append(urls, "https://"+written+"/cb", "http://"+written)
		}
	}
	for _, written := range broken {
		urls = append(urls, "https://"+written+"/cb", "http://"+written)
	}
	pieces := []string{"a", "b", "1", "0", "127", "0x7f", "localhost", ".", ".", "-", "_", "xn--", "xn--a",
		"xn--bcher-kva", "pple-43d", "4n", "%D0%B0", "%EF%BC%91", "%E3%80%82", "%E2%80%8B", "%2e", "%", "ü", "ß", "．", "ｌ",
		"\u00ad", ":", "80", "443", "@", "[", "]", "[::1]", "::", "ffff", "/", "?", "#", "\\", "%00", "%25"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		written := ""
		for range 1 + random.IntN(6) {
			written += pieces[random.IntN(len(pieces))]
		}
		urls = append(urls, "https://"+written, "http://"+written+"/cb")
	}
	accepted := 0
	for i, host := range nodeHosts(t, urls) {
		uri := urls[i]
		written, _ := strings.CutSuffix(strings.TrimPrefix(uri, "https://"), "/cb")
		switch name := foreign[written]; {
		case name != "" && name != host:
			t.Errorf("%q: a browser goes to %q", uri, host) // and not where the message says
		case Check(uri) != "" && isASCII(Shown(uri)):
		case Shown(uri) != host:
			t.Errorf("%q: %q, shown as %q, and a browser goes to %q", uri, Check(uri), Shown(uri), host)
		default:
			accepted++
		}
	}
	if accepted < 500 {
		t.Errorf("only %d URLs were accepted", accepted)
	}
}

func FuzzAuthority(f *testing.F) {
	for _, all := range []map[string]string{plain, foreign} {
		for written := range all {
			f.Add("https://" + written + "/cb")
		}
	}
	for _, written := range broken {
		f.Add("http://" + written)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		shown := Shown(uri)
		if !isASCII(shown) || strings.ContainsFunc(shown, func(r rune) bool { return r <= ' ' }) {
			t.Fatalf("%q is shown as %q", uri, shown)
		}
		scheme, _, _ := strings.Cut(uri, "://")
		if Check(uri) != "" || scheme != "https" && scheme != "http" {
			return
		}
		again := scheme + "://" + shown
		if Check(again) != "" || Shown(again) != shown || strings.ContainsAny(shown, "%@/ ") {
			t.Fatalf("%q is accepted and shown as %q: %q, %q", uri, shown, Check(again), Shown(again))
		}
	})
}

// A browser sends no other form of an origin, so a setting in another form would have no effect.
func TestIsOrigin(t *testing.T) {
	for origin, want := range map[string]bool{
		"https://app.example": true, "http://localhost:5173": true, "https://[::1]:8443": true, "app://desktop": true,
		"http://my_app:443": true, "https://xn--pple-43d.com": true,
		"": false, "null": false, "app.example": false, "https://": false, "https://app.example/": false,
		"https://a.example/x": false, "https://a.example?": false, "https://a.example#": false, "https://u@a.example": false,
		"https://App.example": false, "HTTPS://app.example": false, "https://*.example": false, "https://a.example:": false,
		"https://a.example:443": false, "https://a.example:0443": false, "http://a.example:80": false,
		"https://%61.example": false, "https://аpple.com": false, "https://127.1": false,
	} {
		if got := IsOrigin(origin); got != want {
			t.Errorf("%q: %t", origin, got)
		}
	}
}
