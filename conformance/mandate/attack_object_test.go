package mandate

import (
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
)

// wantWrongObject sends an object in the browser of a person who is signed in, and pushes it.
// Both must be refused, and the browser must stay here.
func (v *fixture) wantWrongObject(t *testing.T, what string, b *browser, app application, object string) {
	t.Helper()
	b.open(t, v.sending(app, object))
	b.wantPage(t, what, "invalid_request_object")
	if err := v.post(t, "/o/par/", afar(app.auth()), params("request", object)).refused(400,
		"invalid_request_object"); err != nil {
		t.Errorf("%s, pushed: %v", what, err)
	}
}

// Who does not have the private key of a client cannot make a request object of it.
func TestAttackForgedRequestObject(t *testing.T) {
	attack(t, "algorithm confusion", "CVE-2026-9793")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"OIDC_ENABLED: true"}})
		a, other := v.objectSigner(t, "signer"), v.objectSigner(t, "other")
		form, _ := v.requestFor(t, a.application, "scope", "read", "state", "forged")
		claims := v.enclosed(a.application, form, nil)
		mine := keyHolder{a.application, newStatementIssuer(t, "attacker")}
		der, err := x509.MarshalPKIXPublicKey(a.keys.keys["RS256"].Public())
		if err != nil {
			t.Fatal(err)
		}
		var set struct {
			Keys []map[string]any `json:"keys"`
		}
		err = json.Unmarshal([]byte(mine.keys.keySet(t)), &set)
		if err != nil {
			t.Fatal(err)
		}
		unsigned, err := jwt.NewWithClaims(jwt.SigningMethodNone,
			jwt.MapClaims(claims)).SignedString(jwt.UnsafeAllowNoneSignatureType)
		if err != nil {
			t.Fatal(err)
		}
		good := v.object(t, a, form, nil, nil)
		parts := strings.Split(good, ".")
		b := v.signedIn(t, v.alice)
		for what, object := range map[string]string{
			"no signature":          unsigned,
			"the signature removed": parts[0] + "." + parts[1] + ".",
			"the claims of another object": parts[0] + "." + strings.Split(v.object(t, a, form, member{"state": "x"}, nil),
				".")[1] + "." + parts[2],
			"HS256 by the public key in PEM": signHeader(t, member{"alg": "HS256", "kid": "RS256"}, claims,
				pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})),
			"HS256 by the public key in DER":    signHeader(t, member{"alg": "HS256", "kid": "RS256"}, claims, der),
			"HS256 by the set":                  signHeader(t, member{"alg": "HS256"}, claims, []byte(a.keys.keySet(t))),
			"HS256 by the secret of the client": signHeader(t, member{"alg": "HS256"}, claims, []byte(a.ClientSecret)),
			"another key":                       v.object(t, mine, form, nil, nil),
			"its own jwk":                       v.object(t, mine, form, nil, member{"jwk": set.Keys[0]}),
			"jku":                               v.object(t, mine, form, nil, member{"jku": "https://attacker.example/keys"}),
			"x5u":                               v.object(t, mine, form, nil, member{"x5u": "https://attacker.example/chain"}),
			"x5c":                               v.object(t, mine, form, nil, member{"x5c": []string{"MIIB"}}),
			"kid as a path":                     v.object(t, mine, form, nil, member{"kid": "../../../dev/null"}),
			"the key of another client":         v.object(t, keyHolder{a.application, other.keys}, form, nil, nil),
			"the object of another client":      v.object(t, other, with(form, "client_id", other.ClientID), nil, nil),
			"signed by another for this one":    v.object(t, other, form, member{"iss": a.ClientID}, nil),
		} {
			v.wantWrongObject(t, what, b, a.application, object)
		}
		// A client without keys has no objects.
		v.wantWrongObject(t, "no keys", b, v.web,
			v.object(t, keyHolder{v.web, mine.keys}, with(form, "client_id", v.web.ClientID, "redirect_uri", v.web.RedirectURI),
				nil, nil))
		// The parameters outside are of another client than the object, which is good.
		b.open(t, v.sending(other.application, good, "redirect_uri", other.RedirectURI, "state", "outside"))
		if b.Away == nil || b.Away.Query().Get("error") != "invalid_request_object" ||
			b.Away.Query().Get("state") != "outside" {
			t.Errorf("sent for another client: %d, sent to %v", b.Status, b.Away)
		}
		if err := v.post(t, "/o/par/", other.auth(), params("request", good)).refused(400,
			"invalid_request_object"); err != nil {
			t.Error("pushed by another client:", err)
		}
		b.open(t, v.sending(a.application, good))
		if b.Away == nil || b.Away.Query().Get("code") == "" {
			t.Errorf("the good one: %d, sent to %v", b.Status, b.Away)
		}
	})
}

