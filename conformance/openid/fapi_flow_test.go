package openid

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mandate/conformance/jose"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// A flow is a client of a plan, and what it needs for its requests. The name of the client says
// how it authenticates, and what its tokens are bound to.
type flow struct {
	plan     fapiPlan
	client   fapiClient
	meta     metadata
	callback string
	assert   bool // private_key_jwt, else a certificate
	dpop     bool // tokens are bound to a key, else to the certificate
	signed   bool // requests and responses are signed
	key      *jose.Key
	http     *http.Client
	trust    *x509.CertPool
	answers  chan url.Values
}

func newFlow(t *testing.T, p fapiPlan, c fapiClient, own pair, trust *x509.CertPool, answers chan url.Values) *flow {
	t.Helper()
	f := &flow{plan: p, client: c, assert: strings.Contains(c.ID, "-key-"), dpop: strings.Contains(c.ID, "-dpop-"),
		signed: strings.Contains(c.ID, "message-signing"), trust: trust, answers: answers}
	var err error
	f.key, err = jose.ReadKey(c.JWKS.Keys[0])
	if err != nil {
		t.Fatal(err)
	}
	shown, err := tls.X509KeyPair([]byte(own.Certificate), []byte(own.Key))
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: trust}
	if !f.assert || !f.dpop {
		config.Certificates = []tls.Certificate{shown}
	}
	f.http = &http.Client{Timeout: 20 * time.Second, Transport: &http.Transport{TLSClientConfig: config}}
	f.send(t, "GET", p.Server.DiscoveryURL, nil, nil, http.StatusOK, &f.meta)
	if !f.assert || !f.dpop {
		f.meta.Token, f.meta.Push = f.meta.Aliases["token_endpoint"], f.meta.Aliases["pushed_authorization_request_endpoint"]
	}
	return f
}

