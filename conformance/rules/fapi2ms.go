package rules

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// signedRequest returns a request of the client fapi2-ms, whose response is to be signed.
func signedRequest(t *T) *check.Request {
	return t.Request(t.Client(need.FAPIMessages)).Set("response_mode", "jwt")
}

// pushObject pushes a request object of the client fapi2-ms.
func pushObject(t *T, object string) *wire.Answer {
	return t.PushAs(t.Client(need.FAPIMessages).Credentials(), wire.Params("request", object))
}

// pushedObject pushes the object of a request, which the server should accept.
func pushedObject(t *T, r *check.Request) *check.Request {
	r.URI = pushTaken(t, pushObject(t, t.Object(r)))
	return r
}

// wantObjects asserts that the server refuses objects, of which each is altered in one place.
func wantObjects(t *T, all ...badObject) {
	pushedObject(t, signedRequest(t))
	for _, bad := range all {
		wantNotPushed(t, pushObject(t, t.Object(signedRequest(t), check.Altered{Claims: bad.claims})), bad.why)
	}
}

// badObject are the claims that make a request object wrong.
type badObject struct {
	why    string
	claims map[string]any
}

// fapi2msRequests has the checks of the rules about requests (§5.3.1).
var fapi2msRequests = checks{
	"FAPI2MS/5.3.1/supported": func(t *T) {
		r := signedRequest(t)
		a := pushObject(t, t.Object(r))
		if r.URI = a.Text("request_uri"); r.URI == "" {
			t.Failf("a pushed request object is refused: %s", a.Failure())
		}
		j := t.SignedResponse(t.Authorize(r))
		t.WantGranted(redeemHeld(t, &check.Code{Value: j.Text("code"), Request: r}, t.Holder(r.Client)))
	},
	"FAPI2MS/5.3.1/required": func(t *T) {
		pushedObject(t, signedRequest(t))
		wantNotPushed(t, t.Push(signedRequest(t)), "the request was not signed")
	},
	"FAPI2MS/5.3.1/aud": func(t *T) {
		wantObjects(t, badObject{"aud was another server", map[string]any{"aud": "https://other.example"}},
			badObject{"the object had no aud", map[string]any{"aud": nil}})
		if a := pushObject(t,
			t.Object(signedRequest(t), claiming("aud", []string{t.Issuer(), "https://other.example"}))); a.Text(
			"request_uri") == "" {
			t.At(a)
			t.Errorf("an object whose aud is an array with the issuer is refused: %s", a.Failure())
		}
	},
	"FAPI2MS/5.3.1/nbf": func(t *T) {
		now := time.Now().Unix()
		wantObjects(t, badObject{"the object had no nbf", map[string]any{"nbf": nil}},
			badObject{"nbf was 61 minutes ago", map[string]any{"nbf": now - 61*60, "exp": now + 60}},
			badObject{"nbf was five minutes ahead", map[string]any{"nbf": now + 300, "exp": now + 600}})
	},
	"FAPI2MS/5.3.1/exp": func(t *T) {
		now := time.Now().Unix()
		wantObjects(t, badObject{"the object had no exp", map[string]any{"exp": nil}},
			badObject{"exp was 70 minutes after nbf", map[string]any{"exp": now + 70*60}},
			badObject{"the object had expired", map[string]any{"nbf": now - 600, "exp": now - 300}})
	},
	"FAPI2MS/5.3.1/type": func(t *T) {
		if a := pushObject(t, t.Object(signedRequest(t))); a.Text("request_uri") == "" {
			t.Failf("an object with the type oauth-authz-req+jwt is refused: %s", a.Failure())
		}
	},
	"FAPI2MS/5.3.1/algorithms": func(t *T) {
		c := t.Client(need.FAPIMessages)
		pushedObject(t, signedRequest(t))
		if c.Signer.Algorithm[:2] == "PS" {
			wantNotPushed(t, pushObject(t, t.ObjectBy(c.Signer.By("RS256"), signedRequest(t))),
				"the object was signed with RS256")
		}
		wantNotPushed(t, pushObject(t, jose.Unsigned(t.Object(signedRequest(t)))[0]), "the object was not signed")
	},
}

