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

// notice is a request that came to the back-channel logout URI of a client.
type notice struct {
	Method, ContentType string
	Form                url.Values // of the body
	Token               string
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

// Listen begins to listen, or goes on with it.
func (s *Server) Listen() (*listener, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.listens != nil {
		return s.listens, nil
	}
	at, err := net.Listen("tcp", s.Target.Backchannel)
	if err != nil {
		return nil, fmt.Errorf("listen for logout tokens: %w", err)
	}
	l := &listener{more: make(chan struct{})}
	l.server = &http.Server{Handler: l, ReadTimeout: 10 * time.Second, MaxHeaderBytes: wire.MaxHeader}
	go l.server.Serve(at) // it ends with close, or with the program
	s.listens = l
	return l, nil
}

// Hangup ends listening.
func (s *Server) Hangup() error { return s.listens.close() }

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
	r.Body = http.MaxBytesReader(w, r.Body, wire.MaxHeader)
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

// Slow makes all answers wait.
func (l *listener) Slow(delay time.Duration) {
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
	ToldWithin = 15 * time.Second
	toldInVain = time.Second
)

// patience is how long to wait for a word.
func (l *listener) patience() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.vain {
		return toldInVain
	}
	return ToldWithin
}

func (l *listener) Waited(inVain bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.vain = inVain
}

// Listener is that of the run; a check that uses it has to be alone.
func (t *T) Listener() *listener {
	t.Require(need.Backchannel)
	l, err := t.server.Listen()
	if err != nil {
		t.Blockedf("%v", err)
	}
	return l
}

// Hears is what the client is told of its visits when something is done, or nil if nothing.
func (t *T) Hears(what func(), of ...*visit) *notice {
	l := t.Listener()
	before, _ := l.since(0)
	what()
	late := time.After(l.patience())
	for {
		heard, more := l.since(len(before))
		for _, n := range heard {
			if t.concerns(n, of) {
				l.Waited(false)
				t.mask.Add("logout_token", n.Token)
				return n
			}
		}
		select {
		case <-more:
		case <-late:
			l.Waited(true)
			return nil
		case <-t.ctx.Done():
			t.Blockedf("no logout token: %v", t.ctx.Err())
		}
	}
}

// concerns says whether a notice may be of one of these visits: not if it names the session of another, of which
// a server tells late, or again. What names none that was ever there is for the check to judge.
func (t *T) concerns(n *notice, visits []*visit) bool {
	j, err := jose.Read(n.Token)
	if err != nil || slices.ContainsFunc(visits, func(v *visit) bool { return v.Id.Text("sid") == j.Text("sid") }) {
		return true
	}
	_, another := t.server.visited.Load(j.Text("sid"))
	return !another || j.Text("sid") == ""
}

// SignOut logs the person out for the client of a visit.
func (t *T) SignOut(v *visit) {
	t.Logout(v.Browser, wire.Params("id_token_hint", v.Tokens.ID))
	t.SignedOut(v)
}

// SignedOut blocks the check if a logout did not work.
func (t *T) SignedOut(v *visit) {
	if t.StillSignedIn(v) {
		t.Blockedf("the person could not be logged out")
	}
}

// Notified is what the client is told of a logout; without a word the check is blocked.
func (t *T) Notified() (*notice, *visit) {
	t.Listener()
	v := t.Visit(need.Backchannel)
	n := t.Hears(func() { t.SignOut(v) }, v)
	if n == nil {
		t.Blockedf("the client was not told of the logout")
	}
	return n, v
}

// LogoutToken is what the client is told, read.
func (t *T) LogoutToken() (*jose.JWT, *visit) {
	n, v := t.Notified()
	j, err := jose.Read(n.Token)
	if err != nil {
		t.Blockedf("the client was told by something that is no logout token: %v", err)
	}
	return j, v
}
