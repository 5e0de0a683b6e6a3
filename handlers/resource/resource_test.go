package resource

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// answer is a refusal as the client receives it.
type answer struct {
	Status    int
	Challenge string
	Body      string
}

const (
	noToken   = `{"detail":"Authentication credentials were not provided."}`
	badToken  = `{"detail":"The access token is invalid, expired or revoked."}`
	noScope   = `{"detail":"You do not have permission to perform this action."}`
	noRule    = `{"detail":"You do not have permission to perform this action: no rule of this server covers it."}`
	otherRule = `{"detail":"You do not have permission to perform this action: some servers read this path as one of another rule."}`
	outage    = `{"detail":"The access token cannot be checked at the moment."}`
)

const (
	bareChallenge = `Bearer realm="users"`
	badChallenge  = `Bearer realm="users", error="invalid_token", error_description="The access token is invalid, expired or revoked"`
	boundText     = "This access token is bound to a client certificate: send the request by mutual TLS with that " +
		"certificate"
	boundChallenge = `Bearer realm="users", error="invalid_token", error_description="` + boundText + `"`
	scopeChallenge = `Bearer realm="users", error="insufficient_scope", scope="read"`
)

func malformed(why string) answer {
	return answer{
		400,
		`Bearer realm="users", error="invalid_request", error_description="` + why + `"`,
		`{"detail":"` + why + `."}`,
	}
}

func TestRFC6750(t *testing.T) {
	p := newProvider(t, map[string]string{
		"live":     liveRead,
		"both":     `{"active":true,"scope":"write read"}`,
		"write":    `{"active":true,"scope":"write"}`,
		"reader":   `{"active":true,"scope":"reader"}`,
		"capital":  `{"active":true,"scope":"Read"}`,
		"refresh":  `{"active":true,"scope":"read","token_type":"refresh_token"}`,
		"lower":    `{"active":true,"scope":"read","token_type":"bearer"}`,
		"dpop":     `{"active":true,"scope":"read","token_type":"DPoP"}`,
		"bound":    `{"active":true,"scope":"read","token_type":"Bearer","cnf":{"x5t#S256":"bwcK0esc3ACC3DB2Y5_lESsXE8o9ltc05O89jdN-dg2"}}`,
		"unbound":  `{"active":true,"scope":"read","cnf":null}`,
		"for-us":   `{"active":true,"scope":"read","aud":["https://other","https://us"]}`,
		"us":       `{"active":true,"scope":"read","aud":"https://us"}`,
		"other":    `{"active":true,"scope":"read","aud":"https://us.example"}`,
		"nobody":   `{"active":true,"scope":"read","aud":[]}`,
		"garbage":  `<html>`,
		"expired":  `{"active":true,"scope":"read","exp":1}`,
		"not-yet":  `{"active":true,"scope":"read","nbf":32503680000}`,
		"nonsense": `{"active":"true","scope":"read"}`,
	})
	g := newGuard(t, GuardConfig{Verifier: p.introspection(t), Realm: "users", Audience: "https://us"})
	api := httptest.NewServer(g.Require(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "in")
	}), "read"))
	defer api.Close()

	in := answer{200, "", "in"}
	bad := answer{401, badChallenge, badToken}
	tests := []struct {
		name    string
		query   string
		headers []string
		want    answer
	}{
		{"2.1 an active token", "", []string{"Bearer live"}, in},
		{"2.1 a scheme in small letters", "", []string{"bearer live"}, in},
		{
			"2.1 a token with characters that are not allowed",
			"",
			[]string{"Bearer li ve"},
			malformed("The Authorization header contains no well-formed bearer token"),
		},
		{"2.2 a token in the query is ignored", "?access_token=live", nil, answer{401, bareChallenge, noToken}},
		{
			"2 two methods",
			"?access%5Ftoken=live",
			[]string{"Bearer live"},
			malformed("The access token is sent in the Authorization header and in the query"),
		},
		{"2 a parameter with a similar name", "?my_access_token=live", []string{"Bearer live"}, in},
		{"3 no token", "", nil, answer{401, bareChallenge, noToken}},
		{"3 another scheme", "", []string{"Basic YTpi"}, answer{401, bareChallenge, noToken}},
		{
			"3.1 two headers",
			"",
			[]string{"Bearer live", "Bearer live"},
			malformed("The request has more than one Authorization header"),
		},
		{"3.1 an unknown token", "", []string{"Bearer unknown"}, bad},
		{"3.1 an expired token", "", []string{"Bearer expired"}, bad},
		{"3.1 a token before its time", "", []string{"Bearer not-yet"}, bad},
		{"3.1 a token of another scope", "", []string{"Bearer write"}, answer{403, scopeChallenge, noScope}},
		{"3.1 a scope with the same beginning", "", []string{"Bearer reader"}, answer{403, scopeChallenge, noScope}},
		{"3.1 a scope in another case", "", []string{"Bearer capital"}, answer{403, scopeChallenge, noScope}},
		{"3.1 a token of more scopes", "", []string{"Bearer both"}, in},
		{"a refresh token", "", []string{"Bearer refresh"}, bad},
		{"a type in small letters", "", []string{"Bearer lower"}, in},
		{"a DPoP token without its proof", "", []string{"Bearer dpop"}, bad},
		{
			"a certificate-bound token without the certificate",
			"",
			[]string{"Bearer bound"},
			answer{401, boundChallenge, `{"detail":"` + boundText + `."}`},
		},
		{"a null confirmation", "", []string{"Bearer unbound"}, in},
		{"an audience list with us", "", []string{"Bearer for-us"}, in},
		{"our audience", "", []string{"Bearer us"}, in},
		{"another audience", "", []string{"Bearer other"}, bad},
		{"an empty audience", "", []string{"Bearer nobody"}, bad},
		{"an answer that is no JSON", "", []string{"Bearer garbage"}, answer{503, "", outage}},
		{"an answer of the wrong type", "", []string{"Bearer nonsense"}, answer{503, "", outage}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r, err := http.NewRequest("GET", api.URL+"/"+test.query, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header["Authorization"] = test.headers
			resp, got := do(t, r)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			refused := got.Status != 200
			if refused != (resp.Header.Get("Cache-Control") == "no-store") {
				t.Errorf("Cache-Control: %q", resp.Header.Get("Cache-Control"))
			}
			if refused && resp.Header.Get("Content-Type") != "application/json" {
				t.Errorf("Content-Type: %q", resp.Header.Get("Content-Type"))
			}
			if (got.Status == 503) != (resp.Header.Get("Retry-After") != "") {
				t.Errorf("Retry-After: %q", resp.Header.Get("Retry-After"))
			}
		})
	}
}

