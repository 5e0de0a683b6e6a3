package rules

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// keyNeeds returns what a check needs of a client that authenticates by private_key_jwt.
func keyNeeds(more ...Need) []Need { return append([]Need{need.Token, need.Key}, more...) }

// rfc7523 returns the rules about client authentication by JWT. Those about the grant by JWT concern servers that have it.
func rfc7523() []Rule { return slices.Concat(rfc7523Parameters(), rfc7523Claims(), rfc7523Signature()) }

// rfc7523Parameters returns the rules about the parameters of a request (RFC 7523 §2.2) and about errors (RFC 7523 §3.2).
func rfc7523Parameters() []Rule {
	return []Rule{
		{
			ID: "RFC7523/2.2/type", Level: Must,
			Text:  "A client_assertion with another client_assertion_type, or with none, is refused.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				for _, kind := range []string{"urn:ietf:params:oauth:client-assertion-type:saml2-bearer", ""} {
					as := func(header http.Header, form url.Values) {
						c.Credentials()(header, form)
						form.Set("client_assertion_type", kind)
					}
					t.WantRefused(asKey(t, as), "client_assertion_type was "+Quoted(kind))
				}
			},
		},
		{
			ID: "RFC7523/2.2/one-assertion", Level: Must,
			Text:  "A request with two assertions is refused.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				t.WantRefused(asKey(t, func(header http.Header, form url.Values) {
					c.Credentials()(header, form)
					form.Add("client_assertion", form.Get("client_assertion"))
				}), "client_assertion was sent twice")
			},
		},
		{
			// RFC 6749 §2.3 says this to the client, and §5.2 names the error.
			ID: "RFC7523/2.2/one-method", Level: Should,
			Text:  "A request with an assertion and a secret is refused.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				secret := t.Random()
				for _, second := range []wire.Auth{wire.Basic(c.ID, secret), wire.InBody(c.ID, secret)} {
					t.WantRefused(asKey(t, func(header http.Header, form url.Values) {
						c.Credentials()(header, form)
						second(header, form)
					}), "the client used two methods of authentication")
				}
			},
		},
		{
			ID: "RFC7523/3.2/invalid-client", Level: Must,
			Text:  "An assertion that is not valid is answered with invalid_client.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				t.WantError(asKey(t, c.Asserting(nil, map[string]any{"exp": time.Now().Unix() - 300})), "invalid_client")
				t.WantError(asKey(t, c.With("")), "invalid_client")
			},
		},
	}
}

// rfc7523Claims returns the rules about the claims of an assertion (RFC 7523 §3).
func rfc7523Claims() []Rule {
	return []Rule{
		wrongClaims("RFC7523/3/iss", "An assertion without iss is refused.", "it has no iss", func(*T) map[string]any { return map[string]any{"iss": nil} }),
		wrongClaims("RFC7523/3/sub", "An assertion without sub is refused.", "it has no sub", func(*T) map[string]any { return map[string]any{"sub": nil} }),
		{
			ID: "RFC7523/3/sub-of-client", Level: Must,
			Text:  "The sub of an assertion is the client that signed it.",
			Needs: keyNeeds(need.SecondKey),
			Check: func(t *T) {
				c, other := keyClient(t), t.Client(need.SecondKey)
				t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"sub": other.ID})), "sub was another client")
				t.WantRefused(asKey(t, c.Asserting(nil, map[string]any{"sub": other.ID, "iss": other.ID})), "sub and iss were another client")
			},
		},
		wrongClaims("RFC7523/3/aud", "An assertion without aud is refused.", "it has no aud", func(*T) map[string]any { return map[string]any{"aud": nil} }),
		wrongClaims("RFC7523/3/aud-other", "An assertion for another server is refused.", "its aud is another server",
			func(*T) map[string]any { return map[string]any{"aud": "https://other.example"} }),
		wrongClaims("RFC7523/3/exp", "An assertion without exp is refused.", "it has no exp", func(*T) map[string]any { return map[string]any{"exp": nil} }),
		wrongClaims("RFC7523/3/expired", "An assertion that has expired is refused.", "it expired five minutes ago", func(*T) map[string]any {
			return map[string]any{"exp": time.Now().Unix() - 300, "iat": time.Now().Unix() - 360}
		}),
		wrongClaims("RFC7523/3/nbf", "An assertion is refused before its nbf.", "its nbf is five minutes ahead", func(*T) map[string]any {
			return map[string]any{"nbf": time.Now().Unix() + 300, "exp": time.Now().Unix() + 400}
		}),
		{
			ID: "RFC7523/3/jti-once", Level: May,
			Text:  "An assertion with jti is accepted once.",
			Needs: keyNeeds(),
			Check: wantAssertionOnce,
		},
		{
			// RFC 7519 §4 requires this of claims that are not understood.
			ID: "RFC7523/3/other-claims", Level: May,
			Text:  "An assertion may contain other claims.",
			Needs: keyNeeds(),
			Check: wantOtherClaims,
		},
	}
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

