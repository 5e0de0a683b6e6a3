package conformance

import (
	"context"

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
