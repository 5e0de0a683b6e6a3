package mandate

import (
	"crypto/rsa"
	"encoding/base64"
	"maps"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// The modules of DPoP, on SQLite.

func TestRehearsalFAPIDPoP(t *testing.T) {
	t.Parallel()
	r := newRehearsal(t, newSQLite(t))
	for _, v := range []variant{keyDPoP, messageDPoP,
		{"tls_client_auth and DPoP", "tls_client_auth", "dpop", false, false}} {
		t.Run(v.name, func(t *testing.T) {
			one, _ := r.pair(t, v)
			one.bindsCodes(t)
			one.acceptsProofs(t)
			t.Run("dpop-negative-tests", func(t *testing.T) { one.proofsAtTheAPI(t) })
		})
	}
}

// bindsCodes pushes with a proof, with dpop_jkt, or with both.
func (p *party) bindsCodes(t *testing.T) {
	other := newHolder(t)
	header := p.proves.proving(t, p.authenticates(t, nil, nil))
	for name, one := range map[string]struct {
		as   auth
		more []string
	}{
		"ensure-dpopproof-at-par-endpoint-binding-success": {header, nil},
		"ensure-dpop-auth-code-binding-success": {p.authenticates(t, nil, nil),
			[]string{"dpop_jkt", p.proves.jkt}},
		"both": {p.as(t), []string{"dpop_jkt", p.proves.jkt}},
	} {
		t.Run(name, func(t *testing.T) {
			asked, verifier := p.asks(t, one.more...)
			form := p.codeOf(t, one.as, asked, verifier)
			// ensure-token-endpoint-fails-with-mismatched-dpop-proof-jkt and ...-with-mismatched-dpop-jkt
			p.refuses(t, "another key", other.proving(t, p.authenticates(t, nil, nil)), form, http.StatusBadRequest,
				"invalid_grant")
			p.usable(t, p.tokens(t, form).AccessToken)
		})
	}
	t.Run("ensure-mismatched-dpop-jkt-fails", func(t *testing.T) {
		form, _ := p.asks(t, "dpop_jkt", other.jkt)
		err := p.pushes(t, p.as(t), form).refused(http.StatusBadRequest, "invalid_dpop_proof")
		if err != nil {
			t.Error(err)
		}
	})
}

// acceptsProofs exchanges codes with unusual but good proofs.
func (p *party) acceptsProofs(t *testing.T) {
	now := time.Now().Unix()
	for name, claims := range map[string]member{
		"check-dpop-proof-nbf-exp":                        {"nbf": now, "exp": now + 300},
		"ensure-dpopproof-with-iat-10seconds-before":      {"iat": now - 10},
		"ensure-dpopproof-with-iat-10seconds-after":       {"iat": now + 10},
		"nbf in the past, and exp 10 seconds after it":    {"nbf": now - 60, "exp": now + 10},
		"members that no document knows, also in the jwk": {"extra": member{"a": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			form := p.code(t)
			got := p.at.mustToken(t, p.proves.provingWith(t, p.authenticates(t, nil, nil), claims), form)
			p.usable(t, got.AccessToken)
		})
	}
}

// proofsAtTheAPI presents a token to the sample API with proofs of each kind.
func (p *party) proofsAtTheAPI(t *testing.T) {
	token, at, now, other := p.tokens(t, p.code(t)).AccessToken, p.at.URL+"/resource", time.Now().Unix(), newHolder(t)
	private := maps.Clone(p.proves.jwk)
	raw, err := p.proves.key.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	private["d"] = base64url(raw)
	proof := func(claims, header member) string {
		all := member{"ath": digest(token)}
		maps.Copy(all, claims)
		return p.proves.proof(t, http.MethodGet, at, all, header)
	}
	once, altered := proof(nil, nil), proof(nil, nil)
	for what, proofs := range map[string][]string{
		"two headers": {proof(nil, nil), proof(nil, nil)},
		"not a JWT":   {"not a JWT"},
		"two parts":   {strings.Join(strings.Split(proof(nil, nil), ".")[:2], ".")},
		"no typ":      {proof(nil, member{"typ": nil})},
		"typ JWT":     {proof(nil, member{"typ": "JWT"})},
		"no alg":      {withoutAlgorithm(t, proof(nil, nil))},
		"none":        {p.proves.unsigned(t, at, token)},
		"no jwk":      {proof(nil, member{"jwk": nil})},
		// CVE-2026-54431 (liboauth2)
		"a private jwk":           {proof(nil, member{"jwk": private})},
		"no jti":                  {proof(member{"jti": nil}, nil)},
		"no htm":                  {proof(member{"htm": nil}, nil)},
		"no htu":                  {proof(member{"htu": nil}, nil)},
		"no iat":                  {proof(member{"iat": nil}, nil)},
		"no ath":                  {proof(member{"ath": nil}, nil)},
		"htm PUT":                 {proof(member{"htm": "PUT"}, nil)},
		"another URL":             {proof(member{"htu": "https://other.example/resource"}, nil)},
		"the URL of the token":    {proof(member{"htu": p.at.URL + "/o/token/"}, nil)},
		"an hour ahead":           {proof(member{"iat": now + 3600}, nil)},
		"an hour old":             {proof(member{"iat": now - 3600}, nil)},
		"a wrong ath":             {proof(member{"ath": digest("another token")}, nil)},
		"another key":             {other.ofToken(t, at, token, nil)},
		"the jwk of another":      {proof(nil, member{"jwk": other.jwk})},
		"a signature that is bad": {altered[:len(altered)-6] + "AAAAAA"},
		"no proof":                nil,
	} {
		a := p.at.get(t, "/resource", sends("DPoP", token, proofs...))
		t.Log(what)
		wantChallenge(t, a, "DPoP", "invalid_dpop_proof")
	}
	for what, one := range map[string]string{
		"htu with query and fragment": proof(member{"htu": at + "?query=1#fragment"}, nil),
		"scheme and host in capitals": proof(member{"htu": strings.Replace(at, "https://127.0.0.1", "HTTPS://127.0.0.1", 1)},
			nil),
		"members that are unknown": proof(member{"extra": 1}, member{"extra": 1}),
		"the first use of a jti":   once,
	} {
		a := p.at.get(t, "/resource", sends("DPoP", token, one))
		checkEqual(t, what, a.Status, http.StatusOK)
	}
	a := p.at.get(t, "/resource?page=2", sends("DPoP", token, proof(nil, nil)))
	checkEqual(t, "a query that htu does not have", a.Status, http.StatusOK)
	// HTTP/2 has names in lower case only (RFC 9113 §8.2.1).
	a = p.byHTTP11().get(t, "/resource", func(r *http.Request, _ url.Values) {
		r.Header["Authorization"], r.Header["DPOP"] = []string{"DPoP " + token}, []string{proof(nil, nil)}
	})
	checkEqual(t, "the name of the header in capitals", a.Status, http.StatusOK)
	wantChallenge(t, p.at.get(t, "/resource", sends("DPoP", token, once)), "DPoP", "invalid_dpop_proof")
	wantChallenge(t, p.at.get(t, "/resource", bearer(token)), "Bearer", "invalid_token")
	wantChallenge(t, p.at.get(t, "/resource", sends("Bearer", token, proof(nil, nil))), "Bearer", "invalid_token")
	p.rsaProofs(t)
	p.usable(t, token)
}

// byHTTP11 returns the server to a client without HTTP/2.
func (p *party) byHTTP11() *server {
	s := p.rehearsal.reached(p.at.URL, p.certificate)
	transport := s.client.Transport.(*http.Transport)
	transport.ForceAttemptHTTP2, transport.TLSClientConfig.NextProtos = false, []string{"http/1.1"}
	return s
}

// withoutAlgorithm removes alg from the header of a JWT.
func withoutAlgorithm(t testing.TB, text string) string {
	t.Helper()
	header, rest, _ := strings.Cut(text, ".")
	decoded, err := base64.RawURLEncoding.DecodeString(header)
	if err != nil {
		t.Fatal(err)
	}
	return base64url([]byte(strings.Replace(string(decoded), `"alg":"ES256",`, "", 1))) + "." + rest
}

// unsigned returns a proof with the algorithm none.
func (h *holder) unsigned(t testing.TB, at, token string) string {
	claims := member{"jti": "unsigned", "htm": http.MethodGet, "htu": at, "iat": time.Now().Unix(), "ath": digest(token)}
	return signHeader(t, member{"typ": "dpop+jwt", "alg": "none", "jwk": h.jwk}, claims, jwt.UnsafeAllowNoneSignatureType)
}

// rsaProofs binds a token to an RSA key. PS256 works, and RS256 of the same key does not.
func (p *party) rsaProofs(t *testing.T) {
	key := p.keys.keys["PS256"].(*rsa.PrivateKey)
	public := member{"kty": "RSA", "n": base64url(key.N.Bytes()), "e": base64url(big.NewInt(int64(key.E)).Bytes())}
	proof := func(method, at, token, algorithm string) string {
		claims := member{"jti": digest(algorithm + at + token), "htm": method, "htu": at, "iat": time.Now().Unix(),
			"ath": digest(token)}
		return signHeader(t, member{"typ": "dpop+jwt", "alg": algorithm, "jwk": public}, claims, key)
	}
	got := p.at.mustToken(t,
		sending(p.authenticates(t, nil, nil), proof(http.MethodPost, p.at.URL+"/o/token/", "", "PS256")), p.code(t))
	at := p.at.URL + "/resource"
	wantChallenge(t, p.at.get(t, "/resource",
		sends("DPoP", got.AccessToken, proof(http.MethodGet, at, got.AccessToken, "RS256"))), "DPoP", "invalid_dpop_proof")
	a := p.at.get(t, "/resource", sends("DPoP", got.AccessToken, proof(http.MethodGet, at, got.AccessToken, "PS256")))
	checkEqual(t, "PS256", a.Status, http.StatusOK)
}
