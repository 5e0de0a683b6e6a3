package rules

import (
	"fmt"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// oidcSerialization returns the rules about the form and the comparison of messages (OIDC Core §13, §14).
func oidcSerialization() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/13.1/query", Level: Should,
			Text:  "The server accepts query parameters in all equivalent form-encodings.",
			Needs: []Need{need.Authorization, need.Code, need.OpenID},
			Check: func(t *T) {
				r := t.OpenID(t.Client(need.Code), "profile").Set("prompt", "none")
				b := t.NewBrowser()
				response := check.Ended(r, b, b.Open(strings.ReplaceAll(r.URL(), "+", "%20")))
				if !response.Arrived() {
					t.At(response.Answer)
					t.Failf("a scope with %%20 for the space is refused: %s", response)
				}
			},
		},
		{
			ID: "OIDCCore/13.3/numbers", Level: Should,
			Text:  "expires_in, exp, iat and auth_time are JSON numbers.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code)).Set("max_age", "36000"))
				j := t.IDToken(tokens)
				all := map[string]any{"expires_in": tokens.Answer.JSON()["expires_in"]}
				for _, name := range []string{"exp", "iat", "auth_time"} {
					all[name] = j.Claims[name]
				}
				for name, value := range all {
					if _, is := value.(float64); value != nil && !is {
						t.Errorf("%s is %s", name, Quoted(value))
					}
				}
			},
		},
		{
			ID: "OIDCCore/13.3/no-null", Level: Should,
			Text:  "No member of the token response or the ID token is null.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
				for what, object := range map[string]map[string]any{"the answer": tokens.Answer.JSON(), "the ID token": t.IDToken(tokens).Claims} {
					for name, value := range object {
						if value == nil {
							t.Errorf("%s contains %s, which is null", what, name)
						}
					}
				}
			},
		},
		{
			ID: "OIDCCore/14/escapes-removed", Level: Must,
			Text:  "Escaped characters in a JSON string have the same meaning as unescaped ones.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantsClaimsParameter(t)
				b := t.Approved(t.OpenID(c))
				// The name and the value of the claim are escaped. The request has to be refused.
				r := t.OpenID(c).Set("claims", `{"id\u005ftoken":{"s\u0075b":{"v\u0061lue":"conformance\u002d`+t.Random()+`"}}}`)
				t.WantNoCode(t.Silently(b, r), "the requested sub, written with escapes, is that of another person")
			},
		},
		{
			ID: "OIDCCore/14/not-normalized", Level: Must,
			Text:  "The server does not change the Unicode normal form of a string.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				// Characters that NFC, NFD, NFKC and NFKD change.
				nonce := "e\u0301-\u00e9-\u212b-\ufb01-" + t.Random()
				j := t.IDToken(t.GrantFor(t.OpenID(t.Client(need.Code)).Set("nonce", nonce)))
				if j.Text("nonce") != nonce {
					t.Failf("nonce was %+q, but is %+q", nonce, j.Text("nonce"))
				}
			},
		},
		{
			ID: "OIDCCore/14/code-points", Level: Must,
			Text:  "The server compares strings code point by code point: a sub with other case or width is different.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				wantsClaimsParameter(t)
				c, b := t.Client(need.Code), t.NewBrowser()
				sub := t.Subject(t.IDToken(t.GrantIn(b, t.OpenID(c))))
				for _, other := range []string{strings.ToUpper(sub), strings.ToLower(sub), widened(sub), sub + " "} {
					if other == sub {
						continue
					}
					r := t.OpenID(c).Set("claims", asks("id_token", map[string]any{"sub": map[string]any{"value": other}}))
					t.WantNoCode(t.Silently(b, r), fmt.Sprintf("the requested sub is %q, and the person's is %q", other, sub))
				}
			},
		},
		{
			ID: "OIDCCore/14/single-spaces", Level: Must,
			Text:  "Space-separated lists have a single space between two values.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				scope := t.GrantFor(t.OpenID(t.Client(need.Code), "profile", "email")).Scope
				if scope != strings.Join(strings.Fields(scope), " ") {
					t.Failf("scope is %q", scope)
				}
			},
		},
	}
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

