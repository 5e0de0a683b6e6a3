package mtls

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/base64"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

// authority is a certificate with its key, which issues others.
type authority struct {
	*x509.Certificate
	key *ecdsa.PrivateKey
}

// issue returns a certificate that by issues, or a self-signed one if by is nil.
func issue(t *testing.T, by *authority, template x509.Certificate) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber = big.NewInt(time.Now().UnixNano())
	if template.NotAfter.IsZero() {
		template.NotBefore, template.NotAfter = time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	}
	parent, signer := &template, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	c, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{c, key}
}

func root(t *testing.T, by *authority) *authority {
	return issue(t, by, x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign})
}

var forClients = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}

func TestThumbprint(t *testing.T) {
	c := &Certificate{Certificate: root(t, nil).Certificate}
	sum := sha256.Sum256(c.Raw)
	raw, err := base64.RawURLEncoding.DecodeString(c.Thumbprint())
	if err != nil || string(raw) != string(sum[:]) || len(c.Thumbprint()) != 43 {
		t.Errorf("%s, %v", c.Thumbprint(), err)
	}
}

// RFC 8705 §2.1: the certificate is validated under our own authorities.
func TestVerify(t *testing.T) {
	ours, stranger := root(t, nil), root(t, nil)
	between := root(t, ours)
	pool := x509.NewCertPool()
	pool.AddCert(ours.Certificate)
	good := issue(t, ours, x509.Certificate{ExtKeyUsage: forClients})
	below := issue(t, between, x509.Certificate{ExtKeyUsage: forClients})
	for name, test := range map[string]struct {
		leaf  *authority
		chain []*x509.Certificate
		pool  *x509.CertPool
		ok    bool
	}{
		"issued by our authority":          {good, nil, pool, true},
		"with an intermediate certificate": {below, []*x509.Certificate{between.Certificate}, pool, true},
		"without it":                       {below, nil, pool, false},
		"issued by another authority": {issue(t, stranger, x509.Certificate{ExtKeyUsage: forClients}),
			[]*x509.Certificate{stranger.Certificate}, pool, false},
		"self-signed": {issue(t, nil, x509.Certificate{ExtKeyUsage: forClients}), nil, pool, false},
		"of a server": {
			issue(t, ours, x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}), nil, pool, false},
		"expired": {
			issue(t, ours, x509.Certificate{ExtKeyUsage: forClients, NotBefore: time.Now().Add(-2 * time.Hour),
				NotAfter: time.Now().Add(-time.Hour)}), nil, pool, false},
		"no authority is configured": {good, nil, nil, false},
		"issued by a client": {issue(t, good, x509.Certificate{ExtKeyUsage: forClients}),
			[]*x509.Certificate{good.Certificate}, pool, false},
	} {
		_, err := (&Certificate{test.leaf.Certificate, test.chain}).Verify(test.pool)
		if (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A stranger chooses the chain, and what the verification of one signature in it costs: keys of 8192 bits, as many
// as fit into a handshake, keep a processor busy for half a second with each request.
//
// Resembles CVE-2018-16875 (crypto/x509: a chain with many candidates) and CVE-2023-29409 (enormous RSA keys).
func TestAttackCostlyChain(t *testing.T) {
	ours := root(t, nil)
	pool := x509.NewCertPool()
	pool.AddCert(ours.Certificate)
	good := (&Certificate{Certificate: issue(t, ours, x509.Certificate{ExtKeyUsage: forClients}).Certificate})
	odd := func(bits int) *big.Int { return new(big.Int).SetBit(big.NewInt(1), bits-1, 1) }
	for name, test := range map[string]struct {
		key  *rsa.PublicKey
		many int
		ok   bool
	}{
		"a usual one":         {&rsa.PublicKey{N: odd(2048), E: 65537}, 1, true},
		"the largest":         {&rsa.PublicKey{N: odd(4096), E: 65537}, maxChain, true},
		"too many":            {&rsa.PublicKey{N: odd(2048), E: 65537}, maxChain + 1, false},
		"a large key":         {&rsa.PublicKey{N: odd(4097), E: 65537}, 1, false},
		"a large exponent":    {&rsa.PublicKey{N: odd(2048), E: 65539}, 1, false},
		"the second is large": {&rsa.PublicKey{N: odd(8192), E: 1<<31 - 1}, 2, false},
	} {
		template := x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, IsCA: true,
			BasicConstraintsValid: true, NotAfter: time.Now().Add(time.Hour)}
		der, err := x509.CreateCertificate(rand.Reader, &template, ours.Certificate, test.key, ours.key)
		if err != nil {
			t.Fatal(err)
		}
		costly, err := x509.ParseCertificate(der)
		if err != nil {
			t.Fatal(err)
		}
		good.Chain = slices.Repeat([]*x509.Certificate{costly}, test.many)
		if test.many == 2 {
			good.Chain[0] = ours.Certificate
		}
		if _, err := good.Verify(pool); (err == nil) != test.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func bytesItem(c *authority) string {
	return ":" + base64.StdEncoding.EncodeToString(c.Raw) + ":"
}

func inPEM(of ...*authority) string {
	var text strings.Builder
	for _, one := range of {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: one.Raw})
	}
	return text.String()
}

func TestFromHeader(t *testing.T) {
	a, b, c := root(t, nil), root(t, nil), root(t, nil)
	nginx := "X-Client-Cert"
	for name, test := range map[string]struct {
		header  http.Header
		name    string
		want    *authority
		chain   int
		problem string
	}{
		"RFC9440/2.2":          {http.Header{"Client-Cert": {bytesItem(a)}}, CertificateHeader, a, 0, ""},
		"the name has no case": {http.Header{"Client-Cert": {bytesItem(a)}}, "client-cert", a, 0, ""},
		"RFC9440/2.3 a chain": {http.Header{"Client-Cert": {bytesItem(a)},
			"Client-Cert-Chain": {bytesItem(b) + ", " + bytesItem(c)}}, CertificateHeader, a, 2, ""},
		"RFC8941/4.2 two lines": {http.Header{"Client-Cert": {bytesItem(a)},
			"Client-Cert-Chain": {bytesItem(b), bytesItem(c)}}, CertificateHeader, a, 2, ""},
		"no header":                  {http.Header{}, CertificateHeader, nil, 0, ""},
		"an empty one":               {http.Header{nginx: {""}}, nginx, nil, 0, ""},
		"another header is not read": {http.Header{"Client-Cert": {bytesItem(a)}}, nginx, nil, 0, ""},
		"two headers": {http.Header{"Client-Cert": {bytesItem(a), bytesItem(b)}}, CertificateHeader, nil, 0,
			"more than once"},
		"no colons": {http.Header{"Client-Cert": {strings.Trim(bytesItem(a), ":")}}, CertificateHeader, nil,
			0, "two colons"},
		"one colon":      {http.Header{"Client-Cert": {":"}}, CertificateHeader, nil, 0, "two colons"},
		"no Base64":      {http.Header{"Client-Cert": {":%%%:"}}, CertificateHeader, nil, 0, "not Base64"},
		"no certificate": {http.Header{"Client-Cert": {":AAAA:"}}, CertificateHeader, nil, 0, "cannot be read"},
		"more after it": {
			http.Header{"Client-Cert": {":" + base64.StdEncoding.EncodeToString(append(append([]byte{}, a.Raw...), 0)) + ":"}},
			CertificateHeader, nil, 0, "cannot be read"},
		"too large": {http.Header{"Client-Cert": {":" + strings.Repeat("AAAA", maxCertificate) + ":"}},
			CertificateHeader, nil, 0, "larger than"},
		"a bad chain": {http.Header{"Client-Cert": {bytesItem(a)}, "Client-Cert-Chain": {"x"}},
			CertificateHeader, nil, 0, "Client-Cert-Chain"},
		"a long chain": {http.Header{"Client-Cert": {bytesItem(a)},
			"Client-Cert-Chain": {strings.Repeat(bytesItem(b)+",", maxChain) + bytesItem(c)}}, CertificateHeader, nil, 0,
			"more than 8"},
		"PEM, as nginx writes it": {http.Header{nginx: {strings.ReplaceAll(url.QueryEscape(inPEM(a)), "+", "%20")}},
			nginx, a, 0, ""},
		"PEM with a plus sign": {http.Header{nginx: {strings.ReplaceAll(url.PathEscape(inPEM(a)), "%2B", "+")}},
			nginx, a, 0, ""},
		"PEM with its chain": {http.Header{nginx: {url.PathEscape(inPEM(a, b))}}, nginx, a, 1, ""},
		"PEM with a long chain": {http.Header{nginx: {url.PathEscape(inPEM(a, b, b, b, b, b, b, b, b, b))}}, nginx, nil,
			0, "more than 8"},
		"PEM of another kind": {
			http.Header{nginx: {url.PathEscape("-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n")}}, nginx, nil, 0,
			"not a certificate"},
		"text after the PEM": {http.Header{nginx: {url.PathEscape(inPEM(a) + "x")}}, nginx, nil, 0, "text after"},
		"no PEM":             {http.Header{nginx: {"none"}}, nginx, nil, 0, "no certificate in PEM"},
		"Envoy's own header": {
			http.Header{nginx: {`Hash=00;Cert="` + url.PathEscape(inPEM(a)) + `";Subject="CN=client"`}}, nginx, nil, 0,
			"no certificate in PEM"},
		"Traefik's own header": {
			http.Header{nginx: {base64.StdEncoding.EncodeToString(a.Raw) + "," + base64.StdEncoding.EncodeToString(b.Raw)}},
			nginx, nil, 0, "no certificate in PEM"},
		"no percent-encoding": {http.Header{nginx: {"%zz"}}, nginx, nil, 0, "not percent-encoded"},
		"a long value": {http.Header{nginx: {strings.Repeat("a", 7*maxCertificate)}}, nginx, nil, 0,
			"longer than"},
	} {
		got, err := FromHeader(test.header, test.name)
		switch {
		case test.problem != "" && (err == nil || !strings.Contains(err.Error(), test.problem)):
			t.Errorf("%s: %v, want %q", name, err, test.problem)
		case test.problem == "" && (err != nil || (got == nil) != (test.want == nil)):
			t.Errorf("%s: %v, %v", name, got, err)
		case got != nil && (!got.Equal(test.want.Certificate) || len(got.Chain) != test.chain):
			t.Errorf("%s: another certificate, or %d in the chain", name, len(got.Chain))
		}
	}
}

func subject(t *testing.T, names ...[]pkix.AttributeTypeAndValue) []byte {
	t.Helper()
	var rdns pkix.RDNSequence
	for _, set := range names {
		rdns = append(rdns, set)
	}
	der, err := asn1.Marshal(rdns)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// RFC 8705 §2.1.2.
func TestSubject(t *testing.T) {
	type set = []pkix.AttributeTypeAndValue
	of := func(oid asn1.ObjectIdentifier, value any) pkix.AttributeTypeAndValue {
		return pkix.AttributeTypeAndValue{Type: oid, Value: value}
	}
	c, o, ou, cn, uid := asn1.ObjectIdentifier{2, 5, 4, 6}, asn1.ObjectIdentifier{2, 5, 4, 10},
		asn1.ObjectIdentifier{2, 5, 4, 11}, asn1.ObjectIdentifier{2, 5, 4, 3},
		asn1.ObjectIdentifier{0, 9, 2342, 19200300, 100, 1, 1}
	uri, err := url.Parse("spiffe://example.org/client")
	if err != nil {
		t.Fatal(err)
	}
	cert := func(raw []byte) *Certificate {
		made := issue(t, nil, x509.Certificate{RawSubject: raw, DNSNames: []string{"Client.example", "*.wild.example"},
			URIs:           []*url.URL{uri},
			IPAddresses:    []net.IP{net.ParseIP("192.0.2.7"), net.ParseIP("2001:db8::1")},
			EmailAddresses: []string{"Client@Example.org"}})
		return &Certificate{Certificate: made.Certificate}
	}
	plain := cert(subject(t, set{of(c, "DE")}, set{of(o, "Example, Inc.")}, set{of(cn, "client 1")}))
	utf8 := cert(subject(t, set{of(c, "DE")},
		set{of(o, asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte("Example, Inc.")})}, set{of(cn, "client 1")}))
	multi := cert(subject(t, set{of(o, "Ünï")}, set{of(ou, "a+b"), of(uid, "7")}))
	const dn = `CN=client 1,O=Example\, Inc.,C=DE`
	for _, test := range []struct {
		in            *Certificate
		member, value string
		want          bool
	}{
		{plain, SubjectDN, dn, true},
		{utf8, SubjectDN, dn, true},
		{plain, SubjectDN, `cn = client 1 , o=Example\2C Inc. ,2.5.4.6=DE`, true},
		{plain, SubjectDN, `CN=\63lient\201,O=Example\, Inc.,C=DE`, true},
		{plain, SubjectDN, `CN=#0c08636c69656e742031,O=Example\, Inc.,C=DE`, true},
		{plain, SubjectDN, `C=DE,O=Example\, Inc.,CN=client 1`, false}, // the order of the certificate, not that of RFC 4514
		{plain, SubjectDN, `CN=client 1`, false},
		{plain, SubjectDN, `CN=client 1,O=Example\, Inc.`, false},
		{plain, SubjectDN, `O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `CN=Client 1,O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `CN=client 1\ ,O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `CN=client 11,O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `CN=client,O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `OU=client 1,O=Example\, Inc.,C=DE`, false},
		{plain, SubjectDN, `CN=client 1+O=Example\, Inc.,C=DE`, false},
		{multi, SubjectDN, `OU=a\+b+UID=7,O=Ünï`, true},
		{multi, SubjectDN, `UID=7 + OU=a\+b,O=\C3\9Cn\C3\AF`, true},
		{multi, SubjectDN, `UID=7,OU=a\+b,O=Ünï`, false},
		{multi, SubjectDN, `UID=7+UID=7,O=Ünï`, false},
		{plain, SANDNS, "client.example", true},
		{plain, SANDNS, "CLIENT.example", true},
		{plain, SANDNS, "example", false},
		{plain, SANDNS, "a.wild.example", false},
		{plain, SANDNS, "*.wild.example", false},
		{plain, SANDNS, "client.example.", false},
		{plain, SANURI, "spiffe://example.org/client", true},
		{plain, SANURI, "spiffe://example.org/client2", false},
		{plain, SANURI, "spiffe://example.org/", false},
		{plain, SANIP, "192.0.2.7", true},
		{plain, SANIP, "::ffff:192.0.2.7", true},
		{plain, SANIP, "2001:0db8:0:0::1", true},
		{plain, SANIP, "192.0.2.8", false},
		{plain, SANIP, "192.0.2.007", false},
		{plain, SANEmail, "Client@example.ORG", true},
		{plain, SANEmail, "client@example.org", false},
		{plain, SANEmail, "Client@example.com", false},
		{plain, "", "client.example", false},
		{plain, "tls_client_auth_subject", dn, false},
	} {
		if got := (Subject{test.member, test.value}).Matches(test.in); got != test.want {
			t.Errorf("%s %q: %t", test.member, test.value, got)
		}
	}
	// The subject of a certificate without one is empty, and no registered name is.
	empty := cert(subject(t))
	for _, member := range SubjectMembers() {
		if (Subject{member, ""}).Matches(empty) || (Subject{member, ""}).Check() == nil {
			t.Errorf("%s may be empty", member)
		}
	}
}

func TestSubjectCheck(t *testing.T) {
	for value, member := range map[string]string{
		"CN": SubjectDN, "CN=": SubjectDN, "=a": SubjectDN, "CN=a,": SubjectDN, "CN=a,O": SubjectDN, "XX=a": SubjectDN,
		"2.x=a": SubjectDN, "2=a": SubjectDN, "2.05=a": SubjectDN,
		`CN=a\`: SubjectDN, `CN=a\x`: SubjectDN, `CN="a"`: SubjectDN, "CN=a;O=b": SubjectDN, "CN=#": SubjectDN,
		"CN=#0c": SubjectDN, "CN=#zz": SubjectDN, "CN=#020101": SubjectDN, "CN=#0c016100": SubjectDN, `CN=\ff`: SubjectDN,
		"CN=a\x00": SubjectDN, "CN=\xff": SubjectDN,
		"CN=" + strings.Repeat("a", 1100): SubjectDN,
		"*.example":                       SANDNS, "https://example": SANDNS, "a b": SANDNS, "ä.example": SANDNS,
		"client": SANURI, "a b:c": SANURI,
		"192.0.2.300": SANIP, "fe80::1%eth0": SANIP, "host": SANIP,
		"@example.org": SANEmail, "a@": SANEmail, "a": SANEmail, "a@b@c": SANEmail, "A <a@b>": SANEmail,
		"x": "subject",
	} {
		if err := (Subject{member, value}).Check(); err == nil {
			t.Errorf("%s may be %.60q", member, value)
		}
	}
}

func FuzzName(f *testing.F) {
	for _, seed := range []string{`CN=client 1,O=Example\, Inc.,C=DE`, `UID=7 + OU=a\+b,O=\C3\9Cn`,
		"CN=#0c0161", "=", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found, err := parseName(text)
		if err != nil {
			return
		}
		for _, set := range found {
			for _, one := range set {
				if one.oid == "" || one.value == "" {
					t.Errorf("%q has an empty attribute", text)
				}
			}
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add(":AAAA:", "")
	f.Add("-----BEGIN CERTIFICATE-----%0AAAAA%0A-----END CERTIFICATE-----", ":AAAA:, :AAAA:")
	f.Fuzz(func(t *testing.T, value, chain string) {
		for _, name := range []string{CertificateHeader, "X-Client-Cert"} {
			got, err := FromHeader(http.Header{http.CanonicalHeaderKey(name): {value}, "Client-Cert-Chain": {chain}}, name)
			if err == nil && got != nil && got.Certificate == nil {
				t.Error("a certificate without content")
			}
		}
	})
}

// What is listed can be registered: the certificate has it.
func TestSubjects(t *testing.T) {
	c := &Certificate{Certificate: issue(t, nil, x509.Certificate{
		Subject:  pkix.Name{CommonName: "client", Organization: []string{"Example, Inc."}},
		DNSNames: []string{"client.example", "other.example"}, EmailAddresses: []string{"client@client.example"},
		URIs:        []*url.URL{{Scheme: "spiffe", Host: "client.example"}},
		IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1), net.ParseIP("2001:db8::1")},
	}).Certificate}
	listed := c.Subjects()
	if len(listed) != 7 {
		t.Errorf("the subjects are %q", listed)
	}
	for _, one := range listed {
		member, value, _ := strings.Cut(one, "=")
		if s := (Subject{"tls_client_auth_" + member, value}); s.Check() != nil || !s.Matches(c) {
			t.Errorf("%s is not a subject of the certificate", one)
		}
	}
}

// What the log says can be registered as it stands, in whatever order a certificate has its names.
func TestSubjectsInTheOrderOfTheCertificate(t *testing.T) {
	one := func(oid asn1.ObjectIdentifier, value string) pkix.RelativeDistinguishedNameSET {
		return pkix.RelativeDistinguishedNameSET{{Type: oid, Value: value}}
	}
	o, ou, cn, email := asn1.ObjectIdentifier{2, 5, 4, 10}, asn1.ObjectIdentifier{2, 5, 4, 11},
		asn1.ObjectIdentifier{2, 5, 4, 3}, asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 1}
	for what, name := range map[string]pkix.RDNSequence{
		"two units":     {one(o, "E"), one(ou, "a"), one(ou, "b"), one(cn, "robot")},
		"two names":     {one(cn, "other"), one(cn, "robot")},
		"name first":    {one(cn, "robot"), one(o, "E")},
		"email address": {one(o, "E"), one(cn, "robot, the \"first\""), one(email, "robot@client.example")},
		"one set":       {{{Type: ou, Value: "a"}, {Type: cn, Value: "robot"}}},
	} {
		raw, err := asn1.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		c := &Certificate{Certificate: issue(t, nil, x509.Certificate{RawSubject: raw}).Certificate}
		dn := strings.TrimPrefix(c.Subjects()[0], "subject_dn=")
		if s := (Subject{SubjectDN, dn}); s.Check() != nil || !s.Matches(c) {
			t.Errorf("%s: %s is not a subject of the certificate: %v", what, dn, s.Check())
		}
	}
}
