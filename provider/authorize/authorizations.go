package authorize

import (
	"sync/atomic"
	"time"

	"github.com/ory/fosite"
	"github.com/ory/fosite/handler/oauth2"

	"mandate/provider/clients"
	"mandate/provider/framework"
	"mandate/provider/policy"
	"mandate/provider/redirect"
	"mandate/provider/seal"
	"mandate/provider/tokens"
	"mandate/storage"
)

// AuthorizeConfig is what an operator decides about authorization requests.
type Config struct {
	Issuer       string
	OpenID       bool
	AlwaysAsk    bool // show the consent page although the person agreed to it before
	PKCEOptional bool // see Authorizations.mayOmitPKCE
	CodeLifetime time.Duration
	Redirects    redirect.Policy
}

// Authorizations run the authorization endpoint.
type Authorizations struct {
	config  Config
	rules   *policy.Rules
	store   *storage.Store
	clients *clients.Clients
	tokens  *tokens.Tokens
	tickets seal.Sealer // requests that wait for a person
	fosite  *fosite.Fosite
	codes   atomic.Int64 // issued since the start of the process
}

// NewAuthorizations makes the component, and adds its handlers to fosite.
func New(config Config, rules *policy.Rules, store *storage.Store, c *clients.Clients, t *tokens.Tokens, tickets seal.Sealer, f *fosite.Fosite) *Authorizations {
	p := &Authorizations{config: config, rules: rules, store: store, clients: c, tokens: t, tickets: tickets, fosite: f}
	framework.ConfigOf(f).AuthorizeEndpointHandlers = fosite.AuthorizeEndpointHandlers{
		&oauth2.AuthorizeExplicitGrantHandler{AuthorizeCodeStrategy: framework.TokenStrategy{}, CoreStorage: authorizationCodes{p: p}, Config: framework.ConfigOf(f)},
	}
	return p
}

// Codes says how many codes were issued since the start of the process.
func (p *Authorizations) CodesIssued() int64 { return p.codes.Load() }

// mayOmitPKCE says whether an application may send a request without code_challenge:
// a confidential one, for which an administrator is responsible.
func (p *Authorizations) MayOmitPKCE(a storage.Application) bool {
	return a.ClientType == policy.Confidential && (p.config.PKCEOptional || a.PKCEExempt) && p.rules.AllowanceOf(a).Vouched
}
