package authorize

import (
	"context"
	"maps"
	"net/url"
	"strconv"

	"mandate/provider/clientauth"
	"mandate/provider/oauth"
	"mandate/provider/seal"
)

// openedParameter says, in the address to which a login leads back, that this browser
// opened the request in time.
const openedParameter = "opened"

// openedPurpose returns the name under which the proof is sealed that a browser opened a
// request in time. It is specific to the browser and to the request.
func openedPurpose(digest, browser string) string { return "opened " + digest + " " + browser }

// openedBefore returns when this browser opened the request first, and whether the address
// proves that it did before, and the person has not taken too long since.
func (p *Authorizations) openedBefore(ctx context.Context, digest string, sent url.Values) (int64, bool) {
	browser := browserOf(ctx)
	if len(sent[openedParameter]) != 1 || browser == "" {
		return oauth.Now(), false
	}
	text, err := p.tickets.Open(sent.Get(openedParameter), openedPurpose(digest, browser))
	if err != nil {
		return oauth.Now(), false
	}
	at, err := strconv.ParseInt(string(text), 10, 64)
	if err != nil || oauth.Now()-at > TicketLife {
		return oauth.Now(), false
	}
	return at, true
}

// Reopened reports whether the address of the request proves already that this browser opened it in
// time.
func (a *Authorization) Reopened() bool { return a.opened.proven }

type browserKey struct{}

// FromBrowser returns a context that says from which address a request comes, and names its browser by the random value
// of NewBrowserName that it keeps in a cookie; empty: it has none.
func FromBrowser(ctx context.Context, address, browser string) context.Context {
	return withBrowser(clientauth.From(ctx, address), browser)
}

// NewBrowserName returns a random name for a browser.
func NewBrowserName() string { return seal.Random(16) }

func withBrowser(ctx context.Context, browser string) context.Context {
	return context.WithValue(ctx, browserKey{}, browser)
}

func browserOf(ctx context.Context) string {
	browser, _ := ctx.Value(browserKey{}).(string)
	return browser
}

// Again returns the query that leads this browser back to a request after the login, or nil if
// it is the one that the browser brought. A person may need longer for the login than a request
// URI or a request object is valid, so the query proves that the browser opened it in time. The proof
// works in this browser alone.
func (p *Authorizations) Again(a *Authorization, browser string) url.Values {
	if a.opened.digest == "" {
		return nil
	}
	query := maps.Clone(a.opened.again)
	// The login page has only this query. Outside of the request that the query names, the parameter has no other effect
	// (RFC 9101 §6.3).
	if locales := a.UILocales(); locales != "" {
		query.Set("ui_locales", locales)
	}
	query.Set(
		openedParameter,
		p.tickets.Seal([]byte(strconv.FormatInt(a.opened.at, 10)), openedPurpose(a.opened.digest, browser)),
	)
	return query
}
