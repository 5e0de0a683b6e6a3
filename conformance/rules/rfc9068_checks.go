package rules

import (
	"net/http"
	"slices"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

func rfc9068Requests() []Rule {
	return []Rule{
		{
			ID: "RFC9068/3/any-grant", Level: May,
			Text:  "A client with JWT access tokens gets them by every grant: by a code, by a refresh and by client credentials.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				first := t.GrantRefresh(t.Client(need.JWT))
				accessJWT(t, first)
				accessJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh)))
				accessJWT(t, signedTokens(t))
			},
		},
		{
			ID: "RFC9068/3/resource", Level: Should,
			Text:         "aud is the value of the parameter resource.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/not-ambiguous", Level: Must,
			Text:         "The server issues no token whose meaning for its resources is ambiguous.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/default-audience", Level: Must,
			Text:  "If the request has no resource, aud is a default value, always the same.",
			Needs: signedTokenNeeds(),
			Check: func(t *T) {
				one, other := accessJWT(t, signedTokens(t)).Audience(), accessJWT(t, signedTokens(t)).Audience()
				if len(one) == 0 || !slices.Equal(one, other) {
					t.Failf("aud is %q, but %q in the next token", one, other)
				}
			},
		},
		{
			ID: "RFC9068/3/audience-by-scope", Level: Should,
			Text:         "The default resource depends on the scope of the request.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/3/scopes-of-different-resources", Level: Should,
			Text:         "A request whose scopes belong to different default resources is refused with invalid_scope.",
			Inapplicable: oneResource,
		},
		{
			ID: "RFC9068/4/advertised", Level: Should,
			Text:  "The metadata of RFC 8414 has the issuer and the keys of access tokens.",
			Needs: signedTokenNeeds(),
			Check: func(t *T) {
				j, m := accessJWT(t, signedTokens(t)), publishedMetadata(t)
				if m.Text("issuer") != j.Text("iss") || m.Text("jwks_uri") == "" {
					t.Failf("the metadata has the issuer %q and jwks_uri %q, but iss is %q", m.Text("issuer"), m.Text("jwks_uri"), j.Text("iss"))
				}
			},
		},
		{
			ID: "RFC9068/4/consistent", Level: Must,
			Text:  "The metadata of OpenID Connect Discovery has the same issuer and keys as that of RFC 8414.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				one, other := publishedMetadata(t), discoveredMetadata(t)
				for _, name := range []string{"issuer", "jwks_uri"} {
					if one.Text(name) != other.Text(name) {
						t.Errorf("%s is %q, but %q in OpenID Connect Discovery", name, one.Text(name), other.Text(name))
					}
				}
			},
		},
		{
			ID: "RFC9068/4/same-keys", Level: May,
			Text:  "ID tokens and access tokens are signed with the same keys.",
			Needs: personTokenNeeds(need.OpenID),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
				if id, access := t.IDToken(tokens), accessJWT(t, tokens); id.Header["kid"] != access.Header["kid"] {
					t.Failf("the ID token has the kid %v, but the access token %v", id.Header["kid"], access.Header["kid"])
				}
			},
		},
	}
}

// rfc9068Validation returns the rules about the validation of access tokens. Three endpoints of the server act as
// resource servers: UserInfo, introspection and the sample API.
func rfc9068Validation() []Rule {
	none := func(t *T, what string, forged []string) {
		for _, text := range forged {
			if t.Works(text) {
				t.Failf("an access token %s is accepted", what)
			}
		}
	}
	return []Rule{
		{
			ID: "RFC9068/4/works", Level: Must,
			Text:  "The server itself accepts a signed access token.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				if !t.Works(t.Grant(t.Client(need.JWT)).Access) {
					t.Failf("the access token is refused")
				}
			},
		},
		{
			ID: "RFC9068/4/typ", Level: Must,
			Text:  "The server does not accept another kind of token as an access token: an ID token is refused.",
			Needs: personTokenNeeds(need.OpenID),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
				t.IDToken(tokens)
				none(t, "that is an ID token", []string{tokens.ID})
			},
		},
		{
			ID: "RFC9068/4/encrypted", Level: Must,
			Text:         "An encrypted access token is decrypted first.",
			Inapplicable: "Mandate does not encrypt tokens.",
		},
		{
			ID: "RFC9068/4/iss", Level: Must,
			Text:     "iss of an access token equals the issuer.",
			TestedBy: "conformance/mandate/accesstoken_test.go:TestRFC9068Forged",
		},
		{
			ID: "RFC9068/4/aud", Level: Must,
			Text:     "An access token for another resource is refused.",
			TestedBy: "conformance/mandate/accesstoken_test.go:TestRFC9068Forged",
		},
		{
			ID: "RFC9068/4/signature", Level: Must,
			Text:  "An access token with an invalid signature is refused.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				token := t.Grant(t.Client(need.JWT)).Access
				none(t, "that was modified", jose.Altered(token))
				none(t, "that is signed with another key", jose.SignedByAnother(token))
			},
		},
		{
			ID: "RFC9068/4/none", Level: Must,
			Text:  "An access token with the alg none is refused.",
			Needs: personTokenNeeds(),
			Check: func(t *T) { none(t, "with the alg none", jose.Unsigned(t.Grant(t.Client(need.JWT)).Access)) },
		},
		{
			ID: "RFC9068/4/own-keys", Level: Must,
			Text:  "Signatures are verified only with the server's keys and their own algorithms: a public key is not accepted as the secret of an HMAC.",
			Needs: personTokenNeeds(need.Keys),
			Check: func(t *T) {
				keys := t.Keys()
				set := t.Get(t.Endpoint(need.Keys))
				none(t, "with an HMAC under public data", jose.Confused(accessJWT(t, t.Grant(t.Client(need.JWT))), keys, set.Body))
			},
		},
		{
			ID: "RFC9068/4/exp", Level: Must,
			Text:     "An expired access token is refused.",
			TestedBy: "provider/accesstoken_test.go:TestSignedAccessToken",
		},
		{
			ID: "RFC9068/4/invalid-token", Level: Must,
			Text:  "An invalid access token is refused with invalid_token.",
			Needs: personTokenNeeds(need.API),
			Check: func(t *T) {
				for _, text := range jose.Altered(t.Grant(t.Client(need.JWT)).Access) {
					a := t.Get(t.API().URL, wire.Bearer(text))
					t.WantStatus(a, http.StatusUnauthorized)
					wantHeader(t, a, "WWW-Authenticate", "invalid_token")
				}
			},
		},
		{
			ID: "RFC9068/5/not-an-id-token", Level: Must,
			Text:  "An access token differs from an ID token in typ and aud: its audience is not the client.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				j := accessJWT(t, t.Grant(t.Client(need.JWT)))
				if slices.Contains(j.Audience(), t.Client(need.JWT).ID) {
					t.Failf("aud is %q, which contains the client", j.Audience())
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
			Text:     "A client cannot choose a client_id that equals the sub of a person.",
			TestedBy: "handlers/applications_test.go:TestClientIDIsNotChosen",
		},
		{
			ID: "RFC9068/6/pairwise", Level: Should,
			Text:     "If applications must not correlate people, sub of their access tokens does not allow it.",
			TestedBy: "provider/accesstoken_test.go:TestSignedAccessTokenPairwise",
		},
	}
}
