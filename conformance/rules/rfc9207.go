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
				r := t.Authorize(t.Request(t.Client(need.Code)))
				t.CodeOf(r)
				wantIss(t, r)
			},
		},
		{
			ID: "RFC9207/2/in-refusal", Level: Must,
			Text:  "The error response after the person has denied has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantIssOfError(t, t.Deny(t.Request(t.Client(need.Code)))) },
		},
		{
			ID: "RFC9207/2/in-error", Level: Must,
			Text:  "The error response for an invalid request has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				wantIssOfError(t, t.Authorize(t.Request(t.Client(need.Code)).Set("response_type", "conformance")))
			},
		},
		{
			ID: "RFC9207/2/in-form-post", Level: Must,
			Text:  "A response by form_post has iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				r := t.Authorize(t.Request(t.Client(need.Code)).Set("response_mode", "form_post"))
				if r.Mode != "form_post" {
					t.Skipf("the server has no response mode form_post: %s", r)
				}
				wantIss(t, r)
			},
		},
		{
			ID: "RFC9207/2/url", Level: Must,
			Text:  "iss is an https URL without query and fragment.",
			Needs: authorizationNeeds(),
			Check: func(t *T) { wantIssuerURL(t, issuerInAnswer(t)) },
		},
		{
			ID: "RFC9207/2.3/issuer-known", Level: Must,
			Text:  "The issuer identifier is published, so that clients can compare iss with it.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				issuerInAnswer(t)
				if t.Metadata().Text("issuer") == "" {
					t.Failf("the metadata has no issuer")
				}
			},
		},
		{
			ID: "RFC9207/2.3/as-in-metadata", Level: Must,
			Text:  "iss equals the issuer in the metadata, character by character.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				if iss, issuer := issuerInAnswer(t), t.Metadata().Text("issuer"); iss != issuer {
					t.Failf("iss is %q, but the issuer in the metadata is %q", iss, issuer)
				}
			},
		},
		{
			ID: "RFC9207/2.3/advertised", Level: Must,
			Text:  "The metadata says that responses have iss.",
			Needs: authorizationNeeds(),
			Check: func(t *T) {
				issuerInAnswer(t)
				if !saysIss(t) {
					t.Failf("authorization_response_iss_parameter_supported is not true")
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
				value, there := t.Metadata()["authorization_response_iss_parameter_supported"]
				if there && value != true && value != false {
					t.Failf("it is %v", value)
				}
			},
		},
		{
			ID: "RFC9207/4/other-countermeasures", Level: May,
			Text:  "Responses have iss in OpenID Connect too, although the ID token also has it.",
			Needs: authenticationNeeds(),
			Check: func(t *T) { wantIss(t, t.Authorize(t.OpenID(t.Client(need.Code)))) },
		},
	}
}

func saysIss(t *T) bool {
	return t.Metadata().Is("authorization_response_iss_parameter_supported")
}

// issuerInAnswer returns iss of a response with a code.
func issuerInAnswer(t *T) string {
	r := t.Authorize(t.Request(t.Client(need.Code)))
	t.At(r.Answer)
	if iss := r.Params.Get("iss"); iss != "" {
		return iss
	}
	if r.Params.Get("code") != "" && !saysIss(t) {
		t.Skipf("the server sends no iss")
	}
	t.Blockedf("no response with iss was received: %s", r)
	return ""
}

func wantIss(t *T, r *check.Response) {
	iss := r.Params["iss"]
	if len(iss) == 0 && !saysIss(t) {
		t.Skipf("the server sends no iss")
	}
	t.At(r.Answer)
	if len(iss) != 1 || iss[0] != t.Issuer() {
		t.Failf("iss is %q, want %s", iss, t.Issuer())
	}
}

func wantIssOfError(t *T, r *check.Response) { wantIss(t, t.WithError(r)) }
