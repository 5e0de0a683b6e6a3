package rules

import (
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// oidcSecurity returns the security rules (OIDC Core §16).
func oidcSecurity() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/16.3/signed", Level: May,
			Text:         "Self-contained tokens are signed.",
			Inapplicable: "It repeats §2, whose rules are checked; Mandate's other tokens are opaque.",
		},
		{
			ID: "OIDCCore/16.4/not-exposed", Level: Must,
			Text:  "Access tokens are never disclosed on the way: not in addresses, cookies or pages.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				b := t.NewBrowser()
				response := t.Walk(b, t.OpenID(t.Client(need.Code)), true)
				token := t.Granted(t.Redeem(t.CodeOf(response))).Access
				// From here on there is a token that the browser could receive.
				again := t.Walk(b, t.OpenID(t.Client(need.Code)), true)
				wantNoCookie(t, b, token)
				for _, a := range slices.Concat(response.Seen, again.Seen) {
					if strings.Contains(string(a.Body)+a.Header.Get("Location"), token) {
						t.At(a)
						t.Errorf("an answer to the browser contains the access token")
					}
				}
			},
		},
		{
			ID: "OIDCCore/16.6/signed", Level: May,
			Text:         "Responses are signed so that the server cannot deny them.",
			Inapplicable: "It repeats §2, whose rules are checked.",
		},
		{
			ID: "OIDCCore/16.7/signed-requests", Level: Should,
			Text:         "The server verifies the signature of a request.",
			Inapplicable: "It repeats RFC 9101 §6.2, whose rules are checked.",
		},
		{
			ID: "OIDCCore/16.8/audience", Level: Should,
			Text:   "An access token is restricted to certain resources.",
			Waived: "Resource servers read aud as a restriction (RFC 8707 §2), so Mandate shows it for tokens that name a resource, and for each JWT.",
			Needs:  loginNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				access := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
				if j, err := jose.Read(access); err == nil && j.Claims["aud"] != nil {
					return
				}
				if liveToken(t, access)["aud"] == nil {
					t.Failf("no resource can see whether it is the audience of an access token: the introspection response has no aud, and the token is no JWT with aud")
				}
			},
		},
		{
			ID: "OIDCCore/16.8/scope", Level: Should,
			Text:  "An access token is restricted to certain scopes.",
			Needs: loginNeeds(need.Introspection, need.Introspect),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
				if scope, _ := liveToken(t, tokens.Access)["scope"].(string); scope == "" {
					t.Failf("the scope openid was requested, and the introspection response shows no scope of the access token")
				}
			},
		},
		{
			ID: "OIDCCore/16.9/code-short-lived", Level: Should,
			Text:     "A code has a short lifetime.",
			TestedBy: "conformance/mandate/spec_introspection_test.go:TestSpecExpiry",
		},
		{
			ID: "OIDCCore/16.9/use-recorded", Level: May, Alone: true,
			Text:  "When a code is used twice, the server revokes the tokens of the first use.",
			Needs: userInfoNeeds(),
			Check: func(t *T) {
				code := ownCode(t, t.OpenID(t.Client(need.Code)))
				token := t.Granted(t.Redeem(code)).Access
				t.UserClaims(token)
				t.Redeem(code)
				if a := t.UserInfo(token); a.Status/100 == 2 {
					t.Failf("UserInfo still accepts the access token after its code was used twice")
				}
			},
		},
		{
			// The document describes the attack, and leaves the defence to the client. PKCE is one that needs the server.
			ID: "OIDCCore/16.11/code-substitution", Level: May,
			Text:  "A code of another browser's request cannot be redeemed with this browser's proof.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				c := t.Client(need.Code)
				t.GrantFor(t.OpenID(c)) // so that a refusal is because of the proof
				theirs, ours := ownCode(t, t.OpenID(c)), t.OpenID(c)
				form := theirs.Form()
				if !form.Has("code_verifier") {
					t.Skipf("the rule needs requests with PKCE: remove code_challenge from the parameters of the target")
				}
				form.Set("code_verifier", ours.Verifier)
				t.WantRefused(t.Token(c, form), "the verifier belongs to another request")
			},
		},
		{
			ID: "OIDCCore/16.11/other-bindings", Level: Must,
			Text:         "A binding to another protocol than HTTP links the response to its request.",
			Inapplicable: "Mandate uses HTTP.",
		},
		{
			ID: "OIDCCore/16.12/timing", Level: Should,
			Text:         "The duration of a signature verification does not depend on where it fails.",
			Inapplicable: "Mandate leaves signatures to Go's packages, which compare in constant time, and decrypts nothing that others send.",
		},
		{
			ID: "OIDCCore/16.14/order", Level: Must,
			Text:         "A token that is signed and encrypted is signed first.",
			Inapplicable: "Mandate does not encrypt tokens.",
		},
		{
			ID: "OIDCCore/16.15/issuer-equal", Level: Must,
			Text:  "iss of the ID token equals the issuer in the metadata.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				issuer := provider(t).Text("issuer")
				if issuer == "" {
					t.Skipf("the rule applies to a server that publishes metadata with an issuer")
				}
				wantIssOfIDToken(t, issuer)
			},
		},
		{
			ID: "OIDCCore/16.15/one-issuer", Level: Should,
			Text:  "A host has only one issuer: if there is metadata at its root, it names the same issuer.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				issuer := provider(t).Text("issuer")
				if issuer == "" {
					t.Skipf("the rule applies to a server that publishes metadata with an issuer")
				}
				a := t.Get(wire.Origin(issuer) + "/.well-known/openid-configuration")
				if other := a.Text("issuer"); a.Status == http.StatusOK && other != "" && other != issuer {
					t.Failf("the metadata at the root of the host names the issuer %s, and this issuer is %s", other, issuer)
				}
			},
		},
		{
			ID: "OIDCCore/16.17/tls", Level: Must,
			Text:  "Every endpoint uses TLS.",
			Needs: []Need{need.Authorization, need.Token, need.UserInfo, need.Keys},
			Check: func(t *T) {
				wantTLS(t, t.Endpoint(need.Authorization), t.Endpoint(need.Token), t.Endpoint(need.UserInfo), t.Endpoint(need.Keys))
			},
		},
		{
			ID: "OIDCCore/16.17/bcp-195", Level: Should,
			Text:     "TLS is configured as BCP 195 recommends.",
			TestedBy: "app/httpserve/certificate_test.go:TestVersionsAndSuites",
		},
		{
			ID: "OIDCCore/16.17/certificate-checked", Level: Must,
			Text:     "When the server sends requests by TLS, it verifies the certificates.",
			TestedBy: "provider/outbound/outbound_test.go:TestOutboundClientChecksTheCertificate",
		},
		{
			ID: "OIDCCore/16.18/short-lived", Level: Should,
			Text:   "The lifetime of an access token is an hour at most.",
			Needs:  loginNeeds(),
			Waived: "Mandate's specification requires 36000 seconds; its access tokens can be revoked, and end with the login.",
			Check: func(t *T) {
				seconds, is := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer.JSON()["expires_in"].(float64)
				if !is {
					t.Skipf("the rule applies to a server whose token responses have expires_in: without it the lifetime is unknown")
				}
				if seconds > 3600 {
					t.Failf("expires_in is %.0f seconds, which is more than an hour", seconds)
				}
			},
		},
		{
			ID: "OIDCCore/16.18/long-term-told", Level: Should,
			Text:  "The consent page says whether the client asks for long-term access.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				wantsScope(t, "offline_access")
				wantScopeNamed(t, "offline_access")
			},
		},
		{
			ID: "OIDCCore/16.18/revocable", Level: Should,
			Text:     "People can revoke the access that they have granted to a client.",
			TestedBy: "provider/account_test.go:TestAuthorizedApplications",
		},
		{
			ID: "OIDCCore/16.19/secret-length", Level: Must,
			Text:  "A secret that signs with HS256 has at least 32 bytes.",
			Needs: []Need{need.Authorization, need.Token, need.HS256, need.User, need.OpenID},
			Check: func(t *T) {
				c := t.Client(need.HS256)
				signedByHMAC(t, t.GrantFor(t.OpenID(c)))
				if n := len(c.Secret); n < 32 {
					t.Failf("the ID token of the client hs256 is signed with HS256, and the secret has only %d bytes", n)
				}
			},
		},
		{
			ID: "OIDCCore/16.19/shorter-refused", Level: Must,
			Text:     "A client with a shorter secret cannot be registered for HS256.",
			TestedBy: "cmd/mandate/main_test.go:TestScripts",
		},
		{
			ID: "OIDCCore/16.22/no-307", Level: Must,
			Text:  "The server never redirects to the client with 307, which would forward the password.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				c, redirected := t.Client(need.Code), false
				ask := func() *check.Request { return t.OpenID(c) }
				for what, r := range []*check.Response{t.Walk(t.NewBrowser(), ask(), true), t.Walk(t.NewBrowser(), ask().Set("prompt", "consent"), false), t.Silently(t.NewBrowser(), ask())} {
					if r.Location == "" {
						continue
					}
					redirected = true
					if r.Answer.Status == http.StatusTemporaryRedirect {
						t.At(r.Answer)
						t.Failf("the browser was redirected to the client with %s, %s", r.Answer, []string{"after a login", "after the person had denied", "by prompt=none"}[what])
					}
				}
				if !redirected {
					t.Blockedf("the browser was never redirected to the client")
				}
			},
		},
		{
			ID: "OIDCCore/16.22/303", Level: May,
			Text:  "The server redirects to the client with 303, which is unambiguous.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.OpenID(t.Client(need.Code)))
				if r.Location == "" {
					t.Blockedf("the browser was not redirected to the client: %s", r)
				}
				t.At(r.Answer)
				t.WantStatus(r.Answer, http.StatusSeeOther)
			},
		},
	}
}

