package upstream

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/outbound"
)

// other is a server whose responses a test can change.
type other struct {
	*httptest.Server
	metadata map[string]any
	keys     []map[string]any
	claims   jwt.MapClaims
	sign     func(jwt.MapClaims) string
	userInfo map[string]any
	form     url.Values // of the last token request
	status   int        // of the token endpoint; 0: 200

	discoveries, keyReads, redeemed atomic.Int64
}

func (o *other) serve(w http.ResponseWriter, r *http.Request) {
	answer := func(v any) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(v)
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		o.discoveries.Add(1)
		answer(o.metadata)
	case "/keys":
		o.keyReads.Add(1)
		answer(map[string]any{"keys": o.keys})
	case "/token":
		o.redeemed.Add(1)
		_ = r.ParseForm()
		o.form = r.Form
		if id, secret, ok := r.BasicAuth(); ok {
			o.form.Set("basic", id+" "+secret)
		}
		if o.status != 0 {
			w.WriteHeader(o.status)
			answer(map[string]any{"error": "invalid_grant", "error_description": "SECRET of the other server"})
			return
		}
		answer(map[string]any{"access_token": "access", "token_type": "Bearer", "id_token": o.sign(o.claims)})
	case "/broken":
		w.WriteHeader(http.StatusBadGateway)
	case "/userinfo":
		if r.Header.Get("Authorization") != "Bearer access" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer(o.userInfo)
	}
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// key makes a key pair, and returns its public key as JWK and a function that signs with it.
func key(t *testing.T, alg, kid string) (map[string]any, func(jwt.MapClaims) string) {
	t.Helper()
	var private crypto.Signer
	var jwk map[string]any
	var err error
	switch alg[:2] {
	case "RS", "PS":
		var k *rsa.PrivateKey
		k, err = rsa.GenerateKey(rand.Reader, 2048)
		private, jwk = k, map[string]any{"kty": "RSA", "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())}
	case "ES":
		var k *ecdsa.PrivateKey
		k, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		point, _ := k.PublicKey.Bytes()
		private, jwk = k, map[string]any{"kty": "EC", "crv": "P-256", "x": b64(point[1:33]), "y": b64(point[33:])}
	default:
		var public ed25519.PublicKey
		var k ed25519.PrivateKey
		public, k, err = ed25519.GenerateKey(rand.Reader)
		private, jwk = k, map[string]any{"kty": "OKP", "crv": "Ed25519", "x": b64(public)}
	}
	if err != nil {
		t.Fatal(err)
	}
	maps.Copy(jwk, map[string]any{"use": "sig", "alg": alg, "kid": kid})
	return jwk, func(c jwt.MapClaims) string { return signed(t, alg, kid, private, c) }
}

func signed(t *testing.T, alg, kid string, with any, c jwt.MapClaims) string {
	token := jwt.NewWithClaims(jwt.GetSigningMethod(alg), c)
	token.Header["kid"] = kid
	text, err := token.SignedString(with)
	if err != nil {
		t.Error(err)
	}
	return text
}

// at starts another server, which answers the request correctly, and its client.
func at(t *testing.T) (*other, *Server, Request) {
	t.Helper()
	o := &other{}
	o.Server = httptest.NewServer(http.HandlerFunc(o.serve))
	t.Cleanup(o.Close)
	o.metadata = map[string]any{"issuer": o.URL, "authorization_endpoint": o.URL + "/authorize?x=y",
		"token_endpoint": o.URL + "/token", "jwks_uri": o.URL + "/keys"}
	jwk, sign := key(t, "ES256", "one")
	o.keys, o.sign = []map[string]any{jwk}, sign
	r := NewRequest()
	o.claims = jwt.MapClaims{"iss": o.URL, "sub": "alice", "aud": "mandate", "exp": time.Now().Add(time.Minute).Unix(),
		"iat": time.Now().Unix(), "nonce": r.Nonce}
	return o, o.client(), r
}

func (o *other) client() *Server {
	return New(Config{Issuer: o.URL, ClientID: "mandate", ClientSecret: "secret %",
		RedirectURI: "https://here.example/callback/", Scopes: []string{"openid", "email"}},
		outbound.New(outbound.Config{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}))
}

func code() url.Values { return url.Values{"code": {"the code"}, "state": {"any"}} }

// wantRefused asserts that a response is refused, with a text that contains why.
func wantRefused(t *testing.T, what string, s *Server, response url.Values, r Request, why string) {
	t.Helper()
	p, err := s.Redeem(t.Context(), response, r)
	if err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("%s: %+v, %v", what, p, err)
	}
	if err != nil && (strings.Contains(err.Error(), "SECRET") || strings.Contains(err.Error(), r.Verifier)) {
		t.Errorf("%s: the error says too much: %v", what, err)
	}
}

