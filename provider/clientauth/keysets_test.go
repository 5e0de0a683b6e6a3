package clientauth

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"math/big"
	"testing"

	"mandate/provider/jose"
	"mandate/provider/policy"
	"mandate/storage"
)

// longKey returns an RSA key with so many bits.
func longKey(bits uint) jose.JWK {
	n := new(big.Int).Lsh(big.NewInt(1), bits-1)
	return jose.JWK{
		Type: "RSA",
		ID:   "k",
		N:    base64.RawURLEncoding.EncodeToString(n.Add(n, big.NewInt(1)).Bytes()),
		E:    "AQAB",
	}
}

// Only the key of an application of an administrator may make each request expensive.
func TestAttackLongKeysOfStrangers(t *testing.T) {
	no, yes := false, true
	standings := map[string]storage.Application{
		"operator":      {Responsible: storage.ByOperator},
		"administrator": {Responsible: storage.ByOwner, OwnerActive: &yes, OwnerAdministrator: &yes},
		"person":        {Responsible: storage.ByOwner, OwnerActive: &yes, OwnerAdministrator: &no},
		"open":          {Responsible: storage.ByNobody},
	}
	for name, a := range standings {
		for bits, want := range map[uint]bool{
			2048: true,
			4096: true,
			4097: policy.StandingOf(a) == policy.StandingAdministrator,
			8192: policy.StandingOf(a) == policy.StandingAdministrator,
			8193: false,
		} {
			set, err := json.Marshal(jose.JWKSet{Keys: []jose.JWK{longKey(bits)}})
			if err != nil {
				t.Fatal(err)
			}
			// The set at an address can change at any time.
			a.JWKS = string(set)
			keys, err := (&keySets{}).find(t.Context(), a, func(set jose.JWKSet) []any {
				return set.For(jose.Header{
					Algorithm: "RS256",
					KeyID:     "k",
				})
			})
			if (len(keys) == 1) != want || !want && !errors.Is(err, jose.ErrInvalid) {
				t.Errorf("%s uses %d bits: %d keys, %v", name, bits, len(keys), err)
			}
		}
	}
}

// Who has registered the address of a key set: a person with all applications, or the network that asks, for
// those for which nobody is responsible.
func TestRegistrantOfKeySets(t *testing.T) {
	owner, yes, no := "alice", true, false
	ctx := From(t.Context(), "2001:db8:1:2:3::4")
	for name, test := range map[string]struct {
		a    storage.Application
		want string
	}{
		"operator": {storage.Application{Responsible: storage.ByOperator}, ""},
		"administrator": {storage.Application{
			Responsible:        storage.ByOwner,
			OwnerID:            &owner,
			OwnerActive:        &yes,
			OwnerAdministrator: &yes,
		}, ""},
		"person": {storage.Application{
			Responsible:        storage.ByOwner,
			OwnerID:            &owner,
			OwnerActive:        &yes,
			OwnerAdministrator: &no,
		}, "alice"},
		"open": {storage.Application{Responsible: storage.ByNobody}, "2001:db8:1::/48"},
	} {
		if got := Registrant(ctx, test.a); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
