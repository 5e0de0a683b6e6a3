package rules

import (
	"net/http"
	"net/url"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// rfc8705Clients has the checks of the rules about client authentication (RFC 8705 §2, §5).
var rfc8705Clients = checks{
	"RFC8705/2/client-id": func(t *T) {
		c := certificateClient(t)
		t.WantUncertified(certifiedForm(t), wire.Certificate("", string(c.Role)), "client_id was missing")
	},
	"RFC8705/2/certificate-required": func(t *T) {
		c := certificateClient(t)
		t.WantUncertified(certifiedForm(t), wire.InBody(c.ID, ""), "the client sent no certificate")
		t.WantUncertified(certifiedForm(t), wire.Basic(c.ID, t.Random()),
			"the client sent a secret in place of a certificate")
	},
	"RFC8705/2/certificate-of-client": func(t *T) {
		c, other := certificateClient(t), t.Client(need.SecondCertificate)
		t.WantUncertified(certifiedForm(t), wire.Certificate(c.ID, string(other.Role)),
			"the certificate was that of another client")
	},
	"RFC8705/2/invalid-client": func(t *T) {
		c, other := certificateClient(t), t.Client(need.SecondCertificate)
		t.WantError(asCertified(t, wire.Certificate(c.ID, string(other.Role))), "invalid_client")
	},
	"RFC8705/2.1/authority": func(t *T) {
		c := certificateClient(t)
		t.WantUncertified(certifiedForm(t), wire.Certificate(c.ID, t.ForgedCertificate(c)),
			"no authority had issued the certificate")
	},
	"RFC8705/2.1.1/method-listed": func(t *T) {
		c := certificateClient(t)
		wantMethodListed(t, publishedMetadata(t), "token", c, true)
	},
	"RFC8705/5/aliases": rfc8705Aliases,
	"RFC8705/5/alias-works": func(t *T) {
		c := certificateClient(t)
		access := t.Granted(asCertified(t, c.Credentials())).Access
		for _, name := range []Need{need.Introspection, need.Revocation} {
			if !t.Has(name) {
				continue
			}
			if a := t.Post(t.OptionalEndpoint(name), wire.Params("token", access),
				c.Credentials()); a.Text("error") == "invalid_client" {
				t.At(a)
				t.Errorf("%s does not authenticate the client: %s", name, a.Failure())
			}
		}
	},
}

func rfc8705Aliases(t *T) {
	t.Client(need.Certificate)
	t.Endpoint(need.Token)
	aliases, given := publishedMetadata(t)["mtls_endpoint_aliases"]
	if !given {
		t.Skipf("the rule applies to a server with mtls_endpoint_aliases in its metadata")
	}
	object, is := aliases.(map[string]any)
	if !is || len(object) == 0 {
		t.Failf("mtls_endpoint_aliases is %s, want an object", Quoted(aliases))
	}
	for name, address := range object {
		if u := wire.ParseURL(asText(address)); u.Scheme != "https" || u.Host == "" {
			t.Errorf("%s of mtls_endpoint_aliases is %s, want an https address", name, Quoted(address))
		}
	}
}

// rfc8705Tokens has the checks of the rules about tokens that are bound to a certificate (RFC 8705 §3, §4).
var rfc8705Tokens = checks{
	"RFC8705/3/bound-at-server": func(t *T) {
		if object := liveToken(t, certificateTokens(t, need.Certificate).Access); certifiedBy(object) == "" {
			t.Failf("cnf of the introspection response is %s, want an object with x5t#S256", Quoted(object["cnf"]))
		}
	},
	"RFC8705/3/same-certificate": func(t *T) {
		wantHeldAlone(certifiedAccess(t), t.Holder(t.Client(need.SecondCertificate)))
	},
	"RFC8705/3/invalid-token": func(t *T) {
		b, thief := certifiedAccess(t), t.Holder(t.Client(need.SecondCertificate))
		a := t.Get(b.url, thief.Presenting(b.url, b.access))
		blockIfAccepted(t, a)
		t.WantStatus(a, http.StatusUnauthorized)
		wantChallengeError(t, a, "invalid_token")
	},
	"RFC8705/3.1/jwt": func(t *T) {
		if j := certificateJWT(t); certifiedBy(j.Claims) == "" {
			t.Failf("cnf of the token is %s, want an object with x5t#S256", Quoted(j.Claims["cnf"]))
		}
	},
	"RFC8705/3.1/thumbprint": func(t *T) {
		got, want := certifiedBy(certificateJWT(t).Claims), t.Client(need.SecondCertificate).Thumbprint()
		if got == "" {
			t.Blockedf("the token has no x5t#S256 (RFC8705/3.1/jwt)")
		}
		if got != want {
			t.Failf("x5t#S256 is %s, and the digest of the certificate is %s", Quoted(got), want)
		}
	},
	"RFC8705/3.2/introspection": func(t *T) {
		object := liveToken(t, certificateTokens(t, need.Certificate).Access)
		if want := t.Client(need.Certificate).Thumbprint(); certifiedBy(object) != want {
			t.Failf("cnf of the response is %s, want x5t#S256 with the value %s", Quoted(object["cnf"]), want)
		}
	},
	"RFC8705/4/refresh-token-of-public-client": func(t *T) {
		skipUnbound(t)
		m := plainClient(t)
		m["token_endpoint_auth_method"], m["tls_client_certificate_bound_access_tokens"] = need.NoAuthentication, true
		m["grant_types"] = []string{need.GrantCode, "refresh_token"}
		t.WithClient(m, func(made *check.Made) {
			if made.JSON()["tls_client_certificate_bound_access_tokens"] != true {
				t.Skipf("the server did not register the client with tls_client_certificate_bound_access_tokens")
			}
			wantRefreshHeld(t, registered(made), made)
		})
	},
}

// skipUnbound skips the check if the server does not bind tokens to certificates (RFC 8705 §3.3).
func skipUnbound(t *T) {
	const name = "tls_client_certificate_bound_access_tokens"
	if !t.Metadata().Is(name) {
		t.Skipf("the rule applies to a server that binds access tokens to certificates: %s of its metadata is not true", name)
	}
}

// certificateTokens returns tokens of a client whose tokens are bound to its certificate.
func certificateTokens(t *T, role Need) *check.Tokens {
	skipUnbound(t)
	return t.Granted(t.Token(t.Client(role), certifiedForm(t)))
}

// certificateJWT returns an access token of the client second-certificate. If it is no JWT, the check is skipped.
func certificateJWT(t *T) *jose.JWT {
	tokens := certificateTokens(t, need.SecondCertificate)
	t.At(tokens.Answer)
	j, err := jose.Read(tokens.Access)
	if err != nil {
		t.Skipf("the rule applies to access tokens that are JWTs, and that of the client second-certificate is none: %v", err)
	}
	return j
}

// certifiedAccess returns a token of the client certificate, which the api accepts with the certificate.
func certifiedAccess(t *T) heldAccess {
	tokens := certificateTokens(t, need.Certificate)
	if object, shown := described(t, tokens); shown && certifiedBy(object) == "" {
		t.Skipf("the server does not bind the tokens of the client certificate to its certificate: register it with " +
			"tls_client_certificate_bound_access_tokens")
	}
	h := t.Holder(t.Client(need.Certificate))
	b := heldAccess{*protectedAPI(t), h, tokens.Access}
	if a := t.Get(b.url, h.Presenting(b.url, b.access)); !b.accepted(a) {
		t.Skipf("the rule needs an api that accepts tokens that are bound to certificates, and this one answers %s: name "+
			"one in the target, and %s", a, certifiedAPI)
	}
	return b
}

// wantRefreshHeld asserts that the refresh token of a public client works only with the certificate of the client.
func wantRefreshHeld(t *T, c *target.Client, made *check.Made) {
	own := wire.WithCertificate(t.OwnCertificate())
	first := t.WithRefresh(c, t.Granted(t.Token(c, t.Code(registeredRequest(t, c, made)).Form(), own)))
	refresh := func(token string) url.Values {
		return wire.Params("grant_type", "refresh_token", "refresh_token", token, "client_id", c.ID)
	}
	token := first.Refresh
	if again := t.Granted(t.Token(c, refresh(token), own)); again.Refresh != "" {
		token = again.Refresh
	}
	t.WantUncertified(refresh(token), wire.InBody(c.ID, ""), "the request had no certificate")
	t.WantUncertified(refresh(token), wire.WithCertificate(t.OwnCertificate()), "the request had another certificate")
}

// certificateClient returns the client certificate, which can authenticate. Otherwise the check is blocked.
func certificateClient(t *T) *target.Client {
	c := t.Client(need.Certificate)
	t.Granted(asCertified(t, c.Credentials()))
	return c
}

// asCertified requests a token by client credentials at the address for clients with certificates.
func asCertified(t *T, as wire.Auth) *wire.Answer {
	return t.AtAlias(need.Token, certifiedForm(t), as)
}

// described returns what introspection says about an access token, or the claims of the token if it is a JWT. It
// reports whether one of them is known.
func described(t *T, tokens *check.Tokens) (map[string]any, bool) {
	t.At(tokens.Answer)
	if j, err := jose.Read(tokens.Access); err == nil {
		return j.Claims, true
	}
	if !t.Introspects() {
		return nil, false
	}
	return t.Introspected(tokens.Access), true
}

// certifiedBy returns x5t#S256 of the member cnf (RFC 8705 §3.1), or "".
func certifiedBy(object map[string]any) string {
	cnf, _ := object["cnf"].(map[string]any)
	return asText(cnf["x5t#S256"])
}

// asText returns a value that is a string, or "".
func asText(value any) string {
	text, _ := value.(string)
	return text
}

// certifiedForm returns the request of the client certificate for a token by client credentials.
func certifiedForm(t *T) url.Values {
	form := wire.Params("grant_type", need.GrantMachine)
	if scope := t.Client(need.Certificate).Scope; scope != "" {
		form.Set("scope", scope)
	}
	return form
}
