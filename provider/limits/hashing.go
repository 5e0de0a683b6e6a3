package limits

import (
	"context"
	"errors"
	"net/http"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/origin"
	"mandate/provider/password"
	"mandate/provider/throttle"
)

// Hasher is a password hasher whose errors a client may see: ErrBusy and ErrQueue of
// package password become an oauth.Error.
type Hasher struct{ *password.Hasher }

// Hash returns the PHC string of a password.
func (h Hasher) Hash(ctx context.Context, password string) (string, error) {
	hash, err := h.Hasher.Hash(inTurn(ctx), password)
	return hash, hashingError(err)
}

// Matches reports whether a stored hash is of this password. stale says that the hash was
// made at another cost.
func (h Hasher) Matches(ctx context.Context, stored, password string) (ok, stale bool, err error) {
	ok, stale, err = h.Hasher.Matches(inTurn(ctx), stored, password)
	return ok, stale, hashingError(err)
}

// Pretend takes as much time as Matches. It is for a username that does not exist.
func (h Hasher) Pretend(ctx context.Context, password string) error {
	return hashingError(h.Hasher.Pretend(inTurn(ctx), password))
}

// inTurn returns a context in which the customers who wait for a hash take turns.
func inTurn(ctx context.Context) context.Context {
	return password.InTurn(ctx, throttle.Site(origin.Of(ctx).Address))
}

// InQueue names the party in the queue of hashes that stands for an address: its site.
func InQueue(address string) string { return "site " + throttle.Site(address) }

// Enter takes a place in the queue for each party of one check, until leave is called.
// A party with too many places gets an Error with status 429.
func (h Hasher) Enter(who ...string) (leave func(), err error) {
	leave, err = h.Hasher.Enter(who...)
	return leave, hashingError(err)
}

func hashingError(err error) error {
	switch {
	case errors.Is(err, password.ErrBusy):
		return TooBusy(err)
	case errors.Is(err, password.ErrQueue):
		return oauth.Later(http.StatusTooManyRequests, time.Second,
			"Too many passwords or secrets from here are being checked. Try again in a moment.")
	}
	return err
}

// TooBusy returns the Error for a hash that did not get its turn: status 503.
func TooBusy(cause error) *oauth.Error {
	return oauth.Later(http.StatusServiceUnavailable, 2*time.Second,
		"The server is busy checking passwords. Try again in a moment.").Because(cause)
}
