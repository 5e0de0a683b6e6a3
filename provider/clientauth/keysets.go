package clientauth

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"mandate/provider/jose"
	"mandate/provider/keysets"
	"mandate/provider/oauth"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

// keySets has the public keys of applications: those that are registered as text, and those at
// registered addresses.
type keySets struct {
	parsed  parsedSets
	fetched policy.ByStanding[*keysets.Sets]
}

func newKeySets(out, strangers *outbound.Client, log *slog.Logger) keySets {
	return keySets{fetched: policy.ByStanding[*keysets.Sets]{
		Administrators: keysets.New(out, log), Persons: keysets.New(out, log), Open: keysets.New(strangers, log),
	}}
}

// The length of RSA keys in bits. Whoever sends a request with a signature decides what it costs.
const (
	rsaOfAdministrators = 8192
	rsaOfOthers         = 4096
)

// RSABits returns how long an RSA key of an application may be.
func RSABits(a storage.Application) int {
	if policy.StandingOf(a) == policy.StandingAdministrator {
		return rsaOfAdministrators
	}
	return rsaOfOthers
}

// find is FindKeys.
func (k *keySets) find(ctx context.Context, a storage.Application, search func(jose.JWKSet) []any) ([]any, error) {
	keys, err := k.search(ctx, a, search)
	bits := RSABits(a)
	keys = slices.DeleteFunc(keys, func(key any) bool { return jose.RSABits(key) > bits })
	if len(keys) == 0 && err == nil {
		err = jose.ErrInvalid
	}
	return keys, err
}

// search is find for keys of any length.
func (k *keySets) search(ctx context.Context, a storage.Application, search func(jose.JWKSet) []any) ([]any, error) {
	switch {
	case a.JWKSURI != "":
		return k.fetched.Of(a).Find(ctx, keysets.Asked{Address: a.JWKSURI, For: Registrant(ctx, a)}, search)
	case a.JWKS == "":
		return nil, jose.ErrInvalid
	}
	set, err := k.parsed.set(a.JWKS)
	if err != nil {
		return nil, err
	}
	return search(set), nil
}

// Registrant names who has registered the addresses of an application, for the limit of the fetches. Who
// registered an application for which nobody is responsible is not known: anybody can register many, so it is the
// network that wants the fetch. Administrators have no limit.
func Registrant(ctx context.Context, a storage.Application) string {
	switch policy.StandingOf(a) {
	case policy.StandingOpen:
		return throttle.Site(AddressOf(ctx))
	case policy.StandingPerson:
		return oauth.Deref(a.OwnerID)
	}
	return ""
}

// FindKeys returns those keys of an application that a search finds, and none that is too long for it. Its
// errors are those of keysets.Sets.
func (p *Checks) FindKeys(ctx context.Context, a storage.Application, search func(jose.JWKSet) []any) ([]any, error) {
	return p.keysets.find(ctx, a, search)
}

// KnownKeys returns the keys of an application as this node knows them without a fetch.
func (p *Checks) KnownKeys(a storage.Application) []jose.JWK { return p.keysets.known(a) }

// known is KnownKeys.
func (k *keySets) known(a storage.Application) []jose.JWK {
	if a.JWKSURI != "" {
		return k.fetched.Of(a).Kept(a.JWKSURI).Keys
	}
	set, err := jose.ParseSet([]byte(a.JWKS))
	if err != nil {
		return nil
	}
	return set.Keys
}

// BusyKeys returns the error for keys that cannot be fetched because too many others are. It says
// nothing about the client.
func BusyKeys() *oauth.Error {
	return oauth.Later(
		http.StatusTooManyRequests, time.Second, "Too many key sets are being fetched at this moment. Try again.",
	)
}

// registeredKeys names keys for the log.
func registeredKeys(keys []jose.JWK) string {
	if len(keys) == 0 {
		return "no keys"
	}
	var names []string
	for _, k := range keys {
		names = append(names, strings.TrimSpace(k.Type+" "+k.ID))
	}
	return oauth.Clip(strings.Join(names, ", "), 300)
}
