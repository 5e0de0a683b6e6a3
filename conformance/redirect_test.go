package conformance

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Where the server sends a browser: to a client only at an address that the client registered, byte for byte, and
// only once the person has signed in; to itself else.

const (
	httpsURI    = "https://app.example.com/cb?tenant=1"
	loopbackURI = "http://127.0.0.1:8123/cb"
	privateURI  = "com.example.app:/cb"
	ipv6URI     = "http://[::1]/cb"
	nameURI     = "http://localhost:8123/cb"
)

func TestRedirect(t *testing.T) {
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newTown(t, options{database: db})
		app := v.application(t, "--name", "Redirected", "--skip-consent", "--grant", "authorization_code", "--redirect-uri", httpsURI,
			"--redirect-uri", loopbackURI, "--redirect-uri", privateURI, "--redirect-uri", ipv6URI, "--redirect-uri", nameURI)
		t.Run("exact_match", func(t *testing.T) { v.redirectsExactly(t, app) })
		t.Run("classes_of_attacks", func(t *testing.T) { v.refusesAttacks(t, app) })
		t.Run("checked_again_at_the_end", v.checksAgain)
		t.Run("pollution", func(t *testing.T) { v.refusesPollution(t, app) })
		t.Run("no_redirect_before_login", v.logsInFirst)
		t.Run("state_and_iss", func(t *testing.T) { v.returnsState(t, app) })
		t.Run("next", v.staysHome)
		t.Run("always_303", v.redirectsBy303)
	})
}

// loopbacks: RFC 8252 §7.3: of a loopback address the port may vary, and nothing else (CVE-2020-15233).
var loopbacks = regexp.MustCompile(`^http://(127\.0\.0\.1(:[0-9]{1,5})?|\[::1\](:[0-9]{1,5})?)/cb$`)

// registered is our own word on which redirect URI may be used.
func registered(uri string) bool {
	return slices.Contains([]string{httpsURI, loopbackURI, privateURI, ipv6URI, nameURI}, uri) || loopbacks.MatchString(uri)
}

// mutations change each byte of a URI: its case and other bits, one more, one less.
func mutations(uri string) []string {
	var all []string
	for at := range len(uri) {
		all = append(all, uri[:at]+uri[at+1:], uri[:at]+"%"+fmt.Sprintf("%02X", uri[at])+uri[at+1:])
		for _, more := range []string{".", "/", "@", "0", "a", "\\", " ", "*", "#"} {
			all = append(all, uri[:at]+more+uri[at:])
		}
		for bit := range 7 {
			changed := []byte(uri)
			changed[at] ^= 1 << bit
			all = append(all, string(changed))
		}
	}
	return all
}

// RFC 9700 §4.1.3: simple string comparison (CVE-2020-15234: not without case; CVE-2023-6291: no patterns).
func (v *town) redirectsExactly(t *testing.T, app application) {
	for _, uri := range []string{httpsURI, loopbackURI, privateURI, ipv6URI, nameURI} {
		for _, mutated := range append(mutations(uri), uri) {
			v.wantProven(t, app, mutated, registered(mutated))
		}
	}
	for _, uri := range []string{"http://127.0.0.1/cb", "http://127.0.0.1:1/cb", "http://127.0.0.1:65535/cb", "http://[::1]:8123/cb"} {
		v.wantProven(t, app, uri, true)
	}
}

// wantProven asks without a session: with a redirect URI that is registered the next page is the login, with any other
// it is a page that says what is wrong, and nothing is redirected anywhere (RFC 9700 §4.11.2).
func (v *town) wantProven(t testing.TB, app application, uri string, want bool) {
	t.Helper()
	address, _ := v.authorizeURL(app, "redirect_uri", uri)
	a := v.get(t, strings.TrimPrefix(address, v.URL), nobody)
	location := a.Header.Get("Location")
	switch {
	case want && (a.Status != http.StatusSeeOther || !strings.HasPrefix(location, "/login/?next=")):
		t.Errorf("%q is registered: %d, Location %q", uri, a.Status, location)
	case !want && (a.Status != http.StatusBadRequest || location != "" || a.Header.Get("Refresh") != ""):
		t.Errorf("%q is not registered: %d, Location %q", uri, a.Status, location)
	case !want && !strings.HasPrefix(a.Header.Get("Content-Type"), "text/html"):
		t.Errorf("%q: the error is no page: %s", uri, a.Header.Get("Content-Type"))
	}
}

