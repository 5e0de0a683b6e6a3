// Package device implements the device authorization grant (RFC 8628), without the token
// request: the request of a device for its codes, and the decision of the person who types
// the user code. It applies the mitigations of RFC 10027 that a server can apply alone: codes
// that live for minutes, limits, and a page that says who asks, from where and for what.
package device

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"strings"
	"time"

	"mandate/provider/access"
	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/resources"
	"mandate/provider/seal"
	"mandate/provider/throttle"
	"mandate/provider/tokens"
	"mandate/storage"
)

// Config holds the operator's settings for devices.
type Config struct {
	// Lifetime is the lifetime in seconds of a device code and its user code (RFC 8628 §3.2). It is the time in which
	// a person must approve the device.
	//
	// A short time makes phishing harder (RFC 10027 §6.1.2).
	Lifetime time.Duration `key:"DEVICE_CODE_EXPIRE_SECONDS" default:"600" min:"60" max:"1800" subject:"Devices" after:"AUTHORIZATION_CODE_EXPIRE_SECONDS"`
	// Interval is the number of seconds that a device waits between two polls (RFC 8628 §3.5).
	Interval time.Duration `key:"DEVICE_FLOW_INTERVAL" default:"5" min:"1" max:"60"`
	// MaxPending is the largest number of devices that wait for an approval, of one application or, if an
	// administrator is not responsible, of all applications of one owner.
	//
	// One IPv4 /24 or IPv6 /48 may have a twentieth of it (at least one) if the application is public. 0 means no
	// limit.
	MaxPending int `key:"DEVICE_MAX_PENDING" default:"10000" min:"0" max:"1000000"`

	Page string // the URL of the page on which a person types a user code
}

// Devices makes the decisions about device authorization requests.
type Devices struct {
	config    Config
	rules     *policy.Rules
	store     *storage.Store
	limits    *limits.Limits
	clients   *clients.Clients
	access    *access.Access
	tokens    *tokens.Tokens
	apis      *resources.Resources
	userCodes []byte      // the key of the digests of user codes
	tickets   seal.Sealer // encrypts requests that wait for the person, in the browser
}

// New returns the component.
func New(config Config, rules *policy.Rules, store *storage.Store, l *limits.Limits, c *clients.Clients,
	may *access.Access, t *tokens.Tokens, apis *resources.Resources, userCodes []byte, tickets seal.Sealer) *Devices {
	return &Devices{config: config, rules: rules, store: store, limits: l, clients: c, access: may, tokens: t, apis: apis,
		userCodes: userCodes, tickets: tickets}
}

// Codes is the device authorization response (RFC 8628 §3.2).
type Codes struct {
	DeviceCode              string `json:"device_code"`
	UserCode                string `json:"user_code"`
	VerificationURI         string `json:"verification_uri"`
	VerificationURIComplete string `json:"verification_uri_complete"`
	ExpiresIn               int64  `json:"expires_in"`
	Interval                int64  `json:"interval"`

	LeftOut policy.LeftOut `json:"-"` // the scopes of the request that the application cannot get
}

// Origin is what the server knows about the device that sends a request.
type Origin struct{ Address, UserAgent string }

// Authorize handles a device authorization request (RFC 8628 §3.1). It returns the response
// and the authenticated application. If client authentication succeeds and a later check
// fails, it returns the application together with the error.
func (p *Devices) Authorize(ctx context.Context, r *http.Request, from Origin) (*Codes, *storage.Application, error) {
	call := clientauth.From(ctx, from.Address)
	codes, a, err := p.authorize(ctx, call, r, from)
	if err != nil {
		return nil, a, p.clients.Refused(call, "device_authorization", a, err)
	}
	p.clients.LeftOut(call, "device_authorization", a, codes.LeftOut)
	return codes, a, nil
}

