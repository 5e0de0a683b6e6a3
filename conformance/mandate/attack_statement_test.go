package mandate

import (
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"strings"
	"testing"
	"time"
)

// Somebody registers with a software statement that its issuer has not made, or not for this.
func TestAttackStatement(t *testing.T) {
	i, second := newStatementIssuer(t, directory), newStatementIssuer(t, "https://second.example")
	mallory := newStatementIssuer(t, directory)
	stranger := newStatementIssuer(t, "https://evil.example")
	s := startServer(t, options{
		provider: append([]string{"SOFTWARE_STATEMENT_ISSUERS: [" + i.setting(t) + ", " + second.setting(t) + "]"},
			openClients...)})
	now := time.Now()
	encode := base64.RawURLEncoding.EncodeToString
	plain := func(header, claims string) string { return encode([]byte(header)) + "." + encode([]byte(claims)) + "." }
	good := i.sign(t, member{"client_name": "Good"}, nil)
	parts := strings.Split(good, ".")
	// The public key in all forms in which a program may have it.
	public := i.keys["RS256"].Public()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	secrets := map[string][]byte{"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}),
		"modulus": public.(*rsa.PublicKey).N.Bytes(), "set": []byte(i.keySet(t)), "nothing": {}}
	statements := map[string]string{
		"of another issuer's key":         mallory.sign(t, nil, nil),
		"of another trusted issuer's key": second.sign(t, member{"iss": directory}, nil),
		"with the kid of another key":     i.sign(t, nil, member{"kid": "EdDSA"}),
		"with an unknown kid":             i.sign(t, nil, member{"kid": "none of them"}),
		"with an RSA key for another alg": signHeader(t, member{"alg": "RS256", "kid": "ES256"}, member{"iss": directory},
			i.keys["RS256"]),
		"without iss":              i.sign(t, member{"iss": nil}, nil),
		"with iss in a list":       i.sign(t, member{"iss": []string{directory}}, nil),
		"that has expired":         i.sign(t, member{"exp": now.Add(-2 * time.Minute).Unix()}, nil),
		"that is not valid yet":    i.sign(t, member{"nbf": now.Add(5 * time.Minute).Unix()}, nil),
		"of the future":            i.sign(t, member{"iat": now.Add(5 * time.Minute).Unix()}, nil),
		"with a text as exp":       i.sign(t, member{"exp": "tomorrow"}, nil),
		"with null as exp":         i.sign(t, member{"exp": nil}, nil),
		"for another server":       i.sign(t, member{"aud": "https://other.example"}, nil),
		"for nobody":               i.sign(t, member{"aud": []string{}}, nil),
		"with crit":                i.sign(t, nil, member{"crit": []string{"x"}, "x": true}),
		"with a secret":            i.sign(t, member{"client_secret": "chosen-by-the-issuer-1234"}, nil),
		"with a client id":         i.sign(t, member{"client_id": "chosen"}, nil),
		"with a number for a name": i.sign(t, member{"client_name": 7}, nil),
		"with a private key":       i.sign(t, member{"jwks": member{"keys": []member{{"kty": "EC", "d": "x"}}}}, nil),
		"in a statement":           i.sign(t, member{"software_statement": good}, nil),
		"that is large":            i.sign(t, member{"x": strings.Repeat("a", 16<<10)}, nil),
		"that is altered": parts[0] + "." + encode([]byte(`{"iss":"`+directory+`","client_name":"Evil"}`)) +
			"." + parts[2],
		"that lacks its signature": parts[0] + "." + parts[1] + ".",
		"with alg none":            plain(`{"alg":"none","typ":"JWT"}`, `{"iss":"`+directory+`"}`),
		"with alg none and a kid":  plain(`{"alg":"none","kid":"ES256"}`, `{"iss":"`+directory+`"}`),
		"with no alg":              plain(`{"kid":"ES256"}`, `{"iss":"`+directory+`"}`),
		"with a line break":        parts[0] + "." + parts[1] + "." + parts[2][:10] + "\n" + parts[2][10:],
	}
	// RFC 8725 §3.11: what the issuer has signed for another purpose.
	for _, kind := range []string{"at+jwt", "application/at+jwt", "logout+jwt", "dpop+jwt", "token-introspection+jwt",
		"secevent+jwt", "entity-statement+jwt"} {
		statements["of the type "+kind] = i.sign(t, nil, member{"typ": kind})
	}
	// RFC 8725 §2.1: a public key is no secret.
	for form, secret := range secrets {
		for _, kid := range []string{"RS256", ""} {
			statements["with HS256 and the public key as "+form+", kid "+kid] = signHeader(t, member{"alg": "HS256", "kid": kid},
				member{"iss": directory}, secret)
		}
	}
	// The header may not name its own key.
	x, ok := mallory.keys["ES256"].Public().(*ecdsa.PublicKey)
	if !ok {
		t.Fatal("no EC key")
	}
	point, err := x.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	own := member{"kty": "EC", "crv": "P-256", "kid": "ES256", "x": encode(point[1:33]), "y": encode(point[33:])}
	for name, more := range map[string]member{"jwk": {"jwk": own}, "jku": {"jku": "https://evil.example/keys"},
		"x5u": {"x5u": "https://evil.example/chain"}, "x5c": {"x5c": []string{base64.StdEncoding.EncodeToString(der)}}} {
		statements["with a key in "+name] = mallory.sign(t, nil, more)
	}
	// A claim stands twice: the signature is good, but programs disagree about the value.
	for name, claims := range map[string]string{"iss": `{"iss":"https://evil.example","iss":"` + directory + `"}`,
		"client_name": `{"iss":"` + directory + `","client_name":"A","client_name":"B"}`} {
		signed := encode([]byte(`{"alg":"ES256","kid":"ES256"}`)) + "." + encode([]byte(claims))
		statements["with "+name+" twice"] = signed + "." + encode(signatureOf(t, i, signed))
	}
	for name, statement := range statements {
		err := s.registration(t, nobody, member{"redirect_uris": []string{toolURI}, "software_statement": statement}).refused(
			400, "invalid_software_statement")
		if err != nil {
			t.Errorf("a statement %s: %v", name, err)
		}
	}
	for name, statement := range map[string]string{"of a stranger": stranger.sign(t, nil, nil),
		"of a similar issuer":           i.sign(t, member{"iss": directory + "/"}, nil),
		"of an issuer in other letters": i.sign(t, member{"iss": "https://Directory.example"}, nil)} {
		err := s.registration(t, nobody, member{"redirect_uris": []string{toolURI}, "software_statement": statement}).refused(
			400, "unapproved_software_statement")
		if err != nil {
			t.Errorf("a statement %s: %v", name, err)
		}
	}
	// The clocks of two servers differ a little.
	s.registers(t, nobody,
		member{"redirect_uris": []string{toolURI},
			"software_statement": i.sign(t,
				member{"exp": now.Add(-20 * time.Second).Unix(), "nbf": now.Add(20 * time.Second).Unix()}, nil)})
	s.registers(t, nobody,
		member{"redirect_uris": []string{toolURI}, "software_statement": i.sign(t, nil, member{"typ": nil})})
	if strings.Contains(s.log.String(), "chosen-by-the-issuer") {
		t.Error("a secret is in the log")
	}
}