func (v *town) refusesAttacks(t *testing.T, app application) {
	for _, uri := range []string{
		"https://evil.example/cb", "//app.example.com/cb?tenant=1", "/cb", "cb", "https:app.example.com/cb",
		"https://app.example.com@evil.example/cb?tenant=1", "https://evil@app.example.com/cb?tenant=1",
		"https://app.example.com.evil.example/cb?tenant=1", "https://app.example.com:443/cb?tenant=1", "https://app.example.com./cb?tenant=1",
		"https://app.example.com/cb/../cb?tenant=1", "https://app.example.com/./cb?tenant=1", "https://app.example.com/cb?tenant=1&x=y",
		"https://app.example.com/cb?tenant=1#fragment", "https://app.example.com/cb;x?tenant=1", "https://app.example.com\\@evil.example/cb?tenant=1",
		"https://evil.example\\@app.example.com/cb?tenant=1", "https://evil.example#@app.example.com/cb?tenant=1", "https://аpp.example.com/cb?tenant=1",
		"http://app.example.com/cb?tenant=1", "HTTPS://app.example.com/cb?tenant=1", "https://APP.example.com/cb?tenant=1",
		// CVE-2020-15233 and the loopback exception: host, path, query, user and scheme stay.
		"http://127.0.0.1:8123/cb?x=y", "http://127.0.0.1:8123/cb#x", "http://127.0.0.1:8123/", "http://127.0.0.1:8123", "http://127.0.0.1:8123/cb/",
		"http://evil@127.0.0.1:8123/cb", "http://127.0.0.1:8123@evil.example/cb", "http://127.0.0.1.evil.example:8123/cb", "https://127.0.0.1:8123/cb",
		"http://127.0.0.1:/cb", "http://127.0.0.1:-1/cb", "http://127.0.0.1:123456/cb", "http://127.0.0.1:80a/cb", "http://127.0.0.1:٨/cb",
		"http://127.0.0.2:8123/cb", "http://127.1:8123/cb", "http://2130706433:8123/cb", "http://0177.0.0.1/cb", "http://0.0.0.0:8123/cb",
		"http://[::ffff:127.0.0.1]:8123/cb", "http://[0:0:0:0:0:0:0:1]/cb", "http://[::1%25lo]/cb", "http://localhost:8124/cb", "http://localhost/cb",
		"com.example.app://cb", "com.example.app:/cb/", "com.example.app.evil:/cb", "COM.example.app:/cb",
		"javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "about:blank", "https://*/cb", "https://app.example.com/*", "null", " ", "\x00",
		httpsURI + "\x00", httpsURI + "\r\nX-Injected: 1", httpsURI + "\xff", httpsURI + " https://evil.example/", httpsURI + "," + loopbackURI,
		strings.Repeat("https://app.example.com/cb?tenant=1", 100),
	} {
		v.wantProven(t, app, uri, false)
	}
	t.Run("unknown_client", func(t *testing.T) {
		for _, id := range []string{"nobody", "", app.ClientID + "x", strings.ToLower(app.ClientID + "X"), app.ClientID + " ", app.ClientID + "\x00", "<script>alert(1)</script>"} {
			for _, uri := range []string{httpsURI, "https://evil.example/", "javascript:alert(1)"} {
				query := params("client_id", id, "redirect_uri", uri, "response_type", "code")
				a := v.get(t, "/o/authorize/?"+query.Encode(), nobody)
				if a.Status != http.StatusBadRequest || a.Header.Get("Location") != "" {
					t.Errorf("client %q at %q: %d, Location %q", id, uri, a.Status, a.Header.Get("Location"))
				}
				if strings.Contains(a.Body, "<script>alert") || strings.Contains(a.Body, `href="javascript:`) || strings.Contains(a.Body, `href="https://evil`) {
					t.Errorf("client %q at %q: the page has what the request said in it:\n%s", id, uri, a.Body)
				}
			}
		}
	})
	t.Run("signed_in", func(t *testing.T) {
		b := v.signedIn(t, v.alice)
		for _, uri := range []string{"https://evil.example/", "//evil.example", "javascript:alert(1)", loopbackURI + "x"} {
			for _, more := range [][]string{nil, {"scope", "nonsense"}, {"response_type", ""}, {"prompt", "none"}, {"code_challenge", ""}} {
				address, _ := v.authorizeURL(app, append(more, "redirect_uri", uri)...)
				b.open(t, address)
				if b.Status != http.StatusBadRequest || b.Away != nil || len(b.Hops) != 0 {
					t.Errorf("%q with %q: %d, %v", uri, more, b.Status, b.Hops)
				}
			}
		}
	})
}

// CVE-2025-4143: a redirect URI that is taken from the application while the consent page is looked at is not used.
func (v *town) checksAgain(t *testing.T) {
	app := v.application(t, "--name", "Moving", "--grant", "authorization_code", "--redirect-uri", "https://old.example/cb", "--redirect-uri", "https://new.example/cb")
	root, alice := v.signedIn(t, v.admin), v.signedIn(t, v.alice)
	ticket := alice.ticket(t, app)
	code := v.signedIn(t, v.bob).issue(t, app, v.bob)
	root.open(t, "/o/applications/"+app.ID+"/update/")
	root.submit(t, "Save changes", params("redirect_uris", "https://new.example/cb"))
	for _, decision := range []string{"approve", "deny"} {
		alice.send(t, "/o/consent/", params("ticket", ticket, "decision", decision))
		if alice.Status != http.StatusBadRequest || alice.Away != nil {
			t.Errorf("%s: %d, away %v", decision, alice.Status, alice.Away)
		}
	}
	// The code has left already, and whoever has it proves to be the client.
	v.mustToken(t, app.auth(), code)
}

// RFC 6749 §3.1: no parameter comes twice (CVE-2026-9689).
func (v *town) refusesPollution(t *testing.T, app application) {
	address, _ := v.authorizeURL(app, "redirect_uri", httpsURI, "state", "kept", "scope", "read", "response_mode", "query", "unknown", "1")
	b := v.signedIn(t, v.alice)
	at, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	for name := range at.Query() {
		for _, second := range []string{at.Query().Get(name), "https://evil.example/", ""} {
			doubled := address + "&" + url.Values{name: {second}}.Encode()
			b.open(t, doubled)
			if name == "client_id" || name == "redirect_uri" {
				if b.Status != http.StatusBadRequest || b.Away != nil {
					t.Errorf("two of %s: %d, away %v", name, b.Status, b.Away)
				}
				continue
			}
			if b.Away == nil || b.Away.Query().Get("error") != "invalid_request" || b.Away.Query().Has("code") || b.Away.Host != "app.example.com" {
				t.Errorf("two of %s: %d, away %v", name, b.Status, b.Away)
			}
		}
	}
}
