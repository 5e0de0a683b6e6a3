package logout

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// How an application is told that a session has ended (OIDC Back-Channel §2.5,
// §2.8): at once, and again after 30 seconds, 2, 8, 32, 128 minutes, 8 and a
// half hours.
const (
	tellEvery  = time.Second // another node, or the CLI, may have ended a session
	tellAtOnce = 32          // calls of a node
	// tellEach is how many of them go to the applications of one owner: whose do not
	// answer keeps nobody else's waiting.
	tellEach    = 4
	tellTries   = 7
	firstRetry  = 30 // seconds; more than one call can take
	logoutToken = "logout+jwt"
	// OIDC Back-Channel §4: two minutes at most.
	logoutTokenLife = 120
	logoutEvent     = "http://schemas.openid.net/event/backchannel-logout"
)

// TellNow wakes the teller of this node.
func (p *Logouts) TellNow() {
	select {
	case p.ended <- struct{}{}:
	default: // it has been woken
	}
}

// teller tells applications of sessions that have ended.
type teller struct {
	*Logouts
	places chan struct{}
	calls  sync.WaitGroup
	mu     sync.Mutex
	busy   map[string]int // calls by owner
}

func newTeller(p *Logouts) *teller {
	return &teller{Logouts: p, places: make(chan struct{}, tellAtOnce), busy: map[string]int{}}
}

// run tells until ctx ends. What it was about to tell then is due again later,
// at whatever node.
func (t *teller) run(ctx context.Context) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	defer t.calls.Wait()
	for {
		err := t.round(ctx)
		if err != nil && ctx.Err() == nil {
			t.log.Warn("applications were not told of logouts", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.ended:
		}
	}
}

// round claims what is due and begins to tell it.
func (t *teller) round(ctx context.Context) error {
	due, err := t.store.DueLogins(ctx, oauth.Now(), tellEach, tellAtOnce)
	if err != nil {
		return err
	}
	for _, l := range due {
		if !t.begin(l.Owner) {
			continue
		}
		next := oauth.Now() + int64(firstRetry)<<(2*min(l.Attempts, tellTries))
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case t.places <- struct{}{}:
			err = t.store.ClaimLogin(ctx, l, next)
			if err != nil {
				<-t.places
			}
		}
		if err != nil {
			t.end(l.Owner)
		}
		if errors.Is(err, storage.ErrSpent) {
			continue // another node has it
		}
		if err != nil {
			return err
		}
		t.calls.Go(func() {
			t.one(ctx, l, next)
			t.end(l.Owner)
			<-t.places
			t.TellNow() // there is a place again
		})
	}
	return nil
}

func (t *teller) begin(owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[owner] >= tellEach {
		return false
	}
	t.busy[owner]++
	return true
}

func (t *teller) end(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[owner]--
	if t.busy[owner] == 0 {
		delete(t.busy, owner)
	}
}

// one calls an application. It forgets the login once that is done, or
// pointless. An application that does not answer at all has all else put off that
// it was to be told.
func (t *teller) one(ctx context.Context, l storage.Login, next int64) {
	defer func() {
		if cause := recover(); cause != nil { // a row that nobody expected must not end the server, here and at each start
			t.log.Error("telling an application of a logout panicked", "application", l.ApplicationID, "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	a, err := t.store.Application(ctx, l.ApplicationID)
	if err == nil && policy.Suspended(a) {
		a.BackchannelURI = "" // nobody answers for the address; what it has is dead already
	}
	if err == nil && a.BackchannelURI != "" {
		err = t.sendLogoutToken(ctx, a, l)
	}
	if ctx.Err() != nil {
		return
	}
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		if err == nil && a.BackchannelURI != "" {
			t.told.Add(1)
		}
		err = t.store.ForgetLogin(ctx, l)
		if err != nil {
			t.log.Warn("an application may be told of a logout twice", "client", a.ClientID, "error", err)
		}
		return
	}
	t.failed(ctx, a, l, next, err)
}

func (t *teller) failed(ctx context.Context, a storage.Application, l storage.Login, next int64, cause error) {
	t.callsFailed.Add(1)
	attempt, lost := l.Attempts+1, int64(1)
	said, ok := errors.AsType[*outbound.StatusError](cause)
	about := ok && said.Status >= 400 && said.Status < 500 && said.Status != http.StatusTooManyRequests // this login, and not the application
	last := attempt >= tellTries
	var err error
	switch {
	case last && about:
		err = t.store.ForgetLogin(ctx, l)
	case last:
		lost, err = t.store.ForgetLogins(ctx, l.ApplicationID)
	case !about:
		err = t.store.PauseLogins(ctx, l.ApplicationID, attempt, next)
	}
	text := oauth.Clip(cause.Error(), 200)
	if last {
		t.givenUp.Add(lost)
		t.log.Warn("an application could not be told of logouts, and is not tried again", "client", a.ClientID, "logouts", lost, "error", text)
	} else {
		t.log.Warn("an application was not told of a logout; it is tried again", "client", a.ClientID, "attempt", attempt, "error", text)
	}
	if err != nil {
		t.log.Warn("what applications are to be told could not be put off", "client", a.ClientID, "error", err)
	}
}

func (p *Logouts) sendLogoutToken(ctx context.Context, a storage.Application, l storage.Login) error {
	text, err := p.logoutToken(ctx, a, l)
	if err != nil {
		return err
	}
	return p.outbound.Post(ctx, a.BackchannelURI, url.Values{"logout_token": {text}})
}

// logoutToken says that a session has ended (OIDC Back-Channel §2.4). It is
// signed as the application's ID tokens are (§2.6), and has no nonce, so that it
// cannot pass for one.
func (p *Logouts) logoutToken(ctx context.Context, a storage.Application, l storage.Login) (string, error) {
	at := oauth.Now()
	return p.tokens.Sign(ctx, a, cmp.Or(a.Algorithm, policy.DefaultAlgorithm), logoutToken, jose.Claims{
		"iss": p.config.Issuer, "aud": a.ClientID, "sub": p.tokens.Subject(l.Sector, l.UserID), "sid": p.tokens.SID(l.Sector, l.SessionID),
		"iat": at, "exp": at + logoutTokenLife, "jti": seal.Random(16),
		"events": map[string]any{logoutEvent: struct{}{}},
	})
}