func TestRequestAndResponse(t *testing.T) {
	o, s, r := at(t)
	address, err := s.AuthorizationURL(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(address)
	q := u.Query()
	for name, want := range map[string]string{"x": "y", "response_type": "code", "client_id": "mandate",
		"redirect_uri": "https://here.example/callback/", "scope": "openid email",
		"state": r.State, "nonce": r.Nonce, "code_challenge_method": "S256", "max_age": "31622400", "prompt": ""} {
		if q.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, q.Get(name), want)
		}
	}
	if q.Get("code_challenge") == "" || strings.Contains(address, r.Verifier) || strings.Contains(address, "secret") {
		t.Error(address)
	}
	address, err = s.AuthorizationURL(t.Context(), Request{Fresh: true})
	if err != nil || !strings.Contains(address, "prompt=login&") {
		t.Error(address, err)
	}
	maps.Copy(o.claims, jwt.MapClaims{"email": "alice@example.com", "email_verified": true, "acr": "2",
		"auth_time": 1700000000, "groups": []any{"a", 7, "b"}, "role": "one"})
	p, err := s.Redeem(t.Context(), code(), r)
	if err != nil {
		t.Fatal(err)
	}
	if p.Issuer != o.URL || p.Subject != "alice" || p.Email != "alice@example.com" || !p.EmailVerified || p.ACR != "2" ||
		p.AuthTime != 1700000000 ||
		!slices.Equal(p.Values("groups"), []string{"a", "b"}) || !slices.Equal(p.Values("role"), []string{"one"}) ||
		p.Values("none") != nil {
		t.Errorf("%+v", p)
	}
	// RFC 6749 §2.3.1: the id and the secret are form-encoded in the header.
	if o.form.Get("code_verifier") != r.Verifier || o.form.Get("redirect_uri") != "https://here.example/callback/" ||
		o.form.Get("basic") != "mandate secret+%25" {
		t.Error(o.form)
	}
	if o.discoveries.Load() != 1 || o.keyReads.Load() != 1 {
		t.Error(o.discoveries.Load(), o.keyReads.Load())
	}
}

func TestSecretInTheBody(t *testing.T) {
	o, s, r := at(t)
	o.metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt", "client_secret_post"}
	_, err := s.Redeem(t.Context(), code(), r)
	if err != nil || o.form.Get("client_secret") != "secret %" || o.form.Get("basic") != "" {
		t.Error(o.form, err)
	}
	o, s, r = at(t)
	o.metadata["token_endpoint_auth_methods_supported"] = []string{"private_key_jwt"}
	wantRefused(t, "neither", s, code(), r, "client_secret_basic")
}

func TestAlgorithmsOfIDTokens(t *testing.T) {
	for _, alg := range []string{"RS256", "PS256", "ES256", "EdDSA"} {
		o, s, r := at(t)
		jwk, sign := key(t, alg, "one")
		o.keys, o.sign = []map[string]any{jwk}, sign
		_, err := s.Redeem(t.Context(), code(), r)
		if err != nil {
			t.Errorf("%s: %v", alg, err)
		}
	}
	o, s, r := at(t)
	// The metadata of the server does not decide about this.
	o.metadata["id_token_signing_alg_values_supported"] = []string{"none", "HS256", "ES256"}
	o.sign = func(c jwt.MapClaims) string { return signed(t, "none", "one", jwt.UnsafeAllowNoneSignatureType, c) }
	wantRefused(t, "no signature", s, code(), r, "the ID token is not valid")
	o.sign = func(c jwt.MapClaims) string { return signed(t, "HS256", "one", []byte("secret %"), c) }
	wantRefused(t, "signed with the client secret", s, code(), r, "the ID token is not valid")
	o.keys[0]["alg"] = "HS256"
	wantRefused(t, "the same, and the key says so", s, code(), r, "the ID token is not valid")
}