// A JWT for another purpose is no request object, and a request object is no other JWT.
func TestAttackRequestObjectConfusion(t *testing.T) {
	t.Parallel()
	attack(t, "token confusion", "")
	v := newFixture(t, options{provider: []string{"OIDC_ENABLED: true"}})
	a := v.objectSigner(t, "signer", "--auth-method", "private_key_jwt", "--grant", "client_credentials")
	form, verifier := v.requestFor(t, a.application, "scope", "openid")
	b := v.signedIn(t, v.alice)
	as := func() auth { return asserting(v.assert(t, a, nil, nil)) }
	b.open(t, v.sending(a.application, v.object(t, a, form, nil, nil), openIDOutside...))
	id := v.mustToken(t, as(), grantForm(a.application, b.Away.Query().Get("code"), verifier)).IDToken
	objects := map[string]string{
		"a client assertion": v.assert(t, a, nil, nil),
		"a client assertion with the parameters of a request": v.assert(t, a, v.enclosed(a.application, form, nil), nil),
		"an ID token": id,
	}
	for what, object := range objects {
		b.open(t, v.sending(a.application, object))
		b.wantPage(t, what, "invalid_request_object")
		if err := v.post(t, "/o/par/", as(), params("request", object)).refused(400, "invalid_request_object"); err != nil {
			t.Errorf("%s, pushed: %v", what, err)
		}
	}
	for what, header := range map[string]member{"the type of an object": nil, "the type of any JWT": {"typ": "JWT"},
		"no type": {"typ": ""}} {
		v.refusedAssertion(t, "an object as an assertion, with "+what,
			asserting(v.object(t, a, form, member{"jti": rand.Text()}, header)))
	}
	// The client has registered the keys of this server as its own.
	v.mustCLI(t, "", "application", "update", v.web.ClientID, "--jwks",
		keysFile(t, v.get(t, "/o/.well-known/jwks.json", nobody).Body))
	id = b.family(t, v.web, v.alice, "scope", "openid").IDToken
	v.wantWrongObject(t, "an ID token by registered keys", b, v.web, id)
}

// A request object goes through browsers, and is written into their histories. Nobody who finds one is
// the client, and no credential of a client is a request.
func TestAttackRequestObjectAsCredential(t *testing.T) {
	attack(t, "a JWT for one purpose is taken for another (RFC 8725 §2.8)", "")
	onADatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db})
		a := v.objectSigner(t, "signer", "--grant", "client_credentials", "--auth-method", "private_key_jwt",
			"--may-introspect")
		form, _ := v.requestFor(t, a.application, "scope", "read", "state", "found")
		for what, header := range map[string]member{"with its typ": nil, "with the typ of any JWT": {"typ": "JWT"},
			"without a typ": {"typ": nil}} {
			whole := objectOf(t, v, a, form, member{"sub": a.ClientID, "jti": rand.Text()}, header)
			v.refusedAssertion(t, "a request object "+what, asserting(whole))
			if got := v.post(t, "/o/introspect/", asserting(whole), params("token", "x")); got.Status != 401 {
				t.Errorf("a request object %s introspects: %d %s", what, got.Status, got.Body)
			}
		}
		got, answer := v.token(t, asserting(v.assert(t, a, nil, nil)), forItself)
		if got.AccessToken == "" {
			t.Errorf("a good assertion: %s", answer.Body)
		}
		b := v.signedIn(t, v.alice)
		enclosed := member{"client_id": a.ClientID}
		for name := range form {
			enclosed[name] = form.Get(name)
		}
		for what, header := range map[string]member{"with its typ": {"typ": "client-authentication+jwt"},
			"with the typ of any JWT": {"typ": "JWT"}, "without a typ": nil} {
			b.open(t, v.sending(a.application, v.assert(t, a, enclosed, header)))
			b.wantPage(t, "an assertion "+what, "invalid_request_object")
		}
	})
}

// objectOf is object with a header that may have no typ.
func objectOf(t *testing.T, v *fixture, a keyHolder, form map[string][]string, claims, header member) string {
	t.Helper()
	if typ, has := header["typ"]; has && typ == nil {
		return a.keys.sign(t, v.enclosed(a.application, form, claims), nil)
	}
	return v.object(t, a, form, claims, header)
}