// authorize is Authorize, with the context that says from which address the request comes.
func (p *Devices) authorize(ctx, call context.Context, r *http.Request, from Origin) (*Codes,
	*storage.Application, error) {
	form, err := oauth.ReadForm(r, oauth.Resource)
	if err != nil {
		return nil, nil, p.clients.UseUnread(call, r, err, nil)
	}
	// RFC 8628 §3.1: a client authenticates here as at the token endpoint.
	a, err := p.clients.Authenticate(call, r, form)
	if err != nil {
		return nil, nil, err
	}
	if !policy.HasGrant(a, policy.GrantDevice) {
		return nil, &a, oauth.Refuse("unauthorized_client", "This application is not registered for the grant type %s.",
			oauth.Own(policy.GrantDevice))
	}
	audience, err := p.apis.Requested(ctx, a, form[oauth.Resource])
	if err != nil {
		return nil, &a, err
	}
	requested, err := p.rules.RequestedScopes(a, form.Get("scope"), audience)
	if err != nil {
		return nil, &a, err
	}
	// The person is always asked, so offline_access can be approved (OIDC Core §11).
	names := p.rules.WithoutOffline(requested.Names, true)
	if len(names) == 0 {
		return nil, &a, oauth.Refuse("invalid_scope", "The scope offline_access requires the scope openid.")
	}
	codes, err := p.add(ctx, a, names, audience, from)
	if err != nil {
		return nil, &a, err
	}
	codes.LeftOut = requested.LeftOut
	return codes, &a, nil
}

// add stores a request and returns its codes.
func (p *Devices) add(ctx context.Context, a storage.Application, scopes []string, audience resources.Audience,
	from Origin) (*Codes, error) {
	network := throttle.Site(from.Address)
	perNetwork, err := p.mayAsk(a, from.Address)
	if err != nil {
		return nil, err
	}
	// RFC 8628 §5.2: nobody can guess a device code of 256 random bits.
	code, digest := tokens.NewOpaque(tokens.DevicePrefix)
	now, life := oauth.Now(), oauth.Seconds(p.config.Lifetime)
	d := storage.Device{Digest: digest, ApplicationID: a.ID, Scope: strings.Join(scopes, " "), Resource: audience.Stored(),
		State:    storage.DevicePending,
		Interval: oauth.Seconds(p.config.Interval), NextPollAt: now, ChargedTo: policy.RequestsOf(a), Network: network,
		Address: from.Address, UserAgent: from.UserAgent,
		CreatedAt: now, ExpiresAt: now + life + storage.ExpiredDeviceLife}
	userCode := ""
	err = storage.ErrConflict
	for try := 0; errors.Is(err, storage.ErrConflict) && try < userCodeTries; try++ {
		userCode = newUserCode()
		d.UserCode = p.userCodeDigest(userCode)
		err = p.store.AddDevice(ctx, d, p.config.MaxPending, perNetwork)
	}
	if errors.Is(err, storage.ErrFull) {
		return nil, tooMany(fullWait)
	}
	if err != nil {
		return nil, oauth.Unavailable(err)
	}
	userCode = displayed(userCode)
	return &Codes{DeviceCode: code, UserCode: userCode, VerificationURI: p.config.Page,
		VerificationURIComplete: p.config.Page + "?user_code=" + userCode,
		ExpiresIn:               life, Interval: d.Interval}, nil
}

// userCodeDigest returns the digest under which a user code is stored. It has a key: with a
// copy of the database, all short codes could be tried against a plain digest.
func (p *Devices) userCodeDigest(code string) string {
	return base64.RawURLEncoding.EncodeToString(seal.Mac(p.userCodes, code))
}

// userCodeTries is how often another user code is tried if one is taken. A million requests
// take one code in 25 000.
const userCodeTries = 4

// mayAsk limits how many requests a stranger can make. Everybody knows the client_id of a
// public application, so its requests are also limited by network: one network cannot use up
// the requests of all others. It returns the limit for the network, or 0 for none.
func (p *Devices) mayAsk(a storage.Application, address string) (int, error) {
	if a.ClientType != policy.Public {
		return 0, nil // its requests can all come from one server
	}
	_, wait := p.limits.Tries.Take(throttle.From(limits.OfDeviceRequest, "", address))
	if wait > 0 {
		return 0, tooMany(wait)
	}
	if p.config.MaxPending == 0 {
		return 0, nil
	}
	return max(1, p.config.MaxPending/networkShare), nil
}

const (
	// networkShare is the part of the requests that one network may have.
	networkShare = 20
	// fullWait is the Retry-After if there are too many requests. The oldest one ends after
	// some minutes, at the latest.
	fullWait = 30 * time.Second
)

func tooMany(wait time.Duration) *oauth.Error {
	return oauth.Later(http.StatusTooManyRequests, wait, "Too many devices wait for an approval. Try again later. The "+
		"operator can raise DEVICE_MAX_PENDING.")
}
