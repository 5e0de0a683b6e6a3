package conformance

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// notice is a request that came to the back-channel logout URI of a client.
type notice struct {
	method, contentType string
	form                url.Values // of the body
	token               string
}

// listener answers in the place of a client that wants to be told of logouts.
type listener struct {
	server *http.Server

	mu    sync.Mutex
	heard []*notice
	more  chan struct{} // closed when something was heard
	delay time.Duration // before an answer
	vain  bool          // somebody has waited in vain: the server may not be able to call here
}

// listen begins to listen, or goes on with it.
func (r *Runner) listen() (*listener, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.listens != nil {
		return r.listens, nil
	}
	at, err := net.Listen("tcp", r.Target.Backchannel)
	if err != nil {
		return nil, fmt.Errorf("listen for logout tokens: %w", err)
	}
	l := &listener{more: make(chan struct{})}
	l.server = &http.Server{Handler: l, ReadTimeout: 10 * time.Second, MaxHeaderBytes: maxHeader}
	go l.server.Serve(at) // it ends with close, or with the program
	r.listens = l
	return l, nil
}

func (l *listener) close() error {
	if l == nil {
		return nil
	}
	err := l.server.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP takes a logout token and thanks for it (OIDC Back-Channel §2.8).
func (l *listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxHeader)
	_ = r.ParseForm() // what is wrong with it shows in the form
	n := &notice{r.Method, r.Header.Get("Content-Type"), r.PostForm, r.PostForm.Get("logout_token")}
	l.mu.Lock()
	l.heard = append(l.heard, n)
	close(l.more)
	l.more = make(chan struct{})
	delay := l.delay
	l.mu.Unlock()
	time.Sleep(delay)
	w.Header().Set("Cache-Control", "no-store")
}

// slow makes all answers wait.
func (l *listener) slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// since gives what was heard after the first n, and what closes when there is more.
func (l *listener) since(n int) ([]*notice, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[n:], l.more
}

// How long a server may take to tell a client of a logout; the first that waits in vain does so for all.
const (
	toldWithin = 15 * time.Second
	toldInVain = time.Second
)

// patience is how long to wait for a word.
func (l *listener) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.vain {
		return toldInVain
	}
	return toldWithin
}

func (l *listener) waited(inVain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vain = inVain
}

// listener is that of the run; a check that uses it has to be alone.
func (t *T) listener() *listener {
	t.need(NeedBackchannel)
	l, err := t.run.listen()
	if err != nil {
		t.Blockedf("%v", err)
	}
	return l
}

// hears is what the client is told when something is done, or nil if nothing.
func (t *T) hears(what func()) *notice {
	l := t.listener()
	before, _ := l.since(0)
	what()
	late := time.After(l.patience())
	for {
		heard, more := l.since(len(before))
		if len(heard) > 0 {
			l.waited(false)
			t.mask.add("logout_token", heard[0].token)
			return heard[0]
		}
		select {
		case <-more:
		case <-late:
			l.waited(true)
			return nil
		case <-t.ctx.Done():
			t.Blockedf("no logout token: %v", t.ctx.Err())
		}
	}
}

// leaves logs the person out for the client of a visit.
func (t *T) leaves(v *visit) {
	t.leave(v.browser, params("id_token_hint", v.tokens.ID))
	t.gone(v)
}

// gone blocks the check if a logout did not work.
func (t *T) gone(v *visit) {
	if t.stillIn(v) {
		t.Blockedf("the person could not be logged out")
	}
}

// notified is what the client is told of a logout; without a word the check is blocked.
func (t *T) notified() (*notice, *visit) {
	t.listener()
	v := t.visit(NeedBackchannel)
	n := t.hears(func() { t.leaves(v) })
	if n == nil {
		t.Blockedf("the client was not told of the logout")
	}
	return n, v
}

// logoutToken is what the client is told, read.
func (t *T) logoutToken() (header, claims map[string]any, v *visit) {
	n, v := t.notified()
	header, claims = unverified(n.token)
	if header == nil || claims == nil {
		t.Blockedf("the client was told by something that is no logout token")
	}
	return header, claims, v
}

// wantSigned asserts that a JWT is signed by one of the published keys, or with the client secret.
func (t *T) wantSigned(token string, c *Client) {
	keys := t.keySet(t.Endpoint(NeedKeys))
	parser := jwt.NewParser(jwt.WithoutClaimsValidation())
	_, err := parser.Parse(token, func(j *jwt.Token) (any, error) {
		if strings.HasPrefix(j.Method.Alg(), "HS") {
			return []byte(c.Secret), nil
		}
		var set jwt.VerificationKeySet
		for _, key := range keys {
			if public := publicKey(key, j.Method.Alg()); public != nil && (j.Header["kid"] == nil || j.Header["kid"] == key["kid"]) {
				set.Keys = append(set.Keys, public)
			}
		}
		if len(set.Keys) == 0 {
			return nil, errors.New("no published key has its kid and is of its kind")
		}
		return set, nil
	})
	if err != nil {
		t.Failf("the signature cannot be verified: %s", strings.ReplaceAll(fmt.Sprint(err), "\n", " "))
	}
}

// publicKey reads a published key that an algorithm can use, or gives nil.
func publicKey(key map[string]any, algorithm string) jwt.VerificationKey {
	value := func(name string) []byte {
		text, _ := key[name].(string)
		raw, _ := base64.RawURLEncoding.DecodeString(text) // what is wrong verifies nothing
		return raw
	}
	curve := map[any]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[key["crv"]]
	switch {
	case key["kty"] == "RSA" && strings.Contains("RS PS", algorithm[:2]):
		return &rsa.PublicKey{N: new(big.Int).SetBytes(value("n")), E: int(new(big.Int).SetBytes(value("e")).Int64())}
	case key["kty"] == "EC" && curve != nil && strings.HasPrefix(algorithm, "ES"):
		public, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{4}, value("x"), value("y")))
		if err == nil {
			return public
		}
	case key["kty"] == "OKP" && len(value("x")) == ed25519.PublicKeySize && strings.HasPrefix(algorithm, "Ed"):
		return ed25519.PublicKey(value("x"))
	}
	return nil
}
