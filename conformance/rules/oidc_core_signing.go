package rules

import (
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// oidcSigning has the checks of the rules about signatures and keys (OIDC Core §10).
var oidcSigning = checks{
	"OIDCCore/10.1/supported-algorithm": func(t *T) {
		list, is := provider(t).List("id_token_signing_alg_values_supported")
		alg := t.SignIn(t.Client(need.Code)).Algorithm()
		if alg != "RS256" && is && !slices.Contains(list, alg) {
			t.Failf("alg is %q, which is neither the default RS256 nor in id_token_signing_alg_values_supported", alg)
		}
	},
	"OIDCCore/10.1/registered-algorithm": func(t *T) {
		if !provider(t).Lists("id_token_signing_alg_values_supported", "HS256") {
			t.Skipf("the rule applies to a server that supports HS256: id_token_signing_alg_values_supported does not list it")
		}
		if alg := t.SignIn(t.Client(need.HS256)).Algorithm(); alg != "HS256" {
			t.Failf("the server lists HS256, and the client hs256 is registered for it, but alg is %q", alg)
		}
	},
	"OIDCCore/10.1/known-algorithm": func(t *T) {
		if alg := t.SignIn(t.Client(need.Code)).Algorithm(); !knownAlgorithm.MatchString(alg) {
			t.Failf("alg is %q", alg)
		}
	},
	"OIDCCore/10.1/key-published": func(t *T) {
		c := t.Client(need.Code)
		j := t.SignIn(c)
		if strings.HasPrefix(j.Algorithm(), "HS") {
			t.Skipf("the ID tokens of the client code have the algorithm %s, which uses no published key: register this "+
				"client with RS256", j.Algorithm())
		}
		wantSignature(t, j, c)
	},
	"OIDCCore/10.1/kid": oidcCoreKid,
	"OIDCCore/10.1/key-for-signing": func(t *T) {
		j := t.SignIn(t.Client(need.Code))
		for _, k := range t.Keys() {
			if k.ID != "" && any(k.ID) == j.Header["kid"] && !k.Signs() {
				t.Failf("the key %s signs ID tokens, but its use is %q, and its key_ops are %v", k.ID, k.Use, k.Operations)
			}
		}
	},
	"OIDCCore/10.1/hmac-key": func(t *T) {
		c := t.Client(need.HS256)
		j := signedByHMAC(t, t.GrantFor(t.OpenID(c)))
		wantSignature(t, j, c)
	},
	"OIDCCore/10.1/hmac-key-of-client": func(t *T) {
		if t.Client(need.Second).Secret == t.Client(need.HS256).Secret {
			t.Skipf("the clients second and hs256 have the same secret: give them different ones")
		}
		j := signedByHMAC(t, t.GrantFor(t.OpenID(t.Client(need.HS256))))
		others := []string{t.Client(need.Second).Secret, "", t.Client(need.HS256).ID}
		for i, what := range []string{"the secret of the client second", "an empty key", "the client_id"} {
			if j.Verify(nil, others[i]) == nil {
				t.Failf("the signature of the ID token of the client hs256 is valid with %s as the key", what)
			}
		}
	},
	"OIDCCore/10.1/hmac-at-hash": func(t *T) {
		tokens := t.GrantFor(t.OpenID(t.Client(need.HS256)))
		optional(t, signedByHMAC(t, tokens), "at_hash")
		wantHash(t, t.IDToken(tokens), tokens)
	},
	"OIDCCore/10.1/hmac-refreshed": func(t *T) {
		c := t.Client(need.HS256)
		tokens := t.GrantOffline(c)
		signedByHMAC(t, tokens)
		j := t.IDToken(withID(t, t.Granted(t.Refresh(c, tokens.Refresh))))
		if j.Algorithm() != "HS256" {
			t.Failf("alg of the first ID token is HS256, and of the refreshed one it is %q", j.Algorithm())
		}
	},
	"OIDCCore/10.1/hmac-hint": func(t *T) {
		c := t.Client(need.HS256)
		signedByHMAC(t, t.GrantFor(t.OpenID(c)))
		wantHintTaken(t, c)
	},
	"OIDCCore/10.1/hmac-hint-forged": func(t *T) {
		c := t.Client(need.HS256)
		signedByHMAC(t, t.GrantFor(t.OpenID(c)))
		wantHintRefused(t, c, func(hint string, _ *jose.JWT) []string {
			return slices.Concat(jose.Altered(hint), jose.Unsigned(hint), jose.SignedByAnother(hint))
		})
	},
	"OIDCCore/10.1/no-hmac-for-public": func(t *T) {
		if alg := t.SignIn(t.Client(need.Public)).Algorithm(); strings.HasPrefix(alg, "HS") {
			t.Failf("the client public has no secret, and alg of its ID token is %q", alg)
		}
	},
	"OIDCCore/10.1.1/kid-always": func(t *T) {
		if j := t.SignIn(t.Client(need.Code)); j.Header["kid"] == nil {
			t.Failf("the header has no kid")
		}
	},
	"OIDCCore/10.2.1/cached": func(t *T) { wantHeader(t, t.Get(t.Endpoint(need.Keys)), "Cache-Control", "max-age=") },
}

func oidcCoreKid(t *T) {
	j := t.SignIn(t.Client(need.Code))
	shown := t.Last()
	if strings.HasPrefix(j.Algorithm(), "HS") {
		t.Skipf("the ID tokens of the client code have the algorithm %s, which uses no published key: register this client "+
			"with RS256", j.Algorithm())
	}
	keys := t.Keys()
	if len(keys) < 2 {
		t.Skipf("the rule applies to a server that publishes several keys: here there is only one")
	}
	id, _ := j.Header["kid"].(string)
	t.At(shown)
	if id == "" {
		t.Failf("the server publishes %d keys, and the header of the ID token has no kid", len(keys))
	}
	if !slices.ContainsFunc(keys, func(k jose.JWK) bool { return k.ID == id }) {
		t.Failf("no published key has the kid of the ID token, %q", id)
	}
}

// knownAlgorithm matches the algorithms of RFC 7518 §3.1, and those that were registered later.
var knownAlgorithm = regexp.MustCompile(`^((HS|RS|ES|PS)(256|384|512)|ES256K|EdDSA|Ed25519|Ed448|ML-DSA-(44|65|87))$`)

// signedByHMAC returns the ID token of the client hs256. Without an HMAC the check is blocked.
func signedByHMAC(t *T, tokens *check.Tokens) *jose.JWT {
	j := t.IDToken(tokens)
	if j.Algorithm() != "HS256" {
		t.Blockedf("alg of the ID token of the client hs256 is %s: register this client with id_token_signed_response_alg "+
			"HS256", j.Algorithm())
	}
	return j
}
