package mandate

import (
	crand "crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// answer is a whole HTTP response.
type answer struct {
	Status int
	Header http.Header
	Body   string
}

// JSON decodes an answer that must be a JSON object.
func (a answer) JSON(t testing.TB) map[string]any {
	t.Helper()
	var object map[string]any
	a.decode(t, &object)
	return object
}

func (a answer) decode(t testing.TB, into any) {
	t.Helper()
	if !strings.HasPrefix(a.Header.Get("Content-Type"), "application/json") {
		t.Fatalf("status %d, Content-Type %q, want JSON:\n%s", a.Status, a.Header.Get("Content-Type"), a.Body)
	}
	err := json.Unmarshal([]byte(a.Body), into)
	if err != nil {
		t.Fatalf("status %d, %v:\n%s", a.Status, err, a.Body)
	}
}

// auth adds client authentication to a request, in its header or its form.
type auth func(r *http.Request, form url.Values)

// nobody adds no client authentication.
func nobody(*http.Request, url.Values) {}

// fromAddress is nobody at this address, for a server that trusts the proxy "ours".
func fromAddress(address string) auth {
	return func(r *http.Request, _ url.Values) { r.Header.Set("X-Forwarded-For", address) }
}

// RFC 6749 §2.3.1: id and secret are form-encoded before they are used as user name and
// password.
func basic(id, secret string) auth {
	return func(r *http.Request, _ url.Values) { r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret)) }
}

// RFC 6749 §2.3.1: as an alternative, both are parameters in the body.
func body(id, secret string) auth {
	return func(_ *http.Request, form url.Values) {
		form.Set("client_id", id)
		form.Set("client_secret", secret)
	}
}

// RFC 6750 §2.1
func bearer(token string) auth {
	return func(r *http.Request, _ url.Values) { r.Header.Set("Authorization", "Bearer "+token) }
}

// auth returns the client authentication of the application: HTTP Basic, or only its id
// if it has no secret.
func (a application) auth() auth {
	if a.ClientSecret == "" {
		return func(_ *http.Request, form url.Values) { form.Set("client_id", a.ClientID) }
	}
	return basic(a.ClientID, a.ClientSecret)
}

// params returns a form or a query from names and values in turn. A name may appear
// twice.
func params(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return values
}

// confidential lists the form fields whose values the log must not contain.
var confidential = []string{"password", "client_secret", "code", "code_verifier", "refresh_token", "token",
	"access_token", "device_code", "user_code", "client_assertion"}

