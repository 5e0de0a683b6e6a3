package rules

const signedIntrospectionTest = "conformance/mandate/introspection_signed_test.go:TestSignedIntrospection"

// rfc9701 returns the rules about signed introspection responses.
func rfc9701() []Rule {
	return []Rule{
		{
			ID: "RFC9701/3/audience", Level: Must,
			Text:     "A caller gets data only about tokens whose audience it is.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/4/accept", Level: Must,
			Text:     "A request whose Accept names application/token-introspection+jwt gets a JWT, and other requests get JSON.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/4/caller", Level: Must,
			Text:     "The caller authenticates as a client, or by an access token that was issued to it and whose subject it is.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/type", Level: Must,
			Text:     "The Content-Type is application/token-introspection+jwt, and the typ of the JWT is token-introspection+jwt.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/claims", Level: Must,
			Text:     "The JWT has iss, iat, token_introspection, and an aud that identifies the caller.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/inactive", Level: Must,
			Text:     "About a token that is not active, or that is not for the caller, token_introspection has active with the value false and nothing else.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/no-sub-exp", Level: Should,
			Text:     "The JWT has no sub and no exp at the top.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/unauthenticated", Level: Must,
			Text:     "A request that does not authenticate the caller is refused with the status 400.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/5/encryption", Level: May,
			Text:         "The response is encrypted for the caller.",
			Inapplicable: "Mandate signs responses and does not encrypt them; a registration that asks for encryption is refused.",
		},
		{
			ID: "RFC9701/6/algorithm", Level: Must,
			Text:     "The response is signed by the introspection_signed_response_alg of the caller, or by RS256.",
			TestedBy: signedIntrospectionTest,
		},
		{
			ID: "RFC9701/7/metadata", Level: May,
			Text:     "The metadata has introspection_signing_alg_values_supported.",
			TestedBy: "conformance/mandate/introspection_signed_test.go:TestSignedIntrospectionWithoutKeys",
		},
		{
			ID: "RFC9701/8.1/confusion", Level: Must,
			Text:     "The response is not accepted as an access token.",
			TestedBy: signedIntrospectionTest,
		},
	}
}
