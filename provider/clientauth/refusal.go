package clientauth

import (
	"errors"
	"fmt"
	"net/http"

	"mandate/provider/oauth"
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

// wrongSecret returns the one Error for an unknown client and for a wrong secret, so
// that it does not say which client ids exist.
func wrongSecret() *oauth.Error {
	return invalidClient("There is no client with this id, or the secret is wrong.")
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

func (p *Checks) wrongClient(tries ...throttle.Try) error {
	_, err := p.limits.Take(tries...)
	if err != nil {
		return err
	}
	return wrongSecret()
}
