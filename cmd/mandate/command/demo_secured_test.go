package command

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"mandate/testkit/port"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// TestDemoSecured follows the walk with the applications that have a FAPI profile, and checks what
// the page shows: the requests, and each JWT with its clause.
func TestDemoSecured(t *testing.T) {
	out := startDemo(t, port.Address())
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	b := &demoBrowser{t: t, client: &http.Client{Jar: jar}}
	first := regexp.MustCompile(`http://\S+/demo/`).FindString(out)
	base := strings.TrimSuffix(first, "/demo/")
	b.open(first)
	b.follow("Go to Broker")
	b.submit(url.Values{
		"username": {"alice"},
		"password": {regexp.MustCompile(`(?m)^  alice +(\S+)$`).FindStringSubmatch(out)[1]},
	})
	// A denial is signed too.
	b.submit(url.Values{"decision": {"deny"}})
	b.shows("The site verifies the signed response", `"error": "access_denied"`, "The response is an error")
	b.hides("grant_type=authorization_code")
	denied := b.at.RawQuery

	// What another browser pushed, or a server said that is not this one, is not accepted.
	for site, answers := range map[string]map[string]string{
		"Budget": {"code=x&state=forged&iss=" + url.QueryEscape(base+"/o"): "The state in the response is not the one"},
		"Broker": {
			"code=x&state=STATE&iss=" + url.QueryEscape(base+"/o"): "not signed",
			"response=" + unsignedJWT(base+"/o"):                   "not signed",
			denied:                                                 "The state in the response is not the one",
		},
	} {
		for answer, why := range answers {
			b.open(first)
			b.follow("Go to " + site)
			b.open(first + "callback?" + answer)
			b.shows("The demo cannot continue", why)
			b.hides("mat_")
		}
	}

	both := []string{
		"POST /o/par/",
		"HTTP/1.1 201 Created",
		"&client_assertion_type=urn",
		`"typ": "client-authentication+jwt"`,
		`"typ": "dpop+jwt"`,
		"grant_type=authorization_code",
		"code_verifier=",
		`"token_type": "DPoP"`,
		`"cnf": {`,
		`"ath": "`,
		"Authorization: DPoP mat_",
		"Authorization: Bearer mat_",
		`WWW-Authenticate: Bearer realm="api", error="invalid_token"`,
		`WWW-Authenticate: DPoP realm="api"`,
		"grant_type=refresh_token",
		"FAPI 2.0 Security Profile §5.3.2.1",
		"A thief repeats the request of the site",
	}
	for site, more := range map[string][]string{
		"Budget": {"&code_challenge_method=S256", "iss is the server that received the request"},
		"Broker": {
			`"typ": "oauth-authz-req+jwt"`,
			"?response=ey",
			`"typ": "token-introspection+jwt"`,
			"Accept: application/token-introspection+jwt",
			"FAPI 2.0 Message Signing §5.4.1",
		},
	} {
		b.open(first)
		b.follow("Go to " + site)
		// RFC 9126 §4: the browser carries only the reference.
		if q := b.at.Query(); len(q) != 2 || q.Get("client_id") == "" || !strings.HasPrefix(q.Get("request_uri"), "urn:") {
			t.Errorf("%s: the browser carries %v", site, q)
		}
		b.submit(url.Values{"decision": {"approve"}})
		b.shows(slices.Concat(both, more)...)
		b.checkProofs(site, base, map[string]int{"Budget": 8, "Broker": 11}[site])
		// Three thieves, and nobody else is refused.
		if n := strings.Count(b.page, "HTTP/1.1 401 Unauthorized"); n != 3 || strings.Contains(b.page, "HTTP/1.1 400") {
			t.Errorf("%s: %d requests were refused, want those of the 3 thieves", site, n)
		}
		// RFC 9449 §7.2: the thief with the bearer token gets both challenges.
		if !regexp.MustCompile(`WWW-Authenticate: Bearer [^\n]+\nWWW-Authenticate: DPoP `).MatchString(b.page) {
			t.Errorf("%s: the page does not show both challenges", site)
		}
		// A member is explained where it is first.
		if n := strings.Count(b.page, "An API accepts a proof once."); n != 1 {
			t.Errorf("%s: jti is explained %d times", site, n)
		}
		b.open(b.at.String())
		b.shows("The demo cannot continue")
	}
}

