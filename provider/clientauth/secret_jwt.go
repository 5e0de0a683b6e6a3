package clientauth

import (
	"context"
	"errors"
	"fmt"

	"mandate/provider/jose"
	"mandate/provider/metadata"
	"mandate/provider/oauth"
	"mandate/storage"
)

// MethodSecretJWT is a JWT that is signed with the client secret (OIDC Core §9).
const MethodSecretJWT = metadata.MethodSecretJWT

var secretJWT = Method{
	Name:       MethodSecretJWT,
	Label:      "JWT signed with the secret",
	Needs:      ReadableSecret,
	Strength:   SharedSecret,
	Algorithms: []string{jose.HS256},
	assertion:  &inForm,
	prove:      (*Checks).proveWithoutAssertion,
}

// MinHMACSecretBytes is the shortest secret that may sign by HS256, in bytes (RFC 7518
// §3.2).
const MinHMACSecretBytes = 32

// proveWithoutAssertion refuses a client that signs assertions and has sent none. A wrong secret is refused like that
// of any client, and a right one because of the method.
func (p *Checks) proveWithoutAssertion(ctx context.Context, a storage.Application, sent credentials) error {
	if sent.secret == "" {
		return invalidClient("This application is confidential: it must send a client assertion.")
	}
	return p.ProveSecret(ctx, a, sent.secret)
}

// HMACSecret returns the client secret, whose bytes are the key for HS256 (OIDC Core
// §10.1). While two secrets work, it returns the one that the client has used in the
// request that it has sent, if by is this client. It returns an error if the secret is stored as a hash or is too
// short.
func (p *Checks) HMACSecret(by *Caller, a storage.Application) (string, error) {
	if !Readable(a.Secret) {
		return "", errors.New("HS256 needs the client secret, but the server keeps only a hash of it")
	}
	// RFC 7518 §3.2: a shorter secret is no key. A secret from before a rotation may be
	// older than the choice of HS256.
	if by != nil && len(by.secret) >= MinHMACSecretBytes {
		return by.secret, nil
	} else if by != nil && by.secret != "" {
		return "", invalidClient(
			"HS256 signs the ID tokens of this application with its secret, which must have at least %d bytes: use the new "+
				"secret.",
			oauth.Own(MinHMACSecretBytes),
		)
	}
	secret, err := p.ReadSecret(a.ID, a.Secret)
	if err == nil && len(secret) < MinHMACSecretBytes {
		err = fmt.Errorf("HS256 needs a client secret of at least %d bytes", MinHMACSecretBytes)
	}
	return secret, err
}

// HMACKeys returns the secrets that may have signed a JWT by HS256: the present one,
// and the one before it while it still works.
func (p *Checks) HMACKeys(a storage.Application) ([]any, error) {
	secrets := []string{a.Secret}
	if Readable(a.OldSecret) && a.OldSecretExpiresAt > oauth.Now() {
		secrets = append(secrets, a.OldSecret)
	}
	var keys []any
	for _, kept := range secrets {
		secret, err := p.ReadSecret(a.ID, kept)
		if err != nil {
			return nil, err
		}
		// RFC 7518 §3.2: a shorter secret can be guessed, so it verifies no signature.
		if len(secret) >= MinHMACSecretBytes {
			keys = append(keys, []byte(secret))
		}
	}
	return keys, nil
}
