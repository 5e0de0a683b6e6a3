package rules

const pushedTest = "conformance/mandate/par_test.go:TestPushedRequests"

// rfc9126 returns the rules about pushed authorization requests.
func rfc9126() []Rule {
	return []Rule{
		{
			ID: "RFC9126/2/client-authenticated", Level: Must,
			Text:     "A client authenticates at the pushed authorization request endpoint as at the token endpoint.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.1/no-request-uri", Level: Must,
			Text:     "A pushed request with the parameter request_uri is refused.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.1/validated", Level: Must,
			Text:     "A pushed request is validated as an authorization request.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.2/response", Level: Must,
			Text:     "The response has status 201 and is a JSON object with request_uri and expires_in.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.2/unguessable", Level: Must,
			Text:     "The request URI cannot be guessed.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.2/bound", Level: Must,
			Text:     "The request URI works only for the client that pushed the request.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/2.3/method", Level: Must,
			Text:     "A request with another method than POST gets the status 405.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/4/expired", Level: Must,
			Text:     "An expired request URI is refused.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/4/once", Level: Should,
			Text:     "A request URI works once.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/4/validated-again", Level: Must,
			Text:     "A request that was pushed is validated again when the browser opens it.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/4/required", Level: Must,
			Text:     "Where requests must be pushed, a request that was not pushed is refused.",
			TestedBy: "conformance/mandate/par_test.go:TestPushedRequestsRequired",
		},
		{
			ID: "RFC9126/5/metadata", Level: May,
			Text:     "The metadata has pushed_authorization_request_endpoint and require_pushed_authorization_requests.",
			TestedBy: pushedTest,
		},
		{
			ID: "RFC9126/6/client-metadata", Level: May,
			Text:     "With require_pushed_authorization_requests, a client registers that its requests must be pushed.",
			TestedBy: "conformance/mandate/par_test.go:TestPushedRequestsRequired",
		},
	}
}
