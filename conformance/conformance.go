package conformance

import (
	"context"
	"io"

	"mandate/conformance/engine"
	"mandate/conformance/rules"
	"mandate/conformance/target"
	"mandate/conformance/wire"
)

// NewRunner returns a runner for the server of a target. It reads the server's metadata, and registers clients if the
// target says so. Close deletes those clients.
func NewRunner(ctx context.Context, target *target.Target, o wire.Options) (*engine.Runner, error) {
	return engine.NewRunner(ctx, target, rules.Documents(), o)
}

// Ask makes a target from the answers to a few questions, and says what is not finished in it. It prints what to
// register, if clients names a format.
func Ask(ctx context.Context, in io.Reader, out io.Writer, o wire.Options, clients string) (of *target.Target, unfinished string, err error) {
	return engine.Ask(ctx, in, out, rules.All(), o, clients)
}
