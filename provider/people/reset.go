package people

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"mandate/provider/events"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/storage"
)

const (
	// ResetLife is how long a link that sets a new password works.
	ResetLife = 30 * time.Minute
	// namesakes is how many people with one address get a link.
	namesakes = 3
)

// SendsMail reports whether this server sends mail to people.
func (p *People) SendsMail() bool { return p.notices.On() }

// AskReset notes that somebody has forgotten a password. name is a user name or an address. The
// caller learns nothing about it: the same note is stored for a name that does not exist, and
// it is answered later.
func (p *People) AskReset(ctx context.Context, name string, b Browser) error {
	name = strings.TrimSpace(name)
	found := &oauth.Invalid{}
	switch {
	case name == "":
		found.Add("username", "Enter your username or your email address.")
	case !utf8.ValidString(name) || len(name) > 600:
		found.Add("username", "This is neither a username nor an email address.")
	}
	if err := found.Err(); err != nil {
		return err
	}
	if !p.notices.On() {
		return oauth.ErrNotFound
	}
	// The tries are never given back: each request may send a message.
	_, err := p.limits.Request(limits.MessageTo("reset ", FoldName(name), b.Address)...)
	if err != nil {
		return err
	}
	err = p.store.AddMail(ctx, p.notices.Asked(name, b.Language, throttle.Site(b.Address)))
	if errors.Is(err, storage.ErrFull) {
		return oauth.Later(http.StatusServiceUnavailable, time.Minute,
			"Too many people ask for a new password at this moment. Try again in a minute.")
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	p.notices.Wake()
	return nil
}

// AnswerReset sends a link to the person whom AskReset noted, if there is one who is enabled and
// has an address. A name is looked up as a user name and as an address: somebody whose user name is
// the address of another person must not keep links from that person.
func (p *People) AnswerReset(ctx context.Context, note storage.Mail, name, language string) error {
	users, err := p.store.UsersByEmail(ctx, lookedUp(name), namesakes)
	if err != nil {
		return err
	}
	u, err := p.store.UserByKey(ctx, FoldName(name))
	if err != nil && !errors.Is(err, storage.ErrNotFound) {
		return err
	}
	if err == nil && !slices.ContainsFunc(users, func(other storage.User) bool { return other.ID == u.ID }) {
		users = append(users, u)
	}
	var links []storage.NewLink
	for _, u := range users {
		if !u.Active || u.Email == "" {
			continue
		}
		l, secret := newLink(u, storage.LinkReset, ResetLife)
		// The message goes to the stored address, and never to the one that was typed.
		m := p.notices.Reset(u, l.Link, language, note.Network, p.resetURL(secret))
		sent := events.Row(ctx, events.Event{Kind: events.PasswordLink, Person: u, By: events.Nobody(), Detail: "mail"})
		l.Mail, l.Event = &m, &sent
		links = append(links, l)
	}
	err = p.store.AnswerMail(ctx, note, links)
	if errors.Is(err, storage.ErrSpent) {
		return nil // another node has answered
	}
	return err
}

// newLink makes a link for a person, and returns the secret in it.
func newLink(u storage.User, kind string, life time.Duration) (storage.NewLink, string) {
	secret, at := seal.Random(32), oauth.Now()
	return storage.NewLink{Link: storage.Link{Digest: seal.Digest(secret), Kind: kind, UserID: u.ID, Email: u.Email,
		CreatedAt: at, ExpiresAt: at + oauth.Seconds(life)}}, secret
}

// resetURL returns the address of a link. It begins with the configured URL: the Host header of a
// request has no influence.
func (p *People) resetURL(secret string) string {
	return p.config.Base + "/password/reset/" + secret + "/"
}

// MakeResetLink returns a link that sets a new password for a person, and when it ends. It is
// for an administrator who gives it to the person. It returns ErrConfirm if the administrator must sign in again
// first.
func (p *People) MakeResetLink(ctx context.Context, actor policy.Actor, id string) (string, int64, error) {
	err := actor.MustAdminister("make a link that sets a new password")
	if err != nil {
		return "", 0, err
	}
	u, err := p.User(ctx, id)
	if err == nil {
		err = actor.MustConfirm()
	}
	if err != nil {
		return "", 0, err
	}
	l, secret := newLink(u, storage.LinkReset, ResetLife)
	err = p.store.AddLink(events.Attach(ctx, events.Event{Kind: events.PasswordLink, Person: u}), l)
	if errors.Is(err, storage.ErrSpent) {
		found := &oauth.Invalid{}
		found.Add("username", "This account is disabled, or was changed at this moment. Enable it first.")
		return "", 0, found
	}
	if err != nil {
		return "", 0, oauth.Unavailable(err)
	}
	return p.resetURL(secret), l.ExpiresAt, nil
}

// ResetLink returns the person for whom a link sets a new password, or ErrNotFound. It changes
// nothing: mail scanners open links too.
func (p *People) ResetLink(ctx context.Context, secret string) (storage.User, error) {
	return p.linked(ctx, secret, storage.LinkReset)
}

// linked returns the person of a link, or ErrNotFound.
func (p *People) linked(ctx context.Context, secret, kind string) (storage.User, error) {
	u, err := p.store.LinkByDigest(ctx, seal.Digest(secret), kind, oauth.Now())
	return u, oauth.Stored(err)
}

// ResetByLink sets a new password, once. It ends all sessions and token families of the person,
// as a reset by an administrator does, and begins no session. It returns ErrNotFound if the link
// does not work, and an Invalid for a password that does not follow the rules. In that case, the
// link still works.
func (p *People) ResetByLink(ctx context.Context, secret, password string) error {
	u, err := p.ResetLink(ctx, secret)
	if err != nil {
		return err
	}
	found := &oauth.Invalid{}
	p.config.checkNewPassword(found, "new_password", password, u)
	if err := found.Err(); err != nil {
		return err
	}
	leave, err := p.limits.People.Enter("reset " + u.ID)
	if err != nil {
		return err
	}
	defer leave()
	hash, err := p.limits.People.Hash(ctx, password)
	if err != nil {
		return err
	}
	reset := events.Event{Kind: events.PasswordReset, Person: u, By: events.By(u), Detail: "link"}
	err = p.store.ResetByLink(events.Attach(ctx, reset), seal.Digest(secret), hash, oauth.Now(),
		p.notices.PasswordChanged(u)...)
	if errors.Is(err, storage.ErrSpent) {
		return oauth.ErrNotFound
	}
	if err != nil {
		return oauth.Stored(err)
	}
	p.Ended.Ring()
	p.notices.Wake()
	return nil
}
