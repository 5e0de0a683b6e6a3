// Package registration lets programs register applications (RFC 7591, OIDC Registration),
// and manage what they have registered (RFC 7592). It decides who may register what: the
// initial access tokens and the issuers of software statements belong to it.
package registration

import (
	"log/slog"

	"mandate/provider/clients"
	"mandate/provider/keysets"
	"mandate/provider/limits"
	"mandate/provider/outbound"
	"mandate/provider/policy"
	"mandate/storage"
)

// Config is what an operator decides about registration.
type Config struct {
	// Statements are the issuers whose software statements a registration may have (RFC 7591 §2.3). If there are none,
	// each is refused.
	//
	// An item has the form `{ISSUER: https://directory.example, JWKS_URI: https://directory.example/keys}`.
	Statements []StatementIssuer `key:"SOFTWARE_STATEMENT_ISSUERS" default:"[]" subject:"Applications that nobody registered" after:"REGISTRATION_WITH_TOKEN"`

	OpenID bool
	Open   clients.OpenConfig `key:"-"`
	URL    string             // of the registration endpoint
	Issuer string             // this server
}

// Registrations makes the decisions about requests to the registration endpoint.
type Registrations struct {
	config    Config
	rules     *policy.Rules
	store     *storage.Store
	limits    *limits.Limits
	clients   *clients.Clients
	outbound  *outbound.Client
	strangers *outbound.Client // to addresses that were registered by nobody who is responsible
	issuers   map[string]statementIssuer
	keysets   *keysets.Sets // at addresses that the operator chose
	key       []byte        // of registration access tokens

	sectors, sectorsOfStrangers *sectors
}

// New returns the component.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, c *clients.Clients, out,
	strangers *outbound.Client, key []byte, log *slog.Logger) *Registrations {
	return &Registrations{config: config, rules: rules, store: store, limits: l, clients: c, outbound: out,
		strangers: strangers,
		issuers:   statementIssuers(config.Statements), keysets: keysets.New(out, log), key: key, sectors: newSectors(),
		sectorsOfStrangers: newSectors()}
}

// DropCopies removes the keys of issuers that are too old.
func (p *Registrations) DropCopies() { p.keysets.Drop() }