// unsignedJWT is a response that nobody has signed.
func unsignedJWT(issuer string) string {
	text := base64.RawURLEncoding.EncodeToString
	return text([]byte(`{"alg":"none"}`)) + "." + text([]byte(`{"iss":"`+issuer+`","code":"x","exp":9999999999}`)) + "."
}

// checkProofs checks each JWT of the page: it is in a message of its step, its parts are those that
// the page shows, and a DPoP proof has a valid signature and belongs to this server. Another library
// than the demo's verifies.
func (b *demoBrowser) checkProofs(site, base string, want int) {
	b.t.Helper()
	shown := regexp.MustCompile(
		`(?s)<h3 class="jwt">([^<]+)</h3>\n<p>([^<]+)</p>\n<p class="hint">([^<]+)</p>\n<div class="decoded">\n<div>\n<h4>Header</h4>\n<pre dir="ltr"><code>([^<]+)</code></pre>\n</div>\n<div>\n<h4>Claims</h4>\n<pre dir="ltr"><code>([^<]+)</code></pre>.*?<summary id="[^"]+">As it was sent</summary>\n<pre dir="ltr"><code>([^<]+)</code></pre>`).FindAllStringSubmatch(
		b.page, -1,
	)
	if len(shown) != want {
		b.t.Errorf("%s: the page shows %d JWTs with a text and a clause, want %d", site, len(shown), want)
	}
	seen := map[string]bool{}
	for _, one := range shown {
		title, text := one[1], one[6]
		if !regexp.MustCompile(`^(RFC|JARM|FAPI).*§`).MatchString(one[3]) || !strings.Contains(
			one[2], "It proves to the ",
		) || !strings.Contains(one[2], "Without ") {
			b.t.Errorf("%s: %s: %q, clause %q", site, title, one[2], one[3])
		}
		if strings.Count(b.page, text) < 2 || seen[text] {
			b.t.Errorf("%s: %s is in no message, or is shown twice", site, title)
		}
		seen[text] = true
		token, _, err := jwt.NewParser().ParseUnverified(text, jwt.MapClaims{})
		if err != nil {
			b.t.Fatal(err)
		}
		b.sameJSON(title, one[4], token.Header)
		b.sameJSON(title, one[5], token.Claims)
		if strings.HasPrefix(title, "The DPoP proof") {
			_, err = jwt.Parse(text, keyInside, jwt.WithValidMethods([]string{"ES256"}))
			if to, _ := token.Claims.(jwt.MapClaims)["htu"].(string); err != nil || !strings.HasPrefix(to, base+"/") {
				b.t.Errorf("%s: a proof for %s: %v", site, to, err)
			}
		}
	}
	// RFC 9449 §6: the token is bound to the key of the site, and the thief has another one.
	keys := map[string]int{}
	for _, one := range shown {
		token, _ := jwt.Parse(one[6], keyInside)
		if jwk, ok := token.Header["jwk"].(map[string]any); ok {
			keys[thumbprint(jwk)]++
		}
	}
	bound := regexp.MustCompile(`"jkt": "([^"]+)"`).FindStringSubmatch(b.page)
	if bound == nil || len(keys) != 2 || keys[bound[1]] != 4 {
		b.t.Errorf("%s: bound to %v, proofs by %v", site, bound, keys)
	}
}

func (b *demoBrowser) sameJSON(title, shown string, want any) {
	b.t.Helper()
	text, err := json.MarshalIndent(want, "", "  ")
	var is, should any
	if err != nil || json.Unmarshal([]byte(shown), &is) != nil || json.Unmarshal(text, &should) != nil {
		b.t.Fatalf("%s: %v: %s", title, err, shown)
	}
	isText, _ := json.Marshal(is)
	shouldText, _ := json.Marshal(should)
	if string(isText) != string(shouldText) {
		b.t.Errorf("%s: the page shows %s, and the JWT has %s", title, isText, shouldText)
	}
}

// keyInside is the key that the header of a DPoP proof has.
func keyInside(token *jwt.Token) (any, error) {
	jwk, _ := token.Header["jwk"].(map[string]any)
	point := []byte{4}
	for _, name := range []string{"x", "y"} {
		text, _ := jwk[name].(string)
		half, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			return nil, err
		}
		point = append(point, half...)
	}
	return ecdsa.ParseUncompressedPublicKey(elliptic.P256(), point)
}

func thumbprint(jwk map[string]any) string {
	x, _ := jwk["x"].(string)
	y, _ := jwk["y"].(string)
	sum := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}