// OIDC Core §3.1.3.7
func TestIDTokenValidation(t *testing.T) {
	_, forged := key(t, "ES256", "one")
	for _, c := range []struct {
		what, claim string
		value       any
		why         string
	}{
		{"of another issuer", "iss", "https://evil.example", "different provider"},
		{"for another client", "aud", "another", "audience"},
		{"for another client too", "aud", []string{"mandate", "another"}, "for another client too"},
		{"issued to another client", "azp", "another", "azp differs"},
		{"issued to nobody that can be read", "azp", 7, "azp differs"},
		{"with the nonce of another request", "nonce", NewRequest().Nonce, "nonce"},
		{"without a nonce", "nonce", nil, "nonce"},
		{"that has expired", "exp", time.Now().Add(-time.Minute).Unix(), "expired"},
		{"without an end", "exp", nil, "expired"},
		{"that is not valid yet", "nbf", time.Now().Add(time.Hour).Unix(), "not before"},
		{"without a subject", "sub", "", "subject"},
		{"with a subject that is too long", "sub", strings.Repeat("a", 256), "subject"},
		{"with a subject outside ASCII", "sub", "ålice", "subject"},
		{"with the hash of another access token", "at_hash", "AAAAAAAAAAAAAAAAAAAAAA", "at_hash"},
		{"with a forged signature", "", nil, "signature"},
	} {
		o, s, r := at(t)
		if c.claim == "" {
			o.sign = forged
		} else if c.value == nil {
			delete(o.claims, c.claim)
		} else {
			o.claims[c.claim] = c.value
		}
		wantRefused(t, c.what, s, code(), r, c.why)
	}
	o, s, r := at(t)
	maps.Copy(o.claims, jwt.MapClaims{"aud": []string{"mandate"}, "azp": "mandate"})
	_, err := s.Redeem(t.Context(), code(), r)
	if err != nil {
		t.Error("a list with this client alone:", err)
	}
	o.sign = func(jwt.MapClaims) string { return "" }
	wantRefused(t, "no ID token", s, code(), r, "no ID token")
}

// RFC 9207 §2.4, RFC 9700 §4.4.2: the mix-up attack. A refused response is not redeemed.
func TestRFC9207_response_of_another_server(t *testing.T) {
	for _, named := range []bool{false, true} {
		for _, from := range []string{"", "own", "https://evil.example", "own/"} {
			for _, failed := range []bool{false, true} {
				o, s, r := at(t)
				o.metadata["authorization_response_iss_parameter_supported"] = named
				response := code()
				if failed {
					response = url.Values{"error": {"access_denied"}}
				}
				if from != "" {
					response.Set("iss", strings.Replace(from, "own", o.URL, 1))
				}
				_, err := s.Redeem(t.Context(), response, r)
				wanted := from == "own" || from == "" && !named
				refusal, said := errors.AsType[*Refusal](err)
				switch {
				case !wanted && (err == nil || said || o.redeemed.Load() > 0):
					t.Errorf("named %v, iss %q, error %v: %v, %d redeemed", named, from, failed, err, o.redeemed.Load())
				case wanted && !failed && err != nil, wanted && failed && (!said || refusal.Code != "access_denied"):
					t.Errorf("named %v, iss %q, error %v: %v", named, from, failed, err)
				}
			}
		}
	}
}

func TestResponsesThatCannotBe(t *testing.T) {
	o, s, r := at(t)
	wantRefused(t, "an empty one", s, url.Values{}, r, "neither a code nor an error")
	_, err := s.Redeem(t.Context(), url.Values{"error": {"bad\n\x1b[31m" + strings.Repeat("é", 500)}}, r)
	if err == nil || strings.ContainsAny(err.Error(), "\n\x1bé") || len(err.Error()) > 400 {
		t.Errorf("%q", err)
	}
	for status, later := range map[int]bool{400: false, 401: false, 302: false, 429: true, 500: true, 503: true} {
		o.status = status
		_, err := s.Redeem(t.Context(), code(), r)
		if _, ok := errors.AsType[*Unreachable](err); ok != later || err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("status %d: %v", status, err)
		}
	}
}

// The log gets no address of the other server: there may be a secret in it.
func TestUnreachableEndpointIsNotNamed(t *testing.T) {
	for _, endpoint := range []string{"token_endpoint", "userinfo_endpoint", "jwks_uri"} {
		for _, address := range []string{"http://127.0.0.1:1/?key=SECRET", "/broken?key=SECRET"} {
			o, s, r := at(t)
			if strings.HasPrefix(address, "/") {
				address = o.URL + address
			}
			o.metadata[endpoint] = address
			_, err := s.Redeem(t.Context(), code(), r)
			if _, ok := errors.AsType[*Unreachable](err); !ok || strings.Contains(err.Error(), "SECRET") {
				t.Errorf("%s: %v", endpoint, err)
			}
		}
	}
}

