package check

import (
	"sync"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// SignedIn returns a browser in which the person is signed in, or signs in at the first request. Each check has its
// own: a server may tie codes, scopes, consent and the time of the login to the session, so that another check would
// change the result.
func (t *T) SignedIn() *browser.Browser {
	if t.session == nil {
		t.session = t.server.NewSession()
	}
	return t.browser(t.session)
}

// SignIns returns how often this check has entered the password in a browser.
func (t *T) SignIns(b *browser.Browser) int { return t.signIns[b.Jar()] }

// signIn is what is known about the person's password.
type signIn struct {
	mu       sync.Mutex
	tried    bool
	accepted bool
	refused  bool
}

// tryPassword signs the person in with a correct request, before the first check enters the password. A check can
// cause a refusal by a mistake that it makes on purpose; this request cannot. A refused password is not sent again,
// because servers lock a person out after several wrong ones.
func (t *T) tryPassword() (refused bool) {
	c := t.server.anyClient()
	if t.probing || c == nil {
		return false
	}
	s := &t.server.signIn
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tried {
		return s.refused
	}
	s.tried = true
	probe := t.server.newT(t.ctx, t.rule, t.mask)
	probe.used, probe.probing = t.used, true
	defer func() {
		cause := recover()
		if _, stopped := cause.(stop); cause != nil && !stopped {
			panic(cause) // a defect of the walk; when the server does not answer, the check that comes next reports it
		}
	}()
	response := probe.walk(probe.NewBrowser(), probe.Request(c), sayNothing)
	s.accepted = response.entered
	s.refused = response.Stuck == passwordAgain
	return s.refused
}

// acceptedBefore reports whether the server has accepted the password in this run.
func (s *signIn) acceptedBefore() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.accepted
}

// memory is what is known about the sessions of the server.
type memory struct {
	mu               sync.Mutex
	known, remembers bool
}

// Remembers reports whether the next request in a browser in which the person has signed in asks for no password. It
// tries it once in a run. Without such a session nothing shows whether somebody was signed out.
func (t *T) Remembers() bool {
	m := &t.server.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known {
		shown := t.seen
		b, c := t.NewBrowser(), t.server.anyClient()
		t.CodeOf(t.Walk(b, t.plain(c), true))
		asks, _ := t.AsksPassword(b, t.plain(c))
		m.known, m.remembers = true, !asks
		t.At(shown)
	}
	return m.remembers
}

// plain returns a request that every server understands.
func (t *T) plain(c *target.Client) *Request {
	if t.Has(need.OpenID) {
		return t.OpenID(c)
	}
	return t.Request(c)
}

// WantRemembered blocks the check if the server asks for the password at each request.
func (t *T) WantRemembered() {
	if !t.Remembers() {
		t.Blockedf("the server does not remember the sign-in: the next request in the same browser asks for the password " +
			"again. If a box on the sign-in page changes this, name the box in the target under forms as remember")
	}
}

const (
	passwordAgain = "the server asks for the password again: user.username or user.password" + maybeWrong
	passwordOnce  = "the server asks for the password again, although it accepted the same password before"
)

// anyClient returns a client that can send a person to the server, or nil.
func (s *Server) anyClient() *target.Client {
	for _, role := range need.Roles() {
		if c := s.Target.Clients[role.Name]; c != nil && c.RedirectURI() != "" && role.Grant == need.GrantCode {
			return c
		}
	}
	return nil
}
