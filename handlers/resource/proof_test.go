package resource

import (
	"bytes"
	"crypto/ecdsa"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/provider/dpop"
)

const (
	usersURL = "https://api.example/v1/users"
	algs     = `, algs="ES256 EdDSA Ed25519 PS256"`
)

// RFC 9449 §4.3, §7.1: what a proof must be at an API. The cases are those of the conformance
// suite of the OpenID Foundation, and more.
func TestRFC9449(t *testing.T) {
	a := newBoundAPI(t, nil)
	rsaKey := testKeys()["PS256"]
	public := publicJWK(t, a.key)
	private := maps.Clone(public)
	d, err := a.key.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	private["d"] = b64(d)
	parts := strings.Split(a.proof("key", nil), ".")
	again := a.proof("key", nil)
	if w := a.send("DPoP key", again); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	now := time.Now().Unix()
	hour := int64(3600)
	header := func(changes map[string]any) string {
		whole := map[string]any{"typ": dpop.Type, "alg": "ES256"}
		maps.Copy(whole, changes)
		return a.signed(whole, a.key, "key", nil)
	}
	claims := func(name string, value any) []string { return []string{a.proof("key", map[string]any{name: value})} }
	for name, test := range map[string]struct {
		proofs []string
		ok     bool
	}{
		"4.3 no proof":                   {nil, false},
		"4.3 two headers":                {[]string{a.proof("key", nil), a.proof("key", nil)}, false},
		"4.3 two headers, one empty":     {[]string{a.proof("key", nil), ""}, false},
		"4.3 two proofs in one header":   {[]string{a.proof("key", nil) + ", " + a.proof("key", nil)}, false},
		"4.3 an empty header":            {[]string{""}, false},
		"4.3 not a JWT":                  {[]string{"not-a-jwt"}, false},
		"4.3 the access token":           {[]string{"key"}, false},
		"4.3 no typ":                     {[]string{header(map[string]any{"typ": nil})}, false},
		"4.3 the typ of another JWT":     {[]string{header(map[string]any{"typ": "JWT"})}, false},
		"4.3 no jwk":                     {[]string{header(map[string]any{"jwk": nil})}, false},
		"4.3 a jwk with its private key": {[]string{header(map[string]any{"jwk": private})}, false},
		"4.3 the jwk of another key":     {[]string{header(map[string]any{"jwk": publicJWK(t, a.other)})}, false},
		"4.3 a symmetric jwk": {
			[]string{header(map[string]any{"jwk": map[string]any{"kty": "oct", "k": "AAAA"}})}, false},
		"4.3 crit": {[]string{header(map[string]any{"crit": []string{"x"}, "x": 1})}, false},
		"4.3 RS256": {
			[]string{a.signed(map[string]any{"typ": dpop.Type, "alg": "RS256"}, rsaKey, "key", nil)}, false},
		"4.3 no alg": {[]string{b64([]byte(`{"typ":"dpop+jwt","jwk":`+toJSON(public)+`}`)) + "." +
			parts[1] + "." + parts[2]}, false},
		"4.3 alg none": {
			[]string{b64([]byte(`{"typ":"dpop+jwt","alg":"none","jwk":`+toJSON(public)+`}`)) + "." + parts[1] + "."}, false},
		"4.3 HS256 with the public key": {[]string{hs256(t, public, parts[1])}, false},
		"4.3 a wrong signature": {
			[]string{parts[0] + "." + parts[1] + "." + strings.Split(a.proof("key", nil), ".")[2]}, false},
		"4.3 no signature":                {[]string{parts[0] + "." + parts[1] + "."}, false},
		"4.2 no jti":                      {claims("jti", nil), false},
		"4.2 an empty jti":                {claims("jti", ""), false},
		"4.2 a jti that is a number":      {claims("jti", 7), false},
		"4.2 no htm":                      {claims("htm", nil), false},
		"4.2 no htu":                      {claims("htu", nil), false},
		"4.2 no iat":                      {claims("iat", nil), false},
		"4.2 no ath":                      {claims("ath", nil), false},
		"4.3 another method":              {claims("htm", "POST"), false},
		"4.3 the method in small letters": {claims("htm", "get"), false},
		"4.3 another path":                {claims("htu", "https://api.example/v1/groups"), false},
		"4.3 another host":                {claims("htu", "https://other.example/v1/users"), false},
		"4.3 another scheme":              {claims("htu", "http://api.example/v1/users"), false},
		"4.3 another port":                {claims("htu", "https://api.example:8443/v1/users"), false},
		"4.3 a path above":                {claims("htu", "https://api.example/v1"), false},
		"4.3 a slash more":                {claims("htu", usersURL+"/"), false},
		"4.3 a path alone":                {claims("htu", "/v1/users"), false},
		"4.3 the host of the header Host": {claims("htu", "https://example.com/v1/users"), false},
		"4.3 user information":            {claims("htu", "https://api.example@evil.example/v1/users"), false},
		"4.3 a query":                     {claims("htu", usersURL+"?a=1"), true},
		"4.3 a fragment":                  {claims("htu", usersURL+"#a"), true},
		"4.3 a query and a fragment":      {claims("htu", usersURL+"?a=1#b"), true},
		"4.3 upper-case scheme and host":  {claims("htu", "HTTPS://API.Example/v1/users"), true},
		"4.3 the default port":            {claims("htu", "https://api.example:443/v1/users"), true},
		"4.3 percent-encoded letters":     {claims("htu", "https://api.example/v1/%75sers"), true},
		"4.3 a path in upper case":        {claims("htu", "https://api.example/V1/users"), false},
		"11.1 an hour old":                {claims("iat", now-hour), false},
		"11.1 an hour ahead":              {claims("iat", now+hour), false},
		"11.1 an iat that is text":        {claims("iat", "now"), false},
		"11.1 five seconds ahead":         {claims("iat", now+5), true},
		"11.1 ten seconds old":            {claims("iat", now-10), true},
		"11.1 the same proof again":       {[]string{again}, false},
		"4.3 the ath of another token":    {claims("ath", dpop.TokenHash("key-2")), false},
		"4.3 the token itself as ath":     {claims("ath", "key"), false},
		"4.3 another key": {
			[]string{a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256"}, a.other, "key", nil)}, false},
		"4.2 unknown members": {
			[]string{a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256", "x": 1}, a.key, "key",
				map[string]any{"y": 2, "nbf": now, "exp": now + 60})}, true},
		"4.2 a nonce that nobody asked for": {claims("nonce", "mine"), true},
		"4.3 a good proof":                  {[]string{a.proof("key", nil)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := a.send("DPoP key", test.proofs...)
			if test.ok {
				if w.Code != 200 || w.Body.String() != "in" || w.Header().Get("WWW-Authenticate") != "" ||
					w.Header().Get("DPoP-Nonce") != "" {
					t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
				}
				return
			}
			wantRefused(t, w, schemeDPoP, dpop.InvalidProof)
			if got := w.Header().Values("WWW-Authenticate"); len(got) != 1 {
				t.Errorf("challenges: %q", got)
			}
		})
	}
	// Refused requests have not changed that a good one works, by any spelling of the scheme.
	for _, scheme := range []string{"DPoP", "dpop", "DPOP"} {
		if w := a.send(scheme+" key", a.proof("key", nil)); w.Code != 200 {
			t.Errorf("%s: %d %s", scheme, w.Code, w.Body)
		}
	}
	if log := a.log.String(); strings.Contains(log, again) || strings.Contains(log, "eyJ") {
		t.Error("the log contains a proof")
	}
}

// RFC 9110 §5.1: the name of a header has no case. A server reads every spelling as one.
func TestRFC9449HeaderName(t *testing.T) {
	a := newBoundAPI(t, nil)
	server := httptest.NewServer(a.handler)
	defer server.Close()
	for _, name := range []string{"DPoP", "DPOP", "dpop"} {
		r, err := http.NewRequest("GET", server.URL+"/v1/users?page=2", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header[name], r.Header["Authorization"] = []string{a.proof("key", nil)}, []string{"DPoP key"}
		if _, got := do(t, r); got.Status != 200 {
			t.Errorf("%s: %+v", name, got)
		}
		r.Header["DPoP"], r.Header["dpop"] = []string{a.proof("key", nil)}, []string{a.proof("key", nil)}
		if _, got := do(t, r); got.Status != 401 {
			t.Errorf("two spellings: %+v", got)
		}
	}
}

// RFC 9449 §4.3: htu is the URL by which the client reaches the path of this request.
func TestRFC9449URL(t *testing.T) {
	for name, test := range map[string]struct {
		bases     []string
		path, htu string
		ok        bool
	}{
		"the origin of the identifier": {nil, "/v1/users", usersURL, true},
		"a last slash":                 {nil, "/v1/users/", usersURL + "/", true},
		"a last slash less":            {nil, "/v1/users/", usersURL, false},
		"an encoded slash":             {nil, "/v1/a%2Fb", "https://api.example/v1/a%2fb", true},
		"an encoded slash is none":     {nil, "/v1/a%2Fb", "https://api.example/v1/a/b", false},
		"another character encoded":    {nil, "/v1/%C3%BC%20x", "https://api.example/v1/%c3%bc%20x", true},
		"two slashes":                  {nil, "//v1//users", "https://api.example//v1//users", true},
		"a request with a query":       {nil, "/v1/users?htu=x", usersURL, true},
		"a URL in the request line":    {nil, "https://evil.example/v1/users", usersURL, true},
		"that URL in the proof":        {nil, "https://evil.example/v1/users", "https://evil.example/v1/users", false},
		"a base URL": {[]string{"https://public.example"}, "/v1/users",
			"https://public.example/v1/users", true},
		"a base URL replaces the default": {[]string{"https://public.example"}, "/v1/users", usersURL, false},
		"a base URL with a path": {[]string{"https://public.example/api/"}, "/users",
			"https://public.example/api/users", true},
		"the second base URL": {[]string{"https://a.example", "https://b.example:8443"}, "/v1",
			"https://b.example:8443/v1", true},
		"plain http on this machine": {[]string{"http://127.0.0.1:9000"}, "/v1", "http://127.0.0.1:9000/v1", true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newBoundAPI(t, func(c *GuardConfig) { c.BaseURLs = test.bases })
			r := httptest.NewRequest("GET", test.path, nil)
			r.Host = "evil.example"
			r.Header.Set("Authorization", "DPoP key")
			r.Header.Set("DPoP", a.proof("key", map[string]any{"htu": test.htu}))
			if w := a.serve(r); (w.Code == 200) != test.ok {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
	for path, want := range map[string]string{"": "/", "*": "/*", "x": "/x", "/x": "/x"} {
		if got := (&proofs{bases: []string{"https://a.example"}}).urls(&url.URL{Path: path}); got[0] != "https://a.example"+
			want {
			t.Errorf("%q: %q", path, got)
		}
	}
	// Without a URL there is nothing to compare with, so the scheme is not offered.
	for _, name := range []string{"orders", ""} {
		a := newBoundAPI(t, func(c *GuardConfig) { c.Audience = name })
		if w := a.send("DPoP key", a.proof("key", nil)); w.Code != 401 ||
			w.Header().Get("WWW-Authenticate") != `Bearer realm="api"` || len(w.Header().Values("WWW-Authenticate")) != 1 {
			t.Errorf("%q: %d %v", name, w.Code, w.Header())
		}
		wantRefused(t, a.send("Bearer key", a.proof("key", nil)), schemeBearer, "invalid_token")
		if !strings.Contains(a.log.String(), "RESOURCE_SERVER_BASE_URLS") {
			t.Errorf("%q: the log does not name the setting: %s", name, &a.log)
		}
	}
}

// RFC 9449 §9, §8: a nonce that is demanded, and the one for the next proof.
func TestRFC9449Nonce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shared := bytes.Repeat([]byte{7}, 32)
		demand := func(c *GuardConfig) { c.RequireNonce, c.NonceKey = true, shared }
		a := newBoundAPI(t, demand)
		nonceOf := func(w *httptest.ResponseRecorder) string {
			t.Helper()
			all := w.Header().Values("DPoP-Nonce")
			if len(all) != 1 || w.Header().Get("Cache-Control") != "no-store" {
				t.Fatalf("%d, nonces %q, %v", w.Code, all, w.Header())
			}
			return all[0]
		}
		first := a.send("DPoP key", a.proof("key", nil))
		wantRefused(t, first, schemeDPoP, dpop.UseNonce)
		nonce := nonceOf(first)
		with := func(nonce string) string { return a.proof("key", map[string]any{"nonce": nonce}) }
		if w := a.send("DPoP key", with(nonce)); w.Code != 200 || w.Header().Get("DPoP-Nonce") != "" {
			t.Errorf("the retry: %d %v", w.Code, w.Header())
		}
		for _, wrong := range []string{"x", nonce + "x", strings.ToLower(nonce), ""} {
			w := a.send("DPoP key", with(wrong))
			wantRefused(t, w, schemeDPoP, dpop.UseNonce)
			nonceOf(w)
		}
		// With a nonce too, a proof works once and is for one request.
		used := with(nonce)
		a.send("DPoP key", used)
		w := a.send("DPoP key", used)
		wantRefused(t, w, schemeDPoP, dpop.InvalidProof)
		nonceOf(w)
		wantRefused(t, a.send("DPoP key", a.proof("key", map[string]any{"nonce": nonce, "htm": "POST"})), schemeDPoP,
			dpop.InvalidProof)

		// The nonce of the time before still works, and the response brings the new one.
		time.Sleep(5 * time.Minute)
		w = a.send("DPoP key", with(nonce))
		if next := nonceOf(w); w.Code != 200 || next == nonce ||
			a.send("DPoP key", with(next)).Header().Get("DPoP-Nonce") != "" {
			t.Errorf("%d, next nonce %q", w.Code, next)
		}
		time.Sleep(5 * time.Minute)
		wantRefused(t, a.send("DPoP key", with(nonce)), schemeDPoP, dpop.UseNonce)

		// Nodes with the same key accept the nonces of each other, others do not.
		nonce = nonceOf(a.send("DPoP key", with("")))
		same := newBoundAPI(t, demand)
		own := newBoundAPI(t, func(c *GuardConfig) { c.RequireNonce = true })
		if w := same.send("DPoP key", with(nonce)); w.Code != 200 {
			t.Errorf("another node: %d %s", w.Code, w.Body)
		}
		wantRefused(t, own.send("DPoP key", with(nonce)), schemeDPoP, dpop.UseNonce)
		// A bearer token needs no proof, and its response no nonce.
		if w := a.send("Bearer bearer"); w.Code != 200 || w.Header().Get("DPoP-Nonce") != "" {
			t.Errorf("a bearer token: %d %v", w.Code, w.Header())
		}
	})
}

// RFC 9449 §11.1: the memory is bounded. When it is full, a request can be sent again later.
func TestRFC9449FullMemory(t *testing.T) {
	a := newBoundAPI(t, nil)
	a.guard.proofs.seen = dpop.NewSeen(1, dpop.Rules{})
	if w := a.send("DPoP key", a.proof("key", nil)); w.Code != 200 {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	w := a.send("DPoP key", a.proof("key", nil))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || w.Header().Get("WWW-Authenticate") != "" ||
		!strings.Contains(a.log.String(), "full") {
		t.Errorf("%d %v %s", w.Code, w.Header(), &a.log)
	}
}

// The proof is checked for each request, whether the token comes from the cache or not. The
// cache holds what a token is bound to, and no proof.
func TestAttackBoundTokenFromTheCache(t *testing.T) {
	a := newBoundAPI(t, nil)
	good := a.proof("key", nil)
	for range 3 {
		if w := a.send("DPoP key", a.proof("key", nil)); w.Code != 200 {
			t.Fatalf("%d %s", w.Code, w.Body)
		}
		wantRefused(t, a.send("Bearer key"), schemeBearer, "invalid_token")
		wantRefused(t, a.send("DPoP key"), schemeDPoP, dpop.InvalidProof)
		wantRefused(t, a.send("DPoP key", a.signed(map[string]any{"typ": dpop.Type, "alg": "ES256"}, a.other, "key", nil)),
			schemeDPoP, dpop.InvalidProof)
		wantRefused(t, a.send("DPoP key-2", good), schemeDPoP, dpop.InvalidProof) // for another token of the same key
	}
	if n := a.asked; n != 2 {
		t.Errorf("the introspection endpoint was asked %d times, want once for each token", n)
	}
	// A token that is not active is not looked at further: its proof costs nothing.
	w := a.send("DPoP invented", a.proof("invented", nil))
	wantRefused(t, w, schemeDPoP, "invalid_token")
}

// RFC 9068, RFC 9449 §6.1: a signed access token has the same cnf.
func TestRFC9449SignedToken(t *testing.T) {
	a := newBoundAPI(t, func(c *GuardConfig) {
		c.Verifier, c.Audience = newSigned(t, &publisher{body: allKeys()}), audience
	})
	token := issue(t, "ES256", "ec", "at+jwt", jwt.MapClaims{"cnf": map[string]any{"jkt": thumbprint(t, a.key)}})
	if w := a.send("DPoP "+token, a.proof(token, nil)); w.Code != 200 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	wantRefused(t, a.send("Bearer "+token, a.proof(token, nil)), schemeBearer, "invalid_token")
	wantRefused(t, a.send("DPoP "+token), schemeDPoP, dpop.InvalidProof)
}

// Fetch, CORS protocol: a script can send a proof, and read the nonce and the challenge.
func TestRFC9449Scripts(t *testing.T) {
	a := newBoundAPI(t, func(c *GuardConfig) { c.RequireNonce = true })
	r := httptest.NewRequest("OPTIONS", "/v1/users", nil)
	r.Header = http.Header{"Origin": {"https://spa.example"}, "Access-Control-Request-Method": {"GET"},
		"Access-Control-Request-Headers": {"authorization,dpop"}}
	if w := a.serve(r); w.Code != 204 || w.Header().Get("Access-Control-Allow-Headers") != "Authorization, *" {
		t.Errorf("preflight: %d %v", w.Code, w.Header())
	}
	r = httptest.NewRequest("GET", "/v1/users", nil)
	r.Header = http.Header{"Origin": {"https://spa.example"}, "Authorization": {"DPoP key"}, "Dpop": {a.proof("key", nil)}}
	w := a.serve(r)
	wantRefused(t, w, schemeDPoP, dpop.UseNonce)
	if w.Header().Get("Access-Control-Expose-Headers") != "*" || w.Header().Get("DPoP-Nonce") == "" {
		t.Errorf("%v", w.Header())
	}
}
