// Package passkey makes the requests to authenticators, and checks their responses (Web
// Authentication Level 3).
//
// It asks for no attestation: the server does not decide which authenticators people may use.
package passkey

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/protocol/webauthncose"
	"github.com/go-webauthn/webauthn/webauthn"

	"mandate/provider/loopback"
)

// Party is a relying party: the server, as authenticators know it.
type Party struct{ library *webauthn.WebAuthn }

// Usable reports whether browsers offer passkeys to a page of this origin.
func Usable(origin *url.URL) bool {
	host := origin.Hostname()
	// WebAuthn-3 §5.1.3: the RP ID is a domain. An IP address is none.
	_, err := netip.ParseAddr(host)
	if err == nil || host == "" {
		return false
	}
	// W3C Secure Contexts §3.1: the names of this computer are trustworthy without TLS.
	return origin.Scheme == "https" || origin.Scheme == "http" && loopback.IsName(host)
}

// New returns the relying party of a server whose pages have this origin, which must be usable. name
// is what an authenticator calls the server.
//
// WebAuthn-3 §13.4.9: the RP ID is the host of the origin, and no other origin is accepted, also
// none with the same host. The library refuses a page in a frame of another site (§13.4.9 too), because
// nothing here allows it.
func New(origin *url.URL, name string) (*Party, error) {
	library, err := webauthn.New(&webauthn.Config{
		RPID: origin.Hostname(), RPDisplayName: name, RPOrigins: []string{origin.Scheme + "://" + origin.Host},
		RPTopOriginVerificationMode: protocol.TopOriginExplicitVerificationMode,
		AttestationPreference:       protocol.PreferNoAttestation,
	})
	if err != nil {
		return nil, fmt.Errorf("set up passkeys: %w", err)
	}
	return &Party{library}, nil
}

// Person is a person as an authenticator knows them.
type Person struct {
	Handle   []byte // identifies the person, and says nothing about them (WebAuthn-3 §14.6.1)
	Name     string // what the authenticator shows
	Passkeys []Credential
}

// Credential is what the server stores of a passkey.
type Credential struct {
	ID             string // base64url
	PublicKey      string // a COSE key, as base64url
	SignCount      uint32
	BackupEligible bool
	BackedUp       bool
	Transports     []string
	AAGUID         string // base64url
}

// Options is a request to an authenticator. The page passes JSON on, and the server keeps the challenge.
type Options struct {
	JSON      string
	Challenge string
}

// ErrRefused means that the response of an authenticator is not accepted.
var ErrRefused = errors.New("the response of the authenticator is refused")

// ErrCounter means that the signature counter of an authenticator went back: there may be a copy of it.
var ErrCounter = errors.New("the signature counter went back")

// algorithms are those that an authenticator may choose from.
//
// WebAuthn-3 §5.4: Ed25519, ES256 and RS256 together are those that all authenticators have one of.
var algorithms = []protocol.CredentialParameter{
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgES256},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgEdDSA},
	{Type: protocol.PublicKeyCredentialType, Algorithm: webauthncose.AlgRS256},
}

// Create returns the request for a new passkey. The authenticator must keep it with the person's
// handle, so that it can sign in without a user name, and must verify the person, for example by a
// fingerprint or a PIN. It makes none if it has one of this person already.
func (p *Party) Create(person Person) (Options, error) {
	made, session, err := p.library.BeginRegistration(account{person},
		webauthn.WithCredentialParameters(algorithms),
		webauthn.WithConveyancePreference(protocol.PreferNoAttestation),
		webauthn.WithAuthenticatorSelection(protocol.AuthenticatorSelection{
			ResidentKey: protocol.ResidentKeyRequirementRequired, RequireResidentKey: protocol.ResidentKeyRequired(),
			UserVerification: protocol.VerificationRequired,
		}),
		webauthn.WithExclusions(webauthn.Credentials(account{person}.WebAuthnCredentials()).CredentialDescriptors()))
	if err != nil {
		return Options{}, fmt.Errorf("request a passkey: %w", err)
	}
	return options(made.Response, session)
}

// Created checks the response to a request of Create with this challenge, by the same person.
func (p *Party) Created(person Person, challenge string, response []byte) (Credential, error) {
	parsed, err := protocol.ParseCredentialCreationResponseBytes(response)
	if err != nil {
		return Credential{}, refused(err)
	}
	err = checkAttestation(parsed.Response.AttestationObject)
	if err != nil {
		return Credential{}, fmt.Errorf("%w: %w", ErrRefused, err)
	}
	err = checkKey(parsed.Response.AttestationObject.AuthData.AttData.CredentialPublicKey)
	if err != nil {
		return Credential{}, refusedKey(err)
	}
	made, err := p.library.CreateCredential(account{person},
		webauthn.SessionData{Challenge: challenge, RelyingPartyID: p.library.Config.RPID,
			UserID: person.Handle, UserVerification: protocol.VerificationRequired, CredParams: algorithms}, parsed)
	if err != nil {
		return Credential{}, refused(err)
	}
	// WebAuthn-3 §4: no authenticator makes a shorter or a longer ID.
	if len(made.ID) < minID || len(made.ID) > maxID {
		return Credential{}, fmt.Errorf("%w: the credential ID has %d bytes", ErrRefused, len(made.ID))
	}
	c := Credential{ID: encode(made.ID), PublicKey: encode(made.PublicKey), SignCount: made.Authenticator.SignCount,
		BackupEligible: made.Flags.BackupEligible, BackedUp: made.Flags.BackupState,
		AAGUID: encode(made.Authenticator.AAGUID)}
	for _, transport := range made.Transport {
		// The browser reports any text, and the page shows it to the browser again.
		if knownTransport(transport) {
			c.Transports = append(c.Transports, string(transport))
		}
	}
	return c, nil
}

