package rules

import (
	"slices"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/need"
)

// withMode returns the response to a request of the client code with a response mode. If the server does not list the
// mode, the check is skipped.
func withMode(t *T, mode string, changes ...func(*check.Request) *check.Request) *check.Response {
	if !t.Metadata().Lists("response_modes_supported", mode) {
		t.Skipf("the rule needs a server with the response mode %s: response_modes_supported of its metadata does not "+
			"list it", mode)
	}
	r := t.Request(t.Client(need.Code)).Set("response_mode", mode)
	for _, change := range changes {
		r = change(r)
	}
	return settled(t, t.Authorize(r))
}

// jarm has the checks of the rules about signed authorization responses.
var jarm = checks{
	"JARM/2.1/claims": func(t *T) {
		response := withMode(t, "jwt")
		j := t.SignedResponse(response)
		c, sent := response.Request.Client, response.Request.Params.Get("state")
		if j.Text("iss") != t.Issuer() || !slices.Equal(j.Audience(), []string{c.ID}) || j.Number("exp") < 0 {
			t.Errorf("iss is %s, aud is %s, and exp is %s, want the issuer, the client id and a time", Quoted(j.Claims["iss"]),
				Quoted(j.Claims["aud"]), Quoted(j.Claims["exp"]))
		}
		if j.Text("state") != sent {
			t.Errorf("state is %s, want that of the request", Quoted(j.Claims["state"]))
		}
		t.WantGranted(t.Redeem(&check.Code{Value: j.Text("code"), Request: response.Request}))
	},
	"JARM/2.1/lifetime": func(t *T) {
		ends := t.SignedResponse(withMode(t, "jwt")).Number("exp")
		if left := ends - float64(time.Now().Unix()); left <= 0 || left > 600 {
			t.Failf("exp is %.0f seconds ahead, want 1 to 600", left)
		}
	},
	"JARM/2.1/errors": func(t *T) {
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
	"JARM/2.2/signed": func(t *T) { wantSignature(t, t.SignedResponse(withMode(t, "jwt")), t.Client(need.Code)) },
	"JARM/2.3/alone": func(t *T) {
		response := withMode(t, "jwt")
		t.SignedResponse(response)
		if len(response.Params) != 1 || len(response.Params["response"]) != 1 {
			t.Failf("the response has %d parameters: %s", len(response.Params), response)
		}
	},
	"JARM/2.3.1/query":     func(t *T) { wantMode(t, "query.jwt", "query") },
	"JARM/2.3.3/form-post": func(t *T) { wantMode(t, "form_post.jwt", "form_post") },
	"JARM/2.3.4/usual":     func(t *T) { wantMode(t, "jwt", "query") },
	"JARM/3/algorithm": func(t *T) {
		// The client code has not registered an algorithm.
		if got := t.SignedResponse(withMode(t, "jwt")).Algorithm(); got != "RS256" {
			t.Failf("alg is %q, want RS256", got)
		}
	},
	"JARM/4/metadata": func(t *T) {
		const name = "authorization_signing_alg_values_supported"
		m := publishedMetadata(t)
		if list, _ := m.List(name); len(list) == 0 || slices.Contains(list, "none") {
			t.Failf("%s is %s, want a list without none", name, Quoted(m[name]))
		}
	},
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
