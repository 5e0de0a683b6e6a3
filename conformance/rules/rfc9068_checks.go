package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"mandate/conformance/check"
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
				wantJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh)), "a refresh")
				wantJWT(t, signedTokens(t), "the grant client_credentials")
			},
		},
		{
			ID: "RFC9068/3/resource", Level: Should,
			Text:  "aud is the value of the parameter resource.",
			Needs: jwtResourceNeeds(),
			Check: func(t *T) {
				one, other := jwtsForResources(t)
				for i, j := range []*jose.JWT{one, other} {
					if want := t.Resources()[i].URI; !slices.Equal(j.Audience(), []string{want}) {
						t.Errorf("the request has resource=%s, and aud is %q", want, j.Audience())
					}
				}
			},
		},
		{
			ID: "RFC9068/3/not-ambiguous", Level: Must,
			Text:     "The server issues no token whose meaning for its resources is ambiguous.",
			TestedBy: apartTest,
		},
		{
			ID: "RFC9068/3/default-audience", Level: Must,
			Text:  "If the request has no resource, aud is a default value, the same for the same request.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				first, second := twoJWTs(t)
				one, other := first.Audience(), second.Audience()
				slices.Sort(one)
				slices.Sort(other)
				if len(one) == 0 {
					t.Blockedf("the access token has no aud")
				}
				if !slices.Equal(one, other) {
					t.Failf("aud is %q, and %q in the next token for the same request", one, other)
				}
			},
		},
		{
			ID: "RFC9068/3/audience-by-scope", Level: Should,
			Text:         "The default resource depends on the scope of the request.",
			Inapplicable: oneDefault,
		},
		{
			ID: "RFC9068/3/scopes-of-different-resources", Level: Should,
			Text:         "A request whose scopes belong to different default resources is refused with invalid_scope.",
			Inapplicable: oneDefault,
		},
		{
			ID: "RFC9068/4/advertised", Level: Should,
			Text:  "The metadata of RFC 8414 or of OpenID Connect Discovery has the issuer and the keys of access tokens.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				j := personJWT(t)
				if t.MetadataAddress() == "" {
					t.Failf("the server publishes no metadata, so that a resource server finds neither the issuer nor the keys of its access tokens")
				}
				m := publishedMetadata(t)
				if m.Text("issuer") != j.Text("iss") || m.Text("jwks_uri") == "" {
					t.Failf("the metadata has the issuer %q and the jwks_uri %q, but iss of the access token is %q", m.Text("issuer"), m.Text("jwks_uri"), j.Text("iss"))
				}
			},
		},
		{
			ID: "RFC9068/4/consistent", Level: Must,
			Text:  "The metadata of OpenID Connect Discovery has the same issuer and keys as that of RFC 8414.",
			Needs: []Need{need.OpenID},
			Check: func(t *T) {
				one, other := bothDocuments(t)
				for _, name := range []string{"issuer", "jwks_uri"} {
					if one.Text(name) != other.Text(name) {
						t.Errorf("%s is %q in the metadata of RFC 8414, but %q in that of OpenID Connect Discovery", name, one.Text(name), other.Text(name))
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

// rfc9068Validation returns the rules about the validation of access tokens. RFC 9068 §4 binds resource servers. So the
// checks send tokens to a resource server of the target, and to no other endpoint.
func rfc9068Validation() []Rule {
	return []Rule{
		{
			ID: "RFC9068/4/works", Level: May,
			Text:  "The server's own endpoints, or the target's api, accept a signed access token.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := resourceTokens(t)
				accessJWT(t, tokens)
				// A server need not introspect JWTs, which resource servers verify themselves.
				if _, accepts := findResourceServer(t, tokens); !accepts && !t.Works(tokens.Access) {
					t.Failf("the access token is refused")
				}
			},
		},
		{
			ID: "RFC9068/4/typ", Level: Must,
			Text:  "A resource server does not accept another kind of token as an access token: it refuses an ID token.",
			Needs: personTokenNeeds(need.OpenID),
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
				t.IDToken(tokens)
				resourceServer(t, tokens).refuses("that is an ID token", []string{tokens.ID})
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
			Text:  "A resource server refuses an access token with an invalid signature.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := resourceTokens(t)
				rs := resourceServer(t, tokens)
				rs.refuses("that was modified", jose.Altered(tokens.Access))
				rs.refuses("that is signed with another key", jose.SignedByAnother(tokens.Access))
			},
		},
		{
			ID: "RFC9068/4/none", Level: Must,
			Text:  "A resource server refuses an access token with the alg none.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := resourceTokens(t)
				resourceServer(t, tokens).refuses("with the alg none", jose.Unsigned(tokens.Access))
			},
		},
		{
			ID: "RFC9068/4/own-keys", Level: Must,
			Text:  "A resource server verifies signatures only with the server's keys and their own algorithms: a public key is not accepted as the secret of an HMAC.",
			Needs: personTokenNeeds(need.Keys),
			Check: func(t *T) {
				keys := t.Keys()
				set := t.Get(t.Endpoint(need.Keys))
				tokens := resourceTokens(t)
				resourceServer(t, tokens).refuses("with an HMAC under public data", jose.Confused(accessJWT(t, tokens), keys, set.Body))
			},
		},
		{
			ID: "RFC9068/4/exp", Level: Must,
			Text:     "An expired access token is refused.",
			TestedBy: "provider/accesstoken_test.go:TestSignedAccessToken",
		},
		{
			ID: "RFC9068/4/invalid-token", Level: Must,
			Text:  "A resource server refuses an invalid access token with invalid_token.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				tokens := resourceTokens(t)
				rs := resourceServer(t, tokens)
				altered := jose.Altered(tokens.Access)
				for i, text := range append(altered, jose.Unsigned(tokens.Access)...) {
					what := "a modified access token"
					if i >= len(altered) {
						what = "an access token with the alg none"
					}
					a := rs.send(text)
					blockIfAccepted(t, a)
					t.At(a)
					if header := strings.Join(a.Header.Values("WWW-Authenticate"), ", "); !strings.Contains(header, "invalid_token") {
						t.Errorf("%s answers %s to %s, with WWW-Authenticate %q, want the error invalid_token", rs.address, a, what, header)
					}
				}
			},
		},
		{
			// The document allows it: a client can be a resource server too.
			ID: "RFC9068/5/not-an-id-token", Level: May,
			Text:  "An access token differs from an ID token also in aud: its audience is not the client.",
			Needs: personTokenNeeds(),
			Check: func(t *T) {
				j := personJWT(t)
				if slices.Contains(j.Audience(), t.Client(need.JWT).ID) {
					t.Failf("aud is %q, which contains the client", j.Audience())
				}
			},
		},
		{
			ID: "RFC9068/5/distinct-audiences", Level: Must,
			Text:  "Tokens for different resources have different values of aud.",
			Needs: jwtResourceNeeds(),
			Check: func(t *T) {
				one, other := jwtsForResources(t)
				if both := intersection(one.Audience(), other.Audience()); len(both) > 0 {
					t.Failf(
						"the tokens for %s and for %s have %q in aud",
						t.Resources()[0].URI,
						t.Resources()[1].URI,
						both,
					)
				}
			},
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

// wantJWT asserts that an access token is a JWT.
func wantJWT(t *T, tokens *check.Tokens, by string) {
	if _, err := jose.Read(tokens.Access); err != nil {
		t.At(tokens.Answer)
		t.Failf("the access token of %s is no JWT: %v", by, err)
	}
}

// resourceTokens returns tokens of the person that UserInfo accepts too.
func resourceTokens(t *T) *check.Tokens {
	r := t.Request(t.Client(need.JWT))
	scopes := strings.Fields(r.Params.Get("scope"))
	if t.Has(need.OpenID) && !slices.Contains(scopes, "openid") {
		r.Set("scope", strings.Join(append(scopes, "openid"), " "))
	}
	return t.GrantFor(r)
}

// aResourceServer is a resource that accepts a valid access token, and refuses an invented one.
type aResourceServer struct {
	t       *T
	address string
}

// resourceServer returns the target's api, or UserInfo, which is a protected resource too (OIDC Core §5.3). If none of
// them accepts the token, the check is skipped.
func resourceServer(t *T, tokens *check.Tokens) aResourceServer {
	accessJWT(t, tokens)
	rs, found := findResourceServer(t, tokens)
	if !found {
		t.Skipf("no resource server of the target accepts the access token of the client jwt, and refuses an invented one: name one under api")
	}
	return rs
}

// findResourceServer does the same, and reports whether there is one.
func findResourceServer(t *T, tokens *check.Tokens) (aResourceServer, bool) {
	for _, address := range []string{t.OptionalAPI().URL, t.OptionalEndpoint(need.UserInfo)} {
		if address == "" {
			continue
		}
		rs := aResourceServer{t, address}
		if rs.send(tokens.Access).Status/100 == 2 && rs.send("conformance").Status/100 != 2 {
			return rs, true
		}
	}
	return aResourceServer{}, false
}

func (rs aResourceServer) send(token string) *wire.Answer {
	return rs.t.Get(rs.address, wire.Bearer(token))
}

// refuses asserts that the resource server refuses forged tokens.
func (rs aResourceServer) refuses(what string, forged []string) {
	for _, text := range forged {
		if a := rs.send(text); a.Status/100 == 2 {
			rs.t.At(a)
			rs.t.Failf("%s accepts an access token %s", rs.address, what)
		}
	}
}

// jwtResourceNeeds returns what a check needs for signed access tokens of the client jwt for two resources.
func jwtResourceNeeds() []Need { return []Need{need.Token, need.JWT, need.Resources} }

// jwtsForResources returns access tokens of the client jwt for itself, for two resources.
func jwtsForResources(t *T) (one, other *jose.JWT) {
	of := func(n int) *jose.JWT {
		r := t.Resources()[n]
		return accessJWT(t, signedTokens(t, func(_ http.Header, form url.Values) {
			form.Set("resource", r.URI)
			if r.Scope != "" {
				form.Set("scope", r.Scope)
			}
		}))
	}
	return of(0), of(1)
}
