package rules

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcSerialization has the checks of the rules about the form and the comparison of messages (OIDC Core §13, §14).
var oidcSerialization = checks{
	"OIDCCore/13.1/query": func(t *T) {
		// Nobody is signed in, so that the login page shows that the server has read the request.
		r := t.OpenID(t.Client(need.Code), "profile")
		plus, b := t.LoginPage(r), t.NewBrowser()
		response := check.Ended(r, b, b.Open(strings.ReplaceAll(r.URL(), "+", "%20")))
		if !samePage(plus.Page, settled(t, response).Answer) {
			t.At(response.Answer)
			t.Failf("a request whose scope has %%20 for the space is answered otherwise than with +: %s", response)
		}
	},
	"OIDCCore/13.3/numbers": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)).Set("max_age", "36000"))
		j := t.IDToken(tokens)
		all := map[string]any{"expires_in": tokens.Answer.JSON()["expires_in"]}
		for _, name := range []string{"exp", "iat", "auth_time"} {
			all[name] = j.Claims[name]
		}
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if _, is := all[name].(float64); all[name] != nil && !is {
				t.Errorf("%s is %s, which is no number", name, Quoted(all[name]))
			}
		}
	},
	"OIDCCore/13.3/no-null": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		for i, object := range []map[string]any{tokens.Answer.JSON(), t.IDToken(tokens).Claims} {
			for _, name := range slices.Sorted(maps.Keys(object)) {
				if object[name] == nil {
					t.Errorf("%s of %s is null instead of being left out", name, []string{"the response", "the ID token"}[i])
				}
			}
		}
	},
	"OIDCCore/14/escapes-removed": func(t *T) {
		c := t.Client(need.Code)
		wantsClaimsParameter(t)
		b, sub := subAndBrowser(t, c)
		wantSubCompared(t, b, c, sub)
		// The names of the members and the value are escaped.
		escaped := func(sub string) *check.Request {
			return t.OpenID(c).Set("claims", `{"id\u005ftoken":{"s\u0075b":{"v\u0061lue":"`+escapes(sub)+`"}}}`)
		}
		if r := answered(t, b, escaped(sub)); r.Params.Get("code") == "" {
			t.At(r.Answer)
			t.Failf("the person's own sub gets a code if it is requested without escapes, and with escapes does not: %s", r)
		}
		t.WantNoCode(answered(t, b, escaped("conformance-nobody")),
			"the requested sub, written with escapes, is not that of the person who is signed in")
	},
	"OIDCCore/14/not-normalized": func(t *T) {
		// Characters that NFC, NFD, NFKC and NFKD change, and what becomes of them.
		const nonce = "e\u0301 \u00e9 \u212b \ufb01"
		undone := strings.NewReplacer("\u00e9", "e\u0301", "\u212b", "A\u030a", "\u00c5", "A\u030a", "\ufb01", "fi")
		got := t.IDToken(t.GrantFor(t.OpenID(t.Client(need.Code)).Set("nonce", nonce))).Text("nonce")
		switch {
		case got == nonce:
		case undone.Replace(got) == undone.Replace(nonce):
			t.Failf("the nonce of the request was %+q, and that of the ID token is %+q: the server normalizes it", nonce, got)
		default:
			t.Blockedf("the nonce of the ID token differs from that of the request in another way than by a normal form of "+
				"Unicode: %+q (OIDCCore/2/nonce)", got)
		}
	},
	"OIDCCore/14/code-points": func(t *T) {
		wantsClaimsParameter(t)
		c := t.Client(need.Code)
		b, sub := subAndBrowser(t, c)
		wantSubCompared(t, b, c, sub)
		for _, other := range []string{strings.ToUpper(sub), strings.ToLower(sub), widened(sub), sub + " "} {
			if other == sub {
				continue
			}
			r := asking(t, c, "id_token", "sub", map[string]any{"value": other})
			t.WantNoCode(answered(t, b, r), fmt.Sprintf("the requested sub is %q, and the person's is %q", other, sub))
		}
	},
	"OIDCCore/14/single-spaces": func(t *T) {
		scope := t.GrantFor(t.OpenID(t.Client(need.Code), "profile", "email")).Scope
		if scope != strings.Join(strings.Fields(scope), " ") {
			t.Failf("scope is %q", scope)
		}
	},
}

// escapes writes each character of a JSON string as an escape.
func escapes(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return b.String()
}

// widened replaces the first letter of a text by its full-width form, which NFKC would undo.
func widened(text string) string {
	for i, r := range text {
		if r > ' ' && r <= '~' {
			return text[:i] + string(r-' '+0xff00) + text[i+1:]
		}
	}
	return text
}

// oidcMandatory has the checks of the rules about mandatory features (OIDC Core §15).
var oidcMandatory = checks{
	"OIDCCore/15.1/rs256": func(t *T) {
		alg := t.SignIn(t.Client(need.Code)).Algorithm()
		list, published := provider(t).List("id_token_signing_alg_values_supported")
		switch {
		case slices.Equal(list, []string{"none"}):
			t.Skipf("the rule applies to a server that signs ID tokens: id_token_signing_alg_values_supported has none alone")
		case published && !slices.Contains(list, "RS256"):
			t.Failf("id_token_signing_alg_values_supported does not list RS256")
		case !published && alg != "RS256":
			t.Skipf("the server lists no algorithms, and the ID tokens of the client code have %s: register this client with "+
				"RS256", alg)
		}
	},
	"OIDCCore/15.1/rs256-by-default": func(t *T) {
		if alg := t.SignIn(t.Client(need.Code)).Algorithm(); alg != "RS256" {
			t.Failf("alg is %q", alg)
		}
	},
	"OIDCCore/15.1/display": func(t *T) {
		for _, display := range []string{"page", "popup", "touch", "wap"} {
			wantTaken(t, t.OpenID(t.Client(need.Code)).Set("display", display), "display")
		}
	},
	"OIDCCore/15.1/locales": func(t *T) {
		for _, name := range []string{"ui_locales", "claims_locales"} {
			wantTaken(t, t.OpenID(t.Client(need.Code)).Set(name, "se de-CH fr"), name)
		}
	},
	"OIDCCore/15.1/acr-values": func(t *T) {
		wantTaken(t, t.OpenID(t.Client(need.Code)).Set("acr_values", "1 2 urn:conformance:unknown"), "acr_values")
	},
}
