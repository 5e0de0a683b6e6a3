package rules

import (
	"mandate/conformance/check"
	"mandate/conformance/need"
)

// rfc9207 returns the rules about Authorization Server Issuer Identification. They are skipped for servers that
// neither announce nor send iss.
func rfc9207() []Rule {
	return []Rule{
		{
			ID: "RFC9207/2/in-response", Level: Must,
			Text:  "A response with a code has the parameter iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantIss(t, codeResponse(t))
			},
		},
		{
			ID: "RFC9207/2/in-refusal", Level: Must,
			Text:  "The error response after the person has denied has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				codeResponse(t)
				r := t.Deny(t.Request(t.Client(need.Code)))
				if !r.Asked && r.Params.Get("code") != "" {
					t.Skipf("the rule applies if the server asks the person: register the client code so that it needs consent")
				}
				wantIss(t, t.WithError(r))
			},
		},
		{
			ID: "RFC9207/2/in-error", Level: Must,
			Text:  "The error response for an invalid request has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				codeResponse(t)
				wantIss(t, aRefusal(t))
			},
		},
		{
			ID: "RFC9207/2/in-form-post", Level: Must,
			Text:  "A response by form_post has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				codeResponse(t)
				r, _ := postedBack(t, t.Request(t.Client(need.Code)))
				wantIss(t, r)
			},
		},
		{
			ID: "RFC9207/2/url", Level: Must,
			Text:  "iss is an https URL without query and fragment.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantIssuerURL(t, sentIssuer(t)) },
		},
		{
			ID: "RFC9207/2.3/issuer-known", Level: Must,
			Text:  "If the server publishes metadata, it contains the issuer, so that clients can compare iss with it.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				codeResponse(t)
				wantNamed(t, publishedMetadata(t), "issuer")
			},
		},
		{
			ID: "RFC9207/2.3/as-in-metadata", Level: Must,
			Text:  "If the server publishes metadata, iss equals its issuer, character by character.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				issuer := publishedMetadata(t).Text("issuer")
				if iss := sentIssuer(t); iss != issuer {
					t.Failf("iss is %q, but the issuer in the metadata is %q", iss, issuer)
				}
			},
		},
		{
			ID: "RFC9207/2.3/advertised", Level: Must,
			Text:  "If the server publishes metadata, it says that responses have iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				m := publishedMetadata(t)
				codeResponse(t)
				if !m.Is(issSupported) {
					t.Failf("responses have iss, but %s of the metadata is %s", issSupported, Quoted(m[issSupported]))
				}
			},
		},
		{
			ID: "RFC9207/2.4/as-in-id-token", Level: Must,
			Text:         "If the response has an ID token, its iss is the same.",
			Inapplicable: "The authorization endpoint issues no ID tokens.",
		},
		{
			ID: "RFC9207/3/boolean", Level: Must,
			Text: "authorization_response_iss_parameter_supported, if present, is true or false.",
			Check: func(t *T) {
				value := publishedMetadata(t)[issSupported]
				if value == nil {
					t.Skipf("the rule applies to a server whose metadata has %s, which is optional", issSupported)
				}
				if value != true && value != false {
					t.Failf("%s is %s, want true or false", issSupported, Quoted(value))
				}
			},
		},
		{
			ID: "RFC9207/4/other-countermeasures", Level: May,
			Text:  "Responses have iss in OpenID Connect too, although the ID token also has it.",
			Needs: authenticationNeeds(),
			Check: func(t *T) {
				codeResponse(t)
				r := t.Authorize(t.OpenID(t.Client(need.Code)))
				t.CodeOf(r)
				wantIss(t, r)
			},
		},
	}
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
		t.Skipf("the rule applies to a server that supports RFC 9207: here the metadata does not say %s, and the response with a code has no iss", issSupported)
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
