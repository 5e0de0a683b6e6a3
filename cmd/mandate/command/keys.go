package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/jose"
	"mandate/provider/oauth"
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

// retiredView is a key that is gone as JSON.
type retiredView struct {
	ID string `json:"kid"`
}

// withKeys opens the database of a server that has signing keys.
func (p *program) withKeys(ctx context.Context, use func(*opened) error) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	_, err = o.provider.Keys.JWKSet(ctx)
	if errors.Is(err, oauth.ErrNotFound) {
		return errors.New("this server signs nothing, so it has no signing keys: OIDC_ENABLED: true enables OpenID " +
			"Connect, and application add --access-token-format jwt adds an application with signed access tokens")
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
	views, err := viewKeys(ctx, o)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	rows := [][]string{{"KID", "KTY", "STATE", "SIGNS FROM", "UNTIL", "PUBLISHED UNTIL"}}
	for _, v := range views {
		rows = append(rows, []string{v.ID, v.Kind, v.State, dash(v.ActiveAt), dash(v.RetiredAt), dash(v.ExpiresAt)})
	}
	return writeTable(p.Stdout, rows)
}

// viewKeys lists the published keys, without those of these IDs.
func viewKeys(ctx context.Context, o *opened, without ...string) ([]keyView, error) {
	states, err := o.provider.Keys.States(ctx)
	views := []keyView{}
	for _, s := range states {
		v := keyView{s.ID, s.Kind, s.State, whenSet(s.ActiveAt), whenSet(s.RetiredAt), whenSet(s.ExpiresAt)}
		if s.Own {
			// A key of the configuration has no times.
			v.ActiveAt, v.RetiredAt, v.ExpiresAt = "", "", ""
		}
		if !slices.Contains(without, s.ID) {
			views = append(views, v)
		}
	}
	return views, err
}

// newKeys lists the keys that a change adds.
func newKeys(ctx context.Context, o *opened, change func() error) ([]keyView, error) {
	before, err := viewKeys(ctx, o)
	if err != nil {
		return nil, err
	}
	var known []string
	for _, v := range before {
		known = append(known, v.ID)
	}
	err = change()
	added, listed := viewKeys(ctx, o, known...)
	return added, errors.Join(err, listed)
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

const nowFlag = "sign with it at once; a client that caches the published keys cannot verify its signatures until it " +
	"loads them again"

func (p *program) keysRotateCommand() *cobra.Command {
	var kinds []string
	var now bool
	c := &cobra.Command{
		Use:   "rotate",
		Short: "Create new keys; they sign after the time in which others may cache the published keys",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withKeys(c.Context(), func(o *opened) error {
				text := ""
				added, err := newKeys(c.Context(), o, func() error {
					for _, kind := range kinds {
						err := o.provider.Keys.RotateNow(c.Context(), kind, leadOf(o, now))
						if err != nil {
							return err
						}
						text += "Created a new " + kind + " key.\n"
					}
					return nil
				})
				if err != nil && len(added) == 0 {
					return err
				}
				return errors.Join(p.done(added, "%s", text), err) // some may be there although a later one failed
			})
		},
	}
	c.Flags().StringArrayVar(&kinds, "kind", jose.Kinds(), "`KIND` of key: RSA, EC or OKP; may be repeated")
	c.Flags().BoolVar(&now, "now", false, nowFlag)
	return p.withJSON(c)
}

func (p *program) keysImportCommand() *cobra.Command {
	var now bool
	c := &cobra.Command{
		Use: "import",
		Short: "Import a private key in PEM from standard input; it signs after the time in which others may cache the " +
			"published keys",
		Args: secretArguments("private key", "mandate keys import < key.pem"),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.withKeys(c.Context(), func(o *opened) error {
				text, err := p.readStdin("private key", maxKey)
				if err != nil {
					return err
				}
				added, err := newKeys(c.Context(), o, func() error {
					err := o.provider.Keys.Import(c.Context(), text, leadOf(o, now))
					if err != nil {
						return fmt.Errorf("the private key on standard input: %w", err)
					}
					return nil
				})
				if err != nil {
					return err
				}
				return p.done(added, "Imported the key.\n")
			})
		},
	}
	c.Flags().BoolVar(&now, "now", false, nowFlag)
	return p.withJSON(c)
}

func (p *program) keysRetireCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "retire KID",
			Short: "Remove a key at once; its signatures can no longer be verified",
			Args:  arguments("KID"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withKeys(c.Context(), func(o *opened) error {
					err := o.provider.Keys.Retire(c.Context(), args[0])
					if err != nil {
						return missing(err, "key", args[0], "keys list")
					}
					return p.done(retiredView{args[0]}, "Retired %s.\n", args[0])
				})
			},
		},
	)
}
