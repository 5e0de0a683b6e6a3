package clientauth

import (
	"context"

	"mandate/provider/metadata"
	"mandate/storage"
)

// MethodPost is the client secret in the body (RFC 6749 §2.3.1).
const MethodPost = metadata.MethodPost

var secretPost = Method{
	Name:     MethodPost,
	Label:    "Secret in the body",
	Needs:    Secret,
	Strength: SharedSecret,
	prove:    (*Checks).proveSecret,
}

// proveSecret checks the client secret that a client sends, by HTTP Basic or in the body.
func (p *Checks) proveSecret(ctx context.Context, a storage.Application, sent credentials) error {
	if sent.secret == "" {
		return invalidClient("This application is confidential: it must send its secret.")
	}
	return p.ProveSecret(ctx, a, sent.secret)
}