// oidcPrivacy returns the privacy rules (OIDC Core §17).
func oidcPrivacy() []Rule {
	return []Rule{
		{
			ID: "OIDCCore/17.1/consent", Level: Should,
			Text:         "People agree before personal data is disclosed to a client.",
			Inapplicable: "It repeats §3.1.2.4, whose rules are checked.",
		},
		{
			ID: "OIDCCore/17.2/access-logs", Level: Should,
			Text:         "People can see who has read their UserInfo, and when.",
			Inapplicable: "This concerns resource servers; the account page shows which clients have access, and Mandate keeps no record of single requests.",
		},
		{
			// The document wants them considered, and not always supported.
			ID: "OIDCCore/17.3/pairwise", Level: May,
			Text:  "Pairwise subjects are supported.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				m := provider(t)
				if len(m) == 0 {
					t.Skipf("the rule applies to a server that publishes metadata")
				}
				if !m.Lists("subject_types_supported", "pairwise") {
					t.Failf("subject_types_supported does not list pairwise: it is %s", Quoted(m["subject_types_supported"]))
				}
			},
		},
		{
			ID: "OIDCCore/17.4/offline-consent", Level: Should,
			Text:         "Offline access requires separate consent.",
			Inapplicable: "It repeats §11, whose rules are checked.",
		},
	}
}
