package rules

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc7523Parameters has the checks of the rules about the parameters of a request (RFC 7523 §2.2) and about errors (RFC
// 7523 §3.2).
var rfc7523Parameters = checks{
	"RFC7523/2.2/type": func(t *T) {
		c := keyClient(t)
		for _, kind := range []string{"urn:ietf:params:oauth:client-assertion-type:saml2-bearer", ""} {
			as := func(header http.Header, form url.Values) {
				c.Credentials()(header, form)
				form.Set("client_assertion_type", kind)
			}
			t.WantRefused(asKey(t, as), "client_assertion_type was "+Quoted(kind))
		}
	},
	"RFC7523/2.2/one-assertion": func(t *T) {
		c := keyClient(t)
		t.WantRefused(asKey(t, func(header http.Header, form url.Values) {
			c.Credentials()(header, form)
			form.Add("client_assertion", form.Get("client_assertion"))
		}), "client_assertion was sent twice")
	},
	"RFC7523/2.2/one-method": func(t *T) {
		c := keyClient(t)
		secret := t.Random()
		for _, second := range []wire.Auth{wire.Basic(c.ID, secret), wire.InBody(c.ID, secret)} {
			t.WantRefused(asKey(t, func(header http.Header, form url.Values) {
				c.Credentials()(header, form)
				second(header, form)
			}), "the client used two methods of authentication")
		}
	},
	"RFC7523/3.2/invalid-client": func(t *T) {
		c := keyClient(t)
		t.WantError(asKey(t, c.Asserting(nil, map[string]any{"exp": time.Now().Unix() - 300})), "invalid_client")
		t.WantError(asKey(t, c.With("")), "invalid_client")
	},
}

// rfc7523Claims has the checks of the rules about the claims of an assertion (RFC 7523 §3).
var rfc7523Claims = checks{
	"RFC7523/3/iss": wrongClaims("it has no iss", func(*T) map[string]any { return map[string]any{"iss": nil} }),
	"RFC7523/3/sub": wrongClaims("it has no sub", func(*T) map[string]any { return map[string]any{"sub": nil} }),
	"RFC7523/3/sub-of-client": func(t *T) {
		c, other := keyClient(t), t.Client(need.SecondKey)
		t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"sub": other.ID})), "sub was another client")
		t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"sub": other.ID, "iss": other.ID})),
			"sub and iss were another client")
	},
	"RFC7523/3/aud": wrongClaims("it has no aud", func(*T) map[string]any { return map[string]any{"aud": nil} }),
	"RFC7523/3/aud-other": wrongClaims("its aud is another server",
		func(*T) map[string]any { return map[string]any{"aud": "https://other.example"} }),
	"RFC7523/3/exp": wrongClaims("it has no exp", func(*T) map[string]any { return map[string]any{"exp": nil} }),
	"RFC7523/3/expired": wrongClaims("it expired five minutes ago", func(*T) map[string]any {
		return map[string]any{"exp": time.Now().Unix() - 300, "iat": time.Now().Unix() - 360}
	}),
	"RFC7523/3/nbf": wrongClaims("its nbf is five minutes ahead", func(*T) map[string]any {
		return map[string]any{"nbf": time.Now().Unix() + 300, "exp": time.Now().Unix() + 400}
	}),
	"RFC7523/3/jti-once":     wantAssertionOnce,
	"RFC7523/3/other-claims": wantOtherClaims,
}

// wantAssertionOnce uses an assertion twice.
func wantAssertionOnce(t *T) {
	c := keyClient(t)
	form := url.Values{}
	c.Asserting(nil, map[string]any{"jti": t.Random()})(http.Header{}, form)
	repeated := c.Assertion(func() string { return form.Get("client_assertion") })
	t.Granted(asKey(t, repeated))
	t.WantRefused(asKey(t, repeated), "the assertion had been used")
}

// wantOtherClaims sends an assertion with claims that no document defines.
func wantOtherClaims(t *T) {
	c := keyClient(t)
	t.WantGranted(asKey(t, c.Asserting(nil, map[string]any{"conformance": map[string]any{"a": 1}})))
}

// rfc7523Signature has the checks of the rules about the signature of an assertion (RFC 7523 §3).
var rfc7523Signature = checks{
	"RFC7523/3/signature": func(t *T) {
		c, other := keyClient(t), t.Client(need.SecondKey)
		t.WantRefused(asKey(t, c.With("")), "nobody has registered the key")
		forged := func() string { return other.Signer.Sign(nil, c.Claims()) }
		t.WantRefused(asKey(t, c.Assertion(forged)), "the key was that of another client")
		named := func() string { return other.Signer.Sign(map[string]any{"kid": c.Signer.ID}, c.Claims()) }
		t.WantRefused(asKey(t, c.Assertion(named)), "the key was that of another client, with the kid of its own")
		for _, altered := range jose.Altered(c.Signer.Sign(nil, c.Claims())) {
			t.WantRefused(asKey(t, c.Assertion(func() string { return altered })), "the assertion was altered")
		}
	},
	"RFC7523/3/own-key": func(t *T) {
		c := keyClient(t)
		stranger := c.Another()
		t.WantRefused(asKey(t, c.Assertion(func() string {
			return stranger.Sign(map[string]any{"jwk": stranger.Public()}, c.Claims())
		})), "the key stood in the header only")
	},
	"RFC7523/3/not-unsigned": func(t *T) {
		c := keyClient(t)
		for _, unsigned := range jose.Unsigned(c.Signer.Sign(nil, c.Claims())) {
			t.WantRefused(asKey(t, c.Assertion(func() string { return unsigned })), "the assertion had alg none")
		}
	},
	"RFC7523/3/not-by-public-key": func(t *T) {
		c := keyClient(t)
		for _, misused := range c.Signer.Misused() {
			t.WantRefused(asKey(t, c.Assertion(func() string { return misused.Sign(nil, c.Claims()) })),
				"the HMAC was made with the public key")
		}
	},
	"RFC7523/3/hmac": func(t *T) {
		c := t.Client(need.SecretHMAC)
		t.Granted(t.ByCredentials(c, c.Credentials()))
		t.WantRefused(t.ByCredentials(c, c.With(strings.Repeat("conformance", 4))), "the secret was wrong")
		stranger := jose.NewKey("RS256")
		t.WantRefused(t.ByCredentials(c, c.Assertion(func() string { return stranger.Sign(nil, c.Claims()) })),
			"the assertion was signed by a private key")
	},
}

// keyClient returns the client key, which can authenticate. Otherwise the check is blocked.
func keyClient(t *T) *target.Client {
	c := t.Client(need.Key)
	t.Granted(asKey(t, c.Credentials()))
	return c
}

// asKey requests a token by client credentials for the client key, with the scope that the target names for it. If the
// server does not have this grant, it redeems a code.
func asKey(t *T, as wire.Auth) *wire.Answer {
	c := t.Client(need.Key)
	if listed, known := listsGrant(t, need.GrantMachine); known && !listed && len(c.RedirectURIs) > 0 &&
		t.Has(need.User) && t.Has(need.Authorization) {
		var form url.Values
		t.Besides(func() { form = t.Code(t.Request(c)).Form() })
		return t.Post(t.Endpoint(need.Token), form, as)
	}
	return t.ByCredentials(c, as)
}

// wrongClaims checks that an assertion with other claims is refused.
func wrongClaims(why string, claims func(*T) map[string]any) func(*T) {
	return func(t *T) {
		c := keyClient(t)
		t.WantRefused(asKey(t, c.Asserting(nil, claims(t))), why)
	}
}
