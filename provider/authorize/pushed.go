package authorize

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"mandate/provider/oauth"
	"mandate/provider/seal"
	"mandate/storage"
)

// requestURIPrefix begins the request URI of each pushed request (RFC 9126 §2.2).
const requestURIPrefix = "urn:ietf:params:oauth:request_uri:"

// sealedRequest is a pushed request as it is stored.
type sealedRequest struct {
	Generation int64
	Parameters string
	Signed     bool `json:",omitempty"`
}

// credentials lists the parameters that authenticate the client. They are never stored.
var credentials = [...]string{"client_secret", "client_assertion", "client_assertion_type"}

const (
	// unopenedLife is for how many seconds the row of a request that nobody has opened stays after
	// its request URI has expired: the clock of another node may be behind. Until then it counts
	// against the quota.
	unopenedLife = 60
	// openedLife is the same for a request that somebody has opened: the person may take TicketLife
	// for the login, and again for the consent page.
	openedLife = 2*TicketLife + unopenedLife
	// networkShare is the part of the requests of one application that one network may have.
	networkShare = 10
	// fullWait is the Retry-After if there are too many requests.
	fullWait = 30 * time.Second
)

// sealedAs returns the name under which the parameters of a pushed request are sealed. A
// row whose key or client was exchanged in the database does not open.
func sealedAs(digest, clientID string) string { return "pushed " + digest + " " + clientID }

// isPushed reports whether the request names a pushed request.
func isPushed(sent url.Values) bool {
	return slices.ContainsFunc(sent["request_uri"],
		func(uri string) bool { return strings.HasPrefix(uri, requestURIPrefix) })
}

func wrongRequestURI(format string, args ...any) *oauth.Error {
	return oauth.Refuse("invalid_request_uri", format, args...)
}

// answered returns the error for a pushed request that has its answer.
func answered() *oauth.Error {
	return wrongRequestURI("This request was answered already. A request URI works once: go back to the application and " +
		"begin again.")
}

// openPushed returns the pushed request that a browser opens. Only its own parameters
// count: of the others, client_id alone is read. Nothing about the redirect URI is proven
// if this fails, so the error is shown on a page.
func (p *Authorizations) openPushed(ctx context.Context, sent url.Values) (Request, error) {
	for _, name := range []string{"client_id", "request_uri"} {
		// RFC 9126 §4: the client sends its client_id together with the request URI.
		if len(sent[name]) != 1 || !oauth.PlainText(sent[name][0]) {
			return Request{}, oauth.Refuse("invalid_request", "Send %s exactly once: a pushed request is opened by client_id "+
				"and request_uri.", oauth.Own(name))
		}
	}
	// The two are never used together. A request object is pushed, like the parameters.
	if sent.Has("request") {
		return Request{}, oauth.Refuse("invalid_request", "Send either request or request_uri: push the request object if "+
			"you use both.")
	}
	uri, clientID := sent.Get("request_uri"), sent.Get("client_id")
	digest := seal.Digest(uri)
	row, err := p.store.Request(ctx, digest)
	// RFC 9126 §2.2: the request URI works only for the client that pushed the request.
	if errors.Is(err, storage.ErrNotFound) || err == nil && row.ClientID != clientID {
		return Request{}, wrongRequestURI("This client has no pushed request with this request_uri, or it has expired. Go " +
			"back to the application and begin again.")
	}
	if err != nil {
		return Request{}, oauth.Unavailable(err)
	}
	if row.UsedAt != nil {
		return Request{}, answered()
	}
	now := oauth.Now()
	openedAt, again := p.openedBefore(ctx, digest, sent)
	// RFC 9126 §4: an expired request URI is refused.
	if !again && row.OpensUntil <= now || row.ExpiresAt <= now {
		return Request{}, wrongRequestURI("This request_uri has expired. Go back to the application and begin again.")
	}
	text, err := p.tickets.Open(row.Parameters, sealedAs(digest, clientID))
	var kept sealedRequest
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return Request{}, fmt.Errorf("open a pushed request: %w", err)
	}
	parameters, err := url.ParseQuery(kept.Parameters)
	if err != nil {
		return Request{}, fmt.Errorf("read a pushed request: %w", err)
	}
	// The row of a request that nobody opens is deleted soon. Only the first opening writes.
	if keep := row.OpensUntil + openedLife; row.ExpiresAt < keep {
		err = p.store.KeepRequest(ctx, digest, keep)
		if err != nil {
			return Request{}, oauth.Unavailable(err)
		}
	}
	return Request{Parameters: parameters, Signed: kept.Signed,
		pushed: pushed{Digest: digest, ClientID: clientID, Generation: kept.Generation},
		opened: opened{digest, url.Values{"client_id": {clientID}, "request_uri": {uri}}, openedAt, again}}, nil
}

// checkPushed checks what only concerns a request that was pushed.
func (p *Authorizations) checkPushed(a *Authorization) error {
	if a.pushed.Digest == "" {
		return nil
	}
	if a.pushed.ClientID != a.Application.ClientID {
		return wrongRequestURI("The pushed request has another client_id. Go back to the application and begin again.")
	}
	// Everything that the application held was revoked meanwhile, so this request too.
	if a.pushed.Generation != a.Application.Generation {
		return wrongRequestURI("The access of the application was revoked after it pushed this request. Go back to the " +
			"application and begin again.")
	}
	return nil
}

// Close marks a pushed request as used after the person has denied it. One request gets one
// answer of the person: the request URI, which others may know, cannot ask again. An error
// that the server finds itself does not use the request, because a program that only looks
// at the link could cause it.
func (p *Authorizations) Close(ctx context.Context, a *Authorization) error {
	if a.pushed.Digest == "" {
		return nil
	}
	err := p.store.UseRequest(ctx, a.pushed.Digest, oauth.Now())
	if errors.Is(err, storage.ErrNotFound) {
		return answered()
	}
	return oauth.Stored(err)
}
