package mtls

import "context"

type contextKey struct{}

// With returns a context in which Of finds the certificate of the client that sent a request.
// read is called when somebody needs the certificate.
func With(ctx context.Context, read func() (*Certificate, error)) context.Context {
	return context.WithValue(ctx, contextKey{}, read)
}

// Of returns the certificate of the client that sent the request, or nil if it sent none.
func Of(ctx context.Context) (*Certificate, error) {
	read, ok := ctx.Value(contextKey{}).(func() (*Certificate, error))
	if !ok {
		return nil, nil
	}
	return read()
}
