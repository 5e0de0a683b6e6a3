package rules

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"mandate/conformance/check"
	"mandate/conformance/jose"
	"mandate/conformance/need"
)

// jwk is a published key, as the server shows it.
type jwk map[string]any

// keysAt returns the published keys, without interpreting them. jwks_uri is required of OpenID Providers only.
func keysAt(t *T, m check.Metadata) []jwk {
	address := m.Text(string(need.Keys))
	if address == "" {
		t.Skipf("the rule applies to a server whose metadata has a jwks_uri")
	}
	a := t.Get(address)
	members, is := a.JSON()["keys"].([]any)
	if a.Status != http.StatusOK || !is {
		t.Blockedf("jwks_uri is %s, which answers %s and no set of keys", address, a)
	}
	var keys []jwk
	for _, member := range members {
		key, _ := member.(map[string]any)
		keys = append(keys, key)
	}
	return keys
}

// signs reports whether use and key_ops allow the key to verify a signature (RFC 7517 §4.2, §4.3).
func (k jwk) signs() bool {
	operations, _ := k["key_ops"].([]any)
	return (k["use"] == nil || k["use"] == "sig") && (len(operations) == 0 || slices.Contains(operations, any("verify")))
}

// kinds returns kty and use of keys, for the reason of a failure.
func kinds(keys []jwk) []string {
	all := []string{}
	for _, key := range keys {
		all = append(all, Quoted(map[string]any{"kid": key["kid"], "kty": key["kty"], "use": key["use"]}))
	}
	return all
}

// wantSigningKey asserts that a key verifies signatures, and has one of the types, if there are any.
func wantSigningKey(t *T, m check.Metadata, types ...string) {
	keys := keysAt(t, m)
	for _, key := range keys {
		kty, _ := key["kty"].(string)
		if key.signs() && (len(types) == 0 || slices.Contains(types, kty)) {
			return
		}
	}
	what := "key"
	if len(types) > 0 {
		what = strings.Join(types, " or ") + " key"
	}
	t.Failf("jwks_uri has no %s for signatures, but %s", what, kinds(keys))
}

func wantUseOfKeys(t *T, m check.Metadata) {
	keys := keysAt(t, m)
	if !slices.ContainsFunc(keys, func(key jwk) bool { return key["use"] == "enc" }) {
		t.Skipf("the rule applies to a server that publishes a key with the use enc")
	}
	for _, key := range keys {
		if key["use"] == nil {
			t.Errorf("the key %v has no use, although another key has the use enc", key["kid"])
		}
	}
}

// wantOneUse asserts that no key is published both for signatures and for encryption.
func wantOneUse(t *T, m check.Metadata) {
	keys := keysAt(t, m)
	if !slices.ContainsFunc(keys, func(key jwk) bool { return key["use"] == "enc" }) {
		t.Skipf("the rule applies to a server that publishes a key with the use enc")
	}
	for i, one := range keys {
		for _, other := range keys[:i] {
			if one["use"] != other["use"] && len(one.bare()) > 0 && bytes.Equal(one.bare(), other.bare()) {
				t.Errorf("the keys %v and %v are the same key, with the use %v and %v", other["kid"], one["kid"], other["use"],
					one["use"])
			}
		}
	}
}

func wantNoSecretKeys(t *T, m check.Metadata) {
	for _, key := range keysAt(t, m) {
		for _, secret := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
			if key[secret] != nil {
				t.Errorf("the key %v has the member %s, which is secret", key["kid"], secret)
			}
		}
		if key["kty"] == "oct" {
			t.Errorf("the key %v is symmetric", key["kid"])
		}
	}
}

// certified returns the keys with a certificate. Without one the check is skipped.
func certified(t *T, m check.Metadata) []jwk {
	keys := slices.DeleteFunc(keysAt(t, m), func(key jwk) bool { return key["x5c"] == nil })
	if len(keys) == 0 {
		t.Skipf("the rule applies to a server that publishes a key with a certificate (x5c)")
	}
	return keys
}

func wantBareKeys(t *T, m check.Metadata) {
	for _, key := range certified(t, m) {
		if name := map[any]string{"RSA": "n", "EC": "x", "OKP": "x"}[key["kty"]]; name != "" && key[name] == nil {
			t.Errorf("the key %v is only in its certificate: it has no %s", key["kid"], name)
		}
	}
}

// wantCertificates asserts that each key is the one in its certificate.
func wantCertificates(t *T, m check.Metadata) {
	for _, key := range certified(t, m) {
		chain, _ := key["x5c"].([]any)
		if len(chain) == 0 {
			t.Errorf("x5c of the key %v is %s, want an array", key["kid"], Quoted(key["x5c"]))
			continue
		}
		text, _ := chain[0].(string)
		raw, err := base64.StdEncoding.DecodeString(text) // RFC 7517 §4.7: base64, not base64url
		if err != nil {
			t.Errorf("the certificate of the key %v is not base64", key["kid"])
			continue
		}
		certificate, err := x509.ParseCertificate(raw)
		if err != nil {
			t.Errorf("the certificate of the key %v cannot be read: %v", key["kid"], err)
			continue
		}
		if known := keyIn(certificate); len(known) > 0 && len(key.bare()) > 0 && !bytes.Equal(known, key.bare()) {
			t.Errorf("the certificate of the key %v contains another key", key["kid"])
		}
	}
}

// bare returns the number or point that distinguishes a public key, or nil.
func (k jwk) bare() []byte {
	part := func(name string) []byte {
		text, _ := k[name].(string)
		raw, _ := base64.RawURLEncoding.DecodeString(text) // what cannot be read equals no key
		return raw
	}
	switch k["kty"] {
	case "RSA":
		return bytes.TrimLeft(part("n"), "\x00")
	case "EC":
		return slices.Concat(part("x"), part("y"))
	case "OKP":
		return part("x")
	}
	return nil
}

// keyIn returns the same of the key in a certificate.
func keyIn(certificate *x509.Certificate) []byte {
	switch public := certificate.PublicKey.(type) {
	case *rsa.PublicKey:
		return public.N.Bytes()
	case *ecdsa.PublicKey:
		point, err := public.Bytes()
		if err != nil {
			return nil
		}
		return point[1:] // without the byte that says that it is uncompressed
	case ed25519.PublicKey:
		return public
	}
	return nil
}

// rsaAlgorithms reports whether a list of algorithms contains one that needs an RSA key.
func rsaAlgorithms(list []string) bool {
	return slices.ContainsFunc(list, func(alg string) bool { return len(alg) > 2 && (alg[:2] == "RS" || alg[:2] == "PS") })
}

// signedMetadata returns the JWT in signed_metadata. If the server publishes
// none, the check is skipped.
func signedMetadata(t *T) *jose.JWT {
	m := publishedMetadata(t)
	if m["signed_metadata"] == nil {
		t.Skipf("the rule applies to a server whose metadata has signed_metadata, which is optional")
	}
	j, err := jose.Read(m.Text("signed_metadata"))
	if err != nil {
		t.Failf("signed_metadata is no JWT: %v", err)
	}
	return j
}
