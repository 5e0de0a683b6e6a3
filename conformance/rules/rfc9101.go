package rules

const objectTest = "conformance/mandate/request_object_test.go:TestRequestObjects"

// rfc9101 returns the rules about request objects.
func rfc9101() []Rule {
	return []Rule{
		{
			ID: "RFC9101/4/parties", Level: Should,
			Text:     "The claim iss of a request object is the client id, and aud is the issuer of the server or contains it.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/4/not-nested", Level: Must,
			Text:     "A request object does not contain request and request_uri.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/4/json-types", Level: Must,
			Text:     "A parameter in a request object has the JSON type that its definition says; nothing else is read as text.",
			TestedBy: "provider/requestobject/requestobject_test.go:TestWrongObjects",
		},
		{
			ID: "RFC9101/5/client-id", Level: Must,
			Text:     "client_id is a parameter of the request too, and equals the claim in the object.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/5/not-both", Level: Must,
			Text:     "A request with request and request_uri is refused.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/5.1/by-value", Level: Must,
			Text:     "The server takes the request from the parameter request.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/5.2/registered", Level: Must,
			Text:     "request_uri is an https address that the client has registered.",
			TestedBy: "conformance/mandate/request_uri_test.go:TestAttackRequestURI",
		},
		{
			ID: "RFC9101/5.2.3/media-type", Level: Must,
			Text:     "The server reads a request object by GET, with the status 200 and the media type of a request object.",
			TestedBy: "conformance/mandate/request_uri_test.go:TestRequestObjectsByReference",
		},
		{
			ID: "RFC9101/6.1/encrypted", Level: Must,
			Text:     "The server refuses an encrypted request object that it cannot decrypt.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/6.2/signature", Level: Must,
			Text:     "The signature of a request object is verified by a key of the client.",
			TestedBy: "conformance/mandate/attack_object_test.go:TestAttackForgedRequestObject",
		},
		{
			ID: "RFC9101/6.2/key-of-client", Level: Must,
			Text:     "The header of a request object brings no key: kid chooses one of the registered keys.",
			TestedBy: "conformance/mandate/attack_object_test.go:TestAttackForgedRequestObject",
		},
		{
			ID: "RFC9101/6.3/only-inside", Level: Must,
			Text:     "Only the parameters in the request object are used, even if the same ones are in the query.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/6.3/validated", Level: Must,
			Text:     "The parameters in the request object are validated like those of any request.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/7/errors", Level: Must,
			Text:     "The errors of a request object have the code invalid_request_object; they go to the client only if its redirect URI is known without the object.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/10.1/algorithms", Level: Must,
			Text:     "A request object has an algorithm that is registered or listed, and never none.",
			TestedBy: "conformance/mandate/attack_object_test.go:TestAttackForgedRequestObject",
		},
		{
			ID: "RFC9101/10.4.1/limits", Level: Should,
			Text:     "The server limits the addresses that it calls for request objects, and the size and the time of each call.",
			TestedBy: "conformance/mandate/request_uri_test.go:TestAttackRequestURI",
		},
		{
			ID: "RFC9101/10.5/required", Level: Must,
			Text:     "Where request objects are required, of one client or of all, a request without one is refused.",
			TestedBy: "conformance/mandate/request_object_test.go:TestSignedRequestsRequired",
		},
		{
			ID: "RFC9101/10.8/not-another-jwt", Level: Should,
			Text:     "A JWT for another purpose is no request object, and the subject of an object is not the client id.",
			TestedBy: "conformance/mandate/attack_object_test.go:TestAttackRequestObjectConfusion",
		},
	}
}
