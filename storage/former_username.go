package storage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
)

// ErrFormerName means that another person has had the username.
var ErrFormerName = errors.New("another person has had the username")

// WasUsername reports whether somebody has had a username, in folded form, who has it no more.
func (s *Store) WasUsername(ctx context.Context, key string) (bool, error) {
	var was bool
	err := s.get(ctx, &was, wasUsername, digestOfName(key))
	return was, err
}

const wasUsername = `SELECT EXISTS (SELECT 1 FROM former_usernames WHERE digest = $1)`

// addNewcomer is addUser for a person for whom no administrator has decided. It returns ErrFormerName if somebody
// else has had the username. The question comes after the row: until then, a person who has the name may be deleted.
func (t tx) addNewcomer(u User) error {
	err := t.addUser(u, nil)
	if err != nil {
		return err
	}
	var was bool
	err = t.get(&was, wasUsername, digestOfName(u.UsernameKey))
	if err == nil && was {
		err = ErrFormerName
	}
	return err
}

// leaveName keeps the username of a person, who loses it unless next is the same. The caller holds the lock of people.
func (t tx) leaveName(id, next string, now int64) error {
	var had string
	err := t.get(&had, `SELECT username_key FROM users WHERE id = $1`, id)
	if err != nil || had == next {
		return err
	}
	_, err = t.exec(
		`INSERT INTO former_usernames (digest, left_at) VALUES ($1, $2) ON CONFLICT (digest) DO UPDATE
			SET left_at = excluded.left_at`,
		digestOfName(had),
		now,
	)
	return err
}

func digestOfName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}
