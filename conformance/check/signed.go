package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"mandate/conformance/jose"
)

// Object returns a request object with the parameters of a request (RFC 9101 §4), signed by its client.
func (t *T) Object(r *Request, altered ...Altered) string {
	return r.Client.Signer.Sign(t.objectParts(r, altered))
}

// ObjectBy returns the same, signed by another key.
func (t *T) ObjectBy(key *jose.Key, r *Request, altered ...Altered) string {
	return key.Sign(t.objectParts(r, altered))
}

func (t *T) objectParts(r *Request, altered []Altered) (header, claims map[string]any) {
	now := time.Now().Unix()
	header = map[string]any{"typ": "oauth-authz-req+jwt"}
	claims = map[string]any{"iss": r.Client.ID, "aud": t.Issuer(), "nbf": now, "iat": now, "exp": now + 300}
	for name := range r.Params {
		claims[name] = r.Params.Get(name)
	}
	for _, a := range altered {
		maps.Copy(header, a.Header)
		maps.Copy(claims, a.Claims)
	}
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return header, claims
}

// Enclosed returns a request that the browser sends in a request object. OIDC Core §6.1: response_type, and scope with
// openid, stand beside it too.
func (t *T) Enclosed(r *Request, altered ...Altered) *Request {
	enclosed := *r
	enclosed.Object, enclosed.Outside = t.Object(r, altered...),
		map[string][]string{"response_type": r.Params["response_type"]}
	if scope := r.Params["scope"]; len(scope) > 0 && slices.Contains(strings.Fields(scope[0]), "openid") {
		enclosed.Outside["scope"] = scope
	}
	return &enclosed
}

// SignedResponse returns the signed response that a client received (JARM §2.3). Without one the check is blocked.
func (t *T) SignedResponse(r *Response) *jose.JWT {
	text := r.Params.Get("response")
	if text == "" {
		t.Blockedf("the client received no signed response: %s", r)
	}
	j, err := jose.Read(text)
	if err != nil {
		t.Blockedf("the response cannot be read: %v", err)
	}
	return j
}
