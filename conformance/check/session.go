package check

import (
	"io"
	"net/http"
	"net/url"
	"sync"

	"mandate/conformance/browser"
	"mandate/conformance/need"
	"mandate/conformance/target"
)

// sessions are the browsers in which the person is signed in. No two checks use one of them at the same time, because
// a server may tie codes, consent and the time of the login to the session.
type sessions struct {
	// NewSession returns the cookies with which a session begins. Usually there are none.
	NewSession func() *browser.Jar

	guard sync.Mutex
	free  []*browser.Jar
}

// take returns a session that no other check uses, or a new one.
func (s *sessions) take() *browser.Jar {
	s.guard.Lock()
	defer s.guard.Unlock()
	n := len(s.free) - 1
	if n < 0 {
		return s.NewSession()
	}
	jar := s.free[n]
	s.free = s.free[:n]
	return jar
}

// offer adds a session for later checks.
func (s *sessions) offer(jar *browser.Jar) {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.free = append(s.free, jar)
}

// Forget drops all sessions. Later checks begin with new ones.
func (s *sessions) Forget() {
	s.guard.Lock()
	defer s.guard.Unlock()
	s.free = nil
}

// session is the session of one check.
type session struct {
	jar     *browser.Jar    // nil if the check has not used it
	spoiled bool            // no other check continues the session
	spent   map[string]bool // codes and refresh tokens that were sent
	signIns map[*browser.Jar]int
}

func newSession() session {
	return session{spent: map[string]bool{}, signIns: map[*browser.Jar]int{}}
}

// SignedIn returns a browser in which the person is signed in, or signs in at the first request. Until its end only
// this check uses the session. Afterwards another check continues it, unless this one failed, used a code or a refresh
// token twice, revoked a token, or sent an authorization request with an unusual scope or another login.
func (t *T) SignedIn() *browser.Browser {
	if t.session.jar == nil {
		t.session.jar = t.server.take()
	}
	return t.browser(t.session.jar)
}

// release offers the session to other checks at the end of this one.
func (t *T) release(status Status) {
	if t.session.jar != nil && !t.session.spoiled && (status == Pass || status == Skip) {
		t.server.offer(t.session.jar)
	}
}

// watch notes what a request can do to the session.
func (t *T) watch(r *http.Request) {
	if r.Method != http.MethodPost {
		return
	}
	if r.URL.String() == t.server.Endpoint(need.Revocation) {
		t.session.spoiled = true
	}
	form := formOf(r)
	if !form.Has("grant_type") {
		return
	}
	for _, name := range []string{"code", "refresh_token"} {
		value := form.Get(name)
		// RFC 6749 §4.1.2, RFC 9700 §4.14.2: the server may revoke what came of a code or token that is used twice.
		t.session.spoiled = t.session.spoiled || value != "" && t.session.spent[value]
		t.session.spent[value] = true
	}
}

func formOf(r *http.Request) url.Values {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	text, err := io.ReadAll(body)
	if err != nil {
		return nil
	}
	form, _ := url.ParseQuery(string(text)) // what cannot be read is left out
	return form
}

// watchRequest notes whether an authorization request asks for another login or scope than usual.
func (t *T) watchRequest(r *Request) {
	if r.Client == nil {
		return
	}
	usual := t.Request(r.Client).Params
	for _, name := range []string{"scope", "prompt", "max_age", "claims", "acr_values", "login_hint", "id_token_hint"} {
		t.session.spoiled = t.session.spoiled || r.Params.Get(name) != usual.Get(name)
	}
}

// SignIns returns how often this check has entered the password in a browser.
func (t *T) SignIns(b *browser.Browser) int { return t.session.signIns[b.Jar()] }

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
	probe := &T{server: t.server, ctx: t.ctx, rule: t.rule, mask: t.mask, used: t.used, session: newSession(), probing: true, issuedTo: map[string]*target.Client{}}
	defer func() {
		_ = recover() // the server does not answer: the check that comes next reports this
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
	passwordAgain   = "the server asks for the password again: user.username or user.password of the target may be wrong"
	passwordRefused = "user.username and user.password of the target were refused before, and are not tried again"
	passwordOnce    = "the server asks for the password again, although it accepted the same password before"
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
