package command

import (
	"fmt"

	"github.com/spf13/cobra"

	"mandate/provider/clientauth"
	"mandate/provider/clients"
	"mandate/provider/policy"
	"mandate/storage"
)

// fieldFlags are the flags of application add and application update for the fields that need no more than that.
func fieldFlags() []fieldFlag[clients.Registration] {
	var flags []fieldFlag[clients.Registration]
	for _, f := range clients.Fields() {
		if f.Usage != "" {
			flags = append(flags, fieldFlag[clients.Registration]{f.Flag, f.Usage, func(r *clients.Registration) any {
				return valueOfFlag(f, f.Value(r))
			}})
		}
	}
	return flags
}

// valueOfFlag returns the value as the flag reads it. Words have no spaces, so one argument can have several.
func valueOfFlag(f clients.Field, value any) any {
	list, is := value.(*[]string)
	switch {
	case is && f.Wide && f.Access:
		return (*narrowingNames)(list)
	case is && f.Wide:
		return (*narrowing)(list)
	case is && f.Kind == clients.Choices:
		return (*words)(list)
	}
	return value
}

// registrationFlags are all flags for the fields of a registration. application add and application update have the
// same.
type registrationFlags struct {
	said   clients.Registration
	noHash bool
	auth   authFlags
}

func (f *registrationFlags) add(c *cobra.Command) {
	addFlags(c, fieldFlags(), &f.said)
	c.Flags().BoolVar(
		&f.noHash, "no-hash-client-secret", false, "store the secret encrypted with the server's key, not hashed",
	)
	f.auth.add(c)
}

// read sets the fields whose flags are present.
func (f *registrationFlags) read(c *cobra.Command, into *clients.Registration) error {
	readFlags(c, fieldFlags(), &f.said, into)
	if c.Flags().Changed("no-hash-client-secret") {
		into.HashClientSecret = !f.noHash
	}
	return f.auth.read(c, into)
}

func (p *program) applicationUpdateCommand() *cobra.Command {
	var f registrationFlags
	var asJSON bool
	c := &cobra.Command{Use: "update CLIENT_ID", Short: "Change an application", Args: arguments("CLIENT_ID"),
		Long: `Change an application. What no flag names stays as it is. A flag that may be repeated gives
the whole list, and with an empty text it empties the list. A list that allows everything while it
is empty, as of scopes and resources, has __all__ for that.
A flag without a value is switched off with =false, such as --skip-consent=false.

application assign and application take-over change who is responsible for it.`,
		RunE: func(c *cobra.Command, args []string) error {
			err := requireChange(c)
			if err != nil {
				return err
			}
			return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
				changed, err := o.provider.Clients.Change(
					c.Context(), policy.Operator(), a.ID,
					func(r *clients.Registration) error {
						return f.read(c, r)
					},
				)
				if err != nil {
					return err
				}
				if now := changed.Application; c.Flags().Changed("no-hash-client-secret") && clientauth.HasSecret(now) &&
					!now.HashClientSecret && !clientauth.SecretIsReadable(now) {
					fmt.Fprintln(p.Stderr, "The stored secret remains a hash until mandate application rotate-secret replaces it.")
				}
				return p.show(viewApplication(o.provider, changed.Application, changed.Secret), asJSON)
			})
		}}
	f.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	keepsTheRest(c)
	return c
}
