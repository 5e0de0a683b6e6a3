package tokens

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/keys"
	"mandate/provider/oauth"
	"mandate/provider/policy"
)

// SignedIntrospection is the media type of an introspection response that is a JWT, and
// signedIntrospectionType its typ, which distinguishes it from every other JWT that the same
// keys sign (RFC 9701 §5, §8.1).
const (
	SignedIntrospection     = "application/" + signedIntrospectionType
	signedIntrospectionType = "token-introspection+jwt"
)

// wantsSigned reports whether a request asks for a signed response.
//
// RFC 9701 §4: it names the media type in Accept. A range such as */* is not enough, so that all
// other callers get JSON as before.
func wantsSigned(h http.Header) bool {
	accept := h["Accept"]
	if len(accept) == 0 || !strings.Contains(strings.ToLower(strings.Join(accept, ",")), signedIntrospectionType) {
		return false
	}
	signed, plain := 0.0, 0.0
	for _, item := range strings.Split(strings.Join(accept, ","), ",") {
		kind, parameters, err := mime.ParseMediaType(item)
		if err != nil {
			continue
		}
		// RFC 9110 §12.4.2: the weight is 1 if it is absent.
		weight := 1.0
		if q, there := parameters["q"]; there {
			weight, err = strconv.ParseFloat(q, 64)
			if err != nil {
				continue
			}
		}
		switch kind {
		case SignedIntrospection:
			signed = weight
		case "application/json":
			plain = weight
		}
	}
	return signed > 0 && signed >= plain
}

// introspectSigned describes a token in a JWT for the caller. refused is why the caller may not
// introspect, or nil.
func (p *Tokens) introspectSigned(
	ctx context.Context,
	r *http.Request,
	form url.Values,
	caller introspector,
	refused error,
) (*Introspection, string, error) {
	if refused != nil {
		return nil, caller.clientID, unauthenticated(r, refused)
	}
	// RFC 9701 §4: a bearer token is one that was issued to the caller, and whose subject is the
	// caller. The token of a person identifies somebody else, so aud would name a party that
	// nobody has authenticated.
	if caller.ofPerson {
		return nil, caller.clientID, &oauth.Error{
			Status: http.StatusForbidden,
			Code:   "unauthorized_client",
			Description: "A signed response is for the application that asks, and this access token is that of a person: " +
				"request one by the client credentials grant, or authenticate as a client.",
		}
	}
	a, err := p.clients.Client(ctx, caller.clientID)
	if err != nil {
		return nil, caller.clientID, oauth.Stored(err)
	}
	// RFC 9701 §6: RS256 is the default.
	algorithm := cmp.Or(a.IntrospectionAlg, policy.DefaultAlgorithm)
	key, err := p.keys.Signer(ctx, algorithm)
	if errors.Is(err, keys.ErrNone) {
		// RFC 9110 §15.5.7: a caller that relies on the signature does not get plain JSON.
		return nil, caller.clientID, &oauth.Error{
			Status: http.StatusNotAcceptable,
			Code:   "invalid_request",
			Description: "This server has no key that signs by " + algorithm + ": register introspection_signed_response_alg " +
				"for the application, or accept application/json.",
		}
	}
	if err != nil {
		return nil, caller.clientID, err
	}
	found, _, err := p.introspect(ctx, form, caller)
	if err != nil {
		return nil, caller.clientID, err
	}
	members, err := found.Members()
	if err != nil {
		return nil, caller.clientID, err
	}
	// RFC 9701 §5: an inactive token is one in a signed response too. Without sub and exp at the
	// top, nobody takes the response for an access token.
	found.Signed, err = key.Sign(algorithm, signedIntrospectionType, jose.Claims{
		"iss":                 p.config.Issuer,
		"aud":                 caller.clientID,
		"iat":                 oauth.Now(),
		"token_introspection": members,
	})
	return found, caller.clientID, err
}

// unauthenticated returns the error for a caller that asks for a signed response.
//
// RFC 9701 §5: the status is 400 if the request does not authenticate the caller. RFC 7662 §2.3
// says 401, which stays for the other responses, and for wrong credentials.
func unauthenticated(r *http.Request, refused error) error {
	e, known := errors.AsType[*oauth.Error](refused)
	tried := r.Header.Get("Authorization") != "" || r.PostForm.Get("client_secret") != "" ||
		clientauth.HasAssertion(r.Header, r.PostForm)
	if !known || e.Status != http.StatusUnauthorized || tried {
		return refused
	}
	plain := *e
	plain.Status, plain.Challenge = http.StatusBadRequest, ""
	return &plain
}
