// Package origin says who causes what happens in a request or a command, and from where. The context
// carries it, so that the event log has it, and a function between need not know of it.
package origin

import "context"

// The kinds of actors.
const (
	Person      = "person"      // somebody who is signed in, or who signs in
	Application = "application" // a client, with its own credentials
	Operator    = "operator"    // at the command line
	Server      = "server"      // this server, on its own
	Nobody      = "nobody"      // somebody of whom nothing is known
)

// Actor is who does something.
type Actor struct{ Kind, ID, Name string }

// Origin is where a request or a command comes from. One goroutine at a time uses it.
type Origin struct {
	Actor

	Address   string // the network address, as the trusted proxies report it
	UserAgent string // as the program calls itself
}

// Key is the key of the Origin in a context. Only a type of context that keeps the Origin needs it.
type Key struct{}

// With returns a context with an Origin.
func With(ctx context.Context, o *Origin) context.Context { return context.WithValue(ctx, Key{}, o) }

// Of returns the Origin of a context. Without one, the server acts on its own.
func Of(ctx context.Context) *Origin {
	o, ok := ctx.Value(Key{}).(*Origin)
	if !ok {
		return &Origin{Actor: Actor{Kind: Server}}
	}
	return o
}

// SignedIn notes that a person acts.
func (o *Origin) SignedIn(id, name string) { o.Actor = Actor{Person, id, name} }
