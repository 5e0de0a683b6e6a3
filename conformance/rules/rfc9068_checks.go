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

var rfc9068Requests = checks{
	"RFC9068/3/any-grant": func(t *T) {
		first := t.GrantRefresh(t.Client(need.JWT))
		accessJWT(t, first)
		wantJWT(t, t.Granted(t.Refresh(t.Client(need.JWT), first.Refresh)), "a refresh")
		wantJWT(t, signedTokens(t), "the grant client_credentials")
	},
	"RFC9068/3/resource": func(t *T) {
		one, other := jwtsForResources(t)
		for i, j := range []*jose.JWT{one, other} {
			if want := t.Resources()[i].URI; !slices.Equal(j.Audience(), []string{want}) {
				t.Errorf("the request has resource=%s, and aud is %q", want, j.Audience())
			}
		}
	},
	"RFC9068/3/default-audience": func(t *T) {
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
	"RFC9068/4/advertised": func(t *T) {
		j := personJWT(t)
		if t.MetadataAddress() == "" {
			t.Failf("the server publishes no metadata, so that a resource server finds neither the issuer nor the keys of its " +
				"access tokens")
		}
		m := publishedMetadata(t)
		if m.Text("issuer") != j.Text("iss") || m.Text("jwks_uri") == "" {
			t.Failf("the metadata has the issuer %q and the jwks_uri %q, but iss of the access token is %q", m.Text("issuer"),
				m.Text("jwks_uri"), j.Text("iss"))
		}
	},
	"RFC9068/4/consistent": func(t *T) {
		one, other := bothDocuments(t)
		for _, name := range []string{"issuer", "jwks_uri"} {
			if one.Text(name) != other.Text(name) {
				t.Errorf("%s is %q in the metadata of RFC 8414, but %q in that of OpenID Connect Discovery", name, one.Text(name),
					other.Text(name))
			}
		}
	},
	"RFC9068/4/same-keys": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
		if id, access := t.IDToken(tokens), accessJWT(t, tokens); id.Header["kid"] != access.Header["kid"] {
			t.Failf("the ID token has the kid %v, but the access token %v", id.Header["kid"], access.Header["kid"])
		}
	},
}

// rfc9068Validation has the checks of the rules about the validation of access tokens.
var rfc9068Validation = checks{
	"RFC9068/4/works": func(t *T) {
		tokens := resourceTokens(t)
		accessJWT(t, tokens)
		// A server need not introspect JWTs, which resource servers verify themselves.
		if _, accepts := findResourceServer(t, tokens); !accepts && !t.Works(tokens.Access) {
			t.Failf("the access token is refused")
		}
	},
	"RFC9068/4/typ": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.JWT)))
		t.IDToken(tokens)
		resourceServer(t, tokens).refuses("that is an ID token", []string{tokens.ID})
	},
	"RFC9068/4/signature": func(t *T) {
		tokens := resourceTokens(t)
		rs := resourceServer(t, tokens)
		rs.refuses("that was modified", jose.Altered(tokens.Access))
		rs.refuses("that is signed with another key", jose.SignedByAnother(tokens.Access))
	},
	"RFC9068/4/none": func(t *T) {
		tokens := resourceTokens(t)
		resourceServer(t, tokens).refuses("with the alg none", jose.Unsigned(tokens.Access))
	},
	"RFC9068/4/own-keys": func(t *T) {
		keys := t.Keys()
		set := t.Get(t.Endpoint(need.Keys))
		tokens := resourceTokens(t)
		resourceServer(t, tokens).refuses("with an HMAC under public data",
			jose.Confused(accessJWT(t, tokens), keys, set.Body))
	},
	"RFC9068/4/invalid-token": rfc9068InvalidToken,
	"RFC9068/5/not-an-id-token": func(t *T) {
		j := personJWT(t)
		if slices.Contains(j.Audience(), t.Client(need.JWT).ID) {
			t.Failf("aud is %q, which contains the client", j.Audience())
		}
	},
	"RFC9068/5/distinct-audiences": func(t *T) {
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
}

func rfc9068InvalidToken(t *T) {
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
		t.Skipf("no resource server of the target accepts the access token of the client jwt, and refuses an invented one: " +
			"name one under api")
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
