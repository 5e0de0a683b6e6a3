package resource

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync/atomic"
	"testing"
)

// provider is an introspection endpoint that knows some tokens and counts the requests.
type provider struct {
	*httptest.Server
	answers map[string]string
	asked   atomic.Int64
}

const (
	serverToken = "the-resource-servers-own"
	liveRead    = `{"active":true,"client_id":"shop","username":"ann","sub":"7","scope":"read","token_type":"Bearer"}`
)

func newProvider(t testing.TB, answers map[string]string) *provider {
	p := &provider{answers: answers}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.asked.Add(1)
		if r.Header.Get("Authorization") != "Bearer "+serverToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		answer, ok := p.answers[r.PostFormValue("token")]
		if !ok {
			answer = `{"active":false}`
		}
		io.WriteString(w, answer)
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *provider) introspection(t testing.TB) *Introspection {
	i, err := NewIntrospection(IntrospectionConfig{URL: p.URL, AuthToken: serverToken})
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func newGuard(t testing.TB, c GuardConfig) *Guard {
	g, err := NewGuard(c)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func parseURL(t testing.TB, s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

type verifierFunc func(context.Context, string) (*Token, error)

func (f verifierFunc) Verify(ctx context.Context, token string) (*Token, error) { return f(ctx, token) }
