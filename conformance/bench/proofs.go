package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"mandate/conformance/bench/load"
	"mandate/conformance/jose"
)

// Requests that a client signs. They are signed before the measured time, because a generator that signs would take as
// much processor time as the server that verifies.

// pool has requests that work once each, which several workers share.
type pool struct {
	requests [][]byte
	taken    atomic.Int64
}

// next returns a request that nobody has sent, or nothing.
func (p *pool) next() []byte {
	i := int(p.taken.Add(1)) - 1
	if i >= len(p.requests) {
		return nil
	}
	return p.requests[i]
}

// once sends requests of a pool.
type once struct {
	load.Worker // checks the answers
	pool        *pool
}

func (w *once) Next() []byte { return w.pool.next() }

// keyedMachine registers a client that authenticates by private_key_jwt.
func keyedMachine(ctx context.Context, s *server) (client, *jose.Key, error) {
	key, file := jose.NewKey("ES256"), filepath.Join(s.dir, "keys.json")
	text, _ := json.Marshal(map[string]any{"keys": []any{key.Public()}}) // it cannot fail
	err := os.WriteFile(file, text, 0o600)
	if err != nil {
		return client{}, nil, err
	}
	c, err := s.register(ctx, "machine with a key", "--grant", "client_credentials", "--auth-method", "private_key_jwt",
		"--jwks", file)
	return c, key, err
}

// assertionWorkers request tokens for a client itself, which authenticates by private_key_jwt (RFC 7523 §2.2).
func assertionWorkers(_ context.Context, t *target, workers, requests int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.token)
	if err != nil {
		return to, nil, err
	}
	head, signed := to.Form(""), &pool{}
	rest := []byte("grant_type=client_credentials" + t.narrowing() + "&client_assertion_type=" +
		escape("urn:ietf:params:oauth:client-assertion-type:jwt-bearer") + "&client_assertion=")
	for range requests {
		now := time.Now().Unix()
		assertion := t.key.Sign(nil, map[string]any{"iss": t.keyed.ID, "sub": t.keyed.ID, "aud": t.issuer, "iat": now,
			"exp": now + 300, "jti": rand.Text()})
		signed.requests = append(signed.requests, head.With(nil, rest, []byte(assertion)))
	}
	var all []load.Worker
	seen := &sample{}
	for range workers {
		all = append(all, &once{&issuer{seen: seen}, signed})
	}
	return to, all, nil
}

// boundTokens is the number of tokens that provenWorkers use.
const boundTokens = 100

// provenWorkers use tokens at an API that are bound to a key, each request with a proof of its own (RFC 9449 §7).
func provenWorkers(ctx context.Context, t *target, workers, requests int) (load.Endpoint, []load.Worker, error) {
	to, err := load.ParseEndpoint(t.resource)
	if err != nil {
		return to, nil, err
	}
	for len(t.bound) < boundTokens {
		token, err := t.boundToken(ctx)
		if err != nil {
			return to, nil, err
		}
		t.bound = append(t.bound, token)
	}
	proven := &pool{}
	for n := range requests {
		token := t.bound[n%boundTokens]
		proven.requests = append(proven.requests,
			to.Get("", "Authorization: DPoP "+token+"\r\nDPoP: "+proof(t.key, "GET", t.resource, token)+"\r\n"))
	}
	return to, askOnce(workers, proven), nil
}

// askOnce returns workers that share requests.
func askOnce(workers int, requests *pool) (all []load.Worker) {
	for range workers {
		all = append(all, &once{&asker{want: "client_id"}, requests})
	}
	return all
}

// proof returns a DPoP proof (RFC 9449 §4.2).
func proof(key *jose.Key, method, address, token string) string {
	claims := map[string]any{"jti": rand.Text(), "htm": method, "htu": address, "iat": time.Now().Unix()}
	if token != "" {
		digest := sha256.Sum256([]byte(token))
		claims["ath"] = base64.RawURLEncoding.EncodeToString(digest[:])
	}
	return key.Sign(map[string]any{"typ": "dpop+jwt", "jwk": key.Bare(), "kid": nil}, claims)
}

// boundToken requests a token that is bound to the key.
func (t *target) boundToken(ctx context.Context) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.token,
		strings.NewReader("grant_type=client_credentials"+t.narrowing()))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("DPoP", proof(t.key, http.MethodPost, t.token, ""))
	r.SetBasicAuth(escape(t.machine.ID), escape(t.machine.Secret))
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	var granted struct {
		Token string `json:"access_token"`
		Type  string `json:"token_type"`
	}
	err = json.NewDecoder(response.Body).Decode(&granted)
	if err != nil || granted.Type != "DPoP" {
		return "", fmt.Errorf("a token request with a proof was answered with status %d and a token of the type %q",
			response.StatusCode, granted.Type)
	}
	return granted.Token, nil
}
