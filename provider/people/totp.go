package people

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"mandate/provider/events"
	"mandate/provider/notices"
	"mandate/provider/oauth"
	"mandate/provider/totp"
	"mandate/storage"
)

func (p *People) shownTOTP(ctx context.Context, c *Challenge, a Answer) (storage.FactorUse, error) {
	app, err := p.store.TOTP(ctx, c.User.ID)
	if errors.Is(err, storage.ErrNotFound) {
		return storage.FactorUse{}, wrongCode(a.By)
	}
	if err != nil {
		return storage.FactorUse{}, oauth.Unavailable(err)
	}
	secret, err := p.factors.Open(app.Secret, sealedTOTP(c.User.ID))
	if err != nil {
		return storage.FactorUse{}, err
	}
	step, err := totp.Match(string(secret), a.Code, oauth.Now(), app.LastStep)
	if err != nil {
		return storage.FactorUse{}, err
	}
	if step == 0 {
		return storage.FactorUse{}, wrongCode(a.By)
	}
	app.LastStep = step
	return storage.FactorUse{TOTP: &app}, nil
}

// sealedTOTP returns the name under which the secret of a person is sealed. A secret that was copied
// to the row of another person does not open.
func sealedTOTP(userID string) string { return "totp " + userID }

// NewTOTP is an authenticator app that a person may add.
type NewTOTP struct {
	URI    string // for the QR code
	Secret string // in groups, for a person who types it
	Sealed string // the form sends it back: nothing is stored before the first code
}

// NewTOTP makes a secret for the answer ByNewTOTP. It returns ErrConfirm if the person must sign in
// again first.
func (p *People) NewTOTP(c *Challenge) (NewTOTP, error) {
	if !c.fresh {
		return NewTOTP{}, ErrConfirm
	}
	secret := totp.NewSecret()
	return p.describeTOTP(c, secret,
		p.signIns.Seal([]byte(strconv.FormatInt(oauth.Now(), 10)+" "+secret), newTOTPPurpose(c))), nil
}

// SameTOTP returns the NewTOTP that a form has sent back, or another one if it is too old.
func (p *People) SameTOTP(c *Challenge, sealed string) (NewTOTP, error) {
	secret := p.openNewTOTP(c, sealed)
	if secret == "" || !c.fresh {
		return p.NewTOTP(c)
	}
	return p.describeTOTP(c, secret, sealed), nil
}

func (p *People) describeTOTP(c *Challenge, secret, sealed string) NewTOTP {
	return NewTOTP{URI: totp.URI(secret, p.config.ServerName, oauth.Clip(c.User.Username, 64)),
		Secret: totp.Grouped(secret), Sealed: sealed}
}

// newTOTPPurpose returns the name under which the secret of a new app is sealed: for this person,
// and this sign-in or session. Nobody can make another person add a secret that they know.
func newTOTPPurpose(c *Challenge) string { return "new totp " + c.User.ID + " " + c.bound }

// openNewTOTP returns the secret of a NewTOTP of this challenge, or "".
func (p *People) openNewTOTP(c *Challenge, sealed string) string {
	text, err := p.signIns.Open(sealed, newTOTPPurpose(c))
	if err != nil {
		return ""
	}
	made, secret, _ := strings.Cut(string(text), " ")
	at, err := strconv.ParseInt(made, 10, 64)
	if err != nil || oauth.Now()-at > oauth.Seconds(SignInLife) {
		return ""
	}
	return secret
}

func (p *People) shownNewTOTP(c *Challenge, a Answer) (storage.FactorUse, error) {
	if !c.fresh {
		return storage.FactorUse{}, ErrConfirm
	}
	secret := p.openNewTOTP(c, a.Secret)
	if secret == "" {
		return storage.FactorUse{},
			oauth.Refuse("invalid_grant", "This page was open for too long. Scan the new QR code, then enter the code that "+
				"your app shows for it.")
	}
	step, err := totp.Match(secret, a.Code, oauth.Now(), 0)
	if err != nil {
		return storage.FactorUse{}, err
	}
	if step == 0 {
		return storage.FactorUse{},
			oauth.Refuse("invalid_grant", "This is not the code that your app shows now. Check that the clock of your phone "+
				"is set automatically.")
	}
	use := storage.FactorUse{New: &storage.TOTP{Secret: p.factors.Seal([]byte(secret), sealedTOTP(c.User.ID)),
		CreatedAt: oauth.Now(), LastStep: step}}
	if c.session == nil {
		ways := p.ways()
		use.First = &ways
	}
	return use, nil
}

// RemoveTOTP removes the authenticator app of a person, and the recovery codes. The session gets another cookie. It
// returns ErrConfirm if the person must sign in again first, and ErrNotFound if there is no app.
func (p *People) RemoveTOTP(ctx context.Context, s *storage.SignedIn) (*SignIn, error) {
	err := p.Confirmed(ctx, s)
	if err != nil {
		return nil, err
	}
	r, in := renewal(s)
	removed := events.Event{Kind: events.FactorRemoved, Person: s.User, Object: events.TOTP()}
	return p.renewed(in,
		p.store.RemoveTOTP(events.Attach(ctx, removed), r, p.ways(), p.notices.FactorChanged(s.User, notices.TOTPRemoved)...))
}
