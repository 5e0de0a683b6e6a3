package rules

import (
	"net/url"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// objects sends request objects of the client key. To the endpoint for pushed requests if there is one, and otherwise
// by the browser.
type objects struct {
	t *T
	c *target.Client
}

// objectsTaken returns the client key, from which the server takes request objects. If the server has none, the check
// is skipped.
func objectsTaken(t *T) objects {
	o := objects{t, t.Client(need.Key)}
	m := t.Metadata()
	if !m.Is("request_parameter_supported") && m["request_object_signing_alg_values_supported"] == nil {
		t.Skipf("the rule needs a server with request objects: its metadata has neither request_parameter_supported: true " +
			"nor request_object_signing_alg_values_supported")
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

// wantObjectError asserts the error of a request object, and reports whether it was refused.
func (o objects) wantObjectError(object string) bool {
	a, r := o.send(object)
	switch {
	case r != nil && r.Params.Has("code"), a != nil && a.Text("request_uri") != "":
		return false
	case r != nil:
		o.t.WantRedirectError(r, "invalid_request_object")
	case a.Text("error") != "invalid_request_object":
		o.t.Errorf("the error is %q, want invalid_request_object", a.Text("error"))
	}
	return true
}

// rfc9101Object has the checks of the rules about the object (RFC 9101 §4, §6, §10).
var rfc9101Object = checks{
	"RFC9101/4/parties": func(t *T) {
		o := objectsTaken(t)
		o.wantAltered("iss was another client", claiming("iss", "https://other.example"))
		o.wantAltered("aud was another server", claiming("aud", "https://other.example"))
		o.wantAltered("the object had no aud", claiming("aud", nil))
	},
	"RFC9101/4/not-nested": func(t *T) {
		o := objectsTaken(t)
		o.wantAltered("it contained request", claiming("request", t.Object(o.request())))
		o.wantAltered("it contained request_uri", claiming("request_uri", "https://client.example/object"))
	},
	"RFC9101/6.2/signature": func(t *T) {
		o, other := objectsTaken(t), t.Client(need.SecondKey)
		for _, altered := range jose.Altered(t.Object(o.request())) {
			o.wantRefused(altered, "the object was altered")
		}
		o.wantRefused(t.ObjectBy(other.Signer, o.request(), heading("kid", o.c.Signer.ID)),
			"the key was that of another client")
	},
	"RFC9101/6.2/key-of-client": func(t *T) {
		o, stranger := objectsTaken(t), jose.NewKey("ES256")
		o.wantRefused(t.ObjectBy(stranger, o.request(), heading("jwk", stranger.Public())),
			"the key stood in the header only")
	},
	"RFC9101/6.3/validated": func(t *T) {
		o := objectsTaken(t)
		o.wantAltered("the redirect URI was not registered", claiming("redirect_uri", "https://attacker.example/"+t.Random()))
		o.wantAltered("the response type was unknown", claiming("response_type", "conformance"))
	},
	"RFC9101/10.1/algorithms": func(t *T) {
		o := objectsTaken(t)
		for _, unsigned := range jose.Unsigned(t.Object(o.request())) {
			o.wantRefused(unsigned, "the object had alg none")
		}
		for _, misused := range o.c.Signer.Misused() {
			o.wantRefused(t.ObjectBy(misused, o.request()), "the HMAC was made with the public key")
		}
	},
	"RFC9101/10.8/not-another-jwt": func(t *T) {
		o := objectsTaken(t)
		for _, kind := range []string{"at+jwt", "dpop+jwt", "client-authentication+jwt"} {
			o.wantAltered("its type was "+kind, heading("typ", kind))
		}
		o.wantAltered("its sub was the client", claiming("sub", o.c.ID))
	},
}

// rfc9101Request has the checks of the rules about the request and about errors (RFC 9101 §5, §6.3, §7).
var rfc9101Request = checks{
	"RFC9101/5/client-id": func(t *T) {
		o, other := objectsTaken(t), t.Client(need.SecondKey)
		o.wantAltered("client_id in the object was another client", claiming("client_id", other.ID))
		o.wantAltered("the object had no client_id", claiming("client_id", nil))
	},
	"RFC9101/5/not-both": func(t *T) {
		o := objectsTaken(t)
		t.CodeOf(t.Authorize(t.Enclosed(o.request())))
		r := t.Enclosed(o.request())
		r.Outside.Set("request_uri", "https://client.example/object")
		t.WantNoCode(t.Authorize(r), "the request had request and request_uri")
	},
	"RFC9101/5.1/by-value": func(t *T) {
		o := objectsTaken(t)
		response := t.Authorize(t.Enclosed(o.request()))
		wantCode(t, response, "a request object")
		t.WantGranted(t.Redeem(t.CodeOf(response)))
	},
	"RFC9101/6.3/only-inside": rfc9101OnlyInside,
	"RFC9101/7/errors": func(t *T) {
		o := objectsTaken(t)
		if !o.wantObjectError(t.ObjectBy(o.c.Another(), o.request())) {
			t.Blockedf("a request object that another key signed was accepted")
		}
		// A server may accept this one: §4 says SHOULD of aud.
		o.wantObjectError(t.Object(o.request(), claiming("aud", "https://other.example")))
	},
	"RFC9101/10.5/required": func(t *T) {
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
}

func rfc9101OnlyInside(t *T) {
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
}