func do(t *testing.T, r *http.Request) (*http.Response, answer) {
	t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, answer{resp.StatusCode, resp.Header.Get("WWW-Authenticate"), string(body)}
}

func TestRequireScopes(t *testing.T) {
	p := newProvider(t, map[string]string{"live": `{"active":true,"scope":"read write"}`})
	g := newGuard(t, GuardConfig{Verifier: p.introspection(t)})
	tests := []struct {
		name   string
		scopes []string
		status int
	}{
		{"none", nil, 200},
		{"all are there", []string{"write", "read"}, 200},
		{"one is missing", []string{"read", "groups"}, 403},
		{"an empty one is never there", []string{""}, 403},
		{"two in one string are never there", []string{"read write"}, 403},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := httptest.NewRecorder()
			g.Require(http.NotFoundHandler(), test.scopes...).ServeHTTP(w, bearerRequest("live"))
			if test.status == 200 {
				test.status = 404 // the status of the protected handler
			}
			if w.Code != test.status {
				t.Errorf("got %d, want %d", w.Code, test.status)
			}
		})
	}
}

func bearerRequest(token string) *http.Request {
	r := httptest.NewRequest("GET", "/", nil)
	r.Header.Set("Authorization", "Bearer "+token)
	return r
}

func TestFromContext(t *testing.T) {
	p := newProvider(
		t,
		map[string]string{"live": `{"active":true,"client_id":"shop","username":"ann","sub":"7",
		"scope":"read  write","exp":32503680000,"iat":1,"nbf":2,"aud":"https://us","iss":"https://as","jti":"j","token_type":"Bearer","org":{"id":3}}`},
	)
	g := newGuard(t, GuardConfig{Verifier: p.introspection(t)})
	var got *Token
	next := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got, _ = FromContext(r.Context()) })
	g.Require(next).ServeHTTP(httptest.NewRecorder(), bearerRequest("live"))
	if got == nil {
		t.Fatal("no token in the context")
	}
	if string(got.Claims["org"]) != `{"id":3}` {
		t.Errorf("claim org: %s", got.Claims["org"])
	}
	got.Claims = nil
	want := &Token{
		ClientID: "shop", Username: "ann", Subject: "7", Scope: []string{"read", "write"},
		ExpiresAt: time.Unix(32503680000, 0), IssuedAt: time.Unix(1, 0), NotBefore: time.Unix(2, 0),
		Audience: []string{"https://us"}, Issuer: "https://as", ID: "j", TokenType: "Bearer",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if _, ok := FromContext(t.Context()); ok {
		t.Error("a token in a request without a guard")
	}
}

