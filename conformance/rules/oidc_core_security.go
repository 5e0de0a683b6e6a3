package rules

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/browser"
	"mandate/conformance/check"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// Security (OIDC Core §16).
func oidcSecurity() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/16.3/signed", Level: May,
			Text:         "Tokens that can be read are signed.",
			Inapplicable: "It repeats §2, whose rows are checked; Mandate's other tokens cannot be read.",
		},
		{
			ID: "OIDCCore/16.4/not-exposed", Level: Must,
			Text:  "No access token is shown to anybody on the way: neither in an address nor in a cookie nor on a page.",
			Needs: signIn(),
			Check: func(t *T) {
				b := t.NewBrowser()
				response := t.Walk(b, t.OpenID(t.Client(need.Code)), true)
				token := t.Granted(t.Redeem(t.CodeOf(response))).Access
				// There is a token now: what the browser sees from here on can have it.
				again := t.Walk(b, t.OpenID(t.Client(need.Code)), true)
				wantNoCookie(t, b, token)
				for _, a := range slices.Concat(response.Seen, again.Seen) {
					if strings.Contains(string(a.Body)+a.Header.Get("Location"), token) {
						t.At(a)
						t.Errorf("an answer to the browser has the access token")
					}
				}
			},
		},
		{
			ID: "OIDCCore/16.4/id-token-is-no-access-token", Level: Must,
			Text:  "An ID token, which goes by many hands, opens nothing.",
			Needs: userInfo(),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
				if tokens.ID == "" {
					t.Blockedf("there is no ID token in the answer")
				}
				if a := t.UserInfo(tokens.ID); a.Status/100 == 2 {
					t.Failf("UserInfo takes an ID token for an access token")
				}
			},
		},
		{
			ID: "OIDCCore/16.6/signed", Level: May,
			Text:         "A response is signed with a key that its server cannot deny.",
			Inapplicable: "It repeats §2, whose rows are checked.",
		},
		{
			ID: "OIDCCore/16.7/signed-requests", Level: Should,
			Text:         "The signature of a request is validated.",
			Inapplicable: "Mandate takes no signed requests.",
		},
		{
			ID: "OIDCCore/16.8/audience", Level: Should,
			Text:  "An access token is for certain resources.",
			Needs: signIn(need.Introspection, need.Introspect),
			Check: func(t *T) {
				if t.Introspect(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)["aud"] == nil {
					t.Failf("introspection tells no aud")
				}
			},
		},
		{
			ID: "OIDCCore/16.8/scope", Level: Should,
			Text:  "An access token is for certain scopes, and for no more than were asked for.",
			Needs: signIn(need.Introspection, need.Introspect),
			Check: func(t *T) {
				scope, _ := t.Introspect(t.GrantFor(t.OpenID(t.Client(need.Code))).Access)["scope"].(string)
				if scope != "openid" {
					t.Failf("the scope openid was asked for, the token has %q", scope)
				}
			},
		},
		{
			ID: "OIDCCore/16.9/code-short-lived", Level: Should,
			Text:      "A code lives for a short time.",
			Elsewhere: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "OIDCCore/16.9/use-recorded", Level: May, Alone: true,
			Text:  "A code that comes twice ends what it gave the first time.",
			Needs: userInfo(),
			Check: func(t *T) {
				code := t.Code(t.OpenID(t.Client(need.Code)))
				token := t.Granted(t.Redeem(code)).Access
				t.UserClaims(token)
				t.Redeem(code)
				if a := t.UserInfo(token); a.Status/100 == 2 {
					t.Failf("the access token works after its code came a second time")
				}
			},
		},
		{
			ID: "OIDCCore/16.11/code-substitution", Level: Must,
			Text:  "A code from another browser's request does not do with the proof of this one.",
			Needs: signIn(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				theirs, ours := t.Code(t.OpenID(c)), t.OpenID(c)
				form := theirs.Form()
				if !form.Has("code_verifier") {
					t.Skipf("the request has no PKCE")
				}
				form.Set("code_verifier", ours.Verifier)
				t.WantRefused(t.Token(c, form), "the verifier is of another request")
			},
		},
		{
			ID: "OIDCCore/16.11/other-bindings", Level: Must,
			Text:         "A binding to another protocol than HTTP ties the answer to its request.",
			Inapplicable: "Mandate speaks HTTP.",
		},
		{
			ID: "OIDCCore/16.12/timing", Level: Should,
			Text:         "How long the validation of a signature takes does not depend on where it fails.",
			Inapplicable: "Mandate leaves signatures to Go's packages, which compare in constant time, and decrypts nothing that others send.",
		},
		{
			ID: "OIDCCore/16.14/order", Level: Must,
			Text:         "What is signed and encrypted is signed first.",
			Inapplicable: "Mandate encrypts no tokens.",
		},
		{
			ID: "OIDCCore/16.15/issuer-equal", Level: Must,
			Text:  "iss of the ID token is exactly the issuer of the metadata.",
			Needs: signIn(),
			Check: func(t *T) {
				wantIssOfIDToken(t, cmp.Or(t.Metadata().Text("issuer"), t.Issuer()))
			},
		},
		{
			ID: "OIDCCore/16.15/one-issuer", Level: Should,
			Text:  "There is one issuer at a host: the metadata at its root, where there is any, is of the same.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				issuer, published := t.Metadata()["issuer"].(string)
				if !published {
					t.Skipf("the server publishes no metadata")
				}
				a := t.Get(wire.Origin(issuer) + "/.well-known/openid-configuration")
				if other := a.Text("issuer"); a.Status == http.StatusOK && other != issuer {
					t.Failf("the issuer at the root is %q, and this one %q", other, issuer)
				}
			},
		},
		{
			ID: "OIDCCore/16.17/tls", Level: Must,
			Text:  "Every endpoint is reached by TLS.",
			Needs: []Need{need.Authorization, need.Token, need.UserInfo, need.Keys},
			Check: func(t *T) {
				wantTLS(t, t.Endpoint(need.Authorization), t.Endpoint(need.Token), t.Endpoint(need.UserInfo), t.Endpoint(need.Keys))
			},
		},
		{
			ID: "OIDCCore/16.17/bcp-195", Level: Should,
			Text:         "TLS is set up as BCP 195 recommends.",
			Inapplicable: "Mandate speaks HTTP to a proxy in front of it, which is where TLS is set up.",
		},
		{
			ID: "OIDCCore/16.17/certificate-checked", Level: Must,
			Text:      "Where the server itself calls others by TLS, it checks their certificates.",
			Elsewhere: "provider/outbound_test.go:TestOutboundClientChecksTheCertificate",
		},
		{
			ID: "OIDCCore/16.18/short-lived", Level: Should,
			Text:   "An access token lives for an hour at most.",
			Needs:  signIn(),
			Waived: "Mandate's specification asks for 36000 seconds; its access tokens can be revoked, and end with the login.",
			Check: func(t *T) {
				seconds, _ := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer.JSON()["expires_in"].(float64)
				if seconds == 0 || seconds > 3600 {
					t.Failf("expires_in is %v seconds", seconds)
				}
			},
		},
		{
			ID: "OIDCCore/16.18/long-term-told", Level: Should,
			Text:  "The page that asks for approval says where the client is to keep its access for long.",
			Needs: openID(),
			Check: func(t *T) {
				wantsScope(t, "offline_access")
				b := t.SignedIn()
				t.Question(b, t.OpenID(t.Client(need.Code), "offline_access").Set("prompt", "consent"))
				with := browser.Parse(b.Page).Text
				t.Question(b, t.OpenID(t.Client(need.Code)).Set("prompt", "consent"))
				if without := browser.Parse(b.Page).Text; with == without {
					t.Failf("the page says the same with and without offline_access: %q", wire.Clip(with, 300))
				}
			},
		},
		{
			ID: "OIDCCore/16.18/revocable", Level: Should,
			Text:      "People can take back what they have given a client.",
			Elsewhere: "provider/account_test.go:TestAuthorizedApplications",
		},
		{
			ID: "OIDCCore/16.19/secret-length", Level: Must,
			Text:  "A secret that signs with HS256 has at least 32 bytes.",
			Needs: []Need{need.HS256},
			Check: func(t *T) {
				if n := len(t.Client(need.HS256).Secret); n < 32 {
					t.Failf("the secret of the client hs256 has %d bytes", n)
				}
			},
		},
		{
			ID: "OIDCCore/16.19/shorter-refused", Level: Must,
			Text:      "A shorter secret cannot be registered for HS256.",
			Elsewhere: "cmd/mandate/main_test.go:TestScripts",
		},
		{
			ID: "OIDCCore/16.22/no-307", Level: Must,
			Text:  "No redirect to the client is a 307, which would send the password on.",
			Needs: openID(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				for _, r := range []*check.Response{t.Walk(t.NewBrowser(), t.OpenID(c), true), t.Refuse(t.OpenID(c)), t.Silently(t.NewBrowser(), t.OpenID(c))} {
					if r.Location == "" {
						t.Blockedf("the browser was not sent to the client: %s", r)
					}
					if r.Answer.Status == http.StatusTemporaryRedirect || r.Answer.Status == http.StatusPermanentRedirect {
						t.At(r.Answer)
						t.Failf("the browser is sent to the client by %s", r.Answer)
					}
				}
			},
		},
		{
			ID: "OIDCCore/16.22/303", Level: May,
			Text:  "Redirects to the client are by 303, which has no other meaning.",
			Needs: openID(),
			Check: func(t *T) {
				r := t.Try(t.OpenID(t.Client(need.Code)))
				if r.Location == "" {
					t.Blockedf("the browser was not sent to the client: %s", r)
				}
				t.WantStatus(r.Answer, http.StatusSeeOther)
			},
		},
	}
}

// Privacy (OIDC Core §17).
func oidcPrivacy() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/17.1/consent", Level: Should,
			Text:         "People agree to what clients are told of them, before they are told it.",
			Inapplicable: "It repeats §3.1.2.4, whose rows are checked.",
		},
		{
			ID: "OIDCCore/17.2/access-logs", Level: Should,
			Text:         "People can see who has read their UserInfo, and when.",
			Inapplicable: "It is for resource servers; the account page tells which clients have access, and Mandate keeps no record of each request that a person could be shown.",
		},
		{
			ID: "OIDCCore/17.3/pairwise", Level: Should,
			Text:  "Pairwise subjects can be had.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				if !t.Metadata().Lists("subject_types_supported", "pairwise") {
					t.Failf("subject_types_supported is %v", t.Metadata()["subject_types_supported"])
				}
			},
		},
		{
			ID: "OIDCCore/17.4/offline-consent", Level: Should,
			Text:         "People agree to offline access of their own.",
			Inapplicable: "It repeats §11, whose rows are checked.",
		},
	}
}
