package mandate

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"
)

// A power failure under load. Every answered request is stored. Every request without
// an answer is stored completely or not at all.

// ledger records what the clients of a crashed server know.
type ledger struct {
	mu       sync.Mutex
	access   []string // access tokens that clients received
	chains   []chain  // of refresh tokens
	spent    []pledge // codes whose exchange was answered
	pending  []pledge // codes whose exchange was not answered
	revoked  []string // tokens whose revocation was answered
	strange  []string // answers that are neither a success nor an error
	answered int

	wanted int           // this many answers, with at least one of each kind
	enough chan struct{} // closed when that many answers have arrived
	once   sync.Once
}

// mixed reports whether the ledger has a record of each kind.
func (l *ledger) mixed() bool {
	return len(l.access) > 0 && len(l.chains) > 0 && len(l.spent) > 0 && len(l.revoked) > 0
}

// chain is a token family: its last refresh token that was answered, and whether a
// refresh was running when the server died.
type chain struct {
	app  application
	last string
	sent bool
}

// pledge is a code and the form that exchanges it.
type pledge struct {
	app  application
	form url.Values
	got  tokens
}

func TestCrash(t *testing.T) {
	ownProcesses(t)
	forEachDatabase(t, func(t *testing.T, db database) {
		v := newFixture(t, options{database: db, provider: []string{"AUTHORIZATION_CODE_EXPIRE_SECONDS: 600"}})
		for round := range 3 {
			t.Run(fmt.Sprintf("round_%d", round), func(t *testing.T) {
				b := v.signedIn(t, v.alice)
				var codes []pledge
				for n := range 80 {
					app := []application{v.web, v.rival, v.phone}[n%3]
					codes = append(codes, pledge{app: app, form: b.issue(t, app, v.alice)})
				}
				l := v.crash(t, codes, 100+60*round)
				v.start(t)
				v.audit(t, l)
			})
		}
	})
}

// crash runs requests of all grants. It kills the server after this many answers, at
// least one of each kind.
func (v *fixture) crash(t testing.TB, codes []pledge, answers int) *ledger {
	t.Helper()
	l := &ledger{wanted: answers, enough: make(chan struct{})}
	todo := make(chan pledge, len(codes))
	for _, p := range codes {
		todo <- p
	}
	close(todo)
	var group sync.WaitGroup
	post := func(path string, app application, form url.Values) (answer, bool) {
		a, err := v.tryPost(path, app.auth(), form)
		if err != nil {
			return a, false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if a.Status != http.StatusOK || path == "/o/token/" && v.granted(a).AccessToken == "" {
			l.strange = append(l.strange, fmt.Sprintf("%s: %d %s", path, a.Status, a.Body))
		}
		l.answered++
		return a, true
	}
	for range 6 { // codes, and their token families, which are refreshed repeatedly
		group.Go(func() {
			for p := range todo {
				a, ok := post("/o/token/", p.app, p.form)
				if !ok {
					l.note(func() { l.pending = append(l.pending, p) })
					return
				}
				p.got = v.granted(a)
				l.note(func() { l.spent = append(l.spent, p) })
				v.refreshOn(l, p, post)
			}
		})
	}
	group.Go(func() { // tokens of the client credentials grant, and their revocation
		for n := 0; ; n++ {
			a, ok := post("/o/token/", v.web, params("grant_type", "client_credentials"))
			if !ok {
				return
			}
			token := v.granted(a).AccessToken
			if n%3 == 0 {
				_, ok = post("/o/revoke_token/", v.web, params("token", token))
				if !ok {
					return
				}
				l.note(func() { l.revoked = append(l.revoked, token) })
				continue
			}
			l.note(func() { l.access = append(l.access, token) })
		}
	})
	group.Go(func() {
		for {
			a, ok := post("/o/token/", v.rival,
				params("grant_type", "password", "username", v.bob.Name, "password", v.bob.Password))
			if !ok {
				return
			}
			got := v.granted(a)
			l.note(func() {
				l.access = append(l.access, got.AccessToken)
				l.chains = append(l.chains, chain{app: v.rival, last: got.RefreshToken})
			})
		}
	})
	select {
	case <-l.enough:
	case <-v.process.exited:
		t.Error("the server ended by itself")
	}
	v.kill(t)
	group.Wait()
	return l
}

// granted reads an answer of the token endpoint in any goroutine. It reports an answer
// that is not JSON as strange.
func (v *fixture) granted(a answer) tokens {
	var got tokens
	_ = json.Unmarshal([]byte(a.Body), &got)
	v.secret(got.AccessToken)
	v.secret(got.RefreshToken)
	return got
}

func (l *ledger) note(what func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	what()
	if l.answered >= l.wanted && l.mixed() {
		l.once.Do(func() { close(l.enough) })
	}
}

// refreshOn refreshes a token family several times.
func (v *fixture) refreshOn(l *ledger, p pledge, post func(string, application, url.Values) (answer, bool)) {
	c := chain{app: p.app, last: p.got.RefreshToken}
	l.note(func() { l.access = append(l.access, p.got.AccessToken) })
	for range 5 {
		a, ok := post("/o/token/", p.app, refreshForm(c.last))
		if !ok {
			c.sent = true
			break
		}
		got := v.granted(a)
		c.last = got.RefreshToken
		l.note(func() { l.access = append(l.access, got.AccessToken) })
	}
	l.note(func() { l.chains = append(l.chains, c) })
}

// audit compares the clients' records with those of the server after the restart.
func (v *fixture) audit(t *testing.T, l *ledger) {
	t.Logf("%d answers: %d access tokens, %d families, %d codes spent, %d pending", l.answered, len(l.access),
		len(l.chains), len(l.spent), len(l.pending))
	if !l.mixed() {
		t.Error("the load was not mixed")
	}
	for _, a := range l.strange {
		t.Errorf("under load: %s", a)
	}
	for _, token := range l.access {
		if !v.active(t, v.asker.auth(), token) {
			t.Error("an access token that was answered is lost")
		}
	}
	for _, token := range l.revoked {
		if v.active(t, v.asker.auth(), token) {
			t.Error("a revocation that was answered is lost")
		}
	}
	for _, c := range l.chains {
		got, a := v.token(t, c.app.auth(), refreshForm(c.last))
		switch {
		case a.Status == http.StatusOK && got.RefreshToken != "" && v.active(t, v.asker.auth(), got.AccessToken):
		// The refresh was running. It may have happened without its answer, as after a
		// network failure.
		case c.sent && a.refused(400, "invalid_grant") == nil:
		default:
			t.Errorf("a refresh token that was answered: %d %s (on its way: %t)", a.Status, a.Body, c.sent)
		}
	}
	for _, p := range l.spent {
		err := v.post(t, "/o/token/", p.app.auth(), p.form).refused(400, "invalid_grant")
		if err != nil {
			t.Errorf("a code that was answered is not spent: %v", err)
		}
	}
	for _, p := range l.pending {
		got, a := v.token(t, p.app.auth(), p.form)
		switch {
		case a.Status == http.StatusOK:
			if !v.active(t, v.asker.auth(), got.AccessToken) {
				t.Error("a code that was not answered gives a dead token")
			}
			v.mustToken(t, p.app.auth(), refreshForm(got.RefreshToken))
		case a.refused(400, "invalid_grant") != nil:
			t.Errorf("a code that was not answered neither works nor is spent: %d %s", a.Status, a.Body)
		}
	}
}
