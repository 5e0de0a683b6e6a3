package clientauth

import (
	"context"

	"mandate/provider/policy"
	"mandate/storage"
)

// Caller is the client that has sent a request.
type Caller struct {
	// Application has authenticated. It is nil before that, and after it turns out that the client
	// assertion was used before.
	Application *storage.Application

	known  storage.Application
	secret string           // the client secret that was sent, after it was verified
	unused *storage.OneTime // the client assertion, until it is used
}

// authenticated notes the application, unless the authentication has failed.
func (c *Caller) authenticated(a storage.Application, err error) (*Caller, error) {
	if err == nil {
		c.known = a
		c.Application = &c.known
	}
	return c, err
}

// Accountable reports whether the client has proved who it is, and somebody is responsible for it.
func (c *Caller) Accountable() bool { return Accountable(c.Application) }

// Accountable reports the same of an application that has authenticated, or nil.
func Accountable(a *storage.Application) bool {
	return a != nil && a.ClientType != policy.Public && policy.StandingOf(*a) != policy.StandingOpen
}

type addressKey struct{}

// From returns a context that says from which address a request comes. It is for the limits
// of the requests that strangers can cause.
func From(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// AddressOf returns the address from which a request comes, or "" if the context does not say it.
func AddressOf(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}

// manner is how an endpoint verifies assertions.
type manner struct {
	documents bool // the metadata document of a client says what its keys are
	later     bool // the endpoint uses them
}
