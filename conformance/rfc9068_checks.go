package conformance

import (
	"net/http"
	"slices"
)

func rfc9068Requests() []Rule {
	return []Rule{
		{
			ID: "RFC9068/3/any-grant", Level: May,
			Text:  "A client that gets JWTs gets them by every grant: by a code, by a refresh and for itself.",
			Needs: signedApproval(),
			Check: func(t *T) {
				first := t.GrantRefresh(t.Client(NeedJWT))
				t.accessJWT(first)
				t.accessJWT(t.Granted(t.Refresh(t.Client(NeedJWT), first.Refresh)))
				t.accessJWT(t.signedTokens())
			},
		},
		{
			ID: "RFC9068/3/resource", Level: Should,
			Text:         "aud is what the parameter resource of the request named.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/not-ambiguous", Level: Must,
			Text:         "No token is issued of which it would not be clear what it allows where.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/default-audience", Level: Must,
			Text:  "Where the request names no resource, aud is that of a default one, the same each time.",
			Needs: signedToken(),
			Check: func(t *T) {
				one, other := t.accessJWT(t.signedTokens()).Audience(), t.accessJWT(t.signedTokens()).Audience()
				if len(one) == 0 || !slices.Equal(one, other) {
					t.Failf("aud is %q, and %q in the next one", one, other)
				}
			},
		},
		{
			ID: "RFC9068/3/audience-by-scope", Level: Should,
			Text:         "The default resource is found by the scope of the request.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/scopes-of-different-resources", Level: Should,
			Text:         "A request whose scopes are of different default resources is refused with invalid_scope.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/4/advertised", Level: Should,
			Text:  "The metadata of RFC 8414 names the issuer and the keys of access tokens.",
			Needs: signedToken(),
			Check: func(t *T) {
				j, m := t.accessJWT(t.signedTokens()), t.published()
				if m.text("issuer") != j.Text("iss") || m.text("jwks_uri") == "" {
					t.Failf("the metadata has the issuer %q and jwks_uri %q, and iss is %q", m.text("issuer"), m.text("jwks_uri"), j.Text("iss"))
				}
			},
		},
		{
			ID: "RFC9068/4/consistent", Level: Must,
			Text:  "What OpenID Connect Discovery says of issuer and keys is what the metadata of RFC 8414 says.",
			Needs: []Need{NeedOpenID},
			Check: func(t *T) {
				one, other := t.published(), t.discovered()
				for _, name := range []string{"issuer", "jwks_uri"} {
					if one.text(name) != other.text(name) {
						t.Errorf("%s is %q, and %q by OpenID Connect Discovery", name, one.text(name), other.text(name))
					}
				}
			},
		},
		{
			ID: "RFC9068/4/same-keys", Level: May,
			Text:  "ID tokens and access tokens are signed with the same keys.",
			Needs: signedApproval(NeedOpenID),
			Check: func(t *T) {
				tokens := t.signedInto(t.OpenID(t.Client(NeedJWT)))
				if id, access := t.IDToken(tokens), t.accessJWT(tokens); id.Header["kid"] != access.Header["kid"] {
					t.Failf("the ID token has the kid %v, the access token %v", id.Header["kid"], access.Header["kid"])
				}
			},
		},
	}
}

