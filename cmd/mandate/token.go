package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider"
)

func (p *program) tokenRevokeCommand() *cobra.Command {
	return &cobra.Command{Use: "revoke", Short: "End a token that is read from standard input; with it ends all that came from the same approval",
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			if p.onTerminal() {
				return wrongUsage("no token: give it on standard input, as in: mandate token revoke < token.txt")
			}
			return p.revokeToken(c.Context())
		}}
}

func (p *program) revokeToken(ctx context.Context) error {
	token, err := p.readSecret("token")
	if err != nil {
		return err
	}
	o, err := p.open(ctx, toUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	err = o.provider.EndToken(ctx, strings.TrimSpace(token))
	if errors.Is(err, provider.ErrNotFound) {
		return errors.New("there is no such token: it was never issued here, or has ended already")
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(p.stdout, "Revoked.")
	return err
}