// send sends a form, or gets an address, and decodes the response.
func (f *flow) send(t *testing.T, method, address string, form url.Values, header http.Header, status int, into any) {
	t.Helper()
	request, err := http.NewRequest(method, address, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	if header != nil {
		request.Header = header
	}
	if form != nil {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	response, err := f.http.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode == status {
		err = json.Unmarshal(body, into)
	}
	if err != nil || response.StatusCode != status {
		t.Fatalf("%s %s of %s: %s, %v\n%s", method, address, f.client.ID, response.Status, err, body)
	}
}

// authenticated adds the client authentication to a form.
func (f *flow) authenticated(t *testing.T, form url.Values) url.Values {
	t.Helper()
	form.Set("client_id", f.client.ID)
	if f.assert {
		now := time.Now().Unix()
		form.Set("client_assertion_type", "urn:ietf:params:oauth:client-assertion-type:jwt-bearer")
		form.Set("client_assertion",
			f.key.Sign(nil, map[string]any{"iss": f.client.ID, "sub": f.client.ID, "aud": f.meta.Issuer, "jti": rand.Text(),
				"iat": now, "exp": now + 60}))
	}
	return form
}

// proof returns the header of a request with a DPoP proof, by the key of the client.
func (f *flow) proof(t *testing.T, method, address, token string) http.Header {
	t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	if !f.dpop {
		return header
	}
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": address, "iat": time.Now().Unix()}
	if token != "" {
		sum := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(sum[:])
		header.Set("Authorization", "DPoP "+token)
	}
	header.Set("DPoP", f.key.Sign(map[string]any{"typ": "dpop+jwt", "jwk": f.key.Bare()}, claims))
	return header
}

// push pushes a request, and returns the address that opens it, and the verifier.
func (f *flow) push(t *testing.T) (string, string) {
	t.Helper()
	verifier := rand.Text() + rand.Text()
	sum := sha256.Sum256([]byte(verifier))
	form := url.Values{"response_type": {"code"}, "client_id": {f.client.ID}, "redirect_uri": {f.callback},
		"scope": {f.client.Scope}, "state": {"a state"}, "nonce": {"a nonce"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"}}
	if f.signed {
		now := time.Now().Unix()
		claims := map[string]any{"iss": f.client.ID, "aud": f.meta.Issuer, "nbf": now, "exp": now + 60,
			"response_mode": "jwt"}
		for name := range form {
			claims[name] = form.Get(name)
		}
		form = url.Values{"request": {f.key.Sign(nil, claims)}}
	}
	var pushed struct {
		URI string `json:"request_uri"`
	}
	f.send(t, "POST", f.meta.Push, f.authenticated(t, form), nil, http.StatusCreated, &pushed)
	return f.meta.Authorization + "?" + url.Values{"client_id": {f.client.ID}, "request_uri": {pushed.URI}}.Encode(),
		verifier
}

// browser returns a browser that trusts nginx.
func (f *flow) browser(t *testing.T) *browser {
	b := newBrowser(t)
	b.http.Transport = &http.Transport{TLSClientConfig: &tls.Config{RootCAs: f.trust}}
	return b
}

// answer returns what came to the callback: without the query of the address, and unpacked.
func (f *flow) answer(t *testing.T) url.Values {
	t.Helper()
	select {
	case got := <-f.answers:
		if text := got.Get("response"); text != "" {
			claims := jwt.MapClaims{}
			_, _, err := jwt.NewParser().ParseUnverified(text, claims)
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range claims {
				got.Set(name, fmt.Sprint(value))
			}
		}
		return got
	default:
		return nil
	}
}

// follow follows the plan to the protected resource, and refreshes the token.
func (f *flow) follow(t *testing.T) {
	address, verifier := f.push(t)
	f.browser(t).visit(f.plan.Browser, address)
	got := f.answer(t)
	if got.Get("state") != "a state" || strings.Contains(f.callback, "?") != got.Has("dummy1") {
		t.Errorf("the callback of %s got %v", f.client.ID, got)
	}
	f.use(t, url.Values{"grant_type": {"authorization_code"}, "code": got["code"], "redirect_uri": {f.callback},
		"code_verifier": {verifier}})
	if !f.signed {
		f.use(t, url.Values{"grant_type": {"client_credentials"}, "scope": {"read"}})
	}
}

// use gets a token, calls the protected resource with it, and refreshes it.
func (f *flow) use(t *testing.T, form url.Values) {
	t.Helper()
	var got struct {
		Access  string `json:"access_token"`
		Refresh string `json:"refresh_token"`
	}
	f.send(t, "POST", f.meta.Token, f.authenticated(t, form), f.proof(t, "POST", f.meta.Token, ""), http.StatusOK, &got)
	f.send(t, "GET", f.plan.Resource.URL, nil, f.proof(t, "GET", f.plan.Resource.URL, got.Access), http.StatusOK,
		&struct{}{})
	if got.Refresh != "" && form.Get("grant_type") != "refresh_token" {
		f.use(t, url.Values{"grant_type": {"refresh_token"}, "refresh_token": {got.Refresh}})
	}
}

// reuse redeems a code twice. The second time ends the token, also at the protected resource, which
// the suite asks at once.
func (f *flow) reuse(t *testing.T) {
	address, verifier := f.push(t)
	f.browser(t).visit(f.plan.Browser, address)
	form := url.Values{"grant_type": {"authorization_code"}, "code": f.answer(t)["code"], "redirect_uri": {f.callback},
		"code_verifier": {verifier}}
	redeem := func(status int, into any) {
		f.send(t, "POST", f.meta.Token, f.authenticated(t, form), f.proof(t, "POST", f.meta.Token, ""), status, into)
	}
	var got struct {
		Access string `json:"access_token"`
	}
	call := func(status int) {
		f.send(t, "GET", f.plan.Resource.URL, nil, f.proof(t, "GET", f.plan.Resource.URL, got.Access), status, &struct{}{})
	}
	redeem(http.StatusOK, &got)
	call(http.StatusOK)
	redeem(http.StatusBadRequest, &struct{}{})
	call(http.StatusUnauthorized)
}

// overrides carries out the browser automation of the modules that have their own.
func (f *flow) overrides(t *testing.T) {
	const prefix = "fapi2-security-profile-final-"
	for name, module := range map[string]struct {
		visits int
		ends   string // what the last visit brings
		shows  int    // how often the suite's log keeps a page
	}{
		"user-rejects-authentication":                                     {1, "access_denied", 0},
		"par-attempt-reuse-request_uri":                                   {2, "400", 1},
		"par-ensure-reused-request-uri-prior-to-auth-completion-succeeds": {2, "code", 0},
	} {
		t.Run(name, func(t *testing.T) {
			address, _ := f.push(t)
			b, entries := f.browser(t), f.plan.Override[prefix+name].Browser
			var got url.Values
			for range module.visits {
				b.visit(entries, address)
				got = f.answer(t)
			}
			if got.Get("error") != module.ends && !got.Has(module.ends) && fmt.Sprint(b.status) != module.ends ||
				b.shown != module.shows {
				t.Errorf("ended with %d, %v after %d kept pages", b.status, got, b.shown)
			}
			delete(f.plan.Override, prefix+name)
		})
	}
	// The others open a request URI that does not work.
	for name, over := range f.plan.Override {
		t.Run(name, func(t *testing.T) {
			address, _ := f.push(t)
			b := f.browser(t)
			b.visit(over.Browser, address+"x")
			if b.shown != 1 || b.status != http.StatusBadRequest {
				t.Errorf("the browser shows %d", b.status)
			}
		})
	}
}
