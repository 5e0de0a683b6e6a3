// Package clientauth authenticates clients (RFC 6749 §2.3). Each method has a file and is a row of a table, which
// says what the method needs of the registration and what it proves. The package limits guesses at secrets, and
// how much strangers can let the server verify. It finds the applications by functions of package clients.
package clientauth

import (
	"context"
	"crypto/x509"
	"log/slog"
	"sync"

	"mandate/provider/limits"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/provider/seal"
	"mandate/storage"
)

// Config is what an operator decides about client authentication.
type Config struct {
	Issuer string   // of this server
	Bases  []string // the addresses of the endpoints without their names
	// Certificates says that the server gets the certificates of clients, from TLS or from a
	// reverse proxy.
	Certificates bool
	// Authorities issue the certificates of clients with tls_client_auth; nil: none does.
	Authorities *x509.CertPool
}

// Checks authenticates clients.
type Checks struct {
	config   Config
	rules    *policy.Rules
	store    *storage.Store
	limits   *limits.Limits
	secrets  seal.Sealer
	find     Applications
	keysets  keySets
	proven   secretCache // correct secrets whose slow hash was computed
	verified verified    // chains of certificates
	warned   sync.Map    // applications, about whose audience the log has a warning
	log      *slog.Logger
}

// Applications has the functions that know the registered applications.
type Applications struct {
	// Client returns the application with a client id, or storage.ErrNotFound.
	Client func(ctx context.Context, clientID string) (storage.Application, error)
	// ClientOrDocument returns the same, or what its metadata document says now.
	ClientOrDocument func(ctx context.Context, clientID string) (storage.Application, error)
	// Described reports whether the metadata document at a client id says how the client authenticates
	// where an authorization begins.
	Described func(ctx context.Context, clientID string) bool
	// Used notes that an application has authenticated with a key.
	Used func(a storage.Application, kid string)
}

// Parts are what the component uses.
type Parts struct {
	Rules     *policy.Rules
	Store     *storage.Store
	Limits    *limits.Limits
	Outbound  *outbound.Client
	Strangers *outbound.Client // to addresses that were registered by nobody who is responsible
	Secrets   seal.Sealer      // encrypts client secrets that must stay readable
	Log       *slog.Logger
}

// New makes the component.
func New(config Config, with Parts, find Applications) *Checks {
	return &Checks{
		config:  config,
		rules:   with.Rules,
		store:   with.Store,
		limits:  with.Limits,
		secrets: with.Secrets,
		find:    find,
		keysets: newKeySets(with.Outbound, with.Strangers, with.Log),
		log:     with.Log,
	}
}

// client returns the application with a client id, or storage.ErrNotFound.
func (p *Checks) client(ctx context.Context, clientID string, how manner) (storage.Application, error) {
	if how.documents {
		return p.find.ClientOrDocument(ctx, clientID)
	}
	return p.find.Client(ctx, clientID)
}

// DropCopies removes the remembered secrets, chains and key sets that are too old.
func (p *Checks) DropCopies() {
	p.proven.drop()
	p.verified.drop()
	p.keysets.fetched.Drop()
}
