package rules

// jarm returns the rules about signed authorization responses.
func jarm() []Rule {
	const tested = "conformance/mandate/jarm_test.go:TestSignedResponses"
	return []Rule{
		{
			ID: "JARM/2.1/claims", Level: Must,
			Text:     "A signed response has the claims iss, aud with the client id, and exp, and the parameters of the response.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.1/lifetime", Level: Should,
			Text:     "A signed response is valid for at most ten minutes.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.1/errors", Level: Must,
			Text:     "An error response is signed like any other.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.2/signed", Level: Must,
			Text:     "The response is signed by a key that the server publishes.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.3/alone", Level: Must,
			Text:     "The parameter response is the only one that the client receives.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.3.1/query", Level: Must,
			Text:     "query.jwt sends the response in the query of the redirect URI.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.3.3/form-post", Level: Must,
			Text:     "form_post.jwt sends the response in a form.",
			TestedBy: tested,
		},
		{
			ID: "JARM/2.3.4/usual", Level: Must,
			Text:     "jwt stands for query.jwt with the response type code.",
			TestedBy: tested,
		},
		{
			ID: "JARM/3/algorithm", Level: Must,
			Text:     "The algorithm is authorization_signed_response_alg of the client, or RS256, and never none.",
			TestedBy: tested,
		},
		{
			ID: "JARM/4/metadata", Level: May,
			Text:     "The metadata lists the algorithms in authorization_signing_alg_values_supported.",
			TestedBy: tested,
		},
	}
}
