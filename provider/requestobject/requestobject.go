// Package requestobject reads the claims of a request object: a JWT in which a client signs the
// parameters of its authorization request (RFC 9101). Somebody else has verified the signature.
package requestobject

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"

	"mandate/provider/jose"
)

// Types lists the values of typ that a request object may have, as jose.Verifier wants them.
//
// RFC 9101 §10.8: a JWT that names another purpose is no request object. Many clients send the
// type of any JWT, or none. FAPI 2.0 Message Signing §5.3.1 demands only that this server accepts
// oauth-authz-req+jwt, and the first client of the OpenID Foundation's plan sends no type, so the
// profile requires none either. aud, client_id and sub distinguish an object without a type from
// another JWT.
func Types() []string { return []string{"", "jwt", "oauth-authz-req+jwt"} }

// Rules says which request objects are accepted.
type Rules struct {
	ClientID string // of the client that sends the object
	Issuer   string // of this server
	// Bounded requires exp and nbf, and limits how long an object is valid, as FAPI 2.0 Message
	// Signing does.
	Bounded bool
}

// The times of a request object, in seconds.
const (
	// maxAhead is how far the clock of a client may be ahead.
	maxAhead = 60
	// maxLife is how old nbf may be, and how long after nbf exp may be, if Bounded is set.
	maxLife = 60 * 60
)

// ofJWT lists the claims that are no parameters (RFC 7519 §4.1).
var ofJWT = [...]string{"iss", "sub", "aud", "exp", "nbf", "iat", "jti"}

// Error says which claim of a request object is wrong, and what to change.
type Error struct {
	Claim   string // "": the object itself
	Problem string // completes a sentence that begins with the claim or the object
}

// Error returns the sentence.
func (e *Error) Error() string {
	if e.Claim == "" {
		return "The request object " + e.Problem + "."
	}
	return fmt.Sprintf("The claim %.80q of the request object %s.", e.Claim, e.Problem)
}

func wrong(claim, format string, args ...any) *Error {
	return &Error{claim, fmt.Sprintf(format, args...)}
}

// Parameters returns the parameters that a request object encloses. raw is the JSON of its
// claims, and now a NumericDate. The error is an *Error.
func Parameters(raw []byte, rules Rules, now int64) (url.Values, error) {
	members, err := split(raw)
	if err != nil {
		return nil, err
	}
	claims, err := jose.ParseClaims(raw)
	if err != nil {
		return nil, noObject()
	}
	err = rules.checkParties(claims)
	if err == nil {
		err = rules.checkTimes(claims, now)
	}
	if err != nil {
		return nil, err
	}
	parameters := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		if slices.Contains(ofJWT[:], name) {
			continue
		}
		// RFC 9101 §4: an object encloses no other object, and refers to none.
		if name == "request" || name == "request_uri" {
			return nil, wrong(name, "must not be there")
		}
		values, err := read(name, members[name])
		if err != nil {
			return nil, err
		}
		if len(values) > 0 {
			parameters[name] = values
		}
	}
	return parameters, nil
}

func noObject() *Error { return wrong("", "must have a JSON object as its claims") }

// split returns the members of a JSON object.
//
// RFC 7519 §4: a name that stands twice is refused. Others could read the other value.
func split(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	begin, err := d.Token()
	if err != nil || begin != json.Delim('{') {
		return nil, noObject()
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		name, isName := key.(string)
		if err != nil || !isName {
			return nil, noObject()
		}
		if _, twice := members[name]; twice {
			return nil, wrong(name, "is there twice")
		}
		var value json.RawMessage
		err = d.Decode(&value)
		if err != nil {
			return nil, noObject()
		}
		members[name] = value
	}
	return members, nil
}

// checkParties checks who made the object, and for whom.
func (r Rules) checkParties(claims jose.Claims) error {
	switch {
	// RFC 9101 §5: the client is the same outside and inside.
	case claims.Text("client_id") != r.ClientID:
		return wrong("client_id", "must be the client_id of the request")
	// RFC 9101 §4: the issuer of the object is the client.
	case claims.Text("iss") != r.ClientID:
		return wrong("iss", "must be the client id")
	// RFC 9101 §4: the audience is this server. Another server gets other objects.
	case !slices.Contains(claims.Audience(), r.Issuer):
		return wrong("aud", "must be the issuer of this server, %s, or an array with it", r.Issuer)
	// RFC 9101 §10.8: the subject of a client assertion is the client, and that of an object
	// never is, so that neither passes for the other.
	case claims.Text("sub") == r.ClientID:
		return wrong("sub", "must not be the client id, which is the subject of a client assertion: leave it out")
	}
	return nil
}

// checkTimes checks exp, nbf and iat.
func (r Rules) checkTimes(claims jose.Claims, now int64) error {
	for _, name := range []string{"exp", "nbf", "iat"} {
		at, isTime := claims.Time(name)
		switch _, there := claims[name]; {
		case there && !isTime:
			return wrong(name, "is not a number of seconds")
		// RFC 7519 §4.1.5: nbf is not in the future, apart from the clocks.
		case there && name != "exp" && at > now+maxAhead:
			return wrong(name, "is more than %d seconds ahead: check the clock of the client", maxAhead)
		}
	}
	expires, ends := claims.Time("exp")
	begins, hasBegin := claims.Time("nbf")
	switch {
	// RFC 7519 §4.1.4: an object that has expired is refused.
	case ends && expires <= now:
		return wrong("", "has expired: make a new one for each request, and check the clock of the client")
	case !r.Bounded:
	// FAPI 2.0 Message Signing §5.3.1: an object has exp and nbf, and both are near.
	case !ends || !hasBegin:
		return wrong("", "needs the claims exp and nbf")
	case begins < now-maxLife:
		return wrong("nbf", "is more than %d seconds old: make a new object for each request", maxLife)
	case expires > begins+maxLife:
		return wrong("exp", "is more than %d seconds after nbf", maxLife)
	}
	return nil
}

// read returns the values of a parameter. A parameter is a string, unless its own document says
// that it is something else in JSON.
func read(name string, value json.RawMessage) ([]string, error) {
	var text, list = (*string)(nil), []*string(nil)
	isText := json.Unmarshal(value, &text) == nil && text != nil
	switch {
	// OIDC Core §6.1: max_age is a number, and claims is an object.
	case name == "max_age" && isNumber(value):
		return []string{string(value)}, nil
	case name == "claims" || name == "registration":
		if value[0] != '{' {
			return nil, wrong(name, "must be a JSON object")
		}
		return []string{string(value)}, nil
	case isText:
		return []string{*text}, nil
	// RFC 8707 §2: there may be several resources, which are an array in JSON.
	case name == "resource" && json.Unmarshal(value, &list) == nil && value[0] == '[' && !slices.Contains(list, nil):
		values := make([]string, len(list))
		for i, one := range list {
			values[i] = *one
		}
		return values, nil
	}
	return nil, wrong(name, "must be a string")
}

func isNumber(value json.RawMessage) bool {
	var number json.Number
	return value[0] != '"' && json.Unmarshal(value, &number) == nil && number != ""
}
