package rules

import (
	"net/url"
	"slices"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

const objectTest = "conformance/mandate/request_object_test.go:TestRequestObjects"

// objectNeeds returns what a check of request objects needs: the key of the client signs them.
func objectNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Key, need.User}, more...)
}

// rfc9101 returns the rules about request objects.
func rfc9101() []Rule { return slices.Concat(rfc9101Object(), rfc9101Request()) }

// objects sends request objects of the client key. To the endpoint for pushed requests if there is one, and otherwise by
// the browser.
type objects struct {
	t *T
	c *target.Client
}

// objectsTaken returns the client key, from which the server takes request objects. If the server has none, the check is
// skipped.
func objectsTaken(t *T) objects {
	o := objects{t, t.Client(need.Key)}
	m := t.Metadata()
	if !m.Is("request_parameter_supported") && m["request_object_signing_alg_values_supported"] == nil {
		t.Skipf("the rule needs a server with request objects: its metadata has neither request_parameter_supported: true nor request_object_signing_alg_values_supported")
	}
	a, r := o.send(t.Object(o.request()))
	if r != nil {
		t.CodeOf(r)
		return o
	}
	pushTaken(t, a)
	return o
}

func (o objects) request() *check.Request { return o.t.Request(o.c) }

// send returns the answer to a pushed request object, or the response of the authorization endpoint.
func (o objects) send(object string) (*wire.Answer, *check.Response) {
	if o.t.Has(need.PushedRequests) {
		return o.t.Post(o.t.OptionalEndpoint(need.PushedRequests), wire.Params("request", object), o.c.Credentials()), nil
	}
	r := *o.request()
	r.Object, r.Outside = object, url.Values{"response_type": {"code"}, "redirect_uri": {o.c.RedirectURI()}}
	return nil, o.t.Authorize(&r)
}

// wantRefused asserts that a request object is refused.
func (o objects) wantRefused(object, why string) {
	a, r := o.send(object)
	if r != nil {
		o.t.WantNoCode(r, why)
		return
	}
	wantNotPushed(o.t, a, why)
}

// wantAltered asserts that a request object that is wrong in one place is refused.
func (o objects) wantAltered(why string, altered check.Altered) {
	o.wantRefused(o.t.Object(o.request(), altered), why)
}

// wantObjectError asserts the error of a request object.
func (o objects) wantObjectError(object string) {
	a, r := o.send(object)
	switch {
	case r != nil:
		o.t.WantRedirectError(r, "invalid_request_object")
	case a.Text("request_uri") != "":
		o.t.Blockedf("a request object that is wrong on purpose was accepted")
	case a.Text("error") != "invalid_request_object":
		o.t.Errorf("the error is %q, want invalid_request_object", a.Text("error"))
	}
}

// rfc9101Object returns the rules about the object (RFC 9101 §4, §6, §10).
func rfc9101Object() []Rule {
	return []Rule{
		{
			ID: "RFC9101/4/parties", Level: Should,
			Text:  "The claim iss of a request object is the client id, and aud is the issuer of the server or contains it.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				o.wantAltered("iss was another client", claiming("iss", "https://other.example"))
				o.wantAltered("aud was another server", claiming("aud", "https://other.example"))
				o.wantAltered("the object had no aud", claiming("aud", nil))
			},
		},
		{
			ID: "RFC9101/4/not-nested", Level: Must,
			Text:  "A request object does not contain request and request_uri.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				o.wantAltered("it contained request", claiming("request", t.Object(o.request())))
				o.wantAltered("it contained request_uri", claiming("request_uri", "https://client.example/object"))
			},
		},
		{
			ID: "RFC9101/4/json-types", Level: Must,
			Text:     "A parameter in a request object has the JSON type that its definition says; nothing else is read as text.",
			TestedBy: "provider/requestobject/requestobject_test.go:TestWrongObjects",
		},
		{
			ID: "RFC9101/6.1/encrypted", Level: Must,
			Text:     "The server refuses an encrypted request object that it cannot decrypt.",
			TestedBy: objectTest,
		},
		{
			ID: "RFC9101/6.2/signature", Level: Must,
			Text:  "The signature of a request object is verified by a key of the client.",
			Needs: objectNeeds(need.SecondKey),
			Check: func(t *T) {
				o, other := objectsTaken(t), t.Client(need.SecondKey)
				for _, altered := range jose.Altered(t.Object(o.request())) {
					o.wantRefused(altered, "the object was altered")
				}
				o.wantRefused(t.ObjectBy(other.Signer, o.request(), heading("kid", o.c.Signer.ID)), "the key was that of another client")
			},
		},
		{
			ID: "RFC9101/6.2/key-of-client", Level: Must,
			Text:  "The header of a request object brings no key: kid chooses one of the registered keys.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o, stranger := objectsTaken(t), jose.NewKey("ES256")
				o.wantRefused(t.ObjectBy(stranger, o.request(), heading("jwk", stranger.Public())), "the key stood in the header only")
			},
		},
		{
			ID: "RFC9101/6.3/validated", Level: Must,
			Text:  "The parameters in the request object are validated like those of any request.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				o.wantAltered("the redirect URI was not registered", claiming("redirect_uri", "https://attacker.example/"+t.Random()))
				o.wantAltered("the response type was unknown", claiming("response_type", "conformance"))
			},
		},
		{
			ID: "RFC9101/10.1/algorithms", Level: Must,
			Text:  "A request object has an algorithm that is registered or listed, and never none.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				for _, unsigned := range jose.Unsigned(t.Object(o.request())) {
					o.wantRefused(unsigned, "the object had alg none")
				}
				for _, misused := range o.c.Signer.Misused() {
					o.wantRefused(t.ObjectBy(misused, o.request()), "the HMAC was made with the public key")
				}
			},
		},
		{
			ID: "RFC9101/10.4.1/limits", Level: Should,
			Text:     "The server limits the addresses that it calls for request objects, and the size and the time of each call.",
			TestedBy: "conformance/mandate/request_uri_test.go:TestAttackRequestURI",
		},
		{
			ID: "RFC9101/10.8/not-another-jwt", Level: Should,
			Text:  "A JWT for another purpose is no request object, and the subject of an object is not the client id.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				for _, kind := range []string{"at+jwt", "dpop+jwt", "client-authentication+jwt"} {
					o.wantAltered("its type was "+kind, heading("typ", kind))
				}
				o.wantAltered("its sub was the client", claiming("sub", o.c.ID))
			},
		},
	}
}

