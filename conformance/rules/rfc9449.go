package rules

import "slices"

const (
	proofTest    = "handlers/resource/proof_test.go:TestRFC9449"
	bindingTest  = "handlers/resource/binding_test.go:TestBindingMatrix"
	boundAPITest = "conformance/mandate/bound_api_test.go:TestBoundTokenAtAnAPI"
)

// dpopTest tests the server with proofs of a client.
const dpopTest = "conformance/mandate/dpop_test.go:TestDPoP"

// rfc9449 returns the rules about DPoP.
func rfc9449() []Rule { return slices.Concat(rfc9449Server(), rfc9449API()) }

// rfc9449Server returns the rules about the authorization server (RFC 9449 §5, §8, §10).
func rfc9449Server() []Rule {
	return []Rule{
		{
			ID: "RFC9449/5/bound", Level: Must,
			Text:     "A token request with a proof gets an access token that is bound to the key of the proof.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/5/token-type", Level: Must,
			Text:     "The token_type of such a token is DPoP.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/5/refresh-token-of-public-client", Level: Must,
			Text:     "The refresh token of a public client is bound to the key, and works only with a proof by it.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/5.1/metadata", Level: May,
			Text:     "The metadata lists the algorithms of proofs in dpop_signing_alg_values_supported.",
			TestedBy: "conformance/mandate/openid_metadata_test.go:TestOIDCDiscovery3EveryValue",
		},
		{
			ID: "RFC9449/5.2/always", Level: Must,
			Text:     "A client that is registered with dpop_bound_access_tokens gets no tokens without a proof.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/8/nonce-of-server", Level: May,
			Text:     "The server refuses a proof without a nonce of its own with use_dpop_nonce, and sends a nonce in DPoP-Nonce.",
			TestedBy: "conformance/mandate/dpop_nonce_test.go:TestDPoPNonce",
		},
		{
			ID: "RFC9449/10/code-bound", Level: Must,
			Text:     "A code that was requested with dpop_jkt is redeemed only with a proof by this key.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/10.1/both-agree", Level: Must,
			Text:     "A pushed request with a proof and with dpop_jkt is refused if they name different keys.",
			TestedBy: dpopTest,
		},
		{
			ID: "RFC9449/10.1/header-binds", Level: Must,
			Text:     "The proof of a pushed request binds the code to its key, as dpop_jkt does.",
			TestedBy: dpopTest,
		},
	}
}

// rfc9449API returns the rules about an API, and about proofs. They need a token that is bound to a
// key, which the prober does not request.
func rfc9449API() []Rule {
	return []Rule{
		{
			ID: "RFC9449/4.2/claims", Level: Must,
			Text:     "A proof has jti, htm, htu and iat, with an access token also ath, and after a nonce also nonce.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/4.3/checks", Level: Must,
			Text:     "A request has one proof: a JWT of the type dpop+jwt with an asymmetric algorithm, signed with the private key of its jwk, which is public.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/4.3/request", Level: Must,
			Text:     "The proof is for the method and the URL of the request.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/4.3/normalized", Level: Should,
			Text:     "URLs are compared after normalization by syntax and by scheme, without query and fragment.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449URL",
		},
		{
			ID: "RFC9449/4.3/token", Level: Must,
			Text:     "With an access token, ath is its digest, and the key of the proof is the one to which it is bound.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/5/invalid-proof", Level: Must,
			Text:     "The error of a proof that is not accepted is invalid_dpop_proof.",
			TestedBy: "provider/dpop/dpop_test.go:TestRFC9449",
		},
		{
			ID: "RFC9449/6/binding", Level: Must,
			Text:     "An API can find out whether a token is bound to a key, and to which one.",
			TestedBy: bindingTest,
		},
		{
			ID: "RFC9449/6.1/jwt", Level: Must,
			Text:     "A JWT access token has the thumbprint of the key in jkt of cnf.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449SignedToken",
		},
		{
			ID: "RFC9449/6.2/introspection", Level: Must,
			Text:     "The introspection response for a token that is bound to a key has cnf.",
			TestedBy: bindingTest,
		},
		{
			ID: "RFC9449/7/bound-key", Level: Must,
			Text:     "An API accepts a token that is bound to a key only with a proof of this key.",
			TestedBy: bindingTest,
		},
		{
			ID: "RFC9449/7.1/scheme", Level: Must,
			Text:     "The token is sent with the scheme DPoP, whose name has no case, and the proof in the header DPoP.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/7.1/not-without-proof", Level: Must,
			Text:     "A request with the scheme DPoP and without a valid proof gets no access.",
			TestedBy: proofTest,
		},
		{
			ID: "RFC9449/7.1/challenge", Level: Must,
			Text:     "The response is 401 with a challenge of the scheme DPoP, which has the error and can have the algorithms.",
			TestedBy: "handlers/resource/binding_test.go:TestBindingChallenges",
		},
		{
			ID: "RFC9449/7.2/not-bearer", Level: Must,
			Text:     "An API that accepts both schemes does not accept a token that is bound to a key as a bearer token.",
			TestedBy: boundAPITest,
		},
		{
			ID: "RFC9449/7.2/both-challenges", Level: Should,
			Text:     "An API that accepts both schemes names both in its challenge.",
			TestedBy: "handlers/resource/binding_test.go:TestBindingChallenges",
		},
		{
			ID: "RFC9449/8/unpredictable", Level: Must,
			Text:     "Nobody can predict a nonce.",
			TestedBy: "provider/dpop/nonce_test.go:TestNonces",
		},
		{
			ID: "RFC9449/8/one-header", Level: Must,
			Text:     "A response has at most one header DPoP-Nonce.",
			TestedBy: "handlers/resource/proxy_bound_test.go:TestProxyBoundToken",
		},
		{
			ID: "RFC9449/8.2/next-nonce", Level: May,
			Text:     "A successful response brings a new nonce before the old one becomes invalid.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449Nonce",
		},
		{
			ID: "RFC9449/8.2/no-store", Level: Should,
			Text:     "A response with a nonce is not stored in a cache.",
			TestedBy: "handlers/resource/proof_test.go:TestRFC9449Nonce",
		},
		{
			ID: "RFC9449/9/use-nonce", Level: Must,
			Text:     "An API that requires a nonce answers a proof without one with 401, use_dpop_nonce and a nonce.",
			TestedBy: boundAPITest,
		},
		{
			ID: "RFC9449/11.1/short-time", Level: Must,
			Text:     "A proof is accepted for a short time after it was made.",
			TestedBy: "provider/dpop/dpop_test.go:TestWindow",
		},
		{
			ID: "RFC9449/11.1/once", Level: Should,
			Text:     "An API accepts a proof once.",
			TestedBy: boundAPITest,
		},
		{
			ID: "RFC9449/11.6/signature-algorithms", Level: Must,
			Text:     "An API accepts only asymmetric algorithms that it regards as secure, and never none.",
			TestedBy: proofTest,
		},
	}
}
