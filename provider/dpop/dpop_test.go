package dpop

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/jose"
)

const (
	where = "https://server.example/token"
	token = "Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"
)

func newKey(t testing.TB, kind string) (crypto.Signer, jose.JWK) {
	t.Helper()
	key, err := jose.Generate(kind)
	if err != nil {
		t.Fatal(err)
	}
	public, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return key, public
}

// forge is a proof with some members of the header and some claims changed; nil removes one.
func forge(t testing.TB, key any, header, claims map[string]any) string {
	t.Helper()
	h := map[string]any{"typ": Type, "alg": "ES256"}
	if signer, ok := key.(crypto.Signer); ok {
		public, err := jose.NewJWK(signer.Public())
		if err != nil {
			t.Fatal(err)
		}
		h["jwk"] = public
	}
	c := map[string]any{"jti": "one", "htm": "POST", "htu": where, "iat": time.Now().Unix()}
	for to, from := range map[*map[string]any]map[string]any{&h: header, &c: claims} {
		maps.Copy(*to, from)
		maps.DeleteFunc(*to, func(_ string, value any) bool { return value == nil })
	}
	var text []string
	for _, part := range []map[string]any{h, c} {
		raw, err := json.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		text = append(text, base64.RawURLEncoding.EncodeToString(raw))
	}
	method := map[any]jwt.SigningMethod{"RS256": jwt.SigningMethodRS256, "PS256": jwt.SigningMethodPS256,
		"EdDSA":   jwt.SigningMethodEdDSA,
		"Ed25519": jwt.SigningMethodEdDSA, "HS256": jwt.SigningMethodHS256, "none": jwt.SigningMethodNone}[h["alg"]]
	if method == nil {
		method = jwt.SigningMethodES256
	}
	signature, err := method.Sign(strings.Join(text, "."), key)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(text, ".") + "." + base64.RawURLEncoding.EncodeToString(signature)
}

func request(proofs ...string) Request {
	return Request{Method: "POST", URLs: []string{where, where + "/"}, Proofs: proofs}
}

// refused fails the test if the error has not this code, and this text in its description.
func refused(t *testing.T, err error, code, text string) {
	t.Helper()
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Code != code || !strings.Contains(e.Description, text) {
		t.Errorf("got %v, want %s with %q", err, code, text)
	}
}

