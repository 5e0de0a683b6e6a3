package rules

import (
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// Signatures and their keys (OIDC Core §10).
func oidcSigning() []Rule {
	hmac := []Need{need.Authorization, need.Token, need.HS256, need.User, need.OpenID}
	const noEncryption = "Mandate encrypts nothing, and publishes no keys to encrypt with."
	return []Rule{
		{
			ID: "OIDCCore/10/signed-first", Level: Must, Inapplicable: noEncryption,
			Text: "What is signed and encrypted is signed first.",
		},
		{
			ID: "OIDCCore/10.1/supported-algorithm", Level: Must,
			Text:  "The algorithm of an ID token is one that the client takes: RS256, or another that the server lists and the client has registered.",
			Needs: signIn(),
			Check: func(t *T) {
				alg := t.SignIn(t.Client(need.Code)).Algorithm()
				if list, is := t.Metadata().List("id_token_signing_alg_values_supported"); is && !slices.Contains(list, alg) {
					t.Failf("alg is %q, which id_token_signing_alg_values_supported does not list", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/registered-algorithm", Level: Must,
			Text:  "A client that has registered HS256 gets ID tokens signed with it.",
			Needs: hmac,
			Check: func(t *T) {
				if list, is := t.Metadata().List("id_token_signing_alg_values_supported"); is && !slices.Contains(list, "HS256") {
					t.Skipf("the server does not list HS256")
				}
				if alg := t.SignIn(t.Client(need.HS256)).Algorithm(); alg != "HS256" {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/known-algorithm", Level: Must,
			Text:  "The alg of a signature is one that JSON Web Algorithms knows.",
			Needs: signIn(),
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(need.Code)).Algorithm(); !knownAlgorithm.MatchString(alg) {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/key-published", Level: Must,
			Text:  "The key that an ID token is signed with is in the set of keys at jwks_uri.",
			Needs: signIn(need.Keys),
			Check: func(t *T) {
				c := t.Client(need.Code)
				j := t.SignIn(c)
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the client code has its tokens signed with its secret")
				}
				wantSignature(t, j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/kid", Level: Must,
			Text:  "Where there are several keys, the kid of the header says which.",
			Needs: signIn(need.Keys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(need.Code))
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the client code has its tokens signed with its secret")
				}
				keys := t.Keys()
				if len(keys) < 2 {
					t.Skipf("the server has one key")
				}
				id, _ := j.Header["kid"].(string)
				named := slices.DeleteFunc(keys, func(k jose.JWK) bool { return k.ID != id })
				if id == "" || len(named) != 1 {
					t.Failf("kid is %v, which names %d of the keys", j.Header["kid"], len(named))
				}
			},
		},
		{
			ID: "OIDCCore/10.1/key-for-signing", Level: Must,
			Text:  "The use of the key, where it is told, is to sign.",
			Needs: signIn(need.Keys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(need.Code))
				for _, k := range t.Keys() {
					if k.ID != "" && any(k.ID) == j.Header["kid"] && !k.Signs() {
						t.Failf("the key %s is for %s %v", k.ID, k.Use, k.Operations)
					}
				}
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-key", Level: Must,
			Text:  "The key of an HMAC is the client secret in its own bytes.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				j := signedByHMAC(t, t.GrantFor(t.OpenID(c)))
				wantSignature(t, j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-key-of-client", Level: Must,
			Text:  "The HMAC for one client does not hold with the secret of another.",
			Needs: append(slices.Clone(hmac), need.Second),
			Check: func(t *T) {
				j := signedByHMAC(t, t.GrantFor(t.OpenID(t.Client(need.HS256))))
				for _, secret := range []string{t.Client(need.Second).Secret, "", t.Client(need.HS256).ID} {
					if j.Verify(nil, secret) == nil {
						t.Failf("the signature holds with a key that is not the client's secret")
					}
				}
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-at-hash", Level: Must,
			Text:  "at_hash beside an HMAC with SHA-256, where it is there, uses SHA-256.",
			Needs: hmac,
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.HS256)))
				wantHash(t, signedByHMAC(t, tokens), tokens)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-refreshed", Level: Must,
			Text:  "The ID token of a refresh, where there is one, is signed with HS256 too if that is what the client has registered.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				tokens := t.GrantOffline(c)
				signedByHMAC(t, tokens)
				j := t.IDToken(withID(t, t.Granted(t.Refresh(c, tokens.Refresh))))
				if j.Algorithm() != "HS256" {
					t.Failf("alg is %q", j.Algorithm())
				}
				wantSignature(t, j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint", Level: Should,
			Text:  "An ID token with an HMAC is taken as an id_token_hint.",
			Needs: hmac,
			Check: func(t *T) {
				c, b := t.Client(need.HS256), t.NewBrowser()
				tokens := t.GrantIn(b, t.OpenID(c))
				signedByHMAC(t, tokens)
				silentToBegin(t, b, c)
				wantCode(t, t.Silently(b, t.OpenID(c).Set("id_token_hint", tokens.ID)), "the own ID token as a hint")
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint-forged", Level: Must,
			Text:  "An id_token_hint with an HMAC of another key than the client's secret is refused.",
			Needs: hmac,
			Check: func(t *T) {
				c, b := t.Client(need.HS256), t.NewBrowser()
				tokens := t.GrantIn(b, t.OpenID(c))
				signedByHMAC(t, tokens)
				wantHintRefused(t, b, c, slices.Concat(jose.Altered(tokens.ID), jose.Unsigned(tokens.ID), jose.SignedByAnother(tokens.ID)))
			},
		},
		{
			ID: "OIDCCore/10.1/no-hmac-for-public", Level: Must,
			Text:  "The ID tokens of a public client are not signed by an HMAC.",
			Needs: []Need{need.Authorization, need.Token, need.Public, need.User, need.OpenID},
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(need.Public)).Algorithm(); strings.HasPrefix(alg, "HS") {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1.1/keys-retained", Level: Should,
			Text:      "A key that signs no more stays published for as long as what it signed may be about.",
			Elsewhere: "conformance/mandate/openid_keys_test.go:TestOIDCCore10Rotation",
		},
		{
			ID: "OIDCCore/10.1.1/kid-always", Level: May,
			Text:  "Every ID token that is not signed by an HMAC has a kid.",
			Needs: signIn(),
			Check: func(t *T) {
				if j := t.SignIn(t.Client(need.Code)); j.Header["kid"] == nil {
					t.Failf("the header has no kid")
				}
			},
		},
		{
			ID: "OIDCCore/10.2/supported-algorithm", Level: Must, Inapplicable: noEncryption,
			Text: "What is encrypted is so by an algorithm that its reader takes.",
		},
		{
			ID: "OIDCCore/10.2/public-key", Level: Must, Inapplicable: noEncryption,
			Text: "What is encrypted is so with a published key of its reader, which the kid names among several.",
		},
		{
			ID: "OIDCCore/10.2/truncated-secret", Level: Must, Inapplicable: noEncryption,
			Text: "The key that is derived from a client secret is the left part of its digest.",
		},
		{
			ID: "OIDCCore/10.2/not-for-public", Level: Must, Inapplicable: noEncryption,
			Text: "Nothing is encrypted with a key derived from the secret of a public client.",
		},
		{
			// The document asks it of who decrypts, so that the keys to encrypt with are not fetched each time.
			ID: "OIDCCore/10.2.1/cached", Level: May,
			Text:  "The set of keys says by max-age how long it may be kept.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantHeader(t, t.Get(t.Endpoint(need.Keys)), "Cache-Control", "max-age=") },
		},
		{
			ID: "OIDCCore/10.2.1/decommissioned", Level: Should, Inapplicable: noEncryption,
			Text: "A key that is not to be encrypted with any more is taken out of the set, and kept inside for a while.",
		},
		{
			ID: "OIDCCore/10.2.1/coordinated", Level: Should,
			Text:      "A new key is in the set for as long as the set may be kept before it signs.",
			Elsewhere: "conformance/mandate/openid_keys_test.go:TestOIDCCore10Rotation",
		},
	}
}

// RFC 7518 §3.1, and those that later documents added to the registry.
var knownAlgorithm = regexp.MustCompile(`^((HS|RS|ES|PS)(256|384|512)|ES256K|EdDSA|Ed25519|Ed448|ML-DSA-(44|65|87))$`)

// signedByHMAC is the ID token of the client hs256; where it is signed otherwise, that is another rule's business.
func signedByHMAC(t *T, tokens *check.Tokens) *jose.JWT {
	j := t.IDToken(tokens)
	if j.Algorithm() != "HS256" {
		t.Blockedf("the ID token is signed by %s", j.Algorithm())
	}
	return j
}
