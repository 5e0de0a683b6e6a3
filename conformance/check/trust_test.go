package check

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"mandate/conformance/need"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// site is a host that records the requests that it receives.
type site struct {
	*httptest.Server
	mu  sync.Mutex
	got []string
}

func newSite(t *testing.T, page func(w http.ResponseWriter, r *http.Request)) *site {
	t.Helper()
	s := &site{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.mu.Lock()
		s.got = append(s.got, fmt.Sprintf("%s %s %s %v", r.Method, r.URL, r.Header.Get("Authorization"), r.Form))
		s.mu.Unlock()
		page(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *site) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.got
}

func silentPage(http.ResponseWriter, *http.Request) {}

func serverOf(issuer string, metadata Metadata) *Server {
	s := NewServer(&target.Target{Issuer: issuer, User: target.User{Username: "alice", Password: "open sesame"},
		InitialAccessToken: "an-initial-access-token", Clients: map[need.Need]*target.Client{
			need.Code: {ID: "client", Secret: "a-client-secret", Auth: need.SecretBasic,
				RedirectURIs: []string{"https://client.example/code"}}}}, wire.NewNetwork(wire.Options{}))
	s.Metadata = metadata
	return s
}

// The browser sends the password to no form, button or link of another origin, unless the target names the origin.
func TestPasswordStaysAtTheServer(t *testing.T) {
	for name, page := range map[string]string{
		"a form":          `<form method="post" action="ELSEWHERE/steal"><input name="user"><input type="password" name="pw"><button>Go</button></form>`,
		"a form by GET":   `<form action="ELSEWHERE/steal"><input name="user"><input type="password" name="pw"><button>Go</button></form>`,
		"a button":        `<form method="post"><input name="user"><input type="password" name="pw"><button formaction="ELSEWHERE/steal">Go</button></form>`,
		"a base":          `<base href="ELSEWHERE/"><form method="post" action="steal"><input name="user"><input type="password" name="pw"><button>Go</button></form>`,
		"the user's name": `<form method="post" action="ELSEWHERE/steal"><input name="username"><button>Next</button></form>`,
		"a link":          `<a href="ELSEWHERE/steal">Deny</a>`,
		"a decision":      `<form method="post" action="ELSEWHERE/steal"><button>Allow</button><button>Deny</button></form>`,
	} {
		t.Run(name, func(t *testing.T) {
			other := newSite(t, silentPage)
			server := newSite(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				if r.Method == http.MethodGet {
					fmt.Fprint(w, strings.ReplaceAll(page, "ELSEWHERE", other.URL))
				}
			})
			s := serverOf(server.URL,
				Metadata{"authorization_endpoint": server.URL + "/authorize", "token_endpoint": server.URL + "/token"})
			walk := Rule{ID: "TEST/1/walk", Level: Must,
				Check: func(t *T) { t.CodeOf(t.Walk(t.NewBrowser(), t.Request(t.Client(need.Code)), name != "a link")) }}
			result := s.Check(t.Context(), walk)
			if got := other.requests(); len(got) > 0 {
				t.Errorf("the other origin received %q", got)
			}
			if name == "a base" {
				return // the browser ignores it
			}
			if result.Status != Blocked || !strings.Contains(result.Reason, "add "+other.URL+" to the target under origins") {
				t.Errorf("%s: %s", result.Status, result.Reason)
			}
			s.Target.Origins = []string{other.URL}
			s.signIn = signIn{}
			s.Check(t.Context(), walk)
			if len(other.requests()) == 0 {
				t.Error("an origin of the target received nothing")
			}
		})
	}
}

