package clients

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"mandate/provider/limits"
	"mandate/provider/metadata"
	"mandate/provider/mtls"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/provider/throttle"
	"mandate/storage"
)

// BasicChallenge is the WWW-Authenticate header of a response to a client that did not
// authenticate (RFC 7617).
const BasicChallenge = `Basic realm="mandate", charset="UTF-8"`

func invalidClient(format string, args ...any) *oauth.Error {
	e := oauth.Refuse("invalid_client", format, args...)
	// RFC 6749 §5.2, RFC 9110 §15.5.2: 401, with a scheme that the server accepts.
	e.Status, e.Challenge = http.StatusUnauthorized, BasicChallenge
	return e
}

func suspendedClient(reason string) *oauth.Error {
	e := invalidClient("%s", reason)
	e.LogText = reason
	return e
}

// credentials is what a client sends to authenticate: its client id, and a client secret or
// an assertion.
type credentials struct {
	id, secret string
	assertion  string
	method     string // by which the secret was sent
	decoded    bool   // decoding has changed the client id or the secret
}

// clientCredentials reads the credentials of a request, which must use exactly one
// authentication method.
func clientCredentials(r *http.Request, form url.Values) (credentials, error) {
	header := r.Header.Values("Authorization")
	if HasAssertion(form) {
		return readAssertion(form, len(header) > 0)
	}
	body := credentials{id: form.Get("client_id"), secret: form.Get("client_secret"), method: metadata.MethodPost}
	if len(header) == 0 {
		if body.id == "" {
			return credentials{}, invalidClient("The request does not identify the client: use HTTP Basic, client_id and client_secret in the body, a client assertion, or client_id with a client certificate.")
		}
		return body, nil
	}
	// RFC 6749 §2.3: not more than one authentication method in one request.
	if len(header) > 1 || body.secret != "" {
		return credentials{}, oauth.Refuse("invalid_request", "The client authenticates in more than one way: use either the Authorization header or client_secret.")
	}
	basic, err := parseBasic(header[0])
	if err != nil {
		return credentials{}, err
	}
	basic.method = metadata.MethodBasic
	// A client cannot authenticate as one client and act as another.
	if body.id != "" && body.id != basic.id {
		return credentials{}, oauth.Refuse("invalid_request", "client_id in the body is not the client that authenticates.")
	}
	if basic.secret == "" {
		return credentials{}, invalidClient("The client secret is empty. A public application sends client_id in the body, and no Authorization header.")
	}
	return basic, nil
}

// SendsCredentials reports whether a request authenticates as a client, but for a certificate.
func SendsCredentials(r *http.Request, form url.Values) bool {
	return len(r.Header.Values("Authorization")) > 0 || form.Has("client_secret") || HasAssertion(form)
}

// SendsCertificate reports whether a request names a client and comes with a certificate.
func SendsCertificate(r *http.Request, form url.Values) bool {
	sent, err := mtls.Of(r.Context())
	return form.Has("client_id") && (sent != nil || err != nil)
}

// HasAssertion reports whether a request has a client assertion, or a part of one.
func HasAssertion(form url.Values) bool {
	return form.Has("client_assertion") || form.Has("client_assertion_type")
}

// readAssertion reads the parameters of RFC 7521 §4.2. header says that the request has an
// Authorization header, too.
func readAssertion(form url.Values, header bool) (credentials, error) {
	switch {
	// RFC 6749 §2.3: not more than one authentication method in one request.
	case header || form.Has("client_secret"):
		return credentials{}, oauth.Refuse("invalid_request", "The client authenticates in more than one way: use either the client assertion, or the Authorization header, or client_secret.")
	// RFC 7523 §2.2: this is the only type.
	case form.Get("client_assertion_type") != AssertionType:
		return credentials{}, invalidClient("client_assertion_type must be %s.", oauth.Own(AssertionType))
	case form.Get("client_assertion") == "":
		return credentials{}, invalidClient("client_assertion is missing: it is the JWT that client_assertion_type announces.")
	}
	return credentials{id: form.Get("client_id"), assertion: form.Get("client_assertion")}, nil
}

// parseBasic reads the credentials in an Authorization header. It returns an Error with
// the code invalid_client if the header is malformed.
//
// RFC 6749 §2.3.1: client id and secret are each form-encoded before RFC 7617 joins
// them.
func parseBasic(header string) (credentials, error) {
	scheme, encoded, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "Basic") {
		return credentials{}, invalidClient("The Authorization header does not use the scheme Basic.")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimLeft(encoded, " "))
	if err != nil {
		return credentials{}, invalidClient("The Basic credentials are not Base64.")
	}
	id, secret, found := strings.Cut(string(raw), ":")
	if !found {
		return credentials{}, invalidClient("The Basic credentials have no colon between client id and secret.")
	}
	decoded := strings.ContainsAny(string(raw), "+%")
	id, err = url.QueryUnescape(id)
	if err == nil {
		secret, err = url.QueryUnescape(secret)
	}
	if err != nil || !oauth.PlainText(id) || !oauth.PlainText(secret) {
		return credentials{}, invalidClient("The Basic credentials are not form-encoded: percent-encode client id and secret before joining them (RFC 6749, 2.3.1).")
	}
	return credentials{id: id, secret: secret, decoded: decoded}, nil
}

