package clients

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"mandate/provider/limits"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

const BasicChallenge = `Basic realm="mandate", charset="UTF-8"`

func invalidClient(format string, args ...any) *oauth.Error {
	e := oauth.Refuse("invalid_client", format, args...)
	// RFC 6749 §5.2, RFC 9110 §15.5.2: 401 with the scheme that would work.
	e.Status, e.Challenge = http.StatusUnauthorized, BasicChallenge
	return e
}

// credentials is how a client says who it is.
type Credentials struct{ ID, Secret string }

// clientCredentials reads them, by exactly one way.
func clientCredentials(r *http.Request, form url.Values) (Credentials, error) {
	if form.Has("client_assertion") || form.Has("client_assertion_type") {
		return Credentials{}, invalidClient("Client assertions are not supported: use the client secret.")
	}
	body := Credentials{form.Get("client_id"), form.Get("client_secret")}
	header := r.Header.Values("Authorization")
	if len(header) == 0 {
		if body.ID == "" {
			return Credentials{}, invalidClient("The request does not say which client it is from: use HTTP Basic, or client_id and client_secret in the body.")
		}
		return body, nil
	}
	// RFC 6749 §2.3: not more than one method in one request.
	if len(header) > 1 || body.Secret != "" {
		return Credentials{}, oauth.Refuse("invalid_request", "The client authenticates in more than one way: use either the Authorization header or client_secret.")
	}
	basic, err := ParseBasic(header[0])
	if err != nil {
		return Credentials{}, err
	}
	// Authenticating as one client and acting as another is not possible.
	if body.ID != "" && body.ID != basic.ID {
		return Credentials{}, oauth.Refuse("invalid_request", "client_id in the body is not the client that authenticates.")
	}
	if basic.Secret == "" {
		return Credentials{}, invalidClient("The client secret is empty. A public application sends client_id in the body, and no Authorization header.")
	}
	return basic, nil
}

// parseBasic reads an Authorization header.
//
// RFC 6749 §2.3.1: client id and secret are form-encoded each, before RFC 7617
// joins them.
func ParseBasic(header string) (Credentials, error) {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return Credentials{}, invalidClient("The Authorization header is not of the scheme Basic.")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return Credentials{}, invalidClient("The Basic credentials are not Base64.")
	}
	id, secret, found := strings.Cut(string(raw), ":")
	if !found {
		return Credentials{}, invalidClient("The Basic credentials have no colon between client id and secret.")
	}
	id, err = url.QueryUnescape(id)
	if err == nil {
		secret, err = url.QueryUnescape(secret)
	}
	if err != nil || !oauth.PlainText(id) || !oauth.PlainText(secret) {
		return Credentials{}, invalidClient("The Basic credentials are not form-encoded: percent-encode client id and secret before joining them (RFC 6749, 2.3.1).")
	}
	return Credentials{id, secret}, nil
}

// Authenticate authenticates the client of a request, at each endpoint that requires it
// (RFC 6749 §2.3).
func (p *Clients) Authenticate(ctx context.Context, r *http.Request, form url.Values) (storage.Application, error) {
	sent, err := clientCredentials(r, form)
	if err != nil {
		return storage.Application{}, err
	}
	a, err := p.identify(ctx, sent)
	if err != nil {
		return storage.Application{}, err
	}
	by := CallOf(ctx)
	by.Client, by.Secret = &a, sent.Secret
	return a, nil
}

// identify finds the application and proves that it is the one. Who fails is
// slowed, per client and network. Who is right is not: a generated secret
// cannot be guessed, so a worker that still has an old one must not keep its
// fellows out. Only a secret that somebody chose waits its turn.
func (p *Clients) identify(ctx context.Context, sent Credentials) (storage.Application, error) {
	a, err := p.Client(ctx, sent.ID)
	if errors.Is(err, storage.ErrNotFound) {
		// Ids that nobody has are without number: only their address is counted.
		address := CallOf(ctx).Address
		return storage.Application{}, p.wrongClient(throttle.Try{Kind: limits.OfAddress, Key: "client " + throttle.Network(address), Wide: throttle.WideNetwork(address)})
	}
	if err != nil {
		return storage.Application{}, oauth.Unavailable(err)
	}
	if a.ClientType == policy.Public && policy.Suspended(a) {
		return storage.Application{}, invalidClient(policy.SuspendedText)
	}
	switch {
	case a.ClientType == policy.Public && sent.Secret != "":
		return storage.Application{}, invalidClient("This application is public and has no secret: send client_id alone.")
	case a.ClientType == policy.Public:
		return a, nil
	case sent.Secret == "":
		return storage.Application{}, invalidClient("This application is confidential: it must send its secret.")
	}
	err = p.proveSecret(ctx, a, sent.Secret)
	if err == nil && policy.Suspended(a) {
		err = invalidClient(policy.SuspendedText)
	}
	if err != nil {
		return storage.Application{}, err
	}
	return a, nil
}

func (p *Clients) wrongClient(tries throttle.Try) error {
	_, err := p.limits.Take(tries)
	if err != nil {
		return err
	}
	return wrongSecret()
}

// wrongSecret is one text for all: it does not say which ids exist.
func wrongSecret() *oauth.Error {
	return invalidClient("There is no client with this id, or the secret is wrong.")
}

// call is what one request carries past fosite, in its context.
type Call struct {
	Address string               // of the client
	Client  *storage.Application // once it is known
	Secret  string               // that it has shown, and that was right
}

type callKey struct{}

func WithCall(ctx context.Context, c *Call) context.Context {
	return context.WithValue(ctx, callKey{}, c)
}

func CallOf(ctx context.Context) *Call {
	c, ok := ctx.Value(callKey{}).(*Call)
	if !ok {
		return &Call{}
	}
	return c
}
