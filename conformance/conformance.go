package conformance

import (
	"context"
	"io"
)

// NewRunner prepares to check the server of a target. It reads the server's metadata, and registers clients if the target
// asks for that. Close removes those clients.
func NewRunner(ctx context.Context, target *Target, o Options) (*Runner, error) {
	return startRunner(ctx, target, Documents(), o)
}

// Ask makes a target from a person's answers to a few questions.
func Ask(ctx context.Context, in io.Reader, out io.Writer, o Options) (*Target, error) {
	return askTarget(ctx, in, out, Rules(), o)
}
