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

// The schedule of notifications (OIDC Back-Channel §2.5, §2.8): at once, and after a
// failure again after 30 seconds, 2, 8, 32 and 128 minutes, and eight and a half hours.
const (
	notifyEvery = time.Second // another node, or the CLI, may have ended a session in between
	callsAtOnce = 32          // calls that a node makes at the same time
	// callsPerOwner is how many of these calls go to the applications of one owner, so that
	// an owner whose applications do not respond does not delay the others.
	callsPerOwner = 4
	mostRetries   = 7
	firstRetry    = 30 // seconds; longer than one call can take
	logoutToken   = "logout+jwt"
	// OIDC Back-Channel §4: two minutes at most.
	logoutTokenLife = 120
	logoutEvent     = "http://schemas.openid.net/event/backchannel-logout"
)

// NotifyNow makes this node send the due notifications now.
func (p *Logouts) NotifyNow() {
	select {
	case p.wake <- struct{}{}:
	default: // the signal is already set
	}
}

// notifier notifies applications of sessions that have ended.
type notifier struct {
	*Logouts
	places chan struct{}
	calls  sync.WaitGroup
	mu     sync.Mutex
	busy   map[string]int // calls in progress, by owner
}

func newNotifier(p *Logouts) *notifier {
	return &notifier{Logouts: p, places: make(chan struct{}, callsAtOnce), busy: map[string]int{}}
}

// run sends notifications until ctx ends. A notification that was about to be sent then
// is due again later, at any node. While the clock of this node is not right it sends none: it would postpone, or give
// up, what other nodes send in time.
func (t *notifier) run(ctx context.Context, right func() bool) {
	tick := time.NewTicker(notifyEvery)
	defer tick.Stop()
	defer t.calls.Wait()
	for {
		var err error
		if right() {
			err = t.sendDue(ctx)
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("applications were not notified of logouts", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.wake:
		}
	}
}

// sendDue claims the notifications that are due, and starts to send them.
func (t *notifier) sendDue(ctx context.Context) error {
	due, err := t.store.DueLogins(ctx, oauth.Now(), callsPerOwner, callsAtOnce)
	if err != nil {
		return err
	}
	for _, l := range due {
		if !t.claim(l.Owner) {
			continue
		}
		next := oauth.Now() + int64(firstRetry)<<(2*min(l.Attempts, mostRetries))
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
			continue // another node has claimed it
		}
		if err != nil {
			return err
		}
		t.calls.Go(func() {
			t.deliver(ctx, l, next)
			t.end(l.Owner)
			<-t.places
			t.NotifyNow() // a place is free again
		})
	}
	return nil
}

func (t *notifier) claim(owner string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.busy[owner] >= callsPerOwner {
		return false
	}
	t.busy[owner]++
	return true
}

func (t *notifier) end(owner string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.busy[owner]--
	if t.busy[owner] == 0 {
		delete(t.busy, owner)
	}
}

// deliver sends one notification. It forgets the notification when it was delivered, or
// when the application needs none. If the application does not respond at all, failed
// postpones all its other notifications too.
func (t *notifier) deliver(ctx context.Context, l storage.Login, next int64) {
	defer func() {
		if cause := recover(); cause != nil { // an unexpected record must not stop the server, now and at each restart
			t.log.Error("panic while an application was notified of a logout", "application", l.ApplicationID, "cause", cause, "stack", string(debug.Stack()))
		}
	}()
	a, err := t.store.Application(ctx, l.ApplicationID)
	if err == nil && t.rules.WhySuspended(a) != "" {
		a.BackchannelURI = "" // nobody is responsible for the address; the application's tokens are inactive already
	}
	if err == nil && a.BackchannelURI != "" {
		err = t.sendLogoutToken(ctx, a, l)
	}
	if ctx.Err() != nil {
		return
	}
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		if err == nil && a.BackchannelURI != "" {
			t.delivered.Add(1)
		}
		err = t.store.ForgetLogin(ctx, l)
		if err != nil {
			t.log.Warn("an application may be notified of a logout twice", "client", a.ClientID, "error", err)
		}
		return
	}
	t.failed(ctx, a, l, next, err)
}

func (t *notifier) failed(ctx context.Context, a storage.Application, l storage.Login, next int64, cause error) {
	t.callsFailed.Add(1)
	attempt, lost := l.Attempts+1, int64(1)
	said, ok := errors.AsType[*outbound.StatusError](cause)
	about := ok && said.Status >= 400 && said.Status < 500 && said.Status != http.StatusTooManyRequests // the error concerns this login, and not the whole application
	last := attempt >= mostRetries
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
		t.log.Warn("an application was not notified of logouts, and this was the last attempt", "client", a.ClientID, "logouts", lost, "error", text)
	} else {
		t.log.Warn("an application was not notified of a logout; the server will try again", "client", a.ClientID, "attempt", attempt, "error", text)
	}
	if err != nil {
		t.log.Warn("the next attempt to notify an application was not stored", "client", a.ClientID, "error", err)
	}
}

func (p *Logouts) sendLogoutToken(ctx context.Context, a storage.Application, l storage.Login) error {
	text, err := p.logoutToken(ctx, a, l)
	if err != nil {
		return err
	}
	calls := p.outbound
	if policy.StandingOf(a) == policy.StandingOpen {
		calls = p.strangers
	}
	return calls.Post(ctx, a.BackchannelURI, url.Values{"logout_token": {text}})
}

// logoutToken returns the logout token for a session that has ended (OIDC Back-Channel
// §2.4). It has the same signature algorithm as the application's ID tokens (§2.6). It
// has no nonce, so that nobody can use it as an ID token.
func (p *Logouts) logoutToken(ctx context.Context, a storage.Application, l storage.Login) (string, error) {
	at := oauth.Now()
	return p.tokens.Sign(ctx, a, cmp.Or(a.Algorithm, policy.DefaultAlgorithm), logoutToken, jose.Claims{
		"iss": p.config.Issuer, "aud": a.ClientID, "sub": p.tokens.Subject(l.Sector, l.UserID), "sid": p.tokens.SID(l.Sector, l.SessionID),
		"iat": at, "exp": at + logoutTokenLife, "jti": seal.Random(16),
		"events": map[string]any{logoutEvent: struct{}{}},
	})
}