func TestGoodProof(t *testing.T) {
	for _, algorithm := range Algorithms() {
		key, public := newKey(t, jose.KindOf(algorithm))
		proof, err := Make(algorithm, key, map[string]any{"htm": "POST", "htu": where, "jti": "one"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Verify(request(proof), Rules{})
		now := time.Now().Unix()
		if err != nil || p.Key != public.Thumbprint() || p.ID != "one" || now-p.IssuedAt > 2 || p.Until != p.IssuedAt+61 ||
			p.Digest == (Digest{}) {
			t.Errorf("%s: %+v %v", algorithm, p, err)
		}
	}
}

// The example of RFC 9449 §4.1, and its key in §6.1.
func TestExampleOfTheDocument(t *testing.T) {
	const proof = "eyJ0eXAiOiJkcG9wK2p3dCIsImFsZyI6IkVTMjU2IiwiandrIjp7Imt0eSI6IkVDIiwieCI6Imw4dEZyaHgtMzR0VjNoUklDUkRZOXpDa0RscEJoRjQyVVFVZldWQVdCR" +
		"nMiLCJ5IjoiOVZFNGpmX09rX282NHpiVFRsY3VOSmFqSG10NnY5VERWclUwQ2R2R1JEQSIsImNydiI6IlAtMjU2In19.eyJqdGkiOiItQndDM0VTYzZhY2MybFRjIiwiaHRtIj" +
		"oiUE9TVCIsImh0dSI6Imh0dHBzOi8vc2VydmVyLmV4YW1wbGUuY29tL3Rva2VuIiwiaWF0IjoxNTYyMjYyNjE2fQ.2-GxA6T8lP4vfrg8v-FdWP0A0zdrj8igiMLvqRMUvwnQg4PtFLbdLXiOSsX0x7NVY-FNyJK70nfbV37xRZT3Lg"
	q := request(proof)
	q.URLs = []string{"https://server.example.com/token"}
	p, err := Verify(q, Rules{Age: time.Since(time.Unix(1562262616, 0)) + time.Minute})
	if err != nil || p.Key != "0ZcOCORZNYy-DWpqq30jZyJGHTN0d2HglBV3uiguA4I" || p.ID != "-BwC3ESc6acc2lTc" ||
		p.IssuedAt != 1562262616 {
		t.Error(p, err)
	}
	_, err = Verify(q, Rules{})
	refused(t, err, InvalidProof, "seconds old")
}

func TestRFC9449(t *testing.T) {
	key, public := newKey(t, "EC")
	other, _ := newKey(t, "EC")
	long, _ := newKey(t, "RSA")
	edwards, _ := newKey(t, "OKP")
	huge, err := rsa.GenerateKey(rand.Reader, 4104)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(public)
	with := func(name string, value any) map[string]any {
		members := map[string]any{}
		if err := json.Unmarshal(raw, &members); err != nil {
			t.Fatal(err)
		}
		members[name] = value
		return map[string]any{"jwk": members}
	}
	type set = map[string]any
	good := forge(t, key, nil, nil)
	parts := strings.Split(good, ".")
	for name, test := range map[string]struct {
		proofs []string
		want   string
	}{
		"4.3 no header":         {nil, "must have the header DPoP"},
		"4.3 two headers":       {[]string{good, good}, "one header DPoP"},
		"4.3 two in one header": {[]string{good + ", " + good}, "must be one JWT"},
		"4.3 empty":             {[]string{""}, "must be one JWT"},
		"4.3 not a JWT":         {[]string{"proof"}, "must be one JWT"},
		"4.3 not three parts":   {[]string{parts[0] + "." + parts[1]}, "must be one JWT"},
		"4.3 too long": {[]string{forge(t, key, nil, set{"pad": strings.Repeat("x", maxProof)})},
			"longer than 8192"},
		"4.2 no typ":                {[]string{forge(t, key, set{"typ": nil}, nil)}, "typ dpop+jwt"},
		"4.3 wrong typ":             {[]string{forge(t, key, set{"typ": "JWT"}, nil)}, "typ dpop+jwt"},
		"4.3 a typ that is no text": {[]string{forge(t, key, set{"typ": 7}, nil)}, "typ dpop+jwt"},
		"4.2 no alg":                {[]string{forge(t, key, set{"alg": nil}, nil)}, "an alg of ES256"},
		"4.3 none": {
			[]string{forge(t, jwt.UnsafeAllowNoneSignatureType, set{"alg": "none", "jwk": public}, nil)}, "an alg of ES256"},
		"4.3 RS256": {[]string{forge(t, long, set{"alg": "RS256"}, nil)}, "an alg of ES256"},
		"4.3 HS256 with the public key": {[]string{forge(t, raw, set{"alg": "HS256", "jwk": public}, nil)},
			"an alg of ES256"},
		"4.3 HS256 with a key of its own": {
			[]string{forge(t, []byte("secret"), set{"alg": "HS256", "jwk": set{"kty": "oct", "k": "c2VjcmV0"}}, nil)},
			"an alg of ES256"},
		"4.3 crit":               {[]string{forge(t, key, set{"crit": []string{"jwk"}}, nil)}, "no crit"},
		"4.2 no jwk":             {[]string{forge(t, key, set{"jwk": nil}, nil)}, "header parameter jwk"},
		"4.2 a jwk that is text": {[]string{forge(t, key, set{"jwk": "key"}, nil)}, "must be a JWK"},
		"4.3 a symmetric jwk": {[]string{forge(t, key, set{"jwk": set{"kty": "oct"}}, nil)},
			"must be for signatures"},
		"4.3 a jwk of another kind": {[]string{forge(t, key, set{"jwk": mustJWK(t, edwards)}, nil)},
			"not for its alg"},
		"4.3 a jwk for another alg": {[]string{forge(t, key, with("alg", "ES384"), nil)}, "not for its alg"},
		"4.3 a jwk to encrypt":      {[]string{forge(t, key, with("use", "enc"), nil)}, "must be for signatures"},
		"4.3 a huge key":            {[]string{forge(t, huge, set{"alg": "PS256"}, nil)}, "at most 4096"},
		"4.3 the signature of another key": {[]string{forge(t, other, set{"jwk": public}, nil)},
			"signed with the private key"},
		"4.3 other claims": {
			[]string{parts[0] + "." + strings.Split(forge(t, key, nil, set{"jti": "two"}), ".")[1] + "." + parts[2]},
			"signed with the private key"},
		"4.3 no signature":           {[]string{parts[0] + "." + parts[1] + "."}, "signed with the private key"},
		"4.3 padding":                {[]string{good + "="}, "must be one JWT"},
		"4.2 no jti":                 {[]string{forge(t, key, nil, set{"jti": nil})}, "must have a jti"},
		"4.2 an empty jti":           {[]string{forge(t, key, nil, set{"jti": ""})}, "must have a jti"},
		"4.2 a jti that is a number": {[]string{forge(t, key, nil, set{"jti": 7})}, "must have a jti"},
		"4.2 a long jti": {[]string{forge(t, key, nil, set{"jti": strings.Repeat("x", maxJTI+1)})},
			"must have a jti"},
		"4.2 a name of another case": {[]string{forge(t, key, nil, set{"jti": nil, "JTI": "one"})}, "must have a jti"},
		"4.2 no htm":                 {[]string{forge(t, key, nil, set{"htm": nil})}, "claims htm and htu"},
		"4.2 no htu":                 {[]string{forge(t, key, nil, set{"htu": nil})}, "claims htm and htu"},
		"4.2 an htu that is a list":  {[]string{forge(t, key, nil, set{"htu": []string{where}})}, "claims htm and htu"},
		"4.2 no iat":                 {[]string{forge(t, key, nil, set{"iat": nil})}, "must have an iat"},
		"4.2 an iat that is text":    {[]string{forge(t, key, nil, set{"iat": "1"})}, "must have an iat"},
		"4.2 an iat out of range":    {[]string{forge(t, key, nil, set{"iat": 1e300})}, "must have an iat"},
		"4.3 another method": {[]string{forge(t, key, nil, set{"htm": "GET"})},
			"not the method of the request, POST"},
		"4.3 another case of the method": {[]string{forge(t, key, nil, set{"htm": "post"})}, "not the method"},
		"4.3 another URL": {[]string{forge(t, key, nil, set{"htu": where + "s"})},
			"not the URL of the request, " + where},
		"4.3 another host": {[]string{forge(t, key, nil, set{"htu": "https://evil.example/token"})},
			"not the URL"},
		"4.3 another scheme": {[]string{forge(t, key, nil, set{"htu": "http://server.example/token"})},
			"not the URL"},
		"4.3 another port": {[]string{forge(t, key, nil, set{"htu": "https://server.example:8443/token"})},
			"not the URL"},
		"4.3 a path alone": {[]string{forge(t, key, nil, set{"htu": "/token"})}, "not the URL"},
		"4.3 user information": {[]string{forge(t, key, nil, set{"htu": "https://a@server.example/token"})},
			"not the URL"},
		"11.1 an hour old": {[]string{forge(t, key, nil, set{"iat": time.Now().Unix() - 3600})},
			"is 360"}, // seconds, and some more on a busy machine
		"11.1 an hour ahead": {[]string{forge(t, key, nil, set{"iat": time.Now().Unix() + 3600})},
			"seconds ahead"},
		"11.1 below zero": {[]string{forge(t, key, nil, set{"iat": -time.Now().Unix()})}, "seconds old"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Verify(request(test.proofs...), Rules{})
			refused(t, err, InvalidProof, test.want)
		})
	}
	for _, name := range []string{"d", "p", "q", "dp", "dq", "qi", "oth", "k"} {
		t.Run("4.3 the private member "+name, func(t *testing.T) {
			_, err := Verify(request(forge(t, key, with(name, "AQ"), nil)), Rules{})
			refused(t, err, InvalidProof, "private member "+name)
		})
	}
	for name, proof := range map[string]string{
		"4.2 the case of typ": forge(t, key, set{"typ": "DPoP+JWT"}, nil),
		"4.2 unknown members": forge(t, key, set{"x": set{}, "kid": "k"},
			set{"x": []int{1}, "aud": "nobody"}),
		"4.3 exp and nbf are not looked at":   forge(t, key, nil, set{"exp": 1, "nbf": 1 << 40}),
		"4.3 a nonce where none is asked for": forge(t, key, nil, set{"nonce": "n", "ath": "a"}),
		"4.3 query and fragment":              forge(t, key, nil, set{"htu": where + "?a=b#c"}),
		"4.3 scheme and host have no case":    forge(t, key, nil, set{"htu": "HTTPS://Server.EXAMPLE/token"}),
		"4.3 the default port":                forge(t, key, nil, set{"htu": "https://server.example:443/token"}),
		"4.3 the other form of the path":      forge(t, key, nil, set{"htu": where + "/"}),
		"4.3 dots and percent-encoding":       forge(t, key, nil, set{"htu": "https://server.example/a/%2E%2e/./%74oken"}),
		"11.1 ten seconds ahead":              forge(t, key, nil, set{"iat": time.Now().Unix() + 10}),
		"11.1 ten seconds old":                forge(t, key, nil, set{"iat": time.Now().Unix() - 10}),
		"4.2 iat with a fraction":             forge(t, key, nil, set{"iat": float64(time.Now().Unix()) + 0.5}),
		"4.2 the longest jti":                 forge(t, key, nil, set{"jti": strings.Repeat("x", maxJTI)}),
	} {
		t.Run(name, func(t *testing.T) {
			if p, err := Verify(request(proof), Rules{}); err != nil || p.Key != public.ID {
				t.Error(p, err)
			}
		})
	}
}

// What is no URL is not the same as something else that is no URL.
func TestHTUThatIsNoURL(t *testing.T) {
	key, _ := newKey(t, "EC")
	q := request(forge(t, key, nil, map[string]any{"htu": "token"}))
	q.URLs = []string{"", "https://user@server.example/"}
	_, err := Verify(q, Rules{})
	refused(t, err, InvalidProof, "not the URL")
}

func mustJWK(t *testing.T, key crypto.Signer) jose.JWK {
	t.Helper()
	k, err := jose.NewJWK(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// RFC 9449 §11.1: the edges of the window, and that a proof is remembered for exactly as long.
func TestWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key, _ := newKey(t, "EC")
		for _, test := range []struct {
			rules Rules
			iat   int64
			want  string
		}{
			{Rules{}, 10, ""}, {Rules{}, 11, "ahead"}, {Rules{}, -60, ""}, {Rules{}, -61, "old"},
			{Rules{Ahead: 30 * time.Second, Age: 5 * time.Second}, 30, ""}, {Rules{Ahead: 30 * time.Second}, 31, "ahead"},
			{Rules{Age: 5 * time.Second}, -6, "old"},
		} {
			p, err := Verify(request(forge(t, key, nil, map[string]any{"iat": time.Now().Unix() + test.iat})), test.rules)
			if test.want != "" {
				refused(t, err, InvalidProof, test.want)
			} else if err != nil {
				t.Error(test, p, err)
			}
		}
		proof := forge(t, key, nil, map[string]any{"iat": time.Now().Unix() + 10})
		p, err := Verify(request(proof), Rules{})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Until(time.Unix(p.Until, 0)) - time.Nanosecond)
		if _, err := Verify(request(proof), Rules{}); err != nil {
			t.Error("before Until:", err)
		}
		time.Sleep(time.Nanosecond)
		_, err = Verify(request(proof), Rules{})
		refused(t, err, InvalidProof, "old")
	})
}

