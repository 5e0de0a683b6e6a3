package clients

import (
	"testing"

	"mandate/provider/errorcode"
	"mandate/provider/events"
)

// A remedy fits the description. Where only the code is known, and its cure is to read the description, there is none.
func TestRemedyFitsTheDescription(t *testing.T) {
	for refused, field := range map[events.Refusal]string{
		{Error: "invalid_request", Description: "code_challenge is missing: this application must"}: "pkce",
		{Error: "invalid_client", Description: "There is no such client, or the secret is wrong."}:  errorcode.RotateSecret,
		{Error: "invalid_target", Description: "The resource was not granted."}:                     "resources",
	} {
		if got := RemedyOf(refused); got.Field != field || got.Text == "" {
			t.Errorf("%+v: %+v", refused, got)
		}
	}
	for _, refused := range []events.Refusal{{Error: "invalid_request", Description: "state is longer than 4096 bytes."},
		{Error: "unknown"}, {}} {
		if got := RemedyOf(refused); got != (Remedy{}) {
			t.Errorf("%+v: %+v", refused, got)
		}
	}
}
