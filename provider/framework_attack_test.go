package provider

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/ory/fosite"
	"github.com/ory/fosite/compose"
	"github.com/ory/fosite/handler/oauth2"
	"github.com/ory/fosite/handler/pkce"
	stock "github.com/ory/fosite/storage"

	"mandate/provider/framework"
	"mandate/provider/grant"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/storage"
)

// Two defects of fosite v0.49.0 are open upstream: pull request 883 (PKCE
// downgrade) and issue 778 (double redemption of a code). Each attack is
// written once, over HTTP. It works against fosite's stock handlers, and does
// not work against the handlers of this server. If it no longer works against
// the stock handlers, fosite has changed, and the replacement can be reviewed.

// attacked is a server with /authorize, where the person has approved the
// request, and /token.
type attacked struct {
	http.Handler
	client string // a public client
}

func (a attacked) code(t *testing.T, pairs ...string) string {
	t.Helper()
	query := values(append([]string{"client_id", a.client, "response_type", "code", "redirect_uri", callback, "state",
		"a state of some length"}, pairs...)...)
	w := httptest.NewRecorder()
	a.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/authorize?"+query.Encode(), nil))
	code := queryOf(t, w.Header().Get("Location")).Get("code")
	if code == "" {
		t.Fatal("no code:", w.Code, w.Header(), w.Body)
	}
	return code
}

// token redeems a code. It returns the access token, or "" after an error.
func (a attacked) token(code string, pairs ...string) string {
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/token",
		strings.NewReader(values(append([]string{"grant_type", policy.GrantCode, "client_id", a.client, "code", code,
			"redirect_uri", callback}, pairs...)...).Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a.ServeHTTP(w, r)
	var answer struct {
		Token string `json:"access_token"`
	}
	_ = json.Unmarshal(w.Body.Bytes(), &answer)
	return answer.Token
}

// downgrade redeems a code without its verifier. A wrong verifier first makes
// the server delete the challenge.
func downgrade(t *testing.T, a attacked) bool {
	code := a.code(t, "code_challenge", challenge, "code_challenge_method", "S256")
	if a.token(code, "code_verifier", strings.Repeat("x", 43)) != "" {
		t.Fatal("a wrong verifier is accepted at once")
	}
	return a.token(code) != ""
}

// redeemTwice sends one code in two requests at once and returns the number of
// tokens.
func redeemTwice(t *testing.T, a attacked, request, exchange []string) int {
	code := a.code(t, request...)
	var wg sync.WaitGroup
	tokens := make([]string, 2)
	for i := range tokens {
		wg.Go(func() { tokens[i] = a.token(code, exchange...) })
	}
	wg.Wait()
	n := 0
	for _, token := range tokens {
		if token != "" {
			n++
		}
	}
	return n
}

// stockServer returns a server with fosite as compose.ComposeAllEnabled makes it.
func stockServer(store any, config *fosite.Config) http.Handler {
	config.GlobalSecret = []byte(strings.Repeat("s", 32))
	p := compose.ComposeAllEnabled(config, store, nil)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		request, err := p.NewAuthorizeRequest(r.Context(), r)
		if err != nil {
			p.WriteAuthorizeError(r.Context(), w, request, err)
			return
		}
		response, err := p.NewAuthorizeResponse(r.Context(), request, &fosite.DefaultSession{Subject: "alice"})
		if err != nil {
			p.WriteAuthorizeError(r.Context(), w, request, err)
			return
		}
		p.WriteAuthorizeResponse(r.Context(), w, request, response)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		request, err := p.NewAccessRequest(r.Context(), r, &fosite.DefaultSession{})
		if err != nil {
			p.WriteAccessError(r.Context(), w, request, err)
			return
		}
		response, err := p.NewAccessResponse(r.Context(), request)
		if err != nil {
			p.WriteAccessError(r.Context(), w, request, err)
			return
		}
		p.WriteAccessResponse(r.Context(), w, request, response)
	})
	return mux
}

func stockStore() *stock.MemoryStore {
	store := stock.NewMemoryStore()
	store.Clients["client"] = &fosite.DefaultClient{ID: "client", Public: true, RedirectURIs: []string{callback},
		ResponseTypes: []string{"code"}, GrantTypes: []string{"authorization_code"}}
	return store
}

// server returns this server, where the person has approved the request.
func (f *fixture) server(s *storage.SignedIn) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /authorize", func(w http.ResponseWriter, r *http.Request) {
		a, err := f.Authorizations.Authorize(r.Context(), r.URL.Query())
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var response redirect.Response
		if a.Refused != nil {
			response = f.Authorizations.Refusal(a, a.Refused)
		} else {
			response, err = f.Authorizations.Complete(r.Context(), a, s)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		http.Redirect(w, r, response.Location(), http.StatusSeeOther)
	})
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		answer, _, err := f.Grants.Token(r.Context(), r, "")
		if e, ok := errors.AsType[*oauth.Error](err); ok {
			http.Error(w, e.Error(), e.Status)
			return
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	return mux
}