// The shortest and the longest credential ID, in bytes.
const (
	minID = 16
	maxID = 1023
)

// SignIn returns the request for one of these passkeys, or for a passkey of anybody if there are none.
// The authenticator must verify the person.
func (p *Party) SignIn(passkeys ...Credential) (Options, error) {
	may := webauthn.Credentials(account{Person{Passkeys: passkeys}}.WebAuthnCredentials()).CredentialDescriptors()
	asked, session, err := p.library.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired),
		webauthn.WithAllowedCredentials(may))
	if err != nil {
		return Options{}, fmt.Errorf("request a sign-in with a passkey: %w", err)
	}
	return options(asked.Response, session)
}

// Assertion is a response to a request of SignIn that nobody has checked yet.
type Assertion struct {
	parsed *protocol.ParsedCredentialAssertionData
}

// ReadAssertion reads the response to a request of SignIn.
func ReadAssertion(response []byte) (Assertion, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(response)
	if err != nil {
		return Assertion{}, refused(err)
	}
	return Assertion{parsed}, nil
}

// ID returns the ID of the passkey that has signed, so that the caller finds its public key.
func (a Assertion) ID() string { return encode(a.parsed.RawID) }

// Use is what changes with a sign-in.
type Use struct {
	SignCount uint32
	BackedUp  bool
}

// Check checks the response to a request of SignIn with this challenge. The person is the one to
// whom the passkey belongs; the only one of person.Passkeys is that with the ID of the response. The
// error is ErrCounter if all is right but the signature counter.
func (p *Party) Check(a Assertion, challenge string, person Person) (Use, error) {
	for _, stored := range person.Passkeys {
		key, err := decode(stored.PublicKey)
		if err == nil {
			err = checkKey(key)
		}
		if err != nil {
			return Use{}, refusedKey(err)
		}
	}
	// WebAuthn-3 §7.2: the authenticator names the person, because the server has named nobody. It
	// must be the person to whom the passkey belongs.
	used, err := p.library.ValidateDiscoverableLogin(func([]byte, []byte) (webauthn.User, error) {
		return account{person}, nil
	},
		webauthn.SessionData{Challenge: challenge, RelyingPartyID: p.library.Config.RPID,
			UserVerification: protocol.VerificationRequired}, a.parsed)
	if err != nil {
		return Use{}, refused(err)
	}
	if used.Authenticator.CloneWarning {
		return Use{}, ErrCounter
	}
	return Use{a.parsed.Response.AuthenticatorData.Counter, used.Flags.BackupState}, nil
}

// refusedKey returns ErrRefused for a public key whose signatures are not verified.
func refusedKey(err error) error { return fmt.Errorf("%w: the public key: %w", ErrRefused, err) }

// refused returns ErrRefused with the reason for the log.
func refused(err error) error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		// DevInfo may have what the browser sent.
		return fmt.Errorf("%w: %s", ErrRefused, e.Details)
	}
	return fmt.Errorf("%w: it cannot be read", ErrRefused)
}

func options(request any, session *webauthn.SessionData) (Options, error) {
	text, err := json.Marshal(request)
	if err != nil {
		return Options{}, fmt.Errorf("encode the request to an authenticator: %w", err)
	}
	return Options{string(text), session.Challenge}, nil
}

// account is a person as the library wants them.
type account struct{ person Person }

// WebAuthnID returns the user handle.
func (a account) WebAuthnID() []byte { return a.person.Handle }

// WebAuthnName returns the name that tells accounts apart.
func (a account) WebAuthnName() string { return a.person.Name }

// WebAuthnDisplayName returns the name of the person.
func (a account) WebAuthnDisplayName() string { return a.person.Name }

// WebAuthnCredentials returns the passkeys of the person.
func (a account) WebAuthnCredentials() []webauthn.Credential {
	found := []webauthn.Credential{}
	for _, c := range a.person.Passkeys {
		id, wrongID := decode(c.ID)
		key, wrongKey := decode(c.PublicKey)
		if wrongID != nil || wrongKey != nil {
			continue // Created has made none like this, and no response matches it
		}
		one := webauthn.Credential{ID: id, PublicKey: key,
			Flags:         webauthn.CredentialFlags{BackupEligible: c.BackupEligible, BackupState: c.BackedUp},
			Authenticator: webauthn.Authenticator{SignCount: c.SignCount}}
		for _, transport := range c.Transports {
			one.Transport = append(one.Transport, protocol.AuthenticatorTransport(transport))
		}
		found = append(found, one)
	}
	return found
}

func knownTransport(t protocol.AuthenticatorTransport) bool {
	switch t {
	case protocol.USB, protocol.NFC, protocol.BLE, protocol.SmartCard, protocol.Hybrid, protocol.Internal:
		return true
	}
	return false
}

func encode(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

func decode(text string) ([]byte, error) { return base64.RawURLEncoding.DecodeString(text) }
