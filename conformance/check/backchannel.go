package check

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"mandate/conformance/jose"
	"mandate/conformance/need"
	"mandate/conformance/wire"
)

// BackchannelRequest is a request to the back-channel logout URI of a client (OIDC Back-Channel §2.5).
type BackchannelRequest struct {
	Method, ContentType string
	Form                url.Values // of the body
	Token               string
}

// Listener acts as the client that receives logout tokens.
type Listener struct {
	server *http.Server

	mu       sync.Mutex
	heard    []*BackchannelRequest
	more     chan struct{} // closed when a request was received
	delay    time.Duration // time before an answer
	timedOut bool          // a check waited without success: the server may not reach this machine
}

// Listen starts the listener if it does not run yet.
func (s *Server) Listen() (*Listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listens != nil {
		return s.listens, nil
	}
	at, err := net.Listen("tcp", s.Target.Backchannel)
	if err != nil {
		return nil, fmt.Errorf("listen for logout tokens: %w", err)
	}
	l := &Listener{more: make(chan struct{})}
	l.server = &http.Server{Handler: l, ReadTimeout: 10 * time.Second, MaxHeaderBytes: wire.MaxHeader}
	go l.server.Serve(at) // it ends with close or with the program
	s.listens = l
	return l, nil
}

// StopListener stops the listener.
func (s *Server) StopListener() error { return s.listens.close() }

func (l *Listener) close() error {
	if l == nil {
		return nil
	}
	err := l.server.Close()
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// ServeHTTP accepts a logout token (OIDC Back-Channel §2.8).
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, wire.MaxHeader)
	_ = r.ParseForm() // a mistake in the body shows in the form
	n := &BackchannelRequest{r.Method, r.Header.Get("Content-Type"), r.PostForm, r.PostForm.Get("logout_token")}
	l.mu.Lock()
	l.heard = append(l.heard, n)
	close(l.more)
	l.more = make(chan struct{})
	delay := l.delay
	l.mu.Unlock()
	select {
	case <-time.After(delay):
	case <-r.Context().Done(): // the server does not wait, or the listener was closed
	}
	w.Header().Set("Cache-Control", "no-store")
}

// Slow delays all answers.
func (l *Listener) Slow(delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = delay
}

// since returns the requests after the first n, and a channel that is closed when there are more.
func (l *Listener) since(n int) ([]*BackchannelRequest, chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.heard[n:], l.more
}

// How long a check waits for a logout token. After one has waited without success, the others wait for a shorter
// time.
const (
	LogoutDeadline = 15 * time.Second
	shortDeadline  = time.Second
)

// patience returns how long to wait for a logout token.
func (l *Listener) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timedOut {
		return shortDeadline
	}
	return LogoutDeadline
}

// NoteTimeout records whether a check has waited without success.
func (l *Listener) NoteTimeout(timedOut bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.timedOut = timedOut
}

// Listener returns the listener of the run. A check that uses it must be Alone.
func (t *T) Listener() *Listener {
	t.Require(need.Backchannel)
	l, err := t.server.Listen()
	if err != nil {
		t.Blockedf("%v", err)
	}
	return l
}

// LogoutTokenDuring runs action and returns the logout token request that arrives meanwhile for one of the visits, or
// nil.
func (t *T) LogoutTokenDuring(action func(), of ...*Visit) *BackchannelRequest {
	l := t.Listener()
	before, _ := l.since(0)
	action()
	late := time.After(l.patience())
	for {
		heard, more := l.since(len(before))
		for _, n := range heard {
			if t.concerns(n, of) {
				l.NoteTimeout(false)
				t.secrets().Add("logout_token", n.Token)
				return n
			}
		}
		select {
		case <-more:
		case <-late:
			l.NoteTimeout(true)
			return nil
		case <-t.ctx.Done():
			t.Blockedf("no logout token: %v", t.ctx.Err())
		}
	}
}

// concerns reports whether a logout token can belong to one of the visits. A token with the sid of another visit does
// not: servers send it late or again. A token without a known sid is left to the check.
func (t *T) concerns(n *BackchannelRequest, visits []*Visit) bool {
	j, err := jose.Read(n.Token)
	if err != nil || slices.ContainsFunc(visits, func(v *Visit) bool { return v.ID.Text("sid") == j.Text("sid") }) {
		return true
	}
	_, another := t.server.visited.Load(j.Text("sid"))
	return !another || j.Text("sid") == ""
}

// SignOut signs the person out at the client of a visit.
func (t *T) SignOut(v *Visit) {
	t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
	t.SignedOut(v)
}

// SignedOut blocks the check if a logout did not work.
func (t *T) SignedOut(v *Visit) {
	if t.StillSignedIn(v) {
		t.Blockedf("the person could not be signed out")
	}
}
