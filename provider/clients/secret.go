package clients

import (
	"context"
	"errors"
	"regexp"
	"time"

	"mandate/provider/clientauth"
	"mandate/provider/events"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// djangoHash is the beginning of a secret that Django has hashed: the database of
// django-oauth-toolkit contains secrets in this form.
var djangoHash = regexp.MustCompile(`^(pbkdf2_sha256|pbkdf2_sha1|argon2|bcrypt_sha256|bcrypt|scrypt|md5|sha1)\$`)

// checkSecret checks a client secret that the operator chose.
func checkSecret(found *oauth.Invalid, secret string) {
	switch {
	case djangoHash.MatchString(secret):
		found.Add("client_secret", "This is the hash of a secret, as Django stores it. Use the secret itself, which the "+
			"application has. If nobody knows it, run the command without --client-secret-stdin: the server then generates a "+
			"secret.")
	case secret != "" && (len(secret) < 16 || len(secret) > 255):
		found.Add("client_secret", "Use 16 to 255 characters, or run the command without --client-secret-stdin: the server "+
			"then generates a secret.")
	}
}

// RotateSecret generates a new client secret. The old one works until the overlap ends,
// so that every program that uses it can be changed before. It returns an Invalid if
// the application has no secret or the overlap is too long, and oauth.ErrConfirm if the actor must sign in again
// first.
func (p *Clients) RotateSecret(ctx context.Context, actor policy.Actor, id string, overlap time.Duration) (*Registered,
	error) {
	a, err := p.Application(ctx, actor, id)
	if err != nil {
		return nil, err
	}
	if !clientauth.HasSecret(a) {
		found := &oauth.Invalid{}
		if a.ClientType == policy.Public {
			found.Add("overlap", "A public application has no secret.")
		} else {
			found.Add("overlap", "This application has no secret: it authenticates with a private key or a certificate.")
		}
		return nil, found
	}
	if overlap < 0 || overlap > 90*24*time.Hour {
		found := &oauth.Invalid{}
		found.Add("overlap", "Let the old secret work for at most 90 days.")
		return nil, found
	}
	err = actor.MustConfirm()
	if err != nil {
		return nil, err
	}
	secret := seal.Random(32)
	kept, err := p.StoreSecret(ctx, a.ID, secret, true, a.HashClientSecret)
	if err != nil {
		return nil, err
	}
	until := oauth.Now() + oauth.Seconds(overlap)
	rotated := events.Event{Kind: events.SecretRotated, Person: events.OwnerOf(a), Object: events.Application(a)}
	err = p.store.RotateSecret(events.Attach(ctx, rotated), a.ID, a.Secret, kept, until, oauth.Now())
	if errors.Is(err, storage.ErrSpent) {
		found := &oauth.Invalid{}
		found.Add("overlap", "Somebody rotated this secret at the same moment. Look at the application before you do it "+
			"again.")
		return nil, found
	}
	if err != nil {
		return nil, oauth.Stored(err)
	}
	a.OldSecret, a.OldSecretExpiresAt, a.Secret = a.Secret, until, kept
	return &Registered{a, secret}, nil
}
