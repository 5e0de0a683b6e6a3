package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mandate/conformance/bench/load"
)

// The preparations for requests are made here, by the same generator and outside of the measured time.

// preparing limits their duration, and is the number of connections.
const (
	preparing   = 30 * time.Minute
	preparation = 16
)

// tokens returns n valid tokens, and requests the missing ones.
func (t *target) tokens(ctx context.Context, n int) ([]string, error) {
	missing := n - len(t.live)
	if missing > 0 {
		made, err := t.issue(ctx, missing)
		if err != nil {
			return nil, err
		}
		t.live = append(t.live, made...)
	}
	return t.live[:n], nil
}

// issue requests n tokens by client credentials.
func (t *target) issue(ctx context.Context, n int) ([]string, error) {
	to, workers, err := clientWorkers(ctx, t, min(n, preparation), 0)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var tokens []string
	left := counter(n)
	for i, w := range workers {
		w.(*issuer).keep = func(token string) {
			mu.Lock()
			defer mu.Unlock()
			tokens = append(tokens, token)
		}
		workers[i] = &counted{w, left}
	}
	return tokens, t.prepare(ctx, to, workers, n, "tokens")
}

func counter(n int) *atomic.Int64 {
	left := &atomic.Int64{}
	left.Store(int64(n))
	return left
}

// counted stops after a number of requests, which several workers share.
type counted struct {
	load.Worker
	left *atomic.Int64
}

func (w *counted) Next() []byte {
	if w.left.Add(-1) < 0 {
		return nil
	}
	return w.Worker.Next()
}

func (t *target) prepare(ctx context.Context, to load.Endpoint, workers []load.Worker, n int, what string) error {
	o, err := load.Load{To: to, Workers: workers, Length: preparing}.Run(ctx)
	if err != nil {
		return err
	}
	if o.Good < n {
		return fmt.Errorf("prepare %d %s: got %d, with the errors %v", n, what, o.Good, o.Wrong)
	}
	return nil
}

// codes requests n authorization codes, as people who are signed in, for an application that needs no consent (RFC
// 6749 §4.1.1, RFC 7636 §4.3).
func (t *target) codes(ctx context.Context, n int) ([]code, error) {
	to, err := load.ParseEndpoint(t.authorize)
	if err != nil {
		return nil, err
	}
	left := counter(n)
	var workers []load.Worker
	var people []*authorizer
	for i := range min(n, preparation) {
		person := t.person(to, i)
		people = append(people, person)
		workers = append(workers, &counted{person, left})
	}
	err = t.prepare(ctx, to, workers, n, "codes")
	if err != nil {
		return nil, err
	}
	var made []code
	for _, person := range people {
		made = append(made, person.made...)
	}
	return made, nil
}

// authorizer is a browser that is sent to the authorization endpoint and back.
type authorizer struct {
	to            load.Endpoint
	query, header string // of each request; the query lacks the code challenge
	redirect      string
	verifier      string
	made          []code
}

// person returns the browser of one of the people.
func (t *target) person(to load.Endpoint, n int) *authorizer {
	return &authorizer{to: to, header: "Cookie: " + t.cookies[n%len(t.cookies)] + "\r\n", redirect: t.redirect,
		query: "response_type=code&client_id=" + escape(t.web.ID) + "&redirect_uri=" + escape(t.redirect) +
			t.narrowing() + "&state=bench&code_challenge_method=S256&code_challenge="}
}

// ask returns the parameters of an authorization request with a new code challenge.
func (w *authorizer) ask() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // it cannot fail
	w.verifier = base64.RawURLEncoding.EncodeToString(random)
	sum := sha256.Sum256([]byte(w.verifier))
	return w.query + base64.RawURLEncoding.EncodeToString(sum[:])
}

func (w *authorizer) get(query string) []byte {
	mark := "?"
	if strings.Contains(w.to.Target, mark) {
		mark = "&"
	}
	return w.to.Get(mark+query, w.header)
}

func (w *authorizer) Next() []byte { return w.get(w.ask()) }

func (w *authorizer) Check(r load.Response) string {
	location := string(r.Header("Location"))
	if r.Status/100 != 3 || location == "" {
		return fmt.Sprintf("HTTP %d instead of a code", r.Status)
	}
	u, err := url.Parse(location)
	if err != nil || !strings.HasPrefix(location, w.redirect) || u.Query().Get("code") == "" {
		problem := "to another address than the redirect URI"
		if err == nil && u.Query().Get("error") != "" {
			problem = "with " + u.Query().Get("error")
		}
		return fmt.Sprintf("HTTP %d %s", r.Status, problem)
	}
	w.made = append(w.made, code{escape(u.Query().Get("code")), w.verifier})
	return ""
}

// chains requests n refresh tokens, each of its own token family.
func (t *target) chains(ctx context.Context, n int) ([]string, error) {
	to, workers, err := codeWorkers(ctx, t, min(n, preparation), n)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var chains []string
	for i, w := range workers {
		workers[i] = &collector{w, func(r load.Response) {
			mu.Lock()
			defer mu.Unlock()
			chains = append(chains, string(field(r.Body, "refresh_token")))
		}}
	}
	err = t.prepare(ctx, to, workers, n, "refresh tokens")
	if err == nil && len(chains) > 0 && chains[0] == "" {
		err = fmt.Errorf("the code exchange returned no refresh token")
	}
	return chains, err
}

// collector passes correct answers to a function.
type collector struct {
	load.Worker
	keep func(load.Response)
}

func (w *collector) Check(r load.Response) string {
	wrong := w.Worker.Check(r)
	if wrong == "" {
		w.keep(r)
	}
	return wrong
}