// A request with a secret of the target, and one to the authorization or token endpoint, goes only to an origin of the
// target. Another endpoint of the metadata can have another origin.
func TestSecretsStayAtTheServer(t *testing.T) {
	other, server := newSite(t, silentPage), newSite(t, silentPage)
	metadata := Metadata{"token_endpoint": other.URL + "/token", "authorization_endpoint": other.URL + "/authorize",
		"introspection_endpoint": other.URL + "/introspect",
		"registration_endpoint":  other.URL + "/register", "userinfo_endpoint": other.URL + "/userinfo",
		"end_session_endpoint": other.URL + "/logout"}
	sends := map[string]func(*T){
		"a code":   func(t *T) { t.Post(t.Endpoint(need.Token), wire.Params("code", "c")) },
		"a person": func(t *T) { t.OpenAnonymously(t.Request(t.Client(need.Code))) },
		"a logout": func(t *T) { t.OpenLogout(t.NewBrowser(), wire.Params("state", "s")) },
		"Basic":    func(t *T) { t.Post(t.Endpoint(need.Introspection), nil, t.Client(need.Code).Credentials()) },
		"a secret in body": func(t *T) {
			t.Post(t.Endpoint(need.Introspection), nil, wire.InBody("client", "a-client-secret"))
		},
		"a secret in query": func(t *T) { t.Get(other.URL + "/?x=" + "a-client%2Dsecret") },
		"a wrong secret": func(t *T) {
			t.Post(t.Endpoint(need.Introspection), nil, wire.InBody("client", "a-client-secretx"))
		},
		"a password":       func(t *T) { t.Post(other.URL, wire.Params("password", "open sesame")) },
		"an initial token": func(t *T) { t.Register(map[string]any{"client_name": "x"}) },
	}
	for name, send := range sends {
		s := serverOf(server.URL, metadata)
		result := s.Check(t.Context(), Rule{ID: "TEST/1/send", Level: Must, Check: send})
		if got := other.requests(); len(got) > 0 {
			t.Fatalf("%s: the other origin received %q", name, got)
		}
		if result.Status != Blocked || !strings.Contains(result.Reason, "add "+other.URL+" to the target under origins") {
			t.Errorf("%s: %s: %s", name, result.Status, result.Reason)
		}
	}
	s := serverOf(server.URL, metadata)
	result := s.Check(t.Context(),
		Rule{ID: "TEST/1/send", Level: Must,
			Check: func(t *T) { t.Get(t.Endpoint("userinfo_endpoint"), wire.Bearer("an-access-token")) }})
	if result.Status != Pass || len(other.requests()) != 1 {
		t.Errorf("another endpoint: %s: %s, %q", result.Status, result.Reason, other.requests())
	}
	for name, send := range sends {
		s := serverOf(server.URL, metadata)
		s.Target.Origins = []string{other.URL + "/"}
		before := len(other.requests())
		s.Check(t.Context(), Rule{ID: "TEST/1/send", Level: Must, Check: send})
		if len(other.requests()) == before {
			t.Errorf("%s: an origin of the target received nothing", name)
		}
	}
}

// An endpoint that the metadata names must be reachable from the same places as the issuer.
func TestEndpointOfAnotherNetwork(t *testing.T) {
	for address, want := range map[string]string{
		"http://169.254.169.254/latest/meta-data": "a link-local address",
		"http://[fe80::1]/":                       "a link-local address",
		"http://10.1.2.3/":                        "in a private network, and the issuer is on this machine",
		"http://192.0.2.1/":                       "neither this machine nor in a private network",
	} {
		s := serverOf("http://127.0.0.1:1", Metadata{"jwks_uri": address})
		ctx, cancel := context.WithCancel(t.Context())
		result := s.Check(ctx, Rule{ID: "TEST/1/keys", Level: Must, Check: func(t *T) { t.Get(t.Endpoint("jwks_uri")) }})
		cancel()
		if result.Status != Blocked || !strings.Contains(result.Reason, want) ||
			!strings.Contains(result.Reason, "metadata names jwks_uri") {
			t.Errorf("%s: %s: %s", address, result.Status, result.Reason)
		}
	}
}

// A client is deleted only at the origin of the registration endpoint.
func TestManages(t *testing.T) {
	s := serverOf("https://as.example", Metadata{"registration_endpoint": "https://as.example:443/register"})
	for address, want := range map[string]bool{"https://AS.example/register/1": true,
		"https://as.example:8443/register/1": false, "http://as.example/register/1": false, "https://other.example/": false,
		"": false} {
		if err := s.Manages(address); (err == nil) != want {
			t.Errorf("%s: %v", address, err)
		}
	}
}