// The server is a resource server too: at UserInfo, at introspection, and of its own API.
func rfc9068Validation() []Rule {
	none := func(t *T, what string, forged []string) {
		for _, text := range forged {
			if t.Works(text) {
				t.Failf("an access token %s works", what)
			}
		}
	}
	return []Rule{
		{
			ID: "RFC9068/4/works", Level: Must,
			Text:  "A signed access token is good where the server itself is asked.",
			Needs: signedApproval(),
			Check: func(t *T) {
				if !t.Works(t.Grant(t.Client(NeedJWT)).Access) {
					t.Failf("the access token does not work")
				}
			},
		},
		{
			ID: "RFC9068/4/typ", Level: Must,
			Text:  "What says that it is something else is no access token: an ID token.",
			Needs: signedApproval(NeedOpenID),
			Check: func(t *T) {
				tokens := t.signedInto(t.OpenID(t.Client(NeedJWT)))
				t.IDToken(tokens)
				none(t, "that is an ID token", []string{tokens.ID})
			},
		},
		{
			ID: "RFC9068/4/encrypted", Level: Must,
			Text:         "An access token that is encrypted is decrypted first.",
			Inapplicable: "Mandate encrypts no tokens.",
		},
		{
			ID: "RFC9068/4/iss", Level: Must,
			Text:      "The iss of an access token is exactly the issuer.",
			Elsewhere: "conformance/mandate/accesstoken_test.go:TestRFC9068Forged",
		},
		{
			ID: "RFC9068/4/aud", Level: Must,
			Text:      "An access token for another resource is refused.",
			Elsewhere: "conformance/mandate/accesstoken_test.go:TestRFC9068Forged",
		},
		{
			ID: "RFC9068/4/signature", Level: Must,
			Text:  "An access token whose signature does not hold is refused.",
			Needs: signedApproval(),
			Check: func(t *T) {
				token := t.Grant(t.Client(NeedJWT)).Access
				none(t, "that was altered", altered(token))
				none(t, "that somebody else signed", signedByAnother(token))
			},
		},
		{
			ID: "RFC9068/4/none", Level: Must,
			Text:  "An access token whose alg is none is refused.",
			Needs: signedApproval(),
			Check: func(t *T) { none(t, "of the alg none", unsigned(t.Grant(t.Client(NeedJWT)).Access)) },
		},
		{
			ID: "RFC9068/4/own-keys", Level: Must,
			Text:  "The keys are those of the server, each for its own algorithms: a public one is no secret of an HMAC.",
			Needs: signedApproval(NeedKeys),
			Check: func(t *T) {
				keys := t.Keys()
				set := t.Get(t.Endpoint(NeedKeys))
				none(t, "signed with what is public", confused(t.accessJWT(t.Grant(t.Client(NeedJWT))), keys, set.Body))
			},
		},
		{
			ID: "RFC9068/4/exp", Level: Must,
			Text:      "An access token that has ended is refused.",
			Elsewhere: "provider/accesstoken_test.go:TestSignedAccessToken",
		},
		{
			ID: "RFC9068/4/invalid-token", Level: Must,
			Text:  "An access token that does not hold is refused with invalid_token.",
			Needs: signedApproval(NeedAPI),
			Check: func(t *T) {
				for _, text := range altered(t.Grant(t.Client(NeedJWT)).Access) {
					a := t.Get(t.API().URL, Bearer(text))
					t.WantStatus(a, http.StatusUnauthorized)
					t.wantHeader(a, "WWW-Authenticate", "invalid_token")
				}
			},
		},
		{
			ID: "RFC9068/5/not-an-id-token", Level: Must,
			Text:  "An access token is told from an ID token by its typ and its aud: it is not for the client.",
			Needs: signedApproval(),
			Check: func(t *T) {
				j := t.accessJWT(t.Grant(t.Client(NeedJWT)))
				if slices.Contains(j.Audience(), t.Client(NeedJWT).ID) {
					t.Failf("aud is %q, with the client among it", j.Audience())
				}
			},
		},
		{
			ID: "RFC9068/5/distinct-audiences", Level: Must,
			Text:         "Tokens for different resources have different values of aud.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/5/sub-not-chosen", Level: Should,
			Text:      "A client cannot choose a client id that is the subject of a person.",
			Elsewhere: "handlers/applications_test.go:TestClientIDIsNotChosen",
		},
		{
			ID: "RFC9068/6/pairwise", Level: Should,
			Text:      "Where applications must not compare people, they cannot by the sub of their access tokens.",
			Elsewhere: "provider/accesstoken_test.go:TestSignedAccessTokenPairwise",
		},
	}
}
