package command

import (
	"context"
	"errors"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/oauth"
)

func (p *program) tokenRevokeCommand() *cobra.Command {
	return p.withJSON(&cobra.Command{Use: "revoke", Short: "Revoke the token on standard input, and its token family",
		Args: secretArguments("token", "mandate token revoke < token.txt"),
		RunE: func(c *cobra.Command, _ []string) error {
			if p.onTerminal() {
				return wrongUsage("no token: pass it on standard input, for example: mandate token revoke < token.txt")
			}
			return p.revokeToken(c.Context())
		}})
}

// revokedView is the answer as JSON. The token is a secret, so it is not part of it.
type revokedView struct {
	Revoked bool `json:"revoked"`
}

func (p *program) revokeToken(ctx context.Context) error {
	token, err := p.readSecret("token")
	if err != nil {
		return err
	}
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	err = o.provider.Tokens.RevokeByOperator(ctx, strings.TrimSpace(token))
	if errors.Is(err, oauth.ErrNotFound) {
		return errors.New("there is no such token: this server did not issue it, or it has expired or was revoked")
	}
	if err != nil {
		return err
	}
	return p.done(revokedView{true}, "Revoked.\n")
}