func TestUpstream883PKCEDowngrade(t *testing.T) {
	t.Run("it works on fosite's stock handlers", func(t *testing.T) {
		if !downgrade(t, attacked{stockServer(stockStore(), &fosite.Config{}), "client"}) {
			t.Error("upstream has changed: the downgrade no longer works")
		}
	})
	t.Run("it does not work here", func(t *testing.T) {
		f := begin(t, func(c *Config) { c.PKCE = policy.PKCEForPublicOnly })
		s := f.login("alice")
		if downgrade(t, attacked{f.server(s), f.app(public).Application.ClientID}) {
			t.Error("a code is redeemed without its verifier")
		}
		// A confidential client that may omit PKCE must send the verifier if its
		// authorization request had a challenge.
		app := f.app(exempt)
		code := f.code(app, s)
		_, err := f.exchange(app, code, "code_verifier", strings.Repeat("x", 43))
		wantError(t, err, "400 invalid_grant")
		_, err = f.exchange(app, code, "code_verifier", "-")
		wantError(t, err, "400 invalid_grant")
	})
	t.Run("it does not work with our code grant in the place of fosite's", func(t *testing.T) {
		// The stock PKCE handler deletes the challenge. This server does not use it.
		f := begin(t)
		for _, h := range framework.ConfigOf(f.Grants.Framework()).TokenEndpointHandlers {
			if _, ok := any(h).(*pkce.Handler); ok {
				t.Error("the stock PKCE handler is listed")
			}
			if _, ok := any(h).(*oauth2.AuthorizeExplicitGrantHandler); ok {
				t.Error("the stock code handler is listed")
			}
		}
	})
}

// together lets both requests read the code before one of them invalidates it.
// After that, only one request runs at a time. The stock handlers share a
// session, and the test is not about that race.
type together struct {
	*stock.MemoryStore
	both *sync.WaitGroup
	turn *sync.Mutex
}

func (s together) InvalidateAuthorizeCodeSession(ctx context.Context, code string) error {
	s.turn.Unlock()
	s.both.Done()
	met := make(chan struct{})
	go func() { s.both.Wait(); close(met) }()
	select {
	case <-met:
	case <-time.After(5 * time.Second): // the other request never arrived
	}
	s.turn.Lock()
	return s.MemoryStore.InvalidateAuthorizeCodeSession(ctx, code)
}

func (s together) server() http.Handler {
	inner := stockServer(s, &fosite.Config{})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.turn.Lock()
		defer s.turn.Unlock()
		inner.ServeHTTP(w, r)
	})
}

func TestUpstream778DoubleRedemption(t *testing.T) {
	t.Run("it works on fosite's stock handlers", func(t *testing.T) {
		var both sync.WaitGroup
		both.Add(2)
		n := redeemTwice(t, attacked{together{stockStore(), &both, new(sync.Mutex)}.server(), "client"}, nil, nil)
		if n != 2 {
			t.Error("upstream has changed: one code gives", n, "tokens")
		}
	})
	t.Run("it does not work here", func(t *testing.T) {
		f := begin(t)
		a := attacked{f.server(f.login("alice")), f.app(public).Application.ClientID}
		for range 20 {
			n := redeemTwice(t, a, []string{"code_challenge", challenge, "code_challenge_method", "S256"},
				[]string{"code_verifier", verifier})
			if n > 1 {
				t.Fatal("one code gives", n, "tokens")
			}
		}
	})
	t.Run("it does not work here, where both have read before either spends", func(t *testing.T) {
		f := begin(t)
		app := f.app()
		code := f.code(app, f.login("alice"))
		r := func() *http.Request {
			return by(app, "grant_type", policy.GrantCode, "code", code, "redirect_uri", callback, "code_verifier", verifier)
		}
		var requests []fosite.AccessRequester
		for range 3 {
			request, _ := f.checked(r())
			requests = append(requests, request)
		}
		var got []string
		for _, request := range requests {
			_, err := f.Grants.Framework().NewAccessResponse(t.Context(), request)
			got = append(got, kind(err))
		}
		if d := cmp.Diff([]string{"no error", "400 invalid_grant", "400 invalid_grant"}, got); d != "" {
			t.Error(d)
		}
		if n := f.count("grants"); n != 0 {
			t.Error("the family is alive")
		}
	})
}

// checked sends a token request as far as the check, which must succeed.
func (f *fixture) checked(r *http.Request) (fosite.AccessRequester, *grant.Session) {
	f.t.Helper()
	err := r.ParseForm()
	if err != nil {
		f.t.Fatal(err)
	}
	by, err := f.Clients.Present(f.t.Context(), r, r.PostForm)
	if err != nil {
		f.t.Fatal(err)
	}
	s := f.Grants.NewSession(r, by, "")
	request, err := f.Grants.Framework().NewAccessRequest(f.t.Context(), r, s)
	if err != nil {
		f.t.Fatal(err)
	}
	return request, s
}

// CVE-2026-53517: the same attack, with refresh tokens.
func TestDoubleRefresh(t *testing.T) {
	for name, setting := range map[string]func(*Config){"strict": func(*Config) {}, "with a grace": grace} {
		t.Run(name+", where both have read before either spends", func(t *testing.T) {
			f := begin(t, setting)
			app := f.app()
			first := f.tokens(app, f.login("alice"))
			var requests []fosite.AccessRequester
			var issued []*grant.Session
			for range 2 {
				r := by(app, "grant_type", policy.GrantRefresh, "refresh_token", first.RefreshToken)
				request, s := f.checked(r)
				requests, issued = append(requests, request), append(issued, s)
			}
			var got []string
			for _, request := range requests {
				_, err := f.Grants.Framework().NewAccessResponse(t.Context(), request)
				got = append(got, kind(err))
			}
			if name == "strict" {
				if d := cmp.Diff([]string{"no error", "400 invalid_grant"}, got); d != "" {
					t.Error(d)
				}
				f.wantActive(false, issued[0].Answer.AccessToken, issued[0].Answer.RefreshToken)
				return
			}
			if d := cmp.Diff([]string{"no error", "no error"}, got); d != "" {
				t.Fatal(d)
			}
			if issued[0].Answer.RefreshToken != issued[1].Answer.RefreshToken {
				t.Error("one token has two successors")
			}
			f.wantActive(true, issued[0].Answer.AccessToken, issued[0].Answer.RefreshToken)
		})
	}
}
