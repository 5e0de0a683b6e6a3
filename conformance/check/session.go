package check

import (
	"sync"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// SignedIn returns a browser in which the person is signed in, or signs in at the first request. Each check has its own:
// a server may tie codes, scopes, consent and the time of the login to the session, so that another check would change
// the result.
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
	probe := &T{server: t.server, ctx: t.ctx, rule: t.rule, mask: t.mask, used: t.used, signIns: map[*browser.Jar]int{}, probing: true, issuedTo: map[string]*target.Client{}, accepted: map[string]bool{}}
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

const (
	passwordAgain = "the server asks for the password again: user.username or user.password of the target may be wrong"
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
