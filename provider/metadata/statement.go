package metadata

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
)

// assigned lists the members that the server assigns, and those that are secret. An issuer
// cannot give them to a client: many clients have the same statement.
var assigned = []string{"client_id", "client_secret", "client_id_issued_at", "client_secret_expires_at",
	"registration_access_token", "registration_client_uri", "software_statement"}

// ParseSigned does what Parse does. If the document has a software statement, verify returns
// its claims, which replace the members of the document. The error of verify is returned as
// it is. plain names members of this server that are texts and decide nothing.
//
// RFC 7591 §3.1.1: the values of the statement take precedence, because whoever sends the
// request could have changed the others (§5).
func ParseSigned(
	document []byte,
	verify func(statement string) ([]byte, error),
	plain ...string,
) (*Client, error) {
	values, err := object(document)
	if err != nil {
		return nil, err
	}
	var statement string
	if json.Unmarshal(values["software_statement"], &statement) != nil || statement == "" {
		return complete(values, plain...) // it has none, or one that is no text
	}
	claims, err := verify(statement)
	if err != nil {
		return nil, err
	}
	signed, err := readClaims(claims, plain)
	if err != nil {
		return nil, err
	}
	replace(values, signed)
	return complete(values, plain...)
}

// readClaims returns the claims of a software statement that are client metadata.
func readClaims(claims []byte, plain []string) (map[string]json.RawMessage, error) {
	values, err := object(claims)
	if err == nil {
		_, wrong := read(values, plain...)
		for _, name := range assigned {
			if wrong == nil && !absent(values[name]) {
				wrong = &Error{Member: name, Problem: "must not be a claim: the server assigns it, and a statement is for many " +
					"clients"}
			}
		}
		if wrong != nil {
			err = wrong
		}
	}
	if wrong, is := errors.AsType[*Error](err); is {
		wrong.Signed = true
		return nil, wrong
	}
	known, _ := read(nil, plain...)
	for name, raw := range values {
		isMember := slices.ContainsFunc(known.members(), func(m member) bool { return m.name == name })
		if absent(raw) || !isMember && !translatedName(name) {
			delete(values, name)
		}
	}
	return values, err
}

// replace puts the claims of a statement in the place of plain members. A member and its
// translations are one: a translation that nobody has signed would replace the name for
// those who read that language.
func replace(values, signed map[string]json.RawMessage) {
	for name := range values {
		base, _, _ := strings.Cut(name, "#")
		if _, is := signed[base]; is {
			delete(values, name)
		}
	}
	for name, raw := range signed {
		values[name] = raw
	}
}
