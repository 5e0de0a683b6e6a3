package rules

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"golang.org/x/net/html"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc6749Security has the checks of the rules about protected resources and the security considerations (RFC 6749 §7,
// §10).
var rfc6749Security = checks{
	"RFC6749/7/token-validated": func(t *T) { wantOnlyTokens(t) },
	"RFC6749/7/scope-covers": func(t *T) {
		if a := askRestricted(t); a.Status/100 == 2 {
			t.Failf("the resource accepted a token without the scope %s", t.API().Scope)
		}
	},
	"RFC6749/10.1/public-otherwise-known": func(t *T) {
		wantUnregisteredRefused(t, t.Client(need.Public))
	},
	"RFC6749/10.2/person-informed": func(t *T) {
		// An OpenID Provider asks again with prompt=consent. The next rule is about an earlier consent.
		r := t.Authorize(t.Request(t.Client(need.Public)).Set("prompt", "consent"))
		if r.Asked {
			return
		}
		t.CodeOf(r)
		if !t.Has(need.OpenID) {
			t.Skipf("the person was not asked, and can have approved the client public before: revoke this approval at the " +
				"server")
		}
		t.Failf("a public client received a code for a request with prompt=consent, but the person was not asked")
	},
	"RFC6749/10.2/repeated-request-asked": func(t *T) { wantAskedAgain(t, t.Client(need.Loopback)) },
	"RFC6749/10.3/cannot-be-made": func(t *T) {
		token := workingTokens(t, t.Grant(t.Client(need.Code))).Access
		for _, other := range Spoilt(token) {
			if t.WorksModified(other, token) {
				t.Failf("a modified access token works too")
			}
		}
	},
	"RFC6749/10.4/abuse-detected": func(t *T) {
		c := t.Client(need.Public)
		first := t.GrantRefresh(c)
		second := t.Granted(t.Refresh(c, first.Refresh))
		last := second
		if second.Refresh != "" {
			t.Pause(afterSecond)
			last = t.Granted(t.Refresh(c, second.Refresh)) // a server may return the same successor until it is used
		}
		t.WantRefused(t.Refresh(c, first.Refresh), "the refresh token was used before, and so was its successor")
		if last.Refresh != "" {
			t.WantRefused(t.Refresh(c, last.Refresh), "a predecessor was used again, so two parties have it")
		}
	},
	"RFC6749/10.8/tls": func(t *T) {
		wantTLS(t, t.Endpoint(need.Authorization), t.Endpoint(need.Token))
	},
	"RFC6749/10.10/tokens-cannot-be-guessed": func(t *T) {
		wantBits(t, 128, func() string { return someTokens(t).Access })
	},
	"RFC6749/10.10/tokens-cannot-be-guessed-at-all": func(t *T) {
		wantBits(t, 160, func() string { return someTokens(t).Access })
	},
	"RFC6749/10.10/codes-cannot-be-guessed": func(t *T) {
		c := t.Client(need.Code)
		wantBits(t, 128, func() string { return t.Code(t.Request(c)).Value })
	},
	"RFC6749/10.12/csrf": func(t *T) {
		c := t.Client(need.Public)
		wantConsentProtected(t, t.NewBrowser(), func() *check.Request { return t.Request(c) })
	},
	"RFC6749/10.14/sanitized": func(t *T) {
		c := t.Client(need.Code)
		if first := settled(t, t.OpenAnonymously(t.Request(c))).Seen[0]; first.Status >= 400 {
			t.Blockedf("a request of the client code is answered with %s", first)
		}
		for _, name := range []string{"client_id", "redirect_uri", "state", "scope", "response_type"} {
			r := t.OpenAnonymously(t.Request(c).Set(name, "\"'><svg onload=alert(1)>"+t.Random()))
			for _, a := range r.Seen {
				if hasInjected(a) {
					t.At(a)
					t.Failf("the page contains an element from the value of %s", name)
				}
			}
		}
	},
}

// wantAskedAgain asserts that the person is asked at a repeated request of a client. To sign in again is an answer of
// the person too.
func wantAskedAgain(t *T, c *target.Client) {
	b := t.SignedIn()
	t.CodeOf(t.Walk(b, t.Request(c), true))
	before := t.SignIns(b)
	again := settled(t, t.Walk(b, t.Request(c), true))
	if !again.Asked && t.SignIns(b) == before && again.Params.Get("code") != "" {
		t.Failf("the second request was granted, but the person was not asked")
	}
}

// hasInjected reports whether a page contains the element that a check put into a parameter. The text of the element
// alone does no harm, for example in a script as a string.
func hasInjected(a *wire.Answer) bool {
	if a.MediaType() != "text/html" {
		return false
	}
	root, err := html.Parse(bytes.NewReader(a.Body))
	if err != nil {
		return false
	}
	for n := range root.Descendants() {
		if n.Type == html.ElementNode && n.Data == "svg" && browser.Attribute(n, "onload") == "alert(1)" {
			return true
		}
	}
	return false
}

// askRestricted sends a token with insufficient scope to the restricted resource. A token with the scope must be
// accepted there, otherwise the check is blocked.
func askRestricted(t *T) *wire.Answer {
	api := t.API()
	if api.Restricted == "" {
		t.Skipf("the target names no resource that needs more scope: name one under api.wider, and its scope under api.scope")
	}
	lesser := lesserScope(t)
	whole := t.AsMachine(t.Client(need.Machine).Credentials(), "scope", api.Scope)
	if !whole.Granted() {
		t.Skipf("the server issues no token with the scope %s to the client machine: the rule needs it as a control: %s",
			api.Scope, whole.Failure())
	}
	if a := t.Get(api.Restricted, wire.Bearer(check.TokensOf(whole).Access)); a.Status/100 != 2 {
		t.Blockedf("the resource %s refuses a token with the scope %s too: %s", api.Restricted, api.Scope, a)
	}
	less := t.Machine("scope", lesser)
	if slices.Contains(strings.Fields(less.Scope), api.Scope) { // RFC 6749 §3.3: a server may ignore the requested scope
		t.Skipf("the server grants the client machine the scope %q although it requested only %s: the rule needs a token "+
			"without %s", less.Scope, lesser, api.Scope)
	}
	return t.Get(api.Restricted, wire.Bearer(less.Access))
}

// lesserScope returns a scope of the client machine that is not sufficient for the wider resource.
func lesserScope(t *T) string {
	for _, name := range strings.Fields(t.Machine().Scope) {
		if name != t.API().Scope {
			return name
		}
	}
	t.Skipf("the client machine has no other scope than %s: the rule needs a second one", t.API().Scope)
	return ""
}

// wantBits asserts that tokens differ as much as tokens with so many random bits would. It finds tokens that are too
// short or count up. It cannot prove that they are random.
func wantBits(t *T, bits float64, another func() string) {
	var values []string
	for range samples {
		value := another()
		if slices.Contains(values, value) {
			t.Failf("two requests returned the same value")
		}
		values = append(values, value)
	}
	// A tenth less is enough: a UUID has 122 random bits, and the last letter of base64 has fewer than the others.
	if held := variableBits(values); held < bits*0.9 {
		t.Failf("%d values differ in so few places that they have at most %.0f random bits", len(values), held)
	}
}

// samples is the number of values that wantBits compares. With fewer, random values would often be equal in some place
// by chance, so that the result would differ between runs.
const samples = 5

// variableBits returns how many bits the places of texts hold that are not the same in all of them.
func variableBits(texts []string) float64 {
	places := 0
	for i := range len(slices.MinFunc(texts, func(a, b string) int { return len(a) - len(b) })) {
		if slices.ContainsFunc(texts, func(text string) bool { return text[i] != texts[0][i] }) {
			places++
		}
	}
	return float64(places) * math.Log2(letters(strings.Join(texts, "")))
}

// letters returns the number of letters of the alphabet of a text.
func letters(text string) float64 {
	for _, alphabet := range []string{"0123456789", "0123456789abcdef", "0123456789abcdefghijklmnopqrstuvwxyz"} {
		if strings.Trim(text, alphabet+"-") == "" || strings.Trim(text, strings.ToUpper(alphabet)+"-") == "" {
			return float64(len(alphabet))
		}
	}
	return 64
}