// In the code flow, the claims come from the UserInfo endpoint.
func TestUserInfo(t *testing.T) {
	o, s, r := at(t)
	o.metadata["userinfo_endpoint"] = o.URL + "/userinfo"
	o.userInfo = map[string]any{"sub": "alice", "email": "alice@example.com", "email_verified": true,
		"given_name": "Alice", "groups": []string{"a"}}
	p, err := s.Redeem(t.Context(), code(), r)
	if err != nil || p.Email != "alice@example.com" || !p.EmailVerified || p.GivenName != "Alice" ||
		!slices.Equal(p.Values("groups"), []string{"a"}) {
		t.Errorf("%+v, %v", p, err)
	}
	// An address of one place with the mark of another one would be a verified address that nobody has verified.
	o.claims["email"] = "victim@example.com"
	p, err = s.Redeem(t.Context(), code(), r)
	if err != nil || p.Email != "victim@example.com" || p.EmailVerified {
		t.Errorf("%+v, %v", p, err)
	}
	// The ID token says nothing about its address, and UserInfo does about the same one.
	o.claims["email"] = "Alice@example.com"
	for _, verified := range []bool{true, false} {
		o.userInfo["email_verified"] = verified
		p, err = s.Redeem(t.Context(), code(), r)
		if err != nil || p.EmailVerified != verified || p.EmailUnsaid {
			t.Errorf("email_verified %t of UserInfo: %+v, %v", verified, p, err)
		}
	}
	delete(o.claims, "email")
	for _, value := range []any{1, "false", "TRUE", "yes", nil, []any{true}, map[string]any{"true": true}} {
		o.userInfo["email_verified"] = value
		p, err = s.Redeem(t.Context(), code(), r)
		if err == nil && (p.EmailVerified || p.EmailUnsaid != (value == nil)) {
			t.Errorf("email_verified %v: %+v", value, p)
		}
	}
	// What Cognito and Apple send, and what Entra ID sends in its place.
	for _, test := range []struct {
		verified, edov any
		yes, unsaid    bool
	}{
		{"true", nil, true, false}, {nil, nil, false, true}, {nil, true, true, false}, {nil, "1", true, false},
		{nil, 1, true, false}, {nil, "true", true, false},
		{nil, false, false, false}, {nil, "0", false, false}, {nil, 0, false, false}, {nil, []any{true}, false, false},
		{false, true, false, false}, {true, false, true, false},
	} {
		o.userInfo["email_verified"], o.userInfo["xms_edov"] = test.verified, test.edov
		maps.DeleteFunc(o.userInfo, func(_ string, value any) bool { return value == nil })
		p, err = s.Redeem(t.Context(), code(), r)
		if err != nil || p.EmailVerified != test.yes || p.EmailUnsaid != test.unsaid {
			t.Errorf("email_verified %v, xms_edov %v: %+v, %v", test.verified, test.edov, p, err)
		}
	}
	delete(o.userInfo, "xms_edov")
	o.userInfo["email_verified"] = true
	// How and when somebody has signed in is only in what is signed.
	o.userInfo["acr"], o.userInfo["auth_time"] = "gold", 1700000000
	p, err = s.Redeem(t.Context(), code(), r)
	if err != nil || p.ACR != "" || p.AuthTime != 0 {
		t.Errorf("%+v, %v", p, err)
	}
	// OIDC Core §5.3.2
	o.userInfo["sub"] = "bob"
	wantRefused(t, "about another person", s, code(), r, "another person")
	delete(o.userInfo, "sub")
	wantRefused(t, "about nobody", s, code(), r, "another person")
	o.userInfo = map[string]any{"sub": "alice", "text": strings.Repeat("x", maxBytes)}
	wantRefused(t, "too large", s, code(), r, "larger than")
}

