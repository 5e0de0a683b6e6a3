// Package oauthtest compares the errors of the packages below provider, for their tests.
package oauthtest

import (
	"errors"
	"fmt"
	"testing"

	"mandate/provider/oauth"
)

// Kind returns the status and the code of an error, such as "400 invalid_grant".
func Kind(err error) string {
	if err == nil {
		return "no error"
	}
	e, ok := errors.AsType[*oauth.Error](err)
	if !ok {
		return "not an *Error: " + err.Error()
	}
	return fmt.Sprintf("%d %s", e.Status, e.Code)
}

// Want fails the test if the error is not of this kind.
func Want(t testing.TB, err error, want string) {
	t.Helper()
	if got := Kind(err); got != want {
		t.Errorf("got %s, want %s (%v)", got, want, err)
	}
}
