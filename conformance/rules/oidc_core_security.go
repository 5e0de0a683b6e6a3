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
var oidcSecurity = checks{
	"OIDCCore/16.4/not-exposed": func(t *T) {
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
	"OIDCCore/16.8/audience": func(t *T) {
		access := t.GrantFor(t.OpenID(t.Client(need.Code))).Access
		if j, err := jose.Read(access); err == nil && j.Claims["aud"] != nil {
			return
		}
		if liveToken(t, access)["aud"] == nil {
			t.Failf("no resource can see whether it is the audience of an access token: the introspection response has no " +
				"aud, and the token is no JWT with aud")
		}
	},
	"OIDCCore/16.8/scope": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.Code)))
		if scope, _ := liveToken(t, tokens.Access)["scope"].(string); scope == "" {
			t.Failf("the scope openid was requested, and the introspection response shows no scope of the access token")
		}
	},
	"OIDCCore/16.9/use-recorded": func(t *T) {
		code := ownCode(t, t.OpenID(t.Client(need.Code)))
		token := t.Granted(t.Redeem(code)).Access
		t.UserClaims(token)
		t.Redeem(code)
		if a := t.UserInfo(token); a.Status/100 == 2 {
			t.Failf("UserInfo still accepts the access token after its code was used twice")
		}
	},
	"OIDCCore/16.11/code-substitution": func(t *T) {
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
	"OIDCCore/16.15/issuer-equal": func(t *T) {
		issuer := provider(t).Text("issuer")
		if issuer == "" {
			t.Skipf("the rule applies to a server that publishes metadata with an issuer")
		}
		wantIssOfIDToken(t, issuer)
	},
	"OIDCCore/16.15/one-issuer": func(t *T) {
		issuer := provider(t).Text("issuer")
		if issuer == "" {
			t.Skipf("the rule applies to a server that publishes metadata with an issuer")
		}
		a := t.Get(wire.Origin(issuer) + "/.well-known/openid-configuration")
		if other := a.Text("issuer"); a.Status == http.StatusOK && other != "" && other != issuer {
			t.Failf("the metadata at the root of the host names the issuer %s, and this issuer is %s", other, issuer)
		}
	},
	"OIDCCore/16.17/tls": func(t *T) {
		wantTLS(t, t.Endpoint(need.Authorization), t.Endpoint(need.Token), t.Endpoint(need.UserInfo), t.Endpoint(need.Keys))
	},
	"OIDCCore/16.18/short-lived": func(t *T) {
		seconds, is := t.GrantFor(t.OpenID(t.Client(need.Code))).Answer.JSON()["expires_in"].(float64)
		if !is {
			t.Skipf("the rule applies to a server whose token responses have expires_in: without it the lifetime is unknown")
		}
		if seconds > 3600 {
			t.Failf("expires_in is %.0f seconds, which is more than an hour", seconds)
		}
	},
	"OIDCCore/16.18/long-term-told": func(t *T) {
		wantsScope(t, "offline_access")
		wantScopeNamed(t, "offline_access")
	},
	"OIDCCore/16.19/secret-length": func(t *T) {
		c := t.Client(need.HS256)
		signedByHMAC(t, t.GrantFor(t.OpenID(c)))
		if n := len(c.Secret); n < 32 {
			t.Failf("the ID token of the client hs256 is signed with HS256, and the secret has only %d bytes", n)
		}
	},
	"OIDCCore/16.22/no-307": oidcCoreNo307,
	"OIDCCore/16.22/303": func(t *T) {
		r := t.Authorize(t.OpenID(t.Client(need.Code)))
		if r.Location == "" {
			t.Blockedf("the browser was not redirected to the client: %s", r)
		}
		t.At(r.Answer)
		t.WantStatus(r.Answer, http.StatusSeeOther)
	},
}

func oidcCoreNo307(t *T) {
	c, redirected := t.Client(need.Code), false
	ask := func() *check.Request { return t.OpenID(c) }
	for what, r := range []*check.Response{t.Walk(t.NewBrowser(), ask(), true),
		t.Walk(t.NewBrowser(), ask().Set("prompt", "consent"), false), t.Silently(t.NewBrowser(), ask())} {
		if r.Location == "" {
			continue
		}
		redirected = true
		if r.Answer.Status == http.StatusTemporaryRedirect {
			t.At(r.Answer)
			t.Failf("the browser was redirected to the client with %s, %s", r.Answer,
				[]string{"after a login", "after the person had denied", "by prompt=none"}[what])
		}
	}
	if !redirected {
		t.Blockedf("the browser was never redirected to the client")
	}
}

// oidcPrivacy returns the privacy rules (OIDC Core §17).
var oidcPrivacy = checks{
	"OIDCCore/17.3/pairwise": func(t *T) {
		m := provider(t)
		if len(m) == 0 {
			t.Skipf("the rule applies to a server that publishes metadata")
		}
		if !m.Lists("subject_types_supported", "pairwise") {
			t.Failf("subject_types_supported does not list pairwise: it is %s", Quoted(m["subject_types_supported"]))
		}
	},
}
