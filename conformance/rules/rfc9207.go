package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// rfc9207 has the checks of the rules about Authorization Server Issuer Identification.
var rfc9207 = checks{
	"RFC9207/2/in-response": func(t *T) {
		wantIss(t, codeResponse(t))
	},
	"RFC9207/2/in-refusal": func(t *T) {
		codeResponse(t)
		r := t.Deny(t.Request(t.Client(need.Code)))
		if !r.Asked && r.Params.Get("code") != "" {
			t.Skipf("the rule applies if the server asks the person: register the client code so that it needs consent")
		}
		wantIss(t, t.WithError(r))
	},
	"RFC9207/2/in-error": func(t *T) {
		codeResponse(t)
		wantIss(t, aRefusal(t))
	},
	"RFC9207/2/in-form-post": func(t *T) {
		codeResponse(t)
		r, _ := postedBack(t, t.Request(t.Client(need.Code)))
		wantIss(t, r)
	},
	"RFC9207/2/url": func(t *T) { wantIssuerURL(t, sentIssuer(t)) },
	"RFC9207/2.3/issuer-known": func(t *T) {
		codeResponse(t)
		wantNamed(t, publishedMetadata(t), "issuer")
	},
	"RFC9207/2.3/as-in-metadata": func(t *T) {
		issuer := publishedMetadata(t).Text("issuer")
		if iss := sentIssuer(t); iss != issuer {
			t.Failf("iss is %q, but the issuer in the metadata is %q", iss, issuer)
		}
	},
	"RFC9207/2.3/advertised": func(t *T) {
		m := publishedMetadata(t)
		codeResponse(t)
		if !m.Is(issSupported) {
			t.Failf("responses have iss, but %s of the metadata is %s", issSupported, Quoted(m[issSupported]))
		}
	},
	"RFC9207/3/boolean": func(t *T) {
		value := publishedMetadata(t)[issSupported]
		if value == nil {
			t.Skipf("the rule applies to a server whose metadata has %s, which is optional", issSupported)
		}
		if value != true && value != false {
			t.Failf("%s is %s, want true or false", issSupported, Quoted(value))
		}
	},
	"RFC9207/4/other-countermeasures": func(t *T) {
		codeResponse(t)
		r := t.Authorize(t.OpenID(t.Client(need.Code)))
		t.CodeOf(r)
		wantIss(t, r)
	},
}

const issSupported = "authorization_response_iss_parameter_supported"

func saysIss(t *T) bool { return t.Metadata().Is(issSupported) }

// codeResponse returns a response with a code. If the server neither sends nor announces iss, it does not support the
// document, so that the check is skipped.
func codeResponse(t *T) *check.Response {
	r := t.Authorize(t.Request(t.Client(need.Code)))
	t.CodeOf(r)
	t.At(r.Answer)
	if !saysIss(t) && !r.Params.Has("iss") {
		t.Skipf("the rule applies to a server that supports RFC 9207: here the metadata does not say %s, and the response "+
			"with a code has no iss", issSupported)
	}
	return r
}

// sentIssuer returns iss of a response with a code.
func sentIssuer(t *T) string {
	iss := codeResponse(t).Params.Get("iss")
	if iss == "" {
		t.Blockedf("the metadata says %s, but the response with a code has no iss", issSupported)
	}
	return iss
}

func wantIss(t *T, r *check.Response) {
	t.At(r.Answer)
	switch iss := r.Params["iss"]; {
	case len(iss) == 0:
		t.Failf("the response with %s has no iss, want %s", r.Outcome(), t.Issuer())
	case len(iss) > 1 || iss[0] != t.Issuer():
		t.Failf("iss of the response with %s is %q, want %s", r.Outcome(), iss, t.Issuer())
	}
}