// rfc7523Signature returns the rules about the signature of an assertion (RFC 7523 §3).
func rfc7523Signature() []Rule {
	return []Rule{
		{
			ID: "RFC7523/3/signature", Level: Must,
			Text:  "An assertion with a wrong signature, or signed by another key, is refused.",
			Needs: keyNeeds(need.SecondKey),
			Check: func(t *T) {
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
		},
		{
			// RFC 7515 §4.1.3 leaves jwk in the header to the application; an assertion is verified by the registered keys.
			ID: "RFC7523/3/own-key", Level: Must,
			Text:  "A key in the header of an assertion does not verify it.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				stranger := c.Another()
				t.WantRefused(asKey(t, c.Assertion(func() string {
					return stranger.Sign(map[string]any{"jwk": stranger.Public()}, c.Claims())
				})), "the key stood in the header only")
			},
		},
		{
			ID: "RFC7523/3/not-unsigned", Level: Must,
			Text:  "An assertion without a signature is refused.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				for _, unsigned := range jose.Unsigned(c.Signer.Sign(nil, c.Claims())) {
					t.WantRefused(asKey(t, c.Assertion(func() string { return unsigned })), "the assertion had alg none")
				}
			},
		},
		{
			ID: "RFC7523/3/not-by-public-key", Level: Must,
			Text:  "A public key is not accepted as the secret of an HMAC.",
			Needs: keyNeeds(),
			Check: func(t *T) {
				c := keyClient(t)
				for _, misused := range c.Signer.Misused() {
					t.WantRefused(asKey(t, c.Assertion(func() string { return misused.Sign(nil, c.Claims()) })), "the HMAC was made with the public key")
				}
			},
		},
		{
			ID: "RFC7523/3/hmac", Level: Must,
			Text:  "An assertion of a client with client_secret_jwt is an HMAC with its secret, and with nothing else.",
			Needs: []Need{need.Token, need.SecretHMAC},
			Check: func(t *T) {
				c := t.Client(need.SecretHMAC)
				t.Granted(t.ByCredentials(c, c.Credentials()))
				t.WantRefused(t.ByCredentials(c, c.With(strings.Repeat("conformance", 4))), "the secret was wrong")
				stranger := jose.NewKey("RS256")
				t.WantRefused(t.ByCredentials(c, c.Assertion(func() string { return stranger.Sign(nil, c.Claims()) })), "the assertion was signed by a private key")
			},
		},
	}
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
	if listed, known := listsGrant(t, need.GrantMachine); known && !listed && len(c.RedirectURIs) > 0 && t.Has(need.User) && t.Has(need.Authorization) {
		var form url.Values
		t.Besides(func() { form = t.Code(t.Request(c)).Form() })
		return t.Post(t.Endpoint(need.Token), form, as)
	}
	return t.ByCredentials(c, as)
}

// wrongClaims returns a rule that an assertion with other claims is refused.
func wrongClaims(id string, text, why string, claims func(*T) map[string]any) Rule {
	return Rule{ID: id, Level: Must, Text: text, Needs: keyNeeds(), Check: func(t *T) {
		c := keyClient(t)
		t.WantRefused(asKey(t, c.Asserting(nil, claims(t))), why)
	}}
}
