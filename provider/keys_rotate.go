package provider

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// loadOwnKeys reads the operator's keys: the first signs, the rest are only
// published.
func (p *Provider) loadOwnKeys() error {
	for i, text := range append([]string{p.config.RSAPrivateKey}, p.config.RSAInactiveKeys...) {
		if text == "" {
			continue
		}
		key, err := rsaKey(text)
		if err != nil {
			return fmt.Errorf("private key %d of the configuration %w", i+1, err)
		}
		if i > 0 {
			key.RetiredAt = 1
		}
		p.ring.own = append(p.ring.own, key)
	}
	return nil
}

// CheckRSAKey says what is wrong with an operator's own key.
func CheckRSAKey(text string) error {
	_, err := rsaKey(text)
	return err
}

func rsaKey(text string) (signingKey, error) {
	private, err := jose.ParsePrivate(text)
	if err != nil {
		return signingKey{}, err
	}
	key, err := newSigningKey(storage.Key{}, private)
	if err == nil && key.Kind != "RSA" {
		err = errors.New("is not an RSA key")
	}
	return key, err
}

// rotateKeys looks after the keys where something is signed: with OpenID Connect,
// or where an application's access tokens are.
func (p *Provider) rotateKeys(ctx context.Context) error {
	if !p.config.OpenID {
		longest, err := p.store.LongestSigned(ctx)
		if err != nil {
			return oauth.Unavailable(err)
		}
		if longest < 0 {
			return nil
		}
	}
	return p.provideKeys(ctx)
}

// provideKeys makes the keys that are missing, and the next one of each that has
// signed long enough: it is published first and signs when everybody has had
// the time to read it.
func (p *Provider) provideKeys(ctx context.Context) error {
	keys, err := p.store.Keys(ctx, oauth.Now())
	if err != nil {
		return oauth.Unavailable(err)
	}
	for _, kind := range jose.Kinds() {
		lead, due := p.keyIsDue(keys, kind)
		if !due {
			continue
		}
		err = p.RotateKey(ctx, kind, lead)
		// The other node's key is as good.
		if err != nil && !errors.Is(err, errKeyThere) {
			return err
		}
	}
	return nil
}

// keyIsDue says whether a kind needs a new key, and how long before it signs.
func (p *Provider) keyIsDue(keys []storage.Key, kind string) (time.Duration, bool) {
	newest, signs := int64(-1), false
	for _, k := range keys {
		if k.Kind != kind {
			continue
		}
		signs = signs || signsAt(k, oauth.Now())
		if k.RetiredAt == 0 {
			newest = max(newest, k.ActiveAt)
		}
	}
	switch {
	case !signs:
		return 0, true
	// Made so early that it signs when the time of the one before is up.
	case newest < 0, p.config.KeyLifetime > 0 && oauth.Now() >= newest+oauth.Seconds(p.config.KeyLifetime-p.config.keyLead()):
		return p.config.keyLead(), true
	}
	return 0, false
}

// keyLead is how long a key is published before it signs: whoever has just read
// the set reads it again by then.
func (c Config) keyLead() time.Duration { return max(time.Hour, 2*c.JWKSMaxAge) }

// KeyLead is how long a new key is published before it signs.
func (p *Provider) KeyLead() time.Duration { return p.config.keyLead() }

// RotateKey makes a new key of a kind that signs after the lead.
func (p *Provider) RotateKey(ctx context.Context, kind string, lead time.Duration) error {
	private, err := jose.Generate(kind)
	if err != nil {
		return err
	}
	return p.addKey(ctx, private, lead)
}

// ImportKey takes an operator's private key in PEM as the one that signs, after
// the lead.
func (p *Provider) ImportKey(ctx context.Context, text string, lead time.Duration) error {
	private, err := jose.ParsePrivate(text)
	if err != nil {
		return err
	}
	return p.addKey(ctx, private, lead)
}

func (p *Provider) addKey(ctx context.Context, private crypto.Signer, lead time.Duration) error {
	made, err := newSigningKey(storage.Key{}, private)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	made.Sealed = p.keySeal.Seal(der, made.ID)
	made.CreatedAt = oauth.Now()
	made.ActiveAt = oauth.Now() + oauth.Seconds(lead)
	longest, err := p.store.LongestSigned(ctx)
	if err != nil {
		return oauth.Unavailable(err)
	}
	// No standing gives more, whatever is registered.
	longest = min(longest, p.rules.Allowance(policy.StandingAdministrator).JWTMax)
	longest = max(longest, oauth.Seconds(p.config.IDTokenLifetime), oauth.Seconds(p.config.JWTAccessTokenLifetime))
	// What the old key signs last ends so much later; an hour is for clocks.
	end := made.ActiveAt + longest + 3600
	err = p.store.AddKey(ctx, made.Key, end)
	if errors.Is(err, storage.ErrConflict) {
		return errKeyThere
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	p.forgetKeys()
	p.log.Info("there is a new signing key", "kid", made.ID, "kind", made.Kind, "signs_from", made.ActiveAt)
	return nil
}

// errKeyThere is the answer to whoever comes second.
var errKeyThere = errors.New("this key is there already, or another one came at the same moment: mandate keys list shows them")

// RetireKey takes a key out of use at once, and puts another in its place
// where none is left: what the old one signed can no longer be checked.
func (p *Provider) RetireKey(ctx context.Context, id string) error {
	if slices.ContainsFunc(p.ring.own, func(k signingKey) bool { return k.ID == id }) {
		return errors.New("this key comes from the configuration: take it out of OIDC_RSA_PRIVATE_KEY")
	}
	err := p.store.RetireKey(ctx, id, oauth.Now())
	p.forgetKeys()
	if err != nil {
		return oauth.Stored(err)
	}
	return p.rotateKeys(ctx)
}

// KeyState is what may be told of a key.
type KeyState struct {
	ID, Kind, State                string
	ActiveAt, RetiredAt, ExpiresAt int64
	Own                            bool // from the configuration
}

// KeyStates lists the keys.
func (p *Provider) KeyStates(ctx context.Context) ([]KeyState, error) {
	keys, err := p.keys(ctx)
	if err != nil {
		return nil, err
	}
	var states []KeyState
	for _, k := range keys {
		if !k.published() {
			continue // good for hints alone
		}
		state := "active"
		switch {
		case k.ActiveAt > oauth.Now():
			state = "published"
		case k.RetiredAt != 0 && k.RetiredAt <= oauth.Now():
			state = "retired"
		}
		states = append(states, KeyState{k.ID, k.Kind, state, k.ActiveAt, k.RetiredAt, k.ExpiresAt, k.own()})
	}
	return states, nil
}
