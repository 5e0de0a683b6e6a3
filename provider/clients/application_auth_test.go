package clients

import (
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"mandate/provider/clientauth"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// The mistake in a subject that names no member repeats no text that nobody has typed.
func TestSubjectOfNoMember(t *testing.T) {
	config := clientauth.Config{Authorities: x509.NewCertPool()}
	p := &Clients{Checks: clientauth.New(config, clientauth.Parts{}, clientauth.Applications{})}
	subjects, _ := clientauth.MethodOf(clientauth.MethodCertificate)
	for subject, want := range map[string]string{
		"bank.example": "This names no subject: write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or " +
			"san_email in place of san_dns.",
		"cn=bank": "This names no subject: write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or " +
			"san_email in place of san_dns.",
		"san_dns=*": "The value must be a host name without a wildcard, in its ASCII form.",
	} {
		found := &oauth.Invalid{}
		p.checkCertificate(found, subject, "", subjects)
		if got := found.At("certificate_subject"); got != want {
			t.Errorf("%s: %s", subject, got)
		}
	}
}

// An application with a certificate changes to another method, whether or not the server accepts certificates.
func TestSubjectIsRemoved(t *testing.T) {
	basic, _ := clientauth.MethodOf(clientauth.MethodBasic)
	for _, config := range []clientauth.Config{{}, {Authorities: x509.NewCertPool()}} {
		p := &Clients{Checks: clientauth.New(config, clientauth.Parts{}, clientauth.Applications{})}
		found := &oauth.Invalid{}
		p.checkCertificate(found, "", "tls_client_auth_san_dns=a", basic)
		if got := found.At("certificate_subject"); got != "" {
			t.Error(got)
		}
	}
}

// The check of a registration and its use agree on how an application authenticates for which
// nobody is responsible.
func TestNobodysAuthentication(t *testing.T) {
	rules := policy.New(policy.Settings{KeyMethods: clientauth.OpenMethods()})
	for _, kind := range []string{policy.Public, policy.Confidential} {
		for _, method := range append(clientauth.MethodNames(true), "") {
			found := &oauth.Invalid{}
			r := Registration{
				ClientType:     kind,
				GrantTypes:     []string{policy.GrantCode},
				Authentication: Authentication{Method: method},
			}
			was := storage.Application{Responsible: storage.ByNobody}
			checkGrantTypes(found, r, was, rules.AllowanceOf(was))
			used := rules.Effective(storage.Application{
				Responsible: storage.ByNobody,
				ClientType:  kind,
				AuthMethod:  method,
				GrantTypes:  policy.GrantCode,
			})
			if (found.At("client_type") == "") != (used.GrantTypes != "") {
				t.Errorf("%s with %q: the check says %q, its grants are %q", kind, method, found.At("client_type"), used.GrantTypes)
			}
		}
	}
}

func TestHoldsPrivateKey(t *testing.T) {
	for text, want := range map[string]bool{
		`{"kty":"EC","crv":"P-256","x":"eA","y":"eQ"}`:           false,
		`{"keys":[{"kty":"OKP","crv":"Ed25519","x":"eA"}]}`:      false,
		`{"keys":[{"kty":"RSA","n":"eA","e":"AQAB","d":"eA"}]}`:  true,
		`{"keys":[{"kty":"RSA","n":"eA","e":"AQAB","dp":"eA"}]}`: true,
		`{"kty":"RSA","n":"eA","e":"AQAB","p":"eA","q":"eA"}`:    true,
		`{"kty":"oct","k":"eA"}`:                                 true,
		"-----BEGIN PRIVATE KEY-----\n":                          true,
		"text":                                                   false,
	} {
		if got := HoldsPrivateKey(text); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// Only an administrator may register a key that makes each request expensive.
func TestLongKeysAreNotRegistered(t *testing.T) {
	set := func(bits uint, exponent string) []byte {
		n := new(big.Int).Lsh(big.NewInt(1), bits-1)
		key := jose.JWK{
			Type: "RSA",
			ID:   "k",
			N:    base64.RawURLEncoding.EncodeToString(n.Add(n, big.NewInt(1)).Bytes()),
			E:    exponent,
		}
		text, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{key}})
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	for responsible, most := range map[string]uint{storage.ByOperator: 8192, storage.ByNobody: 4096} {
		for _, bits := range []uint{2048, 4096, 4097, 8192, 8193} {
			wrong := wrongKeys(
				set(bits, "AQAB"), []string{"RS256"}, true, clientauth.RSABits(storage.Application{Responsible: responsible}),
			)
			if (wrong == "") != (bits <= most) {
				t.Errorf("%s registers %d bits: %s", responsible, bits, wrong)
			}
		}
	}
	if wrong := wrongKeys(set(2048, "Aw"), []string{"RS256"}, true, 8192); !strings.Contains(wrong, "65537") {
		t.Errorf("the exponent 3: %s", wrong)
	}
}