// tryPost sends a form. Unlike post, it may be called from any goroutine.
func (s *server) tryPost(path string, as auth, form url.Values) (answer, error) {
	sent := url.Values{}
	for name, values := range form {
		sent[name] = values
	}
	request, err := http.NewRequest("POST", s.URL+path, nil)
	if err != nil {
		return answer{}, err
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	as(request, sent)
	encoded := sent.Encode()
	request.Body, request.ContentLength = io.NopCloser(strings.NewReader(encoded)), int64(len(encoded))
	for _, name := range confidential {
		for _, value := range sent[name] {
			s.secret(value)
		}
	}
	return s.do(request)
}

// post sends a form to a path of this server.
func (s *server) post(t testing.TB, path string, as auth, form url.Values) answer {
	t.Helper()
	a, err := s.tryPost(path, as, form)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// get requests a path of this server and does not follow redirects.
func (s *server) get(t testing.TB, path string, as auth) answer {
	t.Helper()
	request, err := http.NewRequest("GET", s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	as(request, url.Values{})
	a, err := s.do(request)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// do sends a request and does not follow redirects.
func (s *server) do(request *http.Request) (answer, error) {
	_, credentials, found := strings.Cut(request.Header.Get("Authorization"), " ")
	if found {
		s.secret(credentials)
	}
	response, err := s.client.Do(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	read, err := io.ReadAll(response.Body)
	return answer{response.StatusCode, response.Header, string(read)}, err
}

// tokens is an answer of the token endpoint, successful (RFC 6749 §5.1) or not (§5.2).
type tokens struct {
	AccessToken  string `json:"access_token"`
	TokenType    string `json:"token_type"`
	ExpiresIn    int64  `json:"expires_in"`
	RefreshToken string `json:"refresh_token"`
	Scope        string `json:"scope"`
	IDToken      string `json:"id_token"`

	Error            string `json:"error"`
	ErrorDescription string `json:"error_description"`
	ErrorURI         string `json:"error_uri"`
}

// token sends a request to the token endpoint and returns any answer.
func (s *server) token(t testing.TB, as auth, form url.Values) (tokens, answer) {
	t.Helper()
	a := s.post(t, "/o/token/", as, form)
	return s.tokens(t, a), a
}

// tokens decodes an answer of the token endpoint.
func (s *server) tokens(t testing.TB, a answer) tokens {
	t.Helper()
	var got tokens
	a.decode(t, &got)
	for _, value := range []string{got.AccessToken, got.RefreshToken, got.IDToken} {
		s.secret(value)
	}
	return got
}

// mustToken is token for a request that must succeed.
func (s *server) mustToken(t testing.TB, as auth, form url.Values) tokens {
	t.Helper()
	got, a := s.token(t, as, form)
	if a.Status != http.StatusOK || got.AccessToken == "" {
		t.Fatalf("the token endpoint answered %d: %s", a.Status, a.Body)
	}
	return got
}

// introspect introspects a token (RFC 7662 §2.1). The answer must be 200.
func (s *server) introspect(t testing.TB, as auth, token string) map[string]any {
	t.Helper()
	f := params("token", token)
	if strings.HasPrefix(token, "mrt_") {
		// Another client's refresh token is shown only if token_type_hint names its kind.
		f.Set("token_type_hint", "refresh_token")
	}
	a := s.post(t, "/o/introspect/", as, f)
	if a.Status != http.StatusOK {
		t.Fatalf("the introspection endpoint answered %d: %s", a.Status, a.Body)
	}
	return a.JSON(t)
}

// active reports whether introspection says that a token is active.
func (s *server) active(t testing.TB, as auth, token string) bool {
	t.Helper()
	return s.introspect(t, as, token)["active"] == true
}

// revoke revokes a token (RFC 7009 §2.1). The answer must be 200.
func (s *server) revoke(t testing.TB, as auth, token string) {
	t.Helper()
	a := s.post(t, "/o/revoke_token/", as, params("token", token))
	if a.Status != http.StatusOK {
		t.Fatalf("the revocation endpoint answered %d: %s", a.Status, a.Body)
	}
}

// newPKCE returns a verifier and its S256 challenge (RFC 7636 §4.1, §4.2).
func newPKCE() (string, string) {
	random := make([]byte, 32)
	_, _ = crand.Read(random) // it cannot fail
	verifier := base64.RawURLEncoding.EncodeToString(random)
	digest := sha256.Sum256([]byte(verifier))
	return verifier, base64.RawURLEncoding.EncodeToString(digest[:])
}

// authorizeURL returns an authorization request with PKCE, and its verifier. more lists
// names and values in turn. They replace parameters of the same name; an empty value
// removes one.
func (s *server) authorizeURL(app application, more ...string) (string, string) {
	verifier, challenge := newPKCE()
	query := params("response_type", "code", "client_id", app.ClientID, "redirect_uri", app.RedirectURI,
		"code_challenge", challenge, "code_challenge_method", "S256")
	for name, values := range params(more...) {
		query[name] = values
		if values[0] == "" {
			query.Del(name)
		}
	}
	return s.URL + "/o/authorize/?" + query.Encode(), verifier
}

// redeem exchanges a code. The answer must be 200.
func (s *server) redeem(t testing.TB, app application, code, verifier string) tokens {
	t.Helper()
	return s.mustToken(t, app.auth(), params("grant_type", "authorization_code", "code", code,
		"redirect_uri", app.RedirectURI, "code_verifier", verifier))
}

// parallel calls f n times at once and returns the answers in the order of the calls.
func parallel(t testing.TB, n int, f func(i int) (answer, error)) []answer {
	t.Helper()
	answers, failures := make([]answer, n), make([]error, n)
	begin := make(chan struct{})
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() {
			<-begin
			answers[i], failures[i] = f(i)
		})
	}
	close(begin)
	group.Wait()
	for i, err := range failures {
		if err != nil {
			t.Fatal(fmt.Errorf("request %d of %d: %w", i, n, err))
		}
	}
	return answers
}
