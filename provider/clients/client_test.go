package clients

import (
	"crypto/x509"
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
	"mandate/provider/policy"
	"mandate/storage"
)

func basic(text string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(text)) }

func TestBasic(t *testing.T) {
	for _, test := range []struct{ rule, header, id, secret string }{
		{"RFC7617/2 id and secret", basic("client:secret"), "client", "secret"},
		{"RFC9110/11.1 the scheme has no case", "bAsIc " + base64.StdEncoding.EncodeToString([]byte("client:secret")), "client", "secret"},
		{"RFC9110/11.4 more than one space", "Basic   " + base64.StdEncoding.EncodeToString([]byte("client:secret")), "client", "secret"},
		{"RFC6749/2.3.1 both are form-encoded", basic("my%20client%3A1:p%C3%A4ss+w%2Brd%25"), "my client:1", "päss w+rd%"},
		{"RFC7617/2 a colon belongs to the secret", basic("client:a:b:"), "client", "a:b:"},
		{"an empty secret", basic("client:"), "client", ""},
		{"an empty id", basic(":secret"), "", "secret"},
	} {
		t.Run(test.rule, func(t *testing.T) {
			got, err := parseBasic(test.header)
			if err != nil || got != (credentials{id: test.id, secret: test.secret, decoded: strings.Contains(test.rule, "form-encoded")}) {
				t.Error(got, err)
			}
		})
	}
	for rule, header := range map[string]string{
		"nothing": "", "no credentials": "Basic", "no credentials after a space": "Basic ", "another scheme": "Bearer x", "a scheme that begins alike": "Basically " + basic("a:b")[6:],
		"not Base64": "Basic ???", "Base64 of the URL alphabet": "Basic _-_-", "no padding": "Basic YTpiYw", "no colon": basic("client"), "only a NUL": basic("a\x00:b"),
		"an encoded NUL": basic("a%00:b"), "not UTF-8": basic("a:\xff"), "encoded and not UTF-8": basic("a:%ff"), "percent-encoding that breaks off": basic("client:100%"), "percent-encoding that is none": basic("cl%zzient:secret"),
	} {
		t.Run("RFC6749/5.2 "+rule, func(t *testing.T) {
			_, err := parseBasic(header)
			oauthtest.Want(t, err, "401 invalid_client")
			if e, ok := err.(*oauth.Error); !ok || !strings.HasPrefix(e.Challenge, "Basic ") {
				t.Error("without a challenge:", err)
			}
		})
	}
}

func FuzzBasic(f *testing.F) {
	for _, header := range []string{"", "Basic", "Basic ", "Basic YTpi", "basic  YTpi", basic("a:b:c"), basic("%:"), basic("a%00:b"), basic("\xff:b"), "Bearer x", "Basic YTpi\nYTpi"} {
		f.Add(header, "client", "secret")
	}
	f.Fuzz(func(t *testing.T, header, id, secret string) {
		got, err := parseBasic(header)
		if err != nil && oauthtest.Kind(err) != "401 invalid_client" {
			t.Fatal(err)
		}
		if err == nil && (!oauth.PlainText(got.id) || !oauth.PlainText(got.secret)) {
			t.Fatalf("%q gives %q", header, got.id+":"+got.secret)
		}
		if !oauth.PlainText(id) || !oauth.PlainText(secret) {
			return
		}
		// RFC 6749 §2.3.1: decoding returns exactly what was encoded.
		got, err = parseBasic(basic(url.QueryEscape(id) + ":" + url.QueryEscape(secret)))
		if err != nil || got.id != id || got.secret != secret {
			t.Fatalf("%q:%q comes back as %q, %v", id, secret, got.id+":"+got.secret, err)
		}
	})
}

// The mistake in a subject that names no member repeats no text that nobody has typed.
func TestSubjectOfNoMember(t *testing.T) {
	p := &Clients{config: Config{Authorities: x509.NewCertPool()}}
	for subject, want := range map[string]string{
		"bank.example": "This names no subject: write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or san_email in place of san_dns.",
		"cn=bank":      "This names no subject: write it as san_dns=client.example, or with subject_dn, san_uri, san_ip or san_email in place of san_dns.",
		"san_dns=*":    "The value must be a host name without a wildcard, in its ASCII form.",
	} {
		found := &oauth.Invalid{}
		p.checkCertificate(found, Authentication{CertificateSubject: subject}, storage.Application{}, true)
		if got := found.At("certificate_subject"); got != want {
			t.Errorf("%s: %s", subject, got)
		}
	}
}

// The check of a registration and its use agree on how an application authenticates for which
// nobody is responsible.
func TestNobodysAuthentication(t *testing.T) {
	rules := policy.New(policy.Settings{})
	for _, kind := range []string{policy.Public, policy.Confidential} {
		for _, method := range append(MethodNames(true), "") {
			found := &oauth.Invalid{}
			r := Registration{ClientType: kind, GrantTypes: []string{policy.GrantCode}, Authentication: Authentication{Method: method}}
			was := storage.Application{Responsible: storage.ByNobody}
			checkGrantTypes(found, r, was, rules.AllowanceOf(was))
			used := rules.Effective(storage.Application{Responsible: storage.ByNobody, ClientType: kind, AuthMethod: method, GrantTypes: policy.GrantCode})
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