// rfc9101Request returns the rules about the request and about errors (RFC 9101 §5, §6.3, §7).
func rfc9101Request() []Rule {
	return []Rule{
		{
			ID: "RFC9101/5/client-id", Level: Must,
			Text:  "client_id is a parameter of the request too, and equals the claim in the object.",
			Needs: objectNeeds(need.SecondKey),
			Check: func(t *T) {
				o, other := objectsTaken(t), t.Client(need.SecondKey)
				o.wantAltered("client_id in the object was another client", claiming("client_id", other.ID))
				o.wantAltered("the object had no client_id", claiming("client_id", nil))
			},
		},
		{
			ID: "RFC9101/5/not-both", Level: Must,
			Text:  "A request with request and request_uri is refused.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				t.CodeOf(t.Authorize(t.Enclosed(o.request())))
				r := t.Enclosed(o.request())
				r.Outside.Set("request_uri", "https://client.example/object")
				t.WantNoCode(t.Authorize(r), "the request had request and request_uri")
			},
		},
		{
			ID: "RFC9101/5.1/by-value", Level: Must,
			Text:  "The server takes the request from the parameter request.",
			Needs: objectNeeds(need.Token),
			Check: func(t *T) {
				o := objectsTaken(t)
				response := t.Authorize(t.Enclosed(o.request()))
				wantCode(t, response, "a request object")
				t.WantGranted(t.Redeem(t.CodeOf(response)))
			},
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
			ID: "RFC9101/6.3/only-inside", Level: Must,
			Text:  "Only the parameters in the request object are used, even if the same ones are in the query.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				r := t.Enclosed(o.request())
				r.Outside.Set("state", "outside")
				response := t.Authorize(r)
				t.CodeOf(response)
				if got := response.Params.Get("state"); got != r.Params.Get("state") {
					t.Errorf("state of the response is %s, and another one is in the request object", Quoted(got))
				}
				r = t.Enclosed(o.request(), claiming("state", nil))
				r.Outside.Set("state", "outside")
				if response = t.Authorize(r); response.Params.Has("state") {
					t.At(response.Answer)
					t.Errorf("the response has the state that stood beside the request object")
				}
			},
		},
		{
			ID: "RFC9101/7/errors", Level: Must,
			Text:  "The errors of a request object have the code invalid_request_object.",
			Needs: objectNeeds(),
			Check: func(t *T) {
				o := objectsTaken(t)
				o.wantObjectError(t.ObjectBy(o.c.Another(), o.request()))
				o.wantObjectError(t.Object(o.request(), claiming("aud", "https://other.example")))
			},
		},
		{
			ID: "RFC9101/10.5/required", Level: Must,
			Text:  "If a client is registered with require_signed_request_object, its request without a request object is refused.",
			Needs: []Need{need.Registration, need.Authorization, need.User},
			Check: func(t *T) {
				key, m := jose.NewKey("ES256"), plainClient(t)
				m["require_signed_request_object"] = true
				m["token_endpoint_auth_method"], m["jwks"] = need.PrivateKeyJWT, map[string]any{"keys": []any{key.Public()}}
				t.WithClient(m, func(made *check.Made) {
					if made.JSON()["require_signed_request_object"] != true {
						t.Skipf("the server did not register the client with require_signed_request_object")
					}
					c := registered(made)
					c.Signer = key
					t.CodeOf(t.Authorize(t.Enclosed(registeredRequest(t, c, made))))
					t.WantNoCode(t.Authorize(registeredRequest(t, c, made)), "the request had no request object")
				})
			},
		},
	}
}
