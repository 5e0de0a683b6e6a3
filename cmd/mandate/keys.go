package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"mandate/provider"
	"mandate/provider/jose"
)

// keyView is a signing key as JSON. It contains no key material.
type keyView struct {
	ID        string `json:"kid"`
	Kind      string `json:"kty"`
	State     string `json:"state"` // published, active or retired
	ActiveAt  string `json:"active_at,omitempty"`
	RetiredAt string `json:"retired_at,omitempty"`
	ExpiresAt string `json:"expires_at,omitempty"`
}

// withKeys opens the database of a server that has signing keys.
func (p *program) withKeys(ctx context.Context, use func(*opened) error) error {
	o, err := p.open(ctx, toUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	_, err = o.provider.Keys.JWKSet(ctx)
	if errors.Is(err, provider.ErrNotFound) {
		return errors.New("this server signs nothing, so it has no signing keys: OIDC_ENABLED: true enables OpenID Connect, and application add --access-token-format jwt adds an application with signed access tokens")
	}
	if err != nil {
		return err
	}
	return use(o)
}

func (p *program) keysListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List the signing keys that are published", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withKeys(c.Context(), func(o *opened) error { return p.listKeys(c.Context(), o, asJSON) })
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listKeys(ctx context.Context, o *opened, asJSON bool) error {
	states, err := o.provider.Keys.States(ctx)
	if err != nil {
		return err
	}
	views := []keyView{}
	rows := [][]string{{"KID", "KTY", "STATE", "SIGNS FROM", "UNTIL", "PUBLISHED UNTIL"}}
	for _, s := range states {
		v := keyView{s.ID, s.Kind, s.State, whenSet(s.ActiveAt), whenSet(s.RetiredAt), whenSet(s.ExpiresAt)}
		if s.Own {
			// A key of the configuration has no times.
			v.ActiveAt, v.RetiredAt, v.ExpiresAt = "", "", ""
		}
		views = append(views, v)
		rows = append(rows, []string{v.ID, v.Kind, v.State, dash(v.ActiveAt), dash(v.RetiredAt), dash(v.ExpiresAt)})
	}
	if asJSON {
		return writeJSON(p.stdout, views)
	}
	return writeTable(p.stdout, rows)
}

// whenSet is the time, or empty if it is not yet known.
func whenSet(at int64) string {
	if at == 0 {
		return ""
	}
	return timestamp(at)
}

// leadOf is the time for which a new key is published before it signs.
func leadOf(o *opened, now bool) time.Duration {
	if now {
		return 0
	}
	return o.provider.Keys.Lead()
}

const nowFlag = "sign with it at once; a client that caches the published keys cannot verify its signatures until it loads them again"

func (p *program) keysRotateCommand() *cobra.Command {
	var kinds []string
	var now bool
	c := &cobra.Command{Use: "rotate", Short: "Create new keys; they sign after the time in which others may cache the published keys", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withKeys(c.Context(), func(o *opened) error {
				for _, kind := range kinds {
					err := o.provider.Keys.RotateNow(c.Context(), kind, leadOf(o, now))
					if err != nil {
						return err
					}
					fmt.Fprintf(p.stdout, "Created a new %s key.\n", kind)
				}
				return nil
			})
		}}
	c.Flags().StringArrayVar(&kinds, "kind", jose.Kinds(), "`KIND` of key: RSA, EC or OKP; may be repeated")
	c.Flags().BoolVar(&now, "now", false, nowFlag)
	return c
}

func (p *program) keysImportCommand() *cobra.Command {
	var now bool
	c := &cobra.Command{Use: "import", Short: "Import a private key in PEM from standard input; it signs after the time in which others may cache the published keys", Args: secretArguments("private key", "mandate keys import < key.pem"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withKeys(c.Context(), func(o *opened) error {
				text, err := p.readStdin("private key", maxKey)
				if err != nil {
					return err
				}
				err = o.provider.Keys.Import(c.Context(), text, leadOf(o, now))
				if err != nil {
					return fmt.Errorf("the private key on standard input: %w", err)
				}
				_, err = fmt.Fprintln(p.stdout, "Imported the key.")
				return err
			})
		}}
	c.Flags().BoolVar(&now, "now", false, nowFlag)
	return c
}

func (p *program) keysRetireCommand() *cobra.Command {
	return &cobra.Command{Use: "retire KID", Short: "Remove a key at once; its signatures can no longer be verified", Args: arguments("KID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withKeys(c.Context(), func(o *opened) error {
				err := o.provider.Keys.Retire(c.Context(), args[0])
				if err != nil {
					return missing(err, "key", args[0], "keys list")
				}
				_, err = fmt.Fprintf(p.stdout, "Retired %s.\n", args[0])
				return err
			})
		}}
}
