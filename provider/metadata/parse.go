package metadata

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"mandate/provider/jose"
)

// MaxBytes is the size of the largest document that Parse reads.
const MaxBytes = 64 << 10

const (
	maxText       = 2048 // bytes of one string
	maxList       = 100  // strings in one array
	maxTranslated = 50   // members with a language tag
	maxDepth      = 10   // of nested objects and arrays
)

// Parse reads client metadata and sets the defaults. It ignores members that it does not
// know, and treats null and empty strings as absent. An error is an *Error.
//
// RFC 7591 §2: unknown metadata is ignored.
// RFC 7592 §2.2: null, an empty value and an absent member are the same.
func Parse(document []byte) (*Client, error) {
	values, err := object(document)
	if err != nil {
		return nil, err
	}
	return complete(values)
}

// Kept reads metadata that this server has stored. A rule may be newer than the metadata, so a member that is not valid
// is left out, and the others count. It returns an Error for each of these members. A sector_identifier_uri counts all
// the same: the subjects of people are derived from its host.
func Kept(document []byte) (*Client, []*Error) {
	values, err := object(document)
	if wrong, is := errors.AsType[*Error](err); is {
		return &Client{}, []*Error{wrong}
	}
	if c, err := complete(values); err == nil {
		return c, nil
	}
	var dropped []*Error
	for _, name := range slices.Sorted(maps.Keys(values)) {
		_, err := complete(map[string]json.RawMessage{name: values[name]})
		if wrong, is := errors.AsType[*Error](err); is && wrong.Member == name {
			dropped = append(dropped, wrong)
			if name != sector {
				delete(values, name)
			}
		}
	}
	var uri string
	if json.Unmarshal(values[sector], &uri) != nil {
		uri = ""
	}
	delete(values, sector)
	c, err := complete(values)
	if wrong, is := errors.AsType[*Error](err); is {
		return &Client{SectorURI: uri}, append(dropped, wrong)
	}
	c.SectorURI = uri
	return c, dropped
}

const sector = "sector_identifier_uri"

// complete reads metadata and sets the defaults.
func complete(values map[string]json.RawMessage, plain ...string) (*Client, error) {
	c, wrong := read(values, plain...)
	if wrong != nil {
		return nil, wrong
	}
	c.setDefaults()
	if wrong := c.check(); wrong != nil {
		return nil, wrong
	}
	return c, nil
}

// read reads the members that are present.
func read(values map[string]json.RawMessage, plain ...string) (*Client, *Error) {
	c := &Client{sent: map[string]bool{}}
	for _, name := range plain {
		c.plain = append(c.plain, plainMember{name: name})
	}
	for name, raw := range values {
		c.sent[name] = !absent(raw)
	}
	for _, m := range c.members() {
		if c.sent[m.name] {
			if wrong := m.set(values[m.name]); wrong != nil {
				return nil, wrong
			}
		}
	}
	return c, c.setTranslated(values)
}

// absent reports whether a value means that there is none.
func absent(raw json.RawMessage) bool {
	return slices.Contains([]string{"", "null", `""`}, string(raw))
}

func (c *Client) setTranslated(values map[string]json.RawMessage) *Error {
	for name, raw := range values {
		if !c.sent[name] || !translatedName(name) {
			continue
		}
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return wrong(name, "must be a string")
		}
		if err := checkLength(name, text); err != nil {
			return err
		}
		if c.Translated == nil {
			c.Translated = map[string]string{}
		}
		c.Translated[name] = text
	}
	if len(c.Translated) > maxTranslated {
		return wrong("", "must have at most %d members with a language tag", maxTranslated)
	}
	return nil
}

// object reads a JSON object whose objects have no member twice. Programs disagree about
// which of two members counts (RFC 8259 §4).
func object(document []byte) (map[string]json.RawMessage, error) {
	if len(document) > MaxBytes {
		return nil, wrong("", "must be at most %d bytes long", MaxBytes)
	}
	var values map[string]json.RawMessage
	if !utf8.Valid(document) || json.Unmarshal(document, &values) != nil || values == nil {
		return nil, wrong("", "must be a JSON object in UTF-8")
	}
	twice, err := repeated(json.NewDecoder(bytes.NewReader(document)), 0)
	switch {
	case err != nil:
		return nil, wrong("", "has more than %d levels", maxDepth)
	case twice != "":
		return nil, wrong("", "has the member %q twice", clip(twice))
	}
	return values, nil
}

var errDepth = errors.New("too many levels")

// repeated returns the name of a member that stands twice in one object of the next value,
// or "".
func repeated(d *json.Decoder, depth int) (string, error) {
	token, err := d.Token()
	if err != nil {
		return "", err
	}
	open, isDelim := token.(json.Delim)
	if !isDelim {
		return "", nil
	}
	if depth == maxDepth {
		return "", errDepth
	}
	names := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return "", err
			}
			if names[fmt.Sprint(name)] {
				return fmt.Sprint(name), nil
			}
			names[fmt.Sprint(name)] = true
		}
		twice, err := repeated(d, depth+1)
		if twice != "" || err != nil {
			return twice, err
		}
	}
	_, err = d.Token() // the end of the object or array
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return "", err
}

func clip(name string) string {
	if len(name) > 40 {
		return strings.ToValidUTF8(name[:40], "") + "..."
	}
	return name
}

// CheckKeys checks a JWK Set: it has at least one key, and public keys only. It returns an
// *Error, or nil.
func CheckKeys(name string, raw []byte) error {
	if wrong := checkKeys(name, raw); wrong != nil {
		return wrong
	}
	return nil
}

// OIDC Registration §2: the set holds no private and no symmetric key.
func checkKeys(name string, raw json.RawMessage) *Error {
	var set struct {
		Keys []map[string]json.RawMessage `json:"keys"`
	}
	if json.Unmarshal(raw, &set) != nil || len(set.Keys) == 0 {
		return wrong(name, "must be a JWK Set: an object whose member keys is an array of keys")
	}
	if len(set.Keys) > maxList {
		return wrong(name, "must have at most %d keys", maxList)
	}
	for _, key := range set.Keys {
		var kind string
		if json.Unmarshal(key["kty"], &kind) != nil || kind == "" {
			return wrong(name, "has a key without kty")
		}
		if kind == "oct" {
			return wrong(name, "has a symmetric key: it must have public keys only")
		}
		if jose.PrivateMember(key) != "" {
			return wrong(name, "has a private key, which is no longer secret: make a new key and send its public part")
		}
	}
	return nil
}