// RFC 9449 §4.3, §7.1: a proof that comes with an access token.
func TestProofForAToken(t *testing.T) {
	key, public := newKey(t, "EC")
	_, other := newKey(t, "EC")
	bound := forge(t, key, nil, map[string]any{"ath": TokenHash(token)})
	plain := forge(t, key, nil, nil)
	for name, test := range map[string]struct {
		proof, token, key, want string
	}{
		"good":                     {bound, token, public.ID, ""},
		"no ath":                   {plain, token, public.ID, "must have an ath"},
		"the ath of another token": {bound, token + "x", public.ID, "must have an ath"},
		"an ath that is no text": {forge(t, key, nil, map[string]any{"ath": 7}), token, public.ID,
			"must have an ath"},
		"the key of another":                  {bound, token, other.ID, "another key"},
		"a token that is not bound":           {bound, token, "", "another key"},
		"a refresh token that is bound":       {plain, "", public.ID, ""},
		"a refresh token of another key":      {plain, "", other.ID, "another key"},
		"ath is not looked at without token ": {bound, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			q := request(test.proof)
			q.Token, q.Key = test.token, test.key
			_, err := Verify(q, Rules{})
			if test.want != "" {
				refused(t, err, InvalidProof, test.want)
			} else if err != nil {
				t.Error(err)
			}
		})
	}
	// RFC 9449 §7.1 gives the digest of the token of its example.
	if got := TokenHash(
		"Kz~8mXK1EalYznwH-LC-1fBAo.4Ljp~zsPE_NeO.gxU"); got != "fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo" {
		t.Error(got)
	}
}

