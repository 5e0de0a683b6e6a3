package resource

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRFC7662(t *testing.T) {
	type request struct {
		Method, Accept, ContentType, Path string
		Form                              url.Values
		Authorization                     []string
		Idempotency                       []string
	}
	var got request
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.ParseForm()
		got = request{r.Method, r.Header.Get("Accept"), r.Header.Get("Content-Type"), r.RequestURI,
			r.PostForm, r.Header["Authorization"], r.Header["Idempotency-Key"]}
		io.WriteString(w, liveRead)
	}))
	defer server.Close()
	tests := []struct {
		name          string
		config        IntrospectionConfig
		authorization string
	}{
		{"2.1 with a token", IntrospectionConfig{AuthToken: "abc"}, "Bearer abc"},
		// "a%3Ab+c%25:p%C3%A4%3A" in base64.
		{"2.1 with credentials", IntrospectionConfig{ClientID: "a:b c%", ClientSecret: "pä:"},
			"Basic YSUzQWIrYyUyNTpwJUMzJUE0JTNB"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			test.config.URL = server.URL + "/o/introspect/?tenant=1"
			i, err := NewIntrospection(test.config)
			if err != nil {
				t.Fatal(err)
			}
			_, err = i.Verify(t.Context(), "a+/=&b")
			if err != nil {
				t.Fatal(err)
			}
			want := request{"POST", "application/json", "application/x-www-form-urlencoded", "/o/introspect/?tenant=1",
				url.Values{"token": {"a+/=&b"}, "token_type_hint": {"access_token"}}, []string{test.authorization}, nil}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestNewIntrospection(t *testing.T) {
	const (
		address = "RESOURCE_SERVER_INTROSPECTION_URL"
		token   = "RESOURCE_SERVER_AUTH_TOKEN"
		pair    = "RESOURCE_SERVER_INTROSPECTION_CREDENTIALS"
		good    = "https://as.example/o/introspect/"
	)
	tests := []struct {
		name     string
		config   IntrospectionConfig
		mentions []string // nil: no error
	}{
		{"a token", IntrospectionConfig{URL: good, AuthToken: "a"}, nil},
		{"credentials", IntrospectionConfig{URL: good, ClientID: "a", ClientSecret: "b"}, nil},
		{"neither", IntrospectionConfig{URL: good}, []string{token, pair, "neither"}},
		{"both", IntrospectionConfig{URL: good, AuthToken: "a", ClientID: "a", ClientSecret: "b"},
			[]string{token, pair, "both"}},
		{"no secret", IntrospectionConfig{URL: good, ClientID: "a"}, []string{pair}},
		{"no client id", IntrospectionConfig{URL: good, ClientSecret: "hush"}, []string{pair}},
		{"a line break", IntrospectionConfig{URL: good, AuthToken: "hush\n"}, []string{token}},
		{"no URL", IntrospectionConfig{AuthToken: "hush"}, []string{address}},
		{"a path", IntrospectionConfig{URL: "/o/introspect/", AuthToken: "hush"}, []string{address}},
		{"no host", IntrospectionConfig{URL: "https:///o/introspect/", AuthToken: "hush"}, []string{address}},
		{"only a port", IntrospectionConfig{URL: "https://:443/", AuthToken: "hush"}, []string{address}},
		{"another scheme", IntrospectionConfig{URL: "ftp://as.example/", AuthToken: "hush"}, []string{address}},
		{"a password", IntrospectionConfig{URL: "https://a:hush@as.example/", AuthToken: "hush"}, []string{address}},
		{"not a URL", IntrospectionConfig{URL: "https://as.example/%zzhush", AuthToken: "hush"}, []string{address}},
		{"a negative timeout", IntrospectionConfig{URL: good, AuthToken: "hush", Timeout: -1},
			[]string{"RESOURCE_SERVER_INTROSPECTION_TIMEOUT_SECONDS"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := NewIntrospection(test.config)
			if (err == nil) != (test.mentions == nil) {
				t.Fatalf("got %v", err)
			}
			for _, m := range test.mentions {
				if !strings.Contains(err.Error(), m) || strings.Contains(err.Error(), "hush") {
					t.Errorf("got %v, want it to mention %s and no secret", err, m)
				}
			}
		})
	}
}

func TestDecode(t *testing.T) {
	tests := []struct {
		body    string
		verdict string // "live" (active), "dead" (inactive) or "none" (an error)
	}{
		{`{"active":true}`, "live"},
		{` { "active" : true } `, "live"},
		{`{"active":true,"username":null,"exp":null,"aud":null,"scope":null}`, "live"},
		{`{"active":true,"exp":1.5e9,"aud":["a","b"]}`, "live"},
		{`{"active":false}`, "dead"},
		{`{"active":false,"exp":"never"}`, "dead"},
		{``, "none"},
		{`null`, "none"},
		{`true`, "none"},
		{`[{"active":true}]`, "none"},
		{`{}`, "none"},
		{`{"Active":true}`, "none"},
		{`{"active":null}`, "none"},
		{`{"active":"true"}`, "none"},
		{`{"active":1}`, "none"},
		{`{"active":true}{"active":true}`, "none"},
		{`{"active":true`, "none"},
		{`{"active":true,"scope":["read"]}`, "none"},
		{`{"active":true,"client_id":7}`, "none"},
		{`{"active":true,"username":{}}`, "none"},
		{`{"active":true,"sub":7}`, "none"},
		{`{"active":true,"iss":[]}`, "none"},
		{`{"active":true,"jti":1}`, "none"},
		{`{"active":true,"token_type":false}`, "none"},
		{`{"active":true,"exp":"32503680000"}`, "none"},
		{`{"active":true,"exp":1e300}`, "none"},
		{`{"active":true,"exp":1e400}`, "none"},
		{`{"active":true,"exp":-1}`, "none"},
		{`{"active":true,"nbf":true}`, "none"},
		{`{"active":true,"iat":[]}`, "none"},
		{`{"active":true,"aud":7}`, "none"},
		{`{"active":true,"aud":[7]}`, "none"},
		{`{"active":true,"aud":{}}`, "none"},
	}
	for _, test := range tests {
		t.Run(test.body, func(t *testing.T) {
			token, err := decode([]byte(test.body))
			got := "live"
			if err != nil {
				got = "none"
			} else if token == nil {
				got = "dead"
			}
			if got != test.verdict {
				t.Errorf("got %s (%v), want %s", got, err, test.verdict)
			}
		})
	}
}

func FuzzDecode(f *testing.F) {
	for _, seed := range []string{liveRead, `{"active":false}`, `{"active":true,"exp":1e300,"aud":["a",null]}`, `null`,
		`{"active": true ,"aud":""}`, `{"active":true,"nbf":0.5}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		token, err := decode(body)
		if token == nil {
			return
		}
		if err != nil || string(token.Claims["active"]) != "true" {
			t.Fatalf("%q: active, with %v", body, err)
		}
		for _, at := range []time.Time{token.ExpiresAt, token.IssuedAt, token.NotBefore} {
			if !at.IsZero() && (at.Unix() < 0 || at.Year() > 10000) {
				t.Fatalf("%q: time %v", body, at)
			}
		}
		for _, s := range token.Scope {
			if s == "" || strings.ContainsAny(s, " \t\n") {
				t.Fatalf("%q: scope %q", body, s)
			}
		}
	})
}

// A token is invalid from the exact moment of its expiry.
func TestLiveAt(t *testing.T) {
	at := time.Unix(1000, 0)
	tests := []struct {
		name  string
		token Token
		live  bool
	}{
		{"no times", Token{}, true},
		{"before the end", Token{ExpiresAt: at.Add(1)}, true},
		{"at the end", Token{ExpiresAt: at}, false},
		{"an end at the epoch", Token{ExpiresAt: time.Unix(0, 0)}, false},
		{"at the start", Token{NotBefore: at}, true},
		{"before the start", Token{NotBefore: at.Add(1)}, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.token.liveAt(at); got != test.live {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestIntrospectionTimeout(t *testing.T) {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { <-stop }))
	defer server.Close()
	defer close(stop)
	i, err := NewIntrospection(IntrospectionConfig{URL: server.URL, AuthToken: "a", Timeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.Verify(t.Context(), "clear-token")
	if err == nil || errors.Is(err, ErrInactive) || strings.Contains(err.Error(), "clear-token") {
		t.Errorf("got %v", err)
	}
}

func TestIntrospectionDoesNotFollowRedirects(t *testing.T) {
	var reached atomic.Bool
	mux := http.NewServeMux()
	mux.Handle("/old", http.RedirectHandler("/new", http.StatusTemporaryRedirect))
	mux.HandleFunc("/new", func(w http.ResponseWriter, r *http.Request) {
		reached.Store(true)
		io.WriteString(w, liveRead)
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	i, err := NewIntrospection(IntrospectionConfig{URL: server.URL + "/old", AuthToken: "a"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = i.Verify(t.Context(), "t")
	if err == nil || reached.Load() {
		t.Errorf("got %v, reached %v", err, reached.Load())
	}
}

func TestIntrospectionKeepsConnections(t *testing.T) {
	var opened atomic.Int64
	server := httptest.NewUnstartedServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, liveRead) }))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	i, err := NewIntrospection(IntrospectionConfig{URL: server.URL, AuthToken: "a"})
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() { i.Verify(t.Context(), "t") })
		}
		all.Wait()
	}
	// A few more than 16 connections are allowed: a request may dial while another one
	// is returning its connection.
	if n := opened.Load(); n > 64 {
		t.Errorf("320 requests opened %d connections", n)
	}
}

// A server that restarts closes idle connections. The next request must not fail.
func TestIntrospectionSurvivesDeadConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var served sync.WaitGroup
	defer served.Wait()
	served.Go(func() {
		for range 2 {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() { answerOnce(conn) })
		}
	})
	i, err := NewIntrospection(IntrospectionConfig{URL: "http://" + l.Addr().String(), AuthToken: "a"})
	if err != nil {
		t.Fatal(err)
	}
	defer i.client.CloseIdleConnections()
	for range 2 {
		_, err = i.Verify(t.Context(), "t")
		if err != nil {
			t.Fatal(err)
		}
	}
}

// answerOnce answers the first request of a connection and closes it at the second one.
func answerOnce(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for i := range 2 {
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		io.Copy(io.Discard, r.Body)
		if i == 0 {
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{\"active\":true}")
		}
	}
}

// RFC 7662 §2.3: the error about refused credentials says whose they are, and which
// setting has them.
func TestRefusedCredentialsNameTheirSetting(t *testing.T) {
	p := newProvider(t, nil)
	for setting, c := range map[string]IntrospectionConfig{
		"RESOURCE_SERVER_AUTH_TOKEN":                {URL: p.URL, AuthToken: "wrong"},
		"RESOURCE_SERVER_INTROSPECTION_CREDENTIALS": {URL: p.URL, ClientID: "guard", ClientSecret: "wrong"},
	} {
		i, err := NewIntrospection(c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = i.Verify(t.Context(), "mat_1")
		want := "refused the credentials of this resource server with status 401: check " + setting
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
