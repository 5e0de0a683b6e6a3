package provider

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/url"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"mandate/storage"
)

// How an application is told that a session has ended (OIDC Back-Channel §2.5,
// §2.8): at once, and again after 30 seconds, 2, 8, 32, 128 minutes, 8 and a
// half hours.
const (
	tellEvery   = time.Second // another node, or the CLI, may have ended a session
	tellAtOnce  = 32          // connections
	tellTries   = 7
	firstRetry  = 30 // seconds; more than one call can take
	logoutToken = "logout+jwt"
	// OIDC Back-Channel §2.4: two minutes at most.
	logoutTokenLife = 120
	logoutEvent     = "http://schemas.openid.net/event/backchannel-logout"
)

// tellNow wakes the teller of this node.
func (p *Provider) tellNow() {
	select {
	case p.ended <- struct{}{}:
	default: // it has been woken
	}
}

// tell tells applications of sessions that have ended, until ctx ends. What it
// was about to tell then is due again later, at whatever node.
func (p *Provider) tell(ctx context.Context) {
	tick := time.NewTicker(tellEvery)
	defer tick.Stop()
	places := make(chan struct{}, tellAtOnce)
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		err := p.tellDue(ctx, places, &calls)
		if err != nil && ctx.Err() == nil {
			p.log.Warn("applications were not told of logouts", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-p.ended:
		}
	}
}

// tellDue claims what is due and begins to tell it.
func (p *Provider) tellDue(ctx context.Context, places chan struct{}, calls *sync.WaitGroup) error {
	due, err := p.store.DueLogins(ctx, now(), tellAtOnce)
	if err != nil {
		return err
	}
	for _, l := range due {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case places <- struct{}{}:
		}
		wait := int64(firstRetry) << (2 * min(l.Attempts, tellTries))
		err = p.store.ClaimLogin(ctx, l, now()+wait)
		if err != nil {
			<-places
		}
		if errors.Is(err, storage.ErrSpent) {
			continue // another node has it
		}
		if err != nil {
			return err
		}
		calls.Go(func() {
			defer func() { <-places }()
			p.tellOne(ctx, l)
		})
	}
	return nil
}

// tellOne calls one application. It forgets the login once that is done, or
// pointless.
func (p *Provider) tellOne(ctx context.Context, l storage.Login) {
	a, err := p.store.Application(ctx, l.ApplicationID)
	if err == nil && a.BackchannelURI != "" {
		err = p.sendLogoutToken(ctx, a, l)
	}
	last := l.Attempts+1 >= tellTries
	switch {
	case ctx.Err() != nil:
		return
	case err == nil, errors.Is(err, storage.ErrNotFound), last:
		if err != nil && last {
			p.log.Warn("an application could not be told of a logout, and is not tried again", "client", a.ClientID, "error", err)
		}
		err = p.store.ForgetLogin(ctx, l)
		if err != nil {
			p.log.Warn("an application may be told of a logout twice", "client", a.ClientID, "error", err)
		}
	default:
		p.log.Warn("an application was not told of a logout; it is tried again", "client", a.ClientID, "attempt", l.Attempts+1, "error", err)
	}
}

func (p *Provider) sendLogoutToken(ctx context.Context, a Application, l storage.Login) error {
	text, err := p.logoutToken(ctx, a, l)
	if err != nil {
		return err
	}
	return p.send(ctx, a.BackchannelURI, url.Values{"logout_token": {text}})
}

// logoutToken says that a session has ended (OIDC Back-Channel §2.4). It is
// signed as the application's ID tokens are (§2.6), and has no nonce, so that it
// cannot pass for one.
func (p *Provider) logoutToken(ctx context.Context, a Application, l storage.Login) (string, error) {
	at := now()
	return p.sign(ctx, a, cmp.Or(a.Algorithm, defaultAlgorithm), logoutToken, jwt.MapClaims{
		"iss": p.config.Issuer, "aud": a.ClientID, "sub": p.subject(a, l.UserID), "sid": p.sid(a, l.SessionID),
		"iat": at, "exp": at + logoutTokenLife, "jti": random(16),
		"events": map[string]any{logoutEvent: struct{}{}},
	})
}

// sid names a session to an application. Those that must not be able to compare
// a person's subjects cannot compare the sessions either (OIDC Core §8.1).
func (p *Provider) sid(a Application, sessionID string) string {
	if a.Sector == "" {
		return sessionID
	}
	mac := hmac.New(sha256.New, p.pairwise)
	mac.Write([]byte("sid\x00" + a.Sector + "\x00" + sessionID))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:16])
}
