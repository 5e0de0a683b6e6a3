package handlers

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/mux"

	"mandate/handlers/web"
	"mandate/provider"
	"mandate/provider/authorize"
	"mandate/provider/limits"
	"mandate/provider/passkey/passkeytest"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
	"mandate/storage/storagetest"
	"mandate/templates"
	"mandate/testkit"
)

// most is the size of a body that the server reads (MAX_BODY_BYTES).
const most = 65536

// mostTime is what one request may cost, without a try that is counted. Hashes of passwords are excepted: they are
// cheap here.
const mostTime = 50 * time.Millisecond

// allowed is mostTime, or more where all code is slower: on a slow machine, or with the race detector.
func allowed(t *testing.T) time.Duration {
	t.Helper()
	text := []byte("[" + strings.Repeat(`{"a":[1,"b"]},`, 1<<16) + "1]")
	begun := testkit.ThreadTime(t)
	var into any
	err := json.Unmarshal(text, &into)
	if err != nil {
		t.Fatal(err)
	}
	return max(mostTime, (testkit.ThreadTime(t)-begun)/2)
}

// costSite is a server at an address at which browsers offer passkeys, and all its paths.
func costSite(t *testing.T) (handler http.Handler, paths []string, p *provider.Provider, store *storage.Store) {
	t.Helper()
	store, _ = storagetest.Open(t)
	var err error
	p, err = provider.New(t.Context(), provider.Config{
		Issuer:    "http://localhost:8000/o",
		ServerKey: bytes.Repeat([]byte{7}, 32),
		Settings: policy.Settings{
			Scopes: []policy.Scope{
				{Name: "read", Description: "Read it"}, {Name: "openid", Description: "Know you"},
			},
			OpenID:                  true,
			AccessTokenLifetime:     time.Hour,
			RefreshTokenLifetime:    time.Hour,
			RefreshTokenMaxLifetime: time.Hour,
		},
		Authorize: authorize.Config{CodeLifetime: time.Minute},
		People:    people.Config{SessionLifetime: time.Hour},
		Hashing:   limits.Config{Cost: password.Cost{MemoryKiB: 64, Iterations: 1}},
	}, store, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pages, err := templates.New("", templates.Brand{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := web.New(Config{
		BaseURL:      &url.URL{Scheme: "http", Host: "localhost:8000"},
		OpenID:       true,
		RPLogout:     true,
		Registration: true,
	}, p, pages)
	if err != nil {
		t.Fatal(err)
	}
	routes := routes(s).(*router)
	paths = slices.Collect(maps.Keys(routes.fixed))
	err = routes.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		paths = append(paths, strings.NewReplacer("{", "", "}", "").Replace(path))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	paths = slices.DeleteFunc(paths, func(path string) bool { return path != "/" && strings.HasSuffix(path, "/") })
	slices.Sort(paths)
	return s.Requests.Observe(routes), slices.Compact(paths), p, store
}

// fill repeats a part of a body until the body is as large as it may be.
func fill(before, part, after string) string {
	return before + strings.Repeat(part, (most-len(before)-len(after))/len(part)) + after
}

// token returns a JWT with a header of these members, and a signature as long as its key.
func tokenOf(header, payload string, signature int) string {
	b64 := base64.RawURLEncoding.EncodeToString
	return b64([]byte(header)) + "." + b64([]byte(payload)) + "." + b64(bytes.Repeat([]byte{1}, signature))
}

// rsaJWK is a public key as JWK with an odd modulus of so many bytes.
func rsaJWK(size int) string {
	return `{"kty":"RSA","alg":"RS256","kid":"k","e":"f____w","n":"` + base64.RawURLEncoding.EncodeToString(bytes.Repeat(
		[]byte{0xff}, size,
	)) + `"}`
}

// hostile returns bodies of which each takes much time in some reader.
func hostile() map[string]string {
	const form = "grant_type=client_credentials&client_id=x&response_type=code&redirect_uri=https%3A%2F%2Fa.example&"
	large := tokenOf(
		`{"alg":"RS256","kid":"k","jwk":`+rsaJWK(12000)+`}`,
		`{"iss":"x","sub":"x","jti":"x","aud":"http://localhost:8000/o","exp":9999999999}`, 12000,
	)
	bodies := map[string]string{
		"many parameters":       fill("", "a=&", "a="),
		"many different":        "",
		"one long value":        fill(form+"state=", "a", ""),
		"escapes":               fill(form+"state=", "%25", ""),
		"deep claims":           fill(form+"claims=", "[", ""),
		"deep claims, objects":  fill(form+"claims=", "%7B%22a%22:", ""),
		"many claims":           fill(form+"claims=%7B%22userinfo%22:%7B%22b%22:null", ",%22a%22:null", "%7D%7D"),
		"many scopes":           fill(form+"scope=openid", "+a", ""),
		"many prompts":          fill(form+"prompt=login", "+login", "&acr_values=a+b"),
		"many resources":        fill(form+"resource=https%3A%2F%2Fa.example", "&resource=https%3A%2F%2Fb.example", ""),
		"many codes of methods": fill(form+"authorization_details=", "%5B%7B%22type%22:%22", ""),
		"a large request":       form + "request=" + large,
		"a large assertion": form +
			"client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer&client_assertion=" + large,
		"a nested token": fill(form+"request=", "eyJhbGciOiJub25lIn0.", ""),
		"a compressed token": form + "request=" + tokenOf(
			`{"alg":"RSA-OAEP","enc":"A256GCM","zip":"DEF"}`, "x", 20000,
		) + ".a.b",
		"a large hint":     "id_token_hint=" + large + "&token_type_hint=x&assertion=x",
		"a large token":    "token=" + large + "&subject_token=x",
		"a long token":     fill("token=mat_", "a", ""),
		"a long list":      fill("list=", "a%40b.example%0A", ""),
		"a list of quotes": fill("list=email%0A", "%22%22%22", ""),
		"a passkey": form + "ticket=x&response=" + url.QueryEscape(fill(
			`{"id":"AAAA","rawId":"AAAA","type":"public-key","response":`, "[", "",
		)[:20000]),
		"long names":     fill("username=", "%CC%87i", "&password=x"),
		"long words":     fill("username=a&password=", "%EF%B7%BA", ""),
		"long addresses": fill("email=a%40", "xn--", "&username=x"),
		"wide domains":   fill("email=a%40", "%C3%BC.", "&username=x"),
		"many addresses": fill("redirect_uris=", "https%3A%2F%2Fa.example%2Fx%0A", "&name=x&client_type=public"),
		"a page of text": fill("name=", "%3Cb%3E%26", "&jwks="+url.QueryEscape(`{"keys":[`+rsaJWK(100)+`]}`)),
		"a large key": "name=x&client_type=confidential&auth_method=private_key_jwt&jwks=" +
			url.QueryEscape(`{"keys":[`+rsaJWK(40000)+`]}`),
		"JSON, deep":           fill("", "[", ""),
		"JSON, deep objects":   fill("", `{"a":`, ""),
		"JSON, many members":   fill(`{"redirect_uris":["https://a.example/x"]`, `,"a":1`, "}"),
		"JSON, many addresses": fill(`{"redirect_uris":["https://a.example/x"`, `,"https://a.example/y"`, "]}"),
		"JSON, a large key":    `{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[` + rsaJWK(45000) + `]}}`,
		"JSON, many keys": fill(
			`{"redirect_uris":["https://a.example/x"],"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[`+
				rsaJWK(512),
			","+rsaJWK(512), "]}}",
		),
		"JSON, a statement":    `{"redirect_uris":["https://a.example/x"],"software_statement":"` + large + `"}`,
		"JSON, many languages": fill(`{"redirect_uris":["https://a.example/x"]`, `,"client_name#de-CH-x-a":"a"`, "}"),
		"JSON, numbers":        fill(`{"default_max_age":1`, "0", "}"),
		"JSON, escapes":        fill(`{"client_name":"`, `\u0041`, `"}`),
	}
	var different strings.Builder
	for n := 0; different.Len() < most-20; n++ {
		fmt.Fprintf(&different, "p%d=&", n)
	}
	bodies["many different"] = different.String()
	return bodies
}

// A CPU bill that a stranger runs up (CWE-407; CVE-2023-29409 and CVE-2024-28180 are of this class): no body that the
// server reads costs more than mostTime, at any path, signed in or not. Each request comes from another network, so
// that no limit hides what it costs.
func TestAttackCostOfABody(t *testing.T) {
	handler, paths, p, _ := costSite(t)
	_, err := p.People.AddUser(t.Context(), policy.Operator(), people.Person{
		Username:      "root",
		Password:      goodPassword,
		Administrator: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	n := 0
	send := func(path, body, session string, heads map[string]string) (int, time.Duration) {
		n++
		r := httptest.NewRequestWithContext(t.Context(), post, "http://localhost:8000"+path, strings.NewReader(body))
		r.RemoteAddr = fmt.Sprintf("%d.%d.%d.1:1", 11+n>>16, n>>8&255, n&255)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
			r.Header.Set("Content-Type", "application/json")
		}
		r.Header.Set("Origin", "http://localhost:8000")
		for name, value := range heads {
			r.Header.Set(name, value)
		}
		if session != "" {
			r.Header.Set("Cookie", session)
		}
		w, begun := httptest.NewRecorder(), testkit.ThreadTime(t)
		handler.ServeHTTP(w, r)
		return w.Code, testkit.ThreadTime(t) - begun
	}
	signIn := func() string {
		r := httptest.NewRequestWithContext(t.Context(), post, "http://localhost:8000/login/", strings.NewReader(url.Values{
			"username": {"root"},
			"password": {goodPassword},
		}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		var cookies []string
		for _, c := range w.Result().Cookies() {
			cookies = append(cookies, c.Name+"="+c.Value)
		}
		if w.Code != 303 || len(cookies) == 0 {
			t.Fatal(w.Code, w.Body)
		}
		return strings.Join(cookies, "; ")
	}
	proof := tokenOf(
		`{"typ":"dpop+jwt","alg":"RS256","jwk":`+rsaJWK(8000)+`}`,
		`{"htm":"POST","htu":"http://localhost:8000/o/token/","iat":1,"jti":"x"}`, 8000,
	)
	headers := map[string]map[string]string{
		"a large proof":    {"DPoP": proof},
		"a large bearer":   {"Authorization": "Bearer " + proof},
		"a large basic":    {"Authorization": "Basic " + fill("", "OmE6", "")},
		"many cookies":     {"Cookie": fill("", "a=b; ", "")},
		"a large language": {"Accept-Language": fill("de", ",en-US;q=0.9", "")},
		"a large list":     {"Accept": fill("a/b", ",*/*;q=0.1", "")},
		"a long way":       {"X-Forwarded-For": fill("192.0.2.1", ",192.0.2.1", "")},
	}
	slowest, limit := time.Duration(0), allowed(t)
	check := func(what, path, body, session string, heads map[string]string) {
		best := time.Hour
		for range 5 { // what the garbage collector takes is not in each of them
			_, took := send(path, body, session, heads)
			best = min(best, took)
			if best <= limit {
				break
			}
			limit = max(limit, allowed(t)) // other tests may have begun, which share the processors
		}
		slowest = max(slowest, best)
		if best > limit {
			t.Errorf("POST %s with %s, signed in %v: %s", path, what, session != "", best)
		}
	}
	for _, path := range paths {
		for _, session := range []string{"", signIn()} {
			for what, body := range hostile() {
				if len(body) > most {
					t.Fatalf("%s has %d bytes", what, len(body))
				}
				check(what, path, body, session, nil)
			}
		}
		for what, heads := range headers {
			check(what, path, "grant_type=x&client_id=x", "", heads)
		}
	}
	t.Logf("%d requests to %d paths; the slowest took %s", n, len(paths), slowest)
}

// The key of a passkey is stored once, and used by whoever sends its ID.
func TestAttackCostOfAStoredPasskey(t *testing.T) {
	handler, _, p, store := costSite(t)
	u, err := p.People.AddUser(t.Context(), policy.Operator(), people.Person{Username: "alice", Password: goodPassword})
	if err != nil {
		t.Fatal(err)
	}
	in, err := p.People.Login(t.Context(), "alice", goodPassword, people.Browser{Address: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	session, err := p.People.SignedIn(t.Context(), in.Session)
	if err != nil {
		t.Fatal(err)
	}
	key, id := passkeytest.RSAKey(bytes.Repeat([]byte{0xff}, 262144/8), []byte{1, 0, 1}), bytes.Repeat([]byte{9}, 32)
	b64 := base64.RawURLEncoding.EncodeToString
	err = store.AddPasskey(t.Context(), storage.Passkey{
		ID:        b64(id),
		UserID:    u.ID,
		PublicKey: b64(key),
		Name:      "x",
		CreatedAt: time.Now().Unix(),
	},
		storage.Renewal{ID: session.Session.ID, Was: session.Session.Digest, Session: session.Session}, 20)
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewRecorder()
	handler.ServeHTTP(page, httptest.NewRequestWithContext(t.Context(), get, "http://localhost:8000/login/", nil))
	found := regexp.MustCompile(`data-options="([^"]+)"[\s\S]*name="ticket" value="([^"]+)"`).FindStringSubmatch(
		page.Body.String())
	if found == nil {
		t.Fatal(page.Body)
	}
	a := &passkeytest.Authenticator{Origin: "http://localhost:8000", ID: id, Handle: []byte("x"), COSE: key}
	form := url.Values{"ticket": {html.UnescapeString(found[2])}, "response": {a.Get(html.UnescapeString(found[1]))}}
	r := httptest.NewRequestWithContext(
		t.Context(), post, "http://localhost:8000/login/passkey/", strings.NewReader(form.Encode()),
	)
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Origin", "http://localhost:8000")
	for _, c := range page.Result().Cookies() {
		r.AddCookie(c)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	begun := testkit.ThreadTime(t)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	if took := testkit.ThreadTime(t) - begun; took > allowed(t) {
		t.Errorf("it took %s", took)
	}
	if w.Code != http.StatusBadRequest && w.Code != 422 {
		t.Errorf("status %d\n%s", w.Code, w.Body)
	}
}