// oidcMandatory returns the rules about mandatory features (OIDC Core §15).
func oidcMandatory() []Rule {
	const static = "People register Mandate's clients, so Mandate is no dynamic provider."
	return []Rule{
		{
			ID: "OIDCCore/15.1/rs256", Level: Must,
			Text:  "ID tokens can be signed with RS256.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				alg := t.SignIn(t.Client(need.Code)).Algorithm()
				list, published := t.Metadata().List("id_token_signing_alg_values_supported")
				switch {
				case published && !slices.Contains(list, "RS256"):
					t.Failf("id_token_signing_alg_values_supported does not list RS256")
				case !published && alg != "RS256":
					t.Skipf("the server lists no algorithms, and the client code has %s", alg)
				}
			},
		},
		{
			ID: "OIDCCore/15.1/rs256-by-default", Level: May,
			Text:  "ID tokens are signed with RS256 if the client registered no other algorithm.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(need.Code)).Algorithm(); alg != "RS256" {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/15.1/prompt", Level: Must,
			Text:  "The server supports prompt: none shows no page, and login requires a login before a code.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				wantErrorBack(t, t.Silently(t.NewBrowser(), t.OpenID(c)), "nobody is signed in")
				wantNewLogin(t, c)
			},
		},
		{
			ID: "OIDCCore/15.1/display", Level: Must,
			Text:  "The defined values of display cause no error.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				for _, display := range []string{"page", "popup", "touch", "wap"} {
					wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set("display", display)), "display="+display)
				}
			},
		},
		{
			ID: "OIDCCore/15.1/locales", Level: Must,
			Text:  "ui_locales and claims_locales cause no error.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				for _, name := range []string{"ui_locales", "claims_locales"} {
					wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set(name, "se de-CH fr")), name)
				}
			},
		},
		{
			ID: "OIDCCore/15.1/auth-time", Level: Must,
			Text:  "The server returns auth_time if it is requested.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				requests := []*check.Request{t.OpenID(t.Client(need.Code)).Set("max_age", "36000")}
				if t.Metadata().Is("claims_parameter_supported") {
					requests = append(requests, t.OpenID(t.Client(need.Code)).Set("claims", `{"id_token":{"auth_time":{"essential":true}}}`))
				}
				for _, r := range requests {
					if j := t.IDToken(t.GrantFor(r)); j.Number("auth_time") < 0 {
						t.Errorf("auth_time is %v", j.Claims["auth_time"])
					}
				}
			},
		},
		{
			ID: "OIDCCore/15.1/max-age", Level: Must,
			Text:  "The server enforces max_age: if it has expired, no code is issued before a login.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c, b := t.Client(need.Code), t.NewBrowser()
				at := loginTime(t, withMaxAge(t, b))
				t.WaitPast(at, 1)
				_, response := t.AsksPassword(b, t.OpenID(c).Set("max_age", "1"))
				t.WantNoCode(response, "max_age of one second has expired")
			},
		},
		{
			ID: "OIDCCore/15.1/acr-values", Level: Must,
			Text:  "acr_values causes no error.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantCode(t, t.Try(t.OpenID(t.Client(need.Code)).Set("acr_values", "1 2 urn:conformance:unknown")), "acr_values")
			},
		},
		{
			ID: "OIDCCore/15.2/response-types", Level: Must, Inapplicable: static,
			Text: "A dynamic provider supports the response types code, id_token and id_token token.",
		},
		{
			ID: "OIDCCore/15.2/discovery", Level: Must, Inapplicable: static,
			Text: "A dynamic provider supports Discovery.",
		},
		{
			ID: "OIDCCore/15.2/registration", Level: Must, Inapplicable: static,
			Text: "A dynamic provider supports Dynamic Client Registration.",
		},
		{
			ID: "OIDCCore/15.2/userinfo", Level: Must, Inapplicable: static,
			Text: "A dynamic provider has a UserInfo endpoint.",
		},
		{
			ID: "OIDCCore/15.2/bare-keys", Level: Must, Inapplicable: static,
			Text: "A dynamic provider publishes its keys as bare keys.",
		},
		{
			ID: "OIDCCore/15.2/request-uri", Level: Must, Inapplicable: static,
			Text: "A dynamic provider accepts request_uri.",
		},
		{
			ID: "OIDCCore/15.3/unanticipated", Level: Should, Inapplicable: static,
			Text: "A server for clients that are not configured beforehand supports Discovery and Registration.",
		},
	}
}