// Authenticate returns the client that a request comes from, after client
// authentication (RFC 6749 §2.3). Every endpoint that requires client authentication
// calls it, Present or PresentAny.
func (p *Clients) Authenticate(ctx context.Context, r *http.Request, form url.Values) (storage.Application, error) {
	return p.authenticate(ctx, r, form, manner{}, &Caller{})
}

// Present authenticates a client as Authenticate does, and leaves the client assertion unused: a
// client that gets use_dpop_nonce repeats the request with the same one (RFC 9449 §8). The endpoint
// uses it with UseAssertion or AddToken before the request has an effect, and with UseFailed if the
// request fails. The Caller is never nil: an assertion is used also if the authentication has failed.
func (p *Clients) Present(ctx context.Context, r *http.Request, form url.Values) (*Caller, error) {
	by := &Caller{}
	a, err := p.authenticate(ctx, r, form, manner{later: true}, by)
	return by.authenticated(a, err)
}

// authenticate is Authenticate and Present. It notes in by what the credentials leave to be done.
func (p *Clients) authenticate(
	ctx context.Context,
	r *http.Request,
	form url.Values,
	how manner,
	by *Caller,
) (storage.Application, error) {
	sent, err := clientCredentials(r, form)
	if err != nil {
		return storage.Application{}, p.useUnread(ctx, r, err, nil, how)
	}
	if sent.assertion != "" {
		return p.proveAssertion(ctx, r, sent, how, by)
	}
	a, err := p.identify(ctx, sent)
	if err != nil {
		return storage.Application{}, sent.explain(err)
	}
	by.secret = sent.secret
	return a, nil
}

// explain names a likely reason for a wrong secret: many programs send the client id and the secret as they are, and
// decoding changes each + and each % with two digits. The reason is the same for an unknown client.
//
// RFC 6749 §2.3.1: both are form-encoded.
func (c credentials) explain(err error) error {
	e, refused := errors.AsType[*oauth.Error](err)
	if !c.decoded || !refused || e.Description != wrongSecret().Description {
		return err
	}
	told := *e
	told.Description += " The client id and the secret were form-decoded: percent-encode each + and % in them before joining them (RFC 6749, 2.3.1)."
	return &told
}

// identify finds the application and verifies its secret. Failed attempts are limited
// per client and network. A correct secret that the server generated is never refused
// by that limit: nobody can guess it, and a program that still uses an old secret must
// not lock out the others. A correct secret that a person chose is refused while the
// limit is reached.
func (p *Clients) identify(ctx context.Context, sent credentials) (storage.Application, error) {
	a, err := p.Client(ctx, sent.id)
	if errors.Is(err, storage.ErrNotFound) {
		// There is no end of unknown client ids, so only the address is counted.
		return storage.Application{}, p.wrongClient(limits.At(limits.AtUnknownClient, AddressOf(ctx)))
	}
	if err != nil {
		return storage.Application{}, oauth.Unavailable(err)
	}
	err = p.prove(ctx, a, sent)
	if err != nil {
		return storage.Application{}, refusalOf(a, err)
	}
	return a, nil
}

// prove checks that credentials are those of an application, and that it may use them.
func (p *Clients) prove(ctx context.Context, a storage.Application, sent credentials) error {
	suspended := p.rules.WhySuspended(a)
	if a.ClientType == policy.Public && suspended != "" {
		return suspendedClient(suspended)
	}
	switch {
	case a.ClientType == policy.Public && sent.secret != "":
		return invalidClient("This application is public and has no secret: send client_id alone.")
	case a.ClientType == policy.Public:
		return nil
	case a.AuthMethod == MethodCertificate || a.AuthMethod == MethodSelfSigned:
		err := p.proveCertificate(ctx, a, sent)
		if err == nil && suspended != "" {
			err = suspendedClient(suspended)
		}
		return err
	case sent.secret == "" && registered(a)[0].proof != secret:
		return invalidClient("This application is confidential: it must send a client assertion.")
	case sent.secret == "":
		return invalidClient("This application is confidential: it must send its secret.")
	}
	err := p.ProveSecret(ctx, a, sent.secret)
	switch {
	case err != nil:
	case suspended != "":
		err = suspendedClient(suspended)
	case a.AuthMethod != "" && a.AuthMethod != sent.method:
		// RFC 7591 §2: the client authenticates by the method that it has registered.
		err = invalidClient("This application is registered for %s, and sent its secret by %s.", oauth.Own(a.AuthMethod), oauth.Own(sent.method))
	}
	return err
}

// refusalOf adds the client id to the cause of a refusal, which the log shows and the client does
// not see: a stranger may have sent the request.
func refusalOf(a storage.Application, err error) error {
	e, refused := oauth.Refused(err)
	if !refused {
		return err
	}
	told, client := *e, "the client is "+oauth.Clip(a.ClientID, 200)
	if a.ID != "" {
		told.Application = &a
	}
	told.Cause = errors.New(client)
	if e.Cause != nil {
		told.Cause = fmt.Errorf("%s: %w", client, e.Cause)
	}
	return &told
}

func (p *Clients) wrongClient(tries ...throttle.Try) error {
	_, err := p.limits.Take(tries...)
	if err != nil {
		return err
	}
	return wrongSecret()
}

// wrongSecret returns the one Error for an unknown client and for a wrong secret, so
// that it does not say which client ids exist.
func wrongSecret() *oauth.Error {
	return invalidClient("There is no client with this id, or the secret is wrong.")
}