func TestDigestNamesTheProof(t *testing.T) {
	key, _ := newKey(t, "EC")
	other, _ := newKey(t, "EC")
	of := func(key crypto.Signer, claims map[string]any) Digest {
		p, err := Verify(request(forge(t, key, nil, claims)), Rules{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Digest
	}
	one := of(key, nil)
	if again := of(key, map[string]any{"htu": where + "/", "x": 1}); again != one || again.String() != one.String() ||
		len(one.String()) != 43 {
		t.Error("the same jti has two digests")
	}
	if one == of(key, map[string]any{"jti": "two"}) || one == of(other, nil) {
		t.Error("another jti or key has the same digest")
	}
}

func TestAlgorithmsOfTheRules(t *testing.T) {
	key, _ := newKey(t, "RSA")
	proof := forge(t, key, map[string]any{"alg": "RS256"}, nil)
	if _, err := Verify(request(proof), Rules{Algorithms: []string{"RS256"}}); err != nil {
		t.Error(err)
	}
	_, err := Verify(request(forge(t, key, map[string]any{"alg": "PS256"}, nil)), Rules{Algorithms: []string{"RS256"}})
	refused(t, err, InvalidProof, "an alg of RS256")
}

func FuzzVerify(f *testing.F) {
	key, _ := newKey(f, "EC")
	good := forge(f, key, nil, nil)
	for _, seed := range []string{good, "", "..", "a.b.c", strings.Replace(good, ".", "..", 1)} {
		f.Add(seed, where)
	}
	f.Fuzz(func(t *testing.T, proof, accepted string) {
		q := request(proof)
		q.URLs = append(q.URLs, accepted)
		p, err := Verify(q, Rules{})
		if _, typed := errors.AsType[*Error](err); err != nil && (!typed || p != (Proof{})) {
			t.Errorf("%v %+v", err, p)
		}
		if err == nil && (len(p.Key) != 43 || p.ID == "") {
			t.Errorf("%+v", p)
		}
	})
}

func BenchmarkVerify(b *testing.B) {
	key, public := newKey(b, "EC")
	proof := forge(b, key, nil, map[string]any{"ath": TokenHash(token), "jti": rand.Text()})
	b.Run("proof", func(b *testing.B) {
		q := request(proof)
		q.Token, q.Key = token, public.ID
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Verify(q, Rules{Age: time.Hour}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("one ES256 signature", func(b *testing.B) {
		at := strings.LastIndexByte(proof, '.')
		signature, err := jose.Decode(proof[at+1:])
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if err := jwt.SigningMethodES256.Verify(proof[:at], signature, key.Public()); err != nil {
				b.Fatal(err)
			}
		}
	})
}