// An outage never makes a token inactive. The log names the setting to check and
// contains no secret.
func TestOutage(t *testing.T) {
	reply := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			io.WriteString(w, body)
		}
	}
	tests := []struct {
		name   string
		server http.HandlerFunc
		log    string
	}{
		{"our credentials are refused", reply(401, ""), "RESOURCE_SERVER_AUTH_TOKEN"},
		{"our token may not introspect", reply(403, ""), "let an administrator allow it"},
		{"a page not found", reply(404, "not here"), "RESOURCE_SERVER_INTROSPECTION_URL"},
		{"an error that says inactive", reply(500, `{"active":false}`), "answered with status 500"},
		{"an error that says active", reply(503, liveRead), "answered with status 503"},
		{"created", reply(201, liveRead), "answered with status 201"},
		{"nothing", reply(200, ""), "not a JSON object"},
		{
			"a connection cut off",
			func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
			"check RESOURCE_SERVER_INTROSPECTION_URL",
		},
		{"a redirect", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, "answered with status 307"},
		{
			"a response without an end",
			reply(200, `{"active":true,"x":"`+strings.Repeat("x", maxAnswer)+`"}`),
			"more than 65536 bytes",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			server := httptest.NewServer(test.server)
			defer server.Close()
			i, err := NewIntrospection(IntrospectionConfig{URL: server.URL, AuthToken: "hush-hush"})
			if err != nil {
				t.Fatal(err)
			}
			var log bytes.Buffer
			g := newGuard(t, GuardConfig{Verifier: i, Logger: slog.New(slog.NewJSONHandler(&log, nil))})
			w := httptest.NewRecorder()
			g.Require(http.NotFoundHandler()).ServeHTTP(w, bearerRequest("clear-token"))
			if w.Code != 503 || w.Body.String() != outage || w.Header().Get("Retry-After") == "" ||
				w.Header().Get("WWW-Authenticate") != "" {
				t.Errorf("got %d %v %s", w.Code, w.Header(), w.Body)
			}
			var line struct{ Level, Error string }
			err = json.Unmarshal(log.Bytes(), &line)
			if err != nil || line.Level != "ERROR" || !strings.Contains(line.Error, test.log) {
				t.Errorf("log: %s", log.String())
			}
			log.WriteString("\n")
			err = g.Ask(t.Context())
			asked := json.NewDecoder(strings.NewReader(log.String()[strings.Index(log.String(), "\n"):])).Decode(&line)
			if err == nil || asked != nil || line.Level != "ERROR" || !strings.Contains(line.Error, test.log) {
				t.Errorf("asked: %v, log: %s", err, log.String())
			}
			if strings.Contains(log.String(), "hush-hush") || strings.Contains(log.String(), "clear-token") {
				t.Errorf("a secret in the log: %s", log.String())
			}
		})
	}
}

func TestNewGuard(t *testing.T) {
	p := newProvider(t, nil)
	for _, c := range []GuardConfig{
		{},
		{Verifier: p.introspection(t), Realm: "a\"b"},
		{Verifier: p.introspection(t), Realm: "a\r\nb"},
	} {
		if _, err := NewGuard(c); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// A token that names no resource is for the server that issued it, and not for every API that may ask
// about it. Class: confused deputy, as with an audience that is not checked (RFC 9700 §4.10.2).
func TestAttackTokenOfNoResource(t *testing.T) {
	for _, test := range []struct {
		audience, issuer string
		good             bool
	}{
		{"https://auth.example", "https://auth.example/o", true}, // the sample API
		{"https://auth.example/", "https://auth.example/o", true},
		{"https://auth.example/o", "https://auth.example/o", true},
		{"https://auth.example", "", true}, // a server that says neither
		{"", "https://auth.example/o", true},
		{"https://api.example/v1", "https://auth.example/o", false},
		{"https://auth.example/api", "https://auth.example/o", false},
		{"https://auth.exam", "https://auth.example/o", false},
		{"orders", "https://auth.example/o", false},
	} {
		g := newGuard(t, GuardConfig{
			Audience: test.audience,
			Verifier: verifierFunc(func(context.Context, string) (*Token, error) {
				return nil, ErrInactive
			}),
		})
		if err := g.acceptable(&Token{Issuer: test.issuer}); (err == nil) != test.good {
			t.Errorf("the API %q, a token of %q: %v", test.audience, test.issuer, err)
		}
	}
}
