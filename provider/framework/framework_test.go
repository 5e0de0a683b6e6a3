package framework

import (
	"errors"
	"strings"
	"testing"

	"github.com/ory/fosite"

	"mandate/provider/oauth"
	"mandate/provider/oauth/oauthtest"
)

func TestErrorText(t *testing.T) {
	t.Run("what fosite says is passed on where it is meant for clients", func(t *testing.T) {
		ours := oauth.Refuse("invalid_grant", "ours")
		for _, test := range []struct {
			err  error
			want string
		}{
			{ours, "400 invalid_grant"},
			{fosite.ErrServerError.WithWrap(ours), "400 invalid_grant"},
			{fosite.ErrServerError.WithWrap(oauth.Unavailable(errors.New("database"))), "503 temporarily_unavailable"},
			{fosite.ErrInvalidScope.WithHint("hint"), "400 invalid_scope"},
			{fosite.ErrServerError.WithWrap(errors.New("database")), "500 server_error"},
			{fosite.ErrTemporarilyUnavailable, "500 server_error"},
			{errUnused, "500 server_error"},
			{errors.New("anything else"), "500 server_error"},
		} {
			oauthtest.Want(t, Failed(test.err), test.want)
		}
		e := Failed(fosite.ErrInvalidScope.WithHint("hint").WithDebug("debug"))
		if e.Description != "hint" || strings.Contains(e.Error(), "hint") { // the hint may contain what the client sent
			t.Error(e.Description, e)
		}
	})
}
