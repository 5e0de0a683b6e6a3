package command

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/policy"
	"mandate/storage"
)

func (p *program) applicationAddCommand() *cobra.Command {
	r := clients.Registration{
		ClientType:        policy.Confidential,
		AccessTokenFormat: policy.FormatOpaque,
		HashClientSecret:  true,
	}
	var fields registrationFlags
	var program programFlags
	var secretStdin, asJSON bool
	c := &cobra.Command{
		Use:   "add --name NAME --grant GRANT",
		Short: "Register an application, and print its secret once",
		Args:  arguments(),
		Long: `Register an application, and print its secret once. For a program that is known, --for PROGRAM --url URL
replaces --name and --grant, and prints what belongs into the settings of the program:

  mandate application add --for grafana --url https://grafana.example.org`,
		RunE: func(c *cobra.Command, _ []string) error {
			err := program.check(c)
			if err == nil {
				err = fields.read(c, &r)
			}
			switch {
			case err != nil:
				return err
			case r.Name == "" && !program.named():
				return wrongUsage("--name is missing: the consent page shows it")
			case len(r.GrantTypes) == 0 && !program.named():
				return wrongUsage(
					"--grant is missing: choose from %s; or name the program with --for",
					strings.Join(policy.GrantNames(), ", "),
				)
			case secretStdin && r.ClientType == policy.Public:
				return wrongUsage("--client-secret-stdin cannot be used with --client-type public: a public application has no " +
					"secret")
			}
			return p.addApplication(c.Context(), program, secretStdin, asJSON, func(preset *clients.Registration) error {
				if !program.named() {
					*preset = r
					return nil
				}
				preset.ClientID, preset.Owner = r.ClientID, r.Owner
				return fields.read(c, preset)
			})
		},
	}
	program.add(c)
	fields.add(c)
	f := c.Flags()
	f.StringVar(&r.ClientID, "client-id", "", "client `ID` (default: a random one)")
	f.BoolVar(
		&secretStdin,
		"client-secret-stdin",
		false,
		"read the client secret from standard input (default: a random one)",
	)
	f.StringVar(
		&r.Owner,
		"owner",
		"",
		"`USERNAME` of the owner, who may rename and delete the application and rotate its secret; the operator is "+
			"responsible for it",
	)
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// addApplication registers an application, for a program if one is named. read changes the registration of the program
// to what the flags say.
func (p *program) addApplication(
	ctx context.Context,
	of programFlags,
	secretStdin, asJSON bool,
	read func(*clients.Registration) error,
) error {
	var secret string
	if secretStdin {
		var err error
		secret, err = p.readSecret("client secret")
		if err != nil {
			return err
		}
	}
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	preset, err := of.fill(o.provider)
	if err != nil {
		return err
	}
	r := &preset.Registration
	err = read(r)
	if err != nil {
		return err
	}
	r.ClientSecret = secret
	if of.named() {
		err = o.provider.MayBeInSettings(preset)
	}
	if err == nil {
		err = of.refuseAgain(ctx, o.provider, preset)
	}
	if err != nil {
		return err
	}
	made, err := o.provider.Clients.Register(ctx, policy.Operator(), *r)
	if invalid, ok := errors.AsType[*oauth.Invalid](err); ok && preset.Address != "" {
		return provider.AboutAddress(invalid, r.Said...)
	}
	if err != nil {
		return err
	}
	view := viewApplication(o.provider, made.Application, made.Secret)
	if of.named() {
		view.Settings, err = viewSettings(o.provider, preset, made)
	}
	return errors.Join(p.show(view, asJSON), err)
}

func (p *program) applicationListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List all applications", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listApplications(c.Context(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listApplications(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	views := []applicationView{}
	for {
		found, _, err := o.provider.Clients.Applications(ctx, policy.Operator(), storage.Selection{}, listStep, len(views))
		if err != nil {
			return err
		}
		for _, a := range found {
			views = append(views, viewApplication(o.provider, a, ""))
		}
		if len(found) < listStep {
			break
		}
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	rows := [][]string{{"CLIENT ID", "NAME", "TYPE", "GRANTS", "OWNER", "STANDING"}}
	for _, v := range views {
		rows = append(
			rows,
			[]string{v.ClientID, v.Name, v.ClientType, strings.Join(v.GrantTypes, " "), dash(v.Owner), v.standing()},
		)
	}
	return writeTable(p.Stdout, rows)
}

// withApplication opens the database and finds an application by its client id, or
// by the id in the URLs of its pages.
func (p *program) withApplication(
	ctx context.Context,
	name string,
	use func(*opened, storage.Application) error,
) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	a, err := o.provider.Clients.ApplicationByClientID(ctx, policy.Operator(), name)
	if errors.Is(err, oauth.ErrNotFound) {
		a, err = o.provider.Clients.Application(ctx, policy.Operator(), name)
	}
	if err == nil {
		err = use(o, a)
	}
	return missing(err, "application", name, "application list")
}

