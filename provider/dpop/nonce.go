package dpop

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"time"
)

// nonceSlot is how long one nonce is given out.
const nonceSlot = 5 * time.Minute

// Nonces makes the nonces of DPoP-Nonce (RFC 9449 §8, §9). A nonce is an HMAC of a time slot, so
// it needs no storage, and all nodes with the same key give out and accept the same ones. Nobody
// without the key can know a later one.
type Nonces struct{ key []byte }

// NewNonces makes them under a key of at least 32 bytes that has no other purpose. The
// authorization server and each API have keys of their own: RFC 9449 §9 keeps their nonces apart.
func NewNonces(key []byte) (*Nonces, error) {
	if len(key) < sha256.Size {
		return nil, errors.New("the key of the DPoP nonces has less than 32 bytes")
	}
	return &Nonces{append([]byte(nil), key...)}, nil
}

// Current returns the nonce to send now.
func (n *Nonces) Current(now time.Time) string { return n.of(slotAt(now)) }

// Valid reports whether a nonce is of the current or of the previous slot. One of the next slot
// comes from a node whose clock is ahead, and is accepted too: a client tries only once again.
func (n *Nonces) Valid(nonce string, now time.Time) bool {
	slot := slotAt(now)
	valid := false
	for _, one := range []int64{slot, slot - 1, slot + 1} {
		valid = valid || hmac.Equal([]byte(n.of(one)), []byte(nonce))
	}
	return valid
}

func (n *Nonces) of(slot int64) string {
	mac := hmac.New(sha256.New, n.key)
	mac.Write(binary.BigEndian.AppendUint64([]byte("DPoP-Nonce"), uint64(slot)))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:18])
}

func slotAt(now time.Time) int64 { return now.Unix() / int64(nonceSlot/time.Second) }
