package logout

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/places"
	"mandate/provider/policy"
	"mandate/provider/recovered"
	"mandate/provider/seal"
	"mandate/storage"
)

// The schedule of notifications (OIDC Back-Channel §2.5, §2.8): at once, and after a
// failure again after 30 seconds, 2, 8, 32 and 128 minutes, and eight and a half hours.
const (
	notifyEvery = time.Second // another node, or the CLI, may have ended a session in between
	// dueAtOnce is how many due notifications are looked at, of each kind of who is responsible.
	dueAtOnce   = 256
	mostRetries = 7
	firstRetry  = 30 // seconds; longer than one call can take
	logoutToken = "logout+jwt"
	// OIDC Back-Channel §4: two minutes at most.
	logoutTokenLife = 120
	logoutEvent     = "http://schemas.openid.net/event/backchannel-logout"
)

// NotifyNow makes this node send the due notifications now.
func (p *Logouts) NotifyNow() { p.ended.Ring() }

// Notify notifies applications of ended sessions, until ctx ends.
func (p *Logouts) Notify(ctx context.Context, right func() bool) { newNotifier(p).run(ctx, right) }

// NotifyDue sends the notifications that are due now, and waits for the responses.
func (p *Logouts) NotifyDue(ctx context.Context) error {
	t := newNotifier(p)
	defer t.calls.Wait()
	return t.sendDue(ctx)
}

// notifier notifies applications of sessions that have ended. The applications of administrators, those of people, and
// those for which nobody is responsible have places of their own, so that nobody's applications delay those of others
// in whom the operator has more trust. An application that does not answer, or not at once, delays only its like.
type notifier struct {
	*Logouts
	calls  sync.WaitGroup
	mu     sync.Mutex
	places map[policy.Standing]*places.Places
}

func newNotifier(p *Logouts) *notifier {
	t := &notifier{Logouts: p, places: map[policy.Standing]*places.Places{}}
	for _, s := range policy.Standings() {
		t.places[s] = places.New()
	}
	return t
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
			err = recovered.Do(t.log, "notify applications of logouts", func() error { return t.sendDue(ctx) })
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("applications were not notified of logouts", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-t.ended:
		}
	}
}

// sendDue claims the notifications that are due and have a place, and starts to send them.
func (t *notifier) sendDue(ctx context.Context) error {
	due, err := t.store.DueLogins(ctx, oauth.Now(), places.PerWho, dueAtOnce)
	if err != nil {
		return err
	}
	for _, l := range t.inTurn(due) {
		leave := t.enter(l)
		if leave == nil {
			continue
		}
		next := oauth.Now() + int64(firstRetry)<<(2*min(l.Attempts, mostRetries))
		err = t.store.ClaimLogin(ctx, l.Login, next)
		if errors.Is(err, storage.ErrSpent) {
			leave()
			continue // another node has claimed it
		}
		if err != nil {
			leave()
			return err
		}
		t.calls.Go(func() {
			began := time.Now()
			// An unexpected record must not stop the server, now and at each restart.
			err := recovered.Do(t.log, "notify the application "+l.ApplicationID+" of a logout",
				func() error { return t.deliver(ctx, l.Login, next) })
			t.note(l, err == nil || refuses(err), time.Since(began))
			leave()
			t.NotifyNow() // a place is free again
		})
	}
	return nil
}

// inTurn sorts due notifications: those of administrators' applications first, and then so that owners take turns. A
// call that runs is a turn too.
func (t *notifier) inTurn(due []storage.DueLogin) []storage.DueLogin {
	t.mu.Lock()
	defer t.mu.Unlock()
	running, standings := map[string]int64{}, policy.Standings()
	for _, l := range due {
		running[l.Owner] = int64(t.places[standingOf(l)].TakenBy(l.Owner))
	}
	slices.SortStableFunc(due, func(a, b storage.DueLogin) int {
		return cmp.Or(cmp.Compare(slices.Index(standings, standingOf(a)), slices.Index(standings, standingOf(b))),
			cmp.Compare(a.Turn+running[a.Owner], b.Turn+running[b.Owner]))
	})
	return due
}

// standingOf returns the standing of the application that must be notified.
func standingOf(l storage.DueLogin) policy.Standing {
	return policy.StandingOf(storage.Application{Responsible: l.Responsible, OwnerActive: l.OwnerActive,
		OwnerAdministrator: l.OwnerAdministrator})
}

// enter takes a place for a call. It returns what gives the place back, or nil if there is none.
func (t *notifier) enter(l storage.DueLogin) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	free := t.places[standingOf(l)].Enter(l.BackchannelURI, l.Owner)
	if free == nil {
		return nil
	}
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		free()
	}
}

// note notes whether an application has answered.
func (t *notifier) note(l storage.DueLogin, answered bool, took time.Duration) {
	if l.BackchannelURI == "" {
		return // nobody was called
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.places[standingOf(l)].Note(l.BackchannelURI, l.Owner, answered, took)
}

// deliver sends one notification. It forgets the notification when it was delivered, or
// when the application needs none. If the application does not respond at all, failed
// postpones all its other notifications too. It returns the error of the call.
func (t *notifier) deliver(ctx context.Context, l storage.Login, next int64) error {
	a, err := t.store.Application(ctx, l.ApplicationID)
	if err == nil && t.rules.WhySuspended(a) != "" {
		a.BackchannelURI = "" // nobody is responsible for the address; the application's tokens are inactive already
	}
	if err == nil && a.BackchannelURI != "" {
		err = t.sendLogoutToken(ctx, a, l)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil || errors.Is(err, storage.ErrNotFound) {
		if err == nil && a.BackchannelURI != "" {
			t.delivered.Add(1)
		}
		err = t.store.ForgetLogin(ctx, l)
		if err != nil {
			t.log.Warn("an application may be notified of a logout twice", "client", a.ClientID, "error", err)
		}
		return nil
	}
	t.failed(ctx, a, l, next, err)
	return err
}

func (t *notifier) failed(ctx context.Context, a storage.Application, l storage.Login, next int64, cause error) {
	t.callsFailed.Add(1)
	attempt, lost := l.Attempts+1, int64(1)
	about, last := refuses(cause), attempt >= mostRetries
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
		t.log.Warn("an application was not notified of logouts, and this was the last attempt", "client", a.ClientID,
			"logouts", lost, "error", text)
	} else {
		t.log.Warn("an application was not notified of a logout; the server will try again", "client", a.ClientID, "attempt",
			attempt, "error", text)
	}
	if err != nil {
		t.log.Warn("the next attempt to notify an application was not stored", "client", a.ClientID, "error", err)
	}
}

// refuses reports whether the error of a call concerns one login, and not the whole application, and even less its
// address: anybody can register an application with the address of another one, which refuses what is not for it.
func refuses(err error) bool {
	said, ok := errors.AsType[*outbound.StatusError](err)
	return ok && said.Status >= 400 && said.Status < 500 && said.Status != http.StatusTooManyRequests
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
		"iss": p.config.Issuer, "aud": a.ClientID, "sub": p.tokens.Subject(l.Sector, l.UserID),
		"sid": p.tokens.SID(l.Sector, l.SessionID),
		"iat": at, "exp": at + logoutTokenLife, "jti": seal.Random(16),
		"events": map[string]any{logoutEvent: struct{}{}},
	})
}
