package clientauth

import (
	"context"

	"mandate/provider/metadata"
	"mandate/storage"
)

// MethodNone is the method of a public client.
const MethodNone = metadata.MethodNone

var none = Method{Name: MethodNone, Label: "None", Strength: Nothing, prove: (*Checks).proveNothing}

// proveNothing accepts a client that only says its client id.
func (*Checks) proveNothing(_ context.Context, _ storage.Application, sent credentials) error {
	if sent.secret != "" {
		return invalidClient("This application is public and has no secret: send client_id alone.")
	}
	return nil
}
