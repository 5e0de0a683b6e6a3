package rules

import (
	"slices"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// responseNeeds returns what a check of signed authorization responses needs.
func responseNeeds(more ...Need) []Need {
	return append([]Need{need.Authorization, need.Code, need.User}, more...)
}

// withMode returns the response to a request of the client code with a response mode. If the server does not list the mode,
// the check is skipped.
func withMode(t *T, mode string, changes ...func(*check.Request) *check.Request) *check.Response {
	if !t.Metadata().Lists("response_modes_supported", mode) {
		t.Skipf("the rule needs a server with the response mode %s: response_modes_supported of its metadata does not list it", mode)
	}
	r := t.Request(t.Client(need.Code)).Set("response_mode", mode)
	for _, change := range changes {
		r = change(r)
	}
	return settled(t, t.Authorize(r))
}

// jarm returns the rules about signed authorization responses.
func jarm() []Rule {
	return []Rule{
		{
			ID: "JARM/2.1/claims", Level: Must,
			Text:  "A signed response has the claims iss, aud with the client id, and exp, and the parameters of the response.",
			Needs: responseNeeds(need.Token),
			Check: func(t *T) {
				response := withMode(t, "jwt")
				j := t.SignedResponse(response)
				c, sent := response.Request.Client, response.Request.Params.Get("state")
				if j.Text("iss") != t.Issuer() || !slices.Equal(j.Audience(), []string{c.ID}) || j.Number("exp") < 0 {
					t.Errorf("iss is %s, aud is %s, and exp is %s, want the issuer, the client id and a time", Quoted(j.Claims["iss"]), Quoted(j.Claims["aud"]), Quoted(j.Claims["exp"]))
				}
				if j.Text("state") != sent {
					t.Errorf("state is %s, want that of the request", Quoted(j.Claims["state"]))
				}
				t.WantGranted(t.Redeem(&check.Code{Value: j.Text("code"), Request: response.Request}))
			},
		},
		{
			ID: "JARM/2.1/lifetime", Level: Should,
			Text:  "A signed response is valid for at most ten minutes.",
			Needs: responseNeeds(),
			Check: func(t *T) {
				ends := t.SignedResponse(withMode(t, "jwt")).Number("exp")
				if left := ends - float64(time.Now().Unix()); left <= 0 || left > 600 {
					t.Failf("exp is %.0f seconds ahead, want 1 to 600", left)
				}
			},
		},
		{
			ID: "JARM/2.1/errors", Level: Must,
			Text:  "An error response is signed like any other.",
			Needs: responseNeeds(),
			Check: func(t *T) {
				t.SignedResponse(withMode(t, "jwt"))
				response := withMode(t, "jwt", func(r *check.Request) *check.Request { return r.Set("response_type", "conformance") })
				if !response.Arrived() {
					t.Blockedf("an error did not reach the client: %s", response)
				}
				if response.Params.Get("response") == "" {
					t.Failf("the error is not signed: %s", response)
				}
				if j := t.SignedResponse(response); j.Text("error") == "" || j.Text("iss") != t.Issuer() {
					t.Errorf("the signed response has the error %s and the iss %s", Quoted(j.Claims["error"]), Quoted(j.Claims["iss"]))
				}
			},
		},
		{
			ID: "JARM/2.2/signed", Level: Must,
			Text:  "The response is signed by a key that the server publishes.",
			Needs: responseNeeds(need.Keys),
			Check: func(t *T) { wantSignature(t, t.SignedResponse(withMode(t, "jwt")), t.Client(need.Code)) },
		},
		{
			ID: "JARM/2.3/alone", Level: Must,
			Text:  "The parameter response is the only one that the client receives.",
			Needs: responseNeeds(),
			Check: func(t *T) {
				response := withMode(t, "jwt")
				t.SignedResponse(response)
				if len(response.Params) != 1 || len(response.Params["response"]) != 1 {
					t.Failf("the response has %d parameters: %s", len(response.Params), response)
				}
			},
		},
		{
			ID: "JARM/2.3.1/query", Level: Must,
			Text:  "query.jwt sends the response in the query of the redirect URI.",
			Needs: responseNeeds(),
			Check: func(t *T) { wantMode(t, "query.jwt", "query") },
		},
		{
			ID: "JARM/2.3.3/form-post", Level: Must,
			Text:  "form_post.jwt sends the response in a form.",
			Needs: responseNeeds(),
			Check: func(t *T) { wantMode(t, "form_post.jwt", "form_post") },
		},
		{
			ID: "JARM/2.3.4/usual", Level: Must,
			Text:  "jwt stands for query.jwt with the response type code.",
			Needs: responseNeeds(),
			Check: func(t *T) { wantMode(t, "jwt", "query") },
		},
		{
			ID: "JARM/3/algorithm", Level: Must,
			Text:  "The algorithm is authorization_signed_response_alg of the client, or RS256, and never none.",
			Needs: responseNeeds(),
			Check: func(t *T) {
				// The client code has not registered an algorithm.
				if got := t.SignedResponse(withMode(t, "jwt")).Algorithm(); got != "RS256" {
					t.Failf("alg is %q, want RS256", got)
				}
			},
		},
		{
			ID: "JARM/4/metadata", Level: May,
			Text: "The metadata lists the algorithms in authorization_signing_alg_values_supported.",
			Check: func(t *T) {
				const name = "authorization_signing_alg_values_supported"
				m := publishedMetadata(t)
				if list, _ := m.List(name); len(list) == 0 || slices.Contains(list, "none") {
					t.Failf("%s is %s, want a list without none", name, Quoted(m[name]))
				}
			},
		},
	}
}

// wantMode asserts where the response of a mode stands.
func wantMode(t *T, mode, want string) {
	response := withMode(t, mode)
	switch {
	case !response.Arrived():
		t.Blockedf("no response reached the client: %s", response)
	case response.Params.Get("response") == "" || response.Mode != want:
		t.Failf("the response is in the %s, want the parameter response in the %s: %s", response.Mode, want, response)
	}
}