// fapi2msClients returns the rule about the metadata of clients (§5.3.3).
var fapi2msClients = checks{
	"FAPI2MS/5.3.3/response-modes": func(t *T) {
		modes := []string{"jwt"}
		if a := registerWith(t, map[string]any{"response_modes": modes}); a.Status/100 != 2 ||
			a.JSON()["response_modes"] == nil {
			t.Skipf("the rule applies to servers that register response_modes of clients: %s", a)
		}
		m := plainClient(t)
		m["response_modes"] = modes
		t.WithClient(m, func(made *check.Made) {
			authorize := func(mode string) *check.Response {
				return t.Authorize(registeredRequest(t, registered(made), made).Set("response_mode", mode))
			}
			t.SignedResponse(authorize("jwt"))
			t.WantNoCode(authorize("query"), "the client has registered other response modes than query")
		})
	},
}

// fapi2msResponses has the checks of the rules about responses (§5.4.1, §5.5.1).
var fapi2msResponses = checks{
	"FAPI2MS/5.4.1/signed": func(t *T) {
		response := t.Authorize(pushedObject(t, signedRequest(t)))
		j := t.SignedResponse(response)
		if left := j.Number("exp") - float64(time.Now().Unix()); left < 10 || left > 600 {
			t.Errorf("exp is %.0f seconds ahead, want 10 to 600", left)
		}
		if asText(j.Header["kid"]) == "" || !slices.Contains(fapiSigning, j.Algorithm()) {
			t.Errorf("the header has the kid %s and the alg %q", Quoted(j.Header["kid"]), j.Algorithm())
		}
		if len(response.Params) != 1 {
			t.Errorf("the response has %d parameters, want response alone", len(response.Params))
		}
		wantSignature(t, j, response.Request.Client)
	},
	"FAPI2MS/5.4.1/required": func(t *T) {
		t.SignedResponse(t.Authorize(pushedObject(t, signedRequest(t))))
		r := t.Request(t.Client(need.FAPIMessages)).Set("response_mode", "query")
		if r.URI = pushObject(t, t.Object(r)).Text("request_uri"); r.URI != "" {
			t.WantNoCode(t.Authorize(r), "the response was not signed")
		}
	},
	"FAPI2MS/5.5.1/listed": func(t *T) {
		m := publishedMetadata(t)
		if list, _ := m.List(introspectionAlgorithms); !slices.ContainsFunc(list,
			func(one string) bool { return slices.Contains(fapiSigning, one) }) {
			t.Failf("%s is %s, want an algorithm of the profile", introspectionAlgorithms, Quoted(m[introspectionAlgorithms]))
		}
	},
	"FAPI2MS/5.5.1/introspection": fapi2MSIntrospection,
}

func fapi2MSIntrospection(t *T) {
	c, r := t.Client(need.FAPIMessages), pushedObject(t, signedRequest(t))
	code := &check.Code{Value: t.SignedResponse(t.Authorize(r)).Text("code"), Request: r}
	access := t.Granted(redeemHeld(t, code, t.Holder(c))).Access
	a := t.Post(t.Endpoint(need.Introspection), wire.Params("token", access),
		wire.Header("Accept", signedIntrospectionType), c.Credentials())
	if a.Status != http.StatusOK {
		t.Blockedf("the client fapi2-ms cannot introspect its token: allow it to, at the server: %s", t.Failure(a))
	}
	j, err := jose.Read(string(a.Body))
	if err != nil || a.MediaType() != signedIntrospectionType {
		t.Failf("the answer to a request for %s has the media type %q, and is no JWT of this type", signedIntrospectionType,
			a.MediaType())
	}
	if !slices.Contains(fapiSigning, j.Algorithm()) {
		t.Failf("alg is %q, want %s", j.Algorithm(), strings.Join(fapiSigning, " or "))
	}
	wantSignature(t, j, c)
}
