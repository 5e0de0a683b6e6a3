package check

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
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
	waiting  atomic.Int64  // requests without an answer so far
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
	l.server = &http.Server{Handler: l, ReadTimeout: 10 * time.Second, IdleTimeout: 10 * time.Second,
		MaxHeaderBytes: wire.MaxHeader}
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

// Anybody who reaches the port can send requests to the listener, so it keeps few of them.
const (
	logoutPath = "/logout"
	maxNotice  = 16 << 10 // bytes of a body
	maxHeard   = 1000     // requests of one run
	maxWaiting = 64       // requests at the same time
)

// ServeHTTP accepts a logout token (OIDC Back-Channel §2.8). A request by another method than POST is kept only if it
// has a logout token, because it shows how the server sends them (OIDC Back-Channel §2.5).
func (l *Listener) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.URL.Path != logoutPath {
		http.NotFound(w, r)
		return
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxNotice)
	_ = r.ParseForm() // a mistake in the body shows in the form
	n := &BackchannelRequest{r.Method, r.Header.Get("Content-Type"), r.PostForm, r.PostForm.Get("logout_token")}
	if _, err := jose.Read(n.Token); err != nil && r.Method != http.MethodPost {
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	delay, kept := l.keep(n)
	if !kept {
		http.Error(w, "too many requests", http.StatusServiceUnavailable)
		return
	}
	defer l.waiting.Add(-1)
	select {
	case <-time.After(delay):
	case <-r.Context().Done(): // the server does not wait, or the listener was closed
	}
}

// keep records a request, and returns the time before its answer.
func (l *Listener) keep(n *BackchannelRequest) (delay time.Duration, kept bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.heard) >= maxHeard || l.waiting.Load() >= maxWaiting {
		return 0, false
	}
	l.waiting.Add(1)
	l.heard = append(l.heard, n)
	close(l.more)
	l.more = make(chan struct{})
	return l.delay, true
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
		if i := slices.IndexFunc(heard, func(n *BackchannelRequest) bool { return t.concerns(n, of) }); i >= 0 {
			return t.received(l, heard[i])
		}
		select {
		case <-more:
		case <-late:
			// Anybody can send what is no token, so it counts only if nothing better arrives.
			if i := slices.IndexFunc(heard, unreadable); i >= 0 {
				return t.received(l, heard[i])
			}
			l.NoteTimeout(true)
			return nil
		case <-t.ctx.Done():
			t.Blockedf("no logout token: %v", t.ctx.Err())
		}
	}
}

// received returns a logout token request to a check.
func (t *T) received(l *Listener, n *BackchannelRequest) *BackchannelRequest {
	l.NoteTimeout(false)
	t.secrets().Add("logout_token", n.Token)
	return n
}

// unreadable reports whether a request has no logout token that can be read.
func unreadable(n *BackchannelRequest) bool {
	_, err := jose.Read(n.Token)
	return err != nil
}

// concerns reports whether a logout token can belong to one of the visits. A token with the sid of another visit does
// not: servers send it late or again. What is no token shows no visit. A token without a known sid is left to the
// check.
func (t *T) concerns(n *BackchannelRequest, visits []*Visit) bool {
	j, err := jose.Read(n.Token)
	if err != nil {
		return false
	}
	if slices.ContainsFunc(visits, func(v *Visit) bool { return v.ID.Text("sid") == j.Text("sid") }) {
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
