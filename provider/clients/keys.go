package clients

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mandate/provider/jose"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

// This file shows people the keys of an application, and makes a pair for tests.

// Key describes a public key of an application.
type Key struct {
	ID, Kind, Algorithm string // Kind is empty if the server has not read the key
	LastUsedAt          int64  // 0: never, or it is not known
}

// Keys lists the keys of an application. It fetches nothing: of keys at an address it knows those
// that this node has read, and those that were used.
func (p *Clients) Keys(ctx context.Context, a storage.Application) ([]Key, error) {
	used, err := p.store.KeyUses(ctx, a.ID)
	if err != nil {
		return nil, oauth.Stored(err)
	}
	var list []Key
	for _, k := range p.KnownKeys(a) {
		list = append(list, Key{k.ID, strings.TrimSpace(k.Type + " " + k.Curve), k.Algorithm, used[k.ID]})
		delete(used, k.ID)
	}
	if a.JWKSURI == "" { // the others were removed
		return list, nil
	}
	for _, kid := range slices.Sorted(maps.Keys(used)) {
		list = append(list, Key{ID: kid, LastUsedAt: used[kid]})
	}
	return list, nil
}

// TestAlgorithms lists the algorithms for which AddTestKey makes a key pair.
func TestAlgorithms() []string { return []string{"ES256", "PS256", "EdDSA"} }

// AddTestKey makes a key pair, adds its public key to the keys of an application, and returns the
// private key as a JWK. The server does not keep it. A real client makes its own key, so that
// nobody else ever has it. An Invalid says why the key cannot be added.
func (p *Clients) AddTestKey(ctx context.Context, actor policy.Actor, id, algorithm string) (string, error) {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return "", err
	}
	found := &oauth.Invalid{}
	switch {
	case !slices.Contains(TestAlgorithms(), algorithm):
		found.Add("algorithm", "Choose %s.", oauth.OneOf(TestAlgorithms()))
	case a.ClientType == policy.Public:
		found.Add("algorithm", "A public application does not authenticate, so it has no keys.")
	case a.JWKSURI != "":
		found.Add(
			"algorithm",
			"This application has a jwks_uri. Remove jwks_uri before you add keys here: an application has one of the two.",
		)
	case slices.ContainsFunc(p.KnownKeys(a), func(k jose.JWK) bool { return k.ID == "" }):
		// RFC 7515 §4.1.4: with two keys, a JWT without kid does not say which one it is signed with.
		found.Add(
			"algorithm",
			"A key of this application has no kid, and with a second key its JWTs would no longer be accepted. Give that key "+
				"a kid first, in the registration and in the client.",
		)
	}
	if found.Err() != nil {
		return "", found
	}
	private, public, err := jose.NewPair(algorithm)
	if err != nil {
		return "", err
	}
	said := AuthenticationOf(a)
	said.JWKS, err = withKey(a.JWKS, public)
	if err != nil {
		return "", err
	}
	_, err = p.Change(ctx, actor, id, func(r *Registration) error { r.Authentication = said; return nil })
	if err != nil {
		return "", err
	}
	p.log.Info("made a key pair for testing", "client", a.ClientID, "kid", public.ID, "algorithm", algorithm)
	return private, nil
}

// withKey adds a key to a JWK Set, and leaves the others as they are.
func withKey(text string, key jose.JWK) (string, error) {
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if text != "" {
		err := json.Unmarshal([]byte(text), &set)
		if err != nil {
			return "", err
		}
	}
	one, err := json.Marshal(key)
	if err != nil {
		return "", err
	}
	set.Keys = append(set.Keys, one)
	all, err := json.Marshal(set)
	return string(all), err
}