func TestMetadata(t *testing.T) {
	for _, c := range []struct {
		what, member string
		value        any
		why          string
	}{
		{"of another issuer", "issuer", "https://evil.example", "did not match"},
		{"with another spelling of the issuer", "issuer", "/", "did not match"},
		{"without a token endpoint", "token_endpoint", "", "has no token_endpoint"},
		{"without an authorization endpoint", "authorization_endpoint", "", "has no authorization_endpoint"},
		{"without keys", "jwks_uri", "", "has no jwks_uri"},
		{"with a script as an endpoint", "authorization_endpoint", "javascript:alert(1)", "no https URL"},
		{"with a file as an endpoint", "end_session_endpoint", "file:///etc/passwd", "no https URL"},
	} {
		o, s, r := at(t)
		o.metadata[c.member] = c.value
		_, err := s.AuthorizationURL(t.Context(), r)
		if _, later := errors.AsType[*Unreachable](err); !later || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", c.what, err)
		}
	}
	https := New(Config{Issuer: "https://company.example"}, outbound.New(outbound.Config{}))
	if https.checkEndpoint("http://company.example/token") == nil ||
		https.checkEndpoint("https://other.example/token") != nil {
		t.Error("an endpoint without TLS of an issuer with TLS")
	}
}

// The issuer changes its keys: a new one works at once, one that was removed not for long.
func TestKeysOfTheIssuerChange(t *testing.T) {
	o, s, r := at(t)
	redeem := func() error {
		_, err := s.Redeem(t.Context(), code(), r)
		return err
	}
	if err := redeem(); err != nil {
		t.Fatal(err)
	}
	old := o.sign
	jwk, sign := key(t, "ES256", "two")
	o.keys, o.sign = []map[string]any{jwk}, sign
	if err := redeem(); err != nil {
		t.Error("the new key:", err)
	}
	o.sign = old
	if redeem() == nil {
		t.Error("the old key, after the new one was read")
	}
	o, s, r = at(t)
	if err := redeem(); err != nil {
		t.Fatal(err)
	}
	o.keys = nil // a key was stolen, and nothing else makes anybody read the keys again
	s.mu.Lock()
	s.known.since = s.known.since.Add(-fresh)
	s.asked = time.Time{}
	s.mu.Unlock()
	if redeem() == nil {
		t.Error("a key that was removed five minutes ago")
	}
}

// Anybody can begin a sign-in. This causes few requests, and none of them is repeated at once.
func TestMetadataIsReadRarely(t *testing.T) {
	o, s, r := at(t)
	o.metadata["issuer"] = "wrong"
	errs := make(chan error, 50)
	for range 50 {
		go func() {
			_, err := s.AuthorizationURL(context.Background(), r)
			errs <- err
		}()
	}
	for range 50 {
		if <-errs == nil {
			t.Error("no error")
		}
	}
	if _, err := s.AuthorizationURL(t.Context(), r); err == nil || o.discoveries.Load() != 1 {
		t.Errorf("%d requests, %v", o.discoveries.Load(), err)
	}
	// A server that is down for a moment does not end the sign-in, and one that is down for long does.
	o, s, r = at(t)
	_, err := s.AuthorizationURL(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	o.Close()
	for _, c := range []struct {
		age time.Duration
		ok  bool
	}{{fresh + time.Second, true}, {kept, false}} {
		s.mu.Lock()
		s.known.since, s.asked = time.Now().Add(-c.age), time.Time{}
		s.mu.Unlock()
		_, err = s.AuthorizationURL(t.Context(), r)
		if (err == nil) != c.ok {
			t.Errorf("after %v: %v", c.age, err)
		}
	}
}

func TestInternalAddressIsNotCalled(t *testing.T) {
	o, _, r := at(t)
	s := New(Config{Issuer: o.URL, ClientID: "mandate"}, outbound.New(outbound.Config{}))
	_, err := s.AuthorizationURL(t.Context(), r)
	if err == nil || !strings.Contains(err.Error(), "OUTBOUND_ALLOWED_NETWORKS") || o.discoveries.Load() != 0 {
		t.Error(err)
	}
}

func TestEndSessionURL(t *testing.T) {
	o, s, _ := at(t)
	address, err := s.EndSessionURL(t.Context(), "https://here.example/")
	if address != "" || err != nil {
		t.Error(address, err)
	}
	o.metadata["end_session_endpoint"] = o.URL + "/end?tenant=7"
	address, err = o.client().EndSessionURL(t.Context(), "https://here.example/")
	if err != nil || address != o.URL+
		"/end?client_id=mandate&post_logout_redirect_uri=https%3A%2F%2Fhere.example%2F&tenant=7" {
		t.Error(address, err)
	}
}
