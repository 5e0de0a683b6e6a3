package conformance

import (
	"regexp"
	"slices"
	"strings"
)

// Signatures and their keys (OIDC Core §10).
func oidcSigning() []Rule {
	hmac := []Need{NeedAuthorization, NeedToken, NeedHS256, NeedUser, NeedOpenID}
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
				alg := t.SignIn(t.Client(NeedCode)).Algorithm()
				if list, is := t.Metadata().list("id_token_signing_alg_values_supported"); is && !slices.Contains(list, alg) {
					t.Failf("alg is %q, which id_token_signing_alg_values_supported does not list", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/registered-algorithm", Level: Must,
			Text:  "A client that has registered HS256 gets ID tokens signed with it.",
			Needs: hmac,
			Check: func(t *T) {
				if list, is := t.Metadata().list("id_token_signing_alg_values_supported"); is && !slices.Contains(list, "HS256") {
					t.Skipf("the server does not list HS256")
				}
				if alg := t.SignIn(t.Client(NeedHS256)).Algorithm(); alg != "HS256" {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/known-algorithm", Level: Must,
			Text:  "The alg of a signature is one that JSON Web Algorithms knows.",
			Needs: signIn(),
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(NeedCode)).Algorithm(); !knownAlgorithm.MatchString(alg) {
					t.Failf("alg is %q", alg)
				}
			},
		},
		{
			ID: "OIDCCore/10.1/key-published", Level: Must,
			Text:  "The key that an ID token is signed with is in the set of keys at jwks_uri.",
			Needs: signIn(NeedKeys),
			Check: func(t *T) {
				c := t.Client(NeedCode)
				j := t.SignIn(c)
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the client code has its tokens signed with its secret")
				}
				t.wantSignature(j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/kid", Level: Must,
			Text:  "Where there are several keys, the kid of the header says which.",
			Needs: signIn(NeedKeys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(NeedCode))
				if strings.HasPrefix(j.Algorithm(), "HS") {
					t.Skipf("the client code has its tokens signed with its secret")
				}
				keys := t.Keys()
				if len(keys) < 2 {
					t.Skipf("the server has one key")
				}
				id, _ := j.Header["kid"].(string)
				named := slices.DeleteFunc(keys, func(k JWK) bool { return k.ID != id })
				if id == "" || len(named) != 1 {
					t.Failf("kid is %v, which names %d of the keys", j.Header["kid"], len(named))
				}
			},
		},
		{
			ID: "OIDCCore/10.1/key-for-signing", Level: Must,
			Text:  "The use of the key, where it is told, is to sign.",
			Needs: signIn(NeedKeys),
			Check: func(t *T) {
				j := t.SignIn(t.Client(NeedCode))
				for _, k := range t.Keys() {
					if k.ID != "" && any(k.ID) == j.Header["kid"] && !k.signs() {
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
				c := t.Client(NeedHS256)
				j := t.hmac(t.signedInto(t.OpenID(c)))
				t.wantSignature(j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-key-of-client", Level: Must,
			Text:  "The HMAC for one client does not hold with the secret of another.",
			Needs: append(slices.Clone(hmac), NeedSecond),
			Check: func(t *T) {
				j := t.hmac(t.signedInto(t.OpenID(t.Client(NeedHS256))))
				for _, secret := range []string{t.Client(NeedSecond).Secret, "", t.Client(NeedHS256).ID} {
					if j.verify(nil, secret) == nil {
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
				tokens := t.signedInto(t.OpenID(t.Client(NeedHS256)))
				t.wantHash(t.hmac(tokens), tokens)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-refreshed", Level: Must,
			Text:  "The ID token of a refresh, where there is one, is signed with HS256 too if that is what the client has registered.",
			Needs: hmac,
			Check: func(t *T) {
				c := t.Client(NeedHS256)
				tokens := t.refreshable(c)
				t.hmac(tokens)
				j := t.IDToken(t.withID(t.Granted(t.Refresh(c, tokens.Refresh))))
				if j.Algorithm() != "HS256" {
					t.Failf("alg is %q", j.Algorithm())
				}
				t.wantSignature(j, c)
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint", Level: Should,
			Text:  "An ID token with an HMAC is taken as an id_token_hint.",
			Needs: hmac,
			Check: func(t *T) {
				c, b := t.Client(NeedHS256), t.NewBrowser()
				tokens := t.ByBrowser(b, t.OpenID(c))
				t.hmac(tokens)
				t.silentToBegin(b, c)
				t.wantCode(t.silently(b, t.OpenID(c).Set("id_token_hint", tokens.ID)), "the own ID token as a hint")
			},
		},
		{
			ID: "OIDCCore/10.1/hmac-hint-forged", Level: Must,
			Text:  "An id_token_hint with an HMAC of another key than the client's secret is refused.",
			Needs: hmac,
			Check: func(t *T) {
				c, b := t.Client(NeedHS256), t.NewBrowser()
				tokens := t.ByBrowser(b, t.OpenID(c))
				t.hmac(tokens)
				t.wantHintRefused(b, c, slices.Concat(altered(tokens.ID), unsigned(tokens.ID), signedByAnother(tokens.ID)))
			},
		},
		{
			ID: "OIDCCore/10.1/no-hmac-for-public", Level: Must,
			Text:  "The ID tokens of a public client are not signed by an HMAC.",
			Needs: []Need{NeedAuthorization, NeedToken, NeedPublic, NeedUser, NeedOpenID},
			Check: func(t *T) {
				if alg := t.SignIn(t.Client(NeedPublic)).Algorithm(); strings.HasPrefix(alg, "HS") {
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
				if j := t.SignIn(t.Client(NeedCode)); j.Header["kid"] == nil {
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
			Needs: []Need{NeedKeys},
			Check: func(t *T) { t.wantHeader(t.Get(t.Endpoint(NeedKeys)), "Cache-Control", "max-age=") },
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

// hmac is the ID token of the client hs256; where it is signed otherwise, that is another rule's business.
func (t *T) hmac(tokens *Tokens) *JWT {
	j := t.IDToken(tokens)
	if j.Algorithm() != "HS256" {
		t.Blockedf("the ID token is signed by %s", j.Algorithm())
	}
	return j
}
