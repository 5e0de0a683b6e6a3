package rules

import (
	"regexp"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// oidcSigning returns the rules about signatures and keys (OIDC Core §10).
func oidcSigning() []Rule {
	hmac := []Need{need.Authorization, need.Token, need.HS256, need.User, need.OpenID}
	const noEncryption = "Mandate does not encrypt, and publishes no keys for encryption."
	return []Rule{
		{
			ID: "OIDCCore/10/signed-first", Level: Must, Inapplicable: noEncryption,
			Text: "A token that is signed and encrypted is signed first.",
		},
		{
			ID: "OIDCCore/10.1/supported-algorithm", Level: Must,
			Text:  "The algorithm of an ID token is supported by the client: RS256, or another one that the server lists and the client registered.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				list, is := provider(t).List("id_token_signing_alg_values_supported")
				alg := t.SignIn(t.Client(need.Code)).Algorithm()
				if alg != "RS256" && is && !slices.Contains(list, alg) {
					t.Failf("alg is %q, which is neither the default RS256 nor in id_token_signing_alg_values_supported", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/registered-algorithm", Level: Must,
			Text:  "The server signs ID tokens with HS256 for a client that registered it.",
			Needs: hmac,
			Check: func(t *T) {
				if !provider(t).Lists("id_token_signing_alg_values_supported", "HS256") {
					t.Skipf("the rule applies to a server that supports HS256: id_token_signing_alg_values_supported does not list it")
				}
				if alg := t.SignIn(t.Client(need.HS256)).Algorithm(); alg != "HS256" {
					t.Failf("the server lists HS256, and the client hs256 is registered for it, but alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/known-algorithm", Level: Must,
			Text:  "The alg of a signature is defined by JSON Web Algorithms.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(need.Code)).Algorithm(); !knownAlgorithm.MatchString(alg) {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/key-published", Level: Must,
			Text:  "The key that signs an ID token is published at jwks_uri.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				c := t.Client(need.Code)
				j := t.SignIn(c)
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the ID tokens of the client code have the algorithm %s, which uses no published key: register this client with RS256", j.Algorithm())
				}
				wantSignature(t, j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/kid", Level: Must,
			Text:  "If there are several keys, kid in the header identifies the one that signed.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(need.Code))
				shown := t.Last()
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the ID tokens of the client code have the algorithm %s, which uses no published key: register this client with RS256", j.Algorithm())
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
			},
		},
		{
			ID: "OIDCCore/10.1/key-for-signing", Level: Must,
			Text:  "use of this key, if present, allows signatures.",
			Needs: loginNeeds(need.Keys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(need.Code))
				for _, k := range t.Keys() {
					if k.ID != "" && any(k.ID) == j.Header["kid"] && !k.Signs() {
						t.Failf("the key %s signs ID tokens, but its use is %q, and its key_ops are %v", k.ID, k.Use, k.Operations)
					}
				}
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-key", Level: Must,
			Text:  "The key of an HMAC is the client secret as bytes.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				j := signedByHMAC(t, t.GrantFor(t.OpenID(c)))
				wantSignature(t, j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-key-of-client", Level: Must,
			Text:  "The HMAC for one client is not valid with the secret of another client.",
			Needs: append(slices.Clone(hmac), need.Second),
			Check: func(t *T) {
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
		},
		{
			ID: "OIDCCore/10.1/hmac-at-hash", Level: Must,
			Text:  "With an HMAC with SHA-256, at_hash, if present, uses SHA-256.",
			Needs: hmac,
			Check: func(t *T) {
				tokens := t.GrantFor(t.OpenID(t.Client(need.HS256)))
				optional(t, signedByHMAC(t, tokens), "at_hash")
				wantHash(t, t.IDToken(tokens), tokens)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-refreshed", Level: Must,
			Text:  "A refreshed ID token, if any, is also signed with HS256 if the client registered it.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				tokens := t.GrantOffline(c)
				signedByHMAC(t, tokens)
				j := t.IDToken(withID(t, t.Granted(t.Refresh(c, tokens.Refresh))))
				if j.Algorithm() != "HS256" {
					t.Failf("alg of the first ID token is HS256, and of the refreshed one it is %q", j.Algorithm())
				}
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint", Level: Should,
			Text:  "The server accepts an ID token with an HMAC as id_token_hint.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				signedByHMAC(t, t.GrantFor(t.OpenID(c)))
				wantHintTaken(t, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint-forged", Level: Must,
			Text:  "The server refuses an id_token_hint whose HMAC was made with another key than the client's secret.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(need.HS256)
				signedByHMAC(t, t.GrantFor(t.OpenID(c)))
				wantHintRefused(t, c, func(hint string, _ *jose.JWT) []string {
					return slices.Concat(jose.Altered(hint), jose.Unsigned(hint), jose.SignedByAnother(hint))
				})
			},
		},
		{
			ID: "OIDCCore/10.1/no-hmac-for-public", Level: Must,
			Text:  "The ID tokens of a public client are not signed with an HMAC.",
			Needs: publicCodeNeeds(need.OpenID),
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(need.Public)).Algorithm(); strings.HasPrefix(alg, "HS") {
					t.Failf("the client public has no secret, and alg of its ID token is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1.1/keys-retained", Level: Should,
			Text:     "A key that no longer signs stays published as long as tokens with its signatures can be in use.",
			TestedBy: "conformance/mandate/openid_keys_test.go:TestOIDCCore10Rotation",
		},
		{
			ID: "OIDCCore/10.1.1/kid-always", Level: May,
			Text:  "Every ID token without HMAC has a kid.",
			Needs: loginNeeds(),
			Check: func(t *T) {
				if j := t.SignIn(t.Client(need.Code)); j.Header["kid"] == nil {
					t.Failf("the header has no kid")
				}
			},
		},
		{
			ID: "OIDCCore/10.2/supported-algorithm", Level: Must, Inapplicable: noEncryption,
			Text: "Encryption uses an algorithm that the recipient supports.",
		},
		{
			ID: "OIDCCore/10.2/public-key", Level: Must, Inapplicable: noEncryption,
			Text: "Encryption uses a key that the recipient published; if there are several, kid identifies it.",
		},
		{
			ID: "OIDCCore/10.2/truncated-secret", Level: Must, Inapplicable: noEncryption,
			Text: "A key derived from a client secret is the left part of its hash.",
		},
		{
			ID: "OIDCCore/10.2/not-for-public", Level: Must, Inapplicable: noEncryption,
			Text: "Nothing is encrypted with a key derived from the secret of a public client.",
		},
		{
			// The document requires this for encryption, so that the keys are not fetched for each message.
			ID: "OIDCCore/10.2.1/cached", Level: May,
			Text:  "The response with the keys limits their caching by max-age.",
			Needs: []Need{need.Keys},
			Check: func(t *T) { wantHeader(t, t.Get(t.Endpoint(need.Keys)), "Cache-Control", "max-age=") },
		},
		{
			ID: "OIDCCore/10.2.1/decommissioned", Level: Should, Inapplicable: noEncryption,
			Text: "A key that is no longer used to encrypt is removed from the published keys, and kept internally for a while.",
		},
		{
			ID: "OIDCCore/10.2.1/coordinated", Level: Should,
			Text:     "A new key is published before it signs, for at least the time for which the keys may be cached.",
			TestedBy: "conformance/mandate/openid_keys_test.go:TestOIDCCore10Rotation",
		},
	}
}

// knownAlgorithm matches the algorithms of RFC 7518 §3.1, and those that were registered later.
var knownAlgorithm = regexp.MustCompile(`^((HS|RS|ES|PS)(256|384|512)|ES256K|EdDSA|Ed25519|Ed448|ML-DSA-(44|65|87))$`)

// signedByHMAC returns the ID token of the client hs256. Without an HMAC the check is blocked.
func signedByHMAC(t *T, tokens *check.Tokens) *jose.JWT {
	j := t.IDToken(tokens)
	if j.Algorithm() != "HS256" {
		t.Blockedf("alg of the ID token of the client hs256 is %s: register this client with id_token_signed_response_alg HS256", j.Algorithm())
	}
	return j
}
