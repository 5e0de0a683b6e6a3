package keys

import (
	"context"
	"crypto"
	"crypto/x509"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"mandate/provider/events"
	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/seal"
	"mandate/storage"
)

// New reads the keys, and generates those that are missing. listening reports whether this
// node receives the changes that other nodes make.
func New(ctx context.Context, config Config, store *storage.Store, sealer seal.Sealer, listening func() bool,
	clock func() error, log *slog.Logger) (*Ring, error) {
	r := &Ring{config: config, store: store, sealer: sealer, listening: listening, clock: clock, log: log}
	err := r.loadOwnKeys()
	if err == nil {
		err = r.Rotate(ctx)
	}
	if err == nil {
		_, err = r.all(ctx)
	}
	return r, err
}

// Check is how often Run looks whether a key is due.
const Check = time.Minute

// Run makes new keys when they are due, until ctx ends.
func (r *Ring) Run(ctx context.Context) {
	tick := time.NewTicker(Check)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := r.Rotate(ctx)
		if err != nil && ctx.Err() == nil {
			r.log.Warn("the signing keys were not rotated", "error", err)
		}
	}
}

// Rotate calls CreateMissing if the server signs anything: if OpenID Connect is on, or if an
// application has signed access tokens or signed introspection responses.
func (r *Ring) Rotate(ctx context.Context) error {
	if !r.config.OpenID {
		longest, err := r.longestSigned(ctx)
		if err != nil {
			return err
		}
		if longest < 0 {
			return nil
		}
	}
	return r.CreateMissing(ctx)
}

// CreateMissing generates a key of each kind that has no key which signs. It also generates
// the successor of each key whose lifetime is nearly over. The successor is published
// first, and signs after every client has had the time to fetch it.
func (r *Ring) CreateMissing(ctx context.Context) error {
	keys, err := r.store.Keys(ctx, oauth.Now())
	if err != nil {
		return oauth.Unavailable(err)
	}
	for _, kind := range jose.Kinds() {
		lead, due := r.keyIsDue(keys, kind)
		if !due {
			continue
		}
		err = r.RotateNow(ctx, kind, lead)
		// If another node has added a key at the same moment, that key serves as well.
		if err != nil && !errors.Is(err, errKeyExists) {
			return err
		}
	}
	return nil
}

// keyIsDue reports whether a kind needs a new key, and how long the key is published
// before it signs.
func (r *Ring) keyIsDue(keys []storage.Key, kind string) (time.Duration, bool) {
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
	// The new key is generated so early that it signs when the lifetime of the present
	// one is over.
	case newest < 0, r.config.KeyLifetime > 0 && oauth.Now() >= newest+oauth.Seconds(r.config.KeyLifetime-r.Lead()):
		return r.Lead(), true
	}
	return 0, false
}

// Lead returns how long a new key is published before it signs. A client that has
// just fetched the JWK Set fetches it again within that time.
func (r *Ring) Lead() time.Duration { return max(time.Hour, 2*r.config.JWKSMaxAge) }

// RotateNow generates a new key of a kind, which signs after the lead.
func (r *Ring) RotateNow(ctx context.Context, kind string, lead time.Duration) error {
	private, err := jose.Generate(kind)
	if err != nil {
		return err
	}
	return r.addKey(ctx, private, lead)
}

// Import stores an operator's private key in PEM, which signs after the lead.
func (r *Ring) Import(ctx context.Context, text string, lead time.Duration) error {
	private, err := jose.ParsePrivate(text)
	if err != nil {
		return err
	}
	return r.addKey(ctx, private, lead)
}

// A key has a time at which it signs, and the present key one at which it ends. Both hold at all nodes, so a node whose
// clock is wrong adds no key.
func (r *Ring) addKey(ctx context.Context, private crypto.Signer, lead time.Duration) error {
	err := r.clock()
	if err != nil {
		return oauth.Unavailable(err)
	}
	made, err := newSigningKey(storage.Key{}, private)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return err
	}
	made.Sealed = r.sealer.Seal(der, made.ID)
	made.CreatedAt = oauth.Now()
	made.ActiveAt = oauth.Now() + oauth.Seconds(lead)
	longest, err := r.longestSigned(ctx)
	if err != nil {
		return err
	}
	// No standing allows a longer lifetime, whatever is registered.
	longest = min(longest, r.config.JWTMax)
	longest = max(longest, oauth.Seconds(r.config.IDTokenLifetime), oauth.Seconds(r.config.JWTAccessTokenLifetime))
	// The last signature of the old key is in use until then. One more hour allows for
	// clocks that differ.
	end := made.ActiveAt + longest + 3600
	added := events.Event{Kind: events.KeyAdded, Object: events.Key(made.ID), Detail: made.Kind}
	if origin.Of(ctx).Kind != origin.Operator { // a person may have caused it, and does not know
		added.By = &origin.Actor{Kind: origin.Server}
	}
	err = r.store.AddKey(events.Attach(ctx, added), made.Key, end)
	if errors.Is(err, storage.ErrConflict) {
		return errKeyExists
	}
	if err != nil {
		return oauth.Unavailable(err)
	}
	r.Forget()
	r.log.Info("created a signing key", "kid", made.ID, "kind", made.Kind, "signs_from",
		time.Unix(made.ActiveAt, 0).UTC().Format(time.RFC3339))
	return nil
}

// longestSigned returns the longest lifetime that an application or a resource has set for its
// signed access tokens, or -1 if nothing is signed for any.
func (r *Ring) longestSigned(ctx context.Context) (int64, error) {
	longest, err := r.store.LongestSigned(ctx)
	return max(longest, r.config.LongestSigned), oauth.Stored(err)
}

// errKeyExists says that the key exists already, or that another node added one at the
// same moment.
var errKeyExists = errors.New("this key exists already, or another key was added at the same time: mandate keys list " +
	"shows the keys")

// Retire takes a key out of use at once, and generates another if the server needs
// one. The signatures of the retired key can no longer be verified. It returns
// ErrNotFound if no stored key has the id. A kid for another algorithm of the key names it too.
func (r *Ring) Retire(ctx context.Context, id string) error {
	id = strings.TrimSuffix(id, "-"+pss)
	if slices.ContainsFunc(r.own, func(k SigningKey) bool { return k.ID == id }) {
		return errors.New("this key comes from the configuration: remove it from OIDC_RSA_PRIVATE_KEY")
	}
	err := r.store.RetireKey(events.Attach(ctx, events.Event{Kind: events.KeyRetired, Object: events.Key(id)}), id,
		oauth.Now())
	r.Forget()
	if err != nil {
		return oauth.Stored(err)
	}
	return r.Rotate(ctx)
}

// KeyState is the public description of a key.
type KeyState struct {
	ID, Kind, State                string
	ActiveAt, RetiredAt, ExpiresAt int64
	Own                            bool // the key comes from the configuration
}

// States returns the state of each published key: published (it does not sign yet),
// active or retired.
func (r *Ring) States(ctx context.Context) ([]KeyState, error) {
	keys, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	var states []KeyState
	for _, k := range keys {
		if !k.Published() {
			continue // only verifies an id_token_hint
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
