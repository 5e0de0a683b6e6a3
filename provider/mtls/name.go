package mtls

import (
	"encoding/asn1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// name is a distinguished name, in the order of its encoding: that of the certificate, the
// reverse of the text. Each part is a set of attributes.
type name [][]attribute

type attribute struct{ oid, value string }

// types are the short names of attribute types (RFC 4514 §3), and others that certificates often
// have (RFC 4519 §2). Every type can be written as its OID.
var types = map[string]string{
	"CN": "2.5.4.3", "L": "2.5.4.7", "ST": "2.5.4.8", "O": "2.5.4.10", "OU": "2.5.4.11", "C": "2.5.4.6",
	"STREET": "2.5.4.9",
	"DC":     "0.9.2342.19200300.100.1.25", "UID": "0.9.2342.19200300.100.1.1",
	"SERIALNUMBER": "2.5.4.5", "SN": "2.5.4.4", "GIVENNAME": "2.5.4.42", "TITLE": "2.5.4.12", "POSTALCODE": "2.5.4.17",
	"ORGANIZATIONIDENTIFIER": "2.5.4.97", "EMAILADDRESS": "1.2.840.113549.1.9.1",
}

// parseName reads the text of a distinguished name (RFC 4514 §3). Spaces around a separator do
// not count.
func parseName(text string) (name, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("must be a distinguished name, such as CN=client,O=Example")
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("is not UTF-8 text")
	}
	var found name
	var set []attribute
	for {
		kind, rest, ok := strings.Cut(text, "=")
		oid, err := typeOf(strings.TrimSpace(kind))
		if !ok || err != nil {
			return nil, errors.Join(err,
				errors.New("must be a distinguished name in the form of RFC 4514, such as CN=client,O=Example"))
		}
		value, end, err := parseValue(strings.TrimLeft(rest, " "))
		if err != nil {
			return nil, err
		}
		set = append(set, attribute{oid, value})
		if end == "" || end[0] != '+' {
			found, set = append(found, set), nil
		}
		if end == "" {
			slices.Reverse(found) // RFC 4514 §2.1
			return found, nil
		}
		text = end[1:]
	}
}

func typeOf(kind string) (string, error) {
	if oid, ok := types[strings.ToUpper(kind)]; ok {
		return oid, nil
	}
	parts := strings.Split(kind, ".")
	for _, part := range parts {
		n, err := strconv.Atoi(part)
		if err != nil || n < 0 || strconv.Itoa(n) != part || len(parts) < 2 {
			return "", fmt.Errorf("has the attribute type %.40q, which is unknown: write it as its OID", kind)
		}
	}
	return kind, nil
}

// parseValue reads the value of an attribute. The second result is the rest of the text, which
// begins with a separator or is empty.
func parseValue(text string) (string, string, error) {
	if strings.HasPrefix(text, "#") {
		return parseHexValue(text[1:])
	}
	var value []byte
	kept := 0 // the length of the value up to its last byte that is not a plain space
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == ',' || c == '+':
			return finish(value[:kept], text[i:])
		case c == '\\':
			one, size, err := escaped(text[i+1:])
			if err != nil {
				return "", "", err
			}
			value, i = append(value, one), i+size
			kept = len(value)
		case c == 0 || strings.IndexByte(`";<>`, c) >= 0:
			return "", "", fmt.Errorf("has the character %q in a value: put a backslash before it", c)
		default:
			value = append(value, c)
			if c != ' ' {
				kept = len(value)
			}
		}
	}
	return finish(value[:kept], "")
}

func finish(value []byte, rest string) (string, string, error) {
	if len(value) == 0 || !utf8.Valid(value) {
		return "", "", errors.New("has a value that is empty or not UTF-8 text")
	}
	return string(value), rest, nil
}

// escaped reads what follows a backslash: a special character, or two hexadecimal digits (RFC
// 4514 §3).
func escaped(text string) (c byte, size int, err error) {
	if text != "" && strings.IndexByte(` "#+,;<=>\`, text[0]) >= 0 {
		return text[0], 1, nil
	}
	if len(text) >= 2 {
		raw, err := hex.DecodeString(text[:2])
		if err == nil {
			return raw[0], 2, nil
		}
	}
	return 0, 0, errors.New("has a backslash that is not followed by a special character or two hexadecimal digits")
}

// parseHexValue reads a value that is written as its BER encoding (RFC 4514 §2.4).
func parseHexValue(text string) (string, string, error) {
	end := strings.IndexAny(text, ",+")
	if end < 0 {
		end = len(text)
	}
	der, err := hex.DecodeString(strings.TrimRight(text[:end], " "))
	if err != nil {
		return "", "", errors.New("has a value after # that is not hexadecimal")
	}
	var raw asn1.RawValue
	rest, err := asn1.Unmarshal(der, &raw)
	value, ok := textOf(raw)
	if err != nil || len(rest) > 0 || !ok {
		return "", "", errors.New("has a value after # that is not the encoding of a text")
	}
	return finish([]byte(value), text[end:])
}

// textOf returns the text of a DirectoryString or an IA5String.
func textOf(raw asn1.RawValue) (string, bool) {
	if raw.Class != asn1.ClassUniversal || raw.IsCompound {
		return "", false
	}
	switch raw.Tag {
	case asn1.TagUTF8String, asn1.TagPrintableString, asn1.TagIA5String, asn1.TagBMPString, asn1.TagT61String:
		var text string
		_, err := asn1.Unmarshal(raw.FullBytes, &text)
		return text, err == nil && utf8.ValidString(text)
	}
	return "", false
}

// equal reports whether a subject has exactly this name (RFC 8705 §2.1.2): the same sets of
// attributes in the same order. The type of the string in the encoding does not count. Upper and
// lower case differ: two clients of one authority may differ by case only.
func (n name) equal(rawSubject []byte) bool {
	var sets []asn1.RawValue
	rest, err := asn1.Unmarshal(rawSubject, &sets)
	if err != nil || len(rest) > 0 || len(sets) != len(n) {
		return false
	}
	for i, raw := range sets {
		found, ok := attributes(raw)
		if !ok || !same(found, n[i]) {
			return false
		}
	}
	return true
}

// attributes reads a RelativeDistinguishedName.
func attributes(raw asn1.RawValue) ([]attribute, bool) {
	if raw.Tag != asn1.TagSet || raw.Class != asn1.ClassUniversal {
		return nil, false
	}
	var found []attribute
	for rest := raw.Bytes; len(rest) > 0; {
		var one struct {
			Type  asn1.ObjectIdentifier
			Value asn1.RawValue
		}
		var err error
		rest, err = asn1.Unmarshal(rest, &one)
		if err != nil {
			return nil, false
		}
		value, ok := textOf(one.Value)
		if !ok {
			return nil, false
		}
		found = append(found, attribute{one.Type.String(), value})
	}
	return found, true
}

// same compares two sets of attributes, whose order does not count.
func same(a, b []attribute) bool {
	order := func(x, y attribute) int { return strings.Compare(x.oid+"\x00"+x.value, y.oid+"\x00"+y.value) }
	a, b = slices.SortedFunc(slices.Values(a), order), slices.SortedFunc(slices.Values(b), order)
	return slices.Equal(a, b)
}