func (p *program) applicationRotateCommand() *cobra.Command {
	var overlap time.Duration
	var asJSON bool
	c := &cobra.Command{
		Use:   "rotate-secret CLIENT_ID",
		Short: "Replace the secret, and print the new one once",
		Args:  arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
				made, err := o.provider.Clients.RotateSecret(c.Context(), policy.Operator(), a.ID, overlap)
				if err != nil {
					return err
				}
				view := viewApplication(o.provider, made.Application, made.Secret)
				view.Settings, err = settingsAgain(o.provider, made)
				return errors.Join(p.show(view, asJSON), err)
			})
		},
	}
	c.Flags().Var((*duration)(&overlap), "overlap", "`DURATION` for which the old secret still works, such as 24h or 7d")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) applicationTakeOverCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "take-over CLIENT_ID",
			Short: "Make the operator responsible for an application, and remove its owner",
			Args:  arguments("CLIENT_ID"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
					knows := "The previous owner"
					if a.Owner == nil {
						knows = "Whoever registered it"
					}
					a, err := o.provider.Clients.TakeOver(c.Context(), policy.Operator(), a.ID, a.Version)
					if err != nil {
						return err
					}
					return p.done(
						viewApplication(o.provider, a, ""),
						"Took over %s (%s). %s may know its secret: mandate application rotate-secret replaces it.\n",
						a.ClientID,
						a.Name,
						knows,
					)
				})
			},
		},
	)
}

func (p *program) applicationAssignCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "assign CLIENT_ID USERNAME",
			Short: "Give an application to another owner, who becomes responsible for it",
			Args:  arguments("CLIENT_ID", "USERNAME"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
					a, err := o.provider.Clients.Assign(c.Context(), policy.Operator(), a.ID, a.Version, args[1])
					if invalid, ok := errors.AsType[*oauth.Invalid](err); ok {
						return errors.New("USERNAME: " + invalid.At("owner"))
					}
					if err != nil {
						return err
					}
					return p.done(
						viewApplication(o.provider, a, ""),
						"Assigned %s (%s) to %s. Its standing is %s.\n",
						a.ClientID,
						a.Name,
						args[1],
						policy.StandingOf(a),
					)
				})
			},
		},
	)
}

func (p *program) applicationRevokeCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "revoke CLIENT_ID",
			Short: "Revoke all tokens and consents of an application, which stays",
			Args:  arguments("CLIENT_ID"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
					err := o.provider.Clients.RevokeAll(c.Context(), policy.Operator(), a.ID)
					if err != nil {
						return err
					}
					return p.done(
						viewApplication(o.provider, a, ""),
						"Revoked everything that %s (%s) held. It can get new tokens: mandate application rotate-secret stops whoever "+
							"knows its secret.\n",
						a.ClientID,
						a.Name,
					)
				})
			},
		},
	)
}

func (p *program) applicationDeleteCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "delete CLIENT_ID",
			Short: "Delete an application, and revoke its tokens",
			Args:  arguments("CLIENT_ID"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
					err := o.provider.Clients.Delete(c.Context(), policy.Operator(), a.ID)
					if err != nil {
						return err
					}
					return p.done(viewApplication(o.provider, a, ""), "Deleted %s (%s).\n", a.ClientID, a.Name)
				})
			},
		},
	)
}
