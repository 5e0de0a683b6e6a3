package command

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider"
	"mandate/provider/clients"
	"mandate/provider/oauth"
	"mandate/provider/password"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// userView is a person as JSON.
type userView struct {
	ID            string   `json:"id"`
	Number        int64    `json:"number"`
	Username      string   `json:"username"`
	Email         string   `json:"email"`
	EmailVerified bool     `json:"email_verified"`
	FirstName     string   `json:"first_name"`
	LastName      string   `json:"last_name"`
	Groups        []string `json:"groups"`
	Administers   []string `json:"administers"`
	Active        bool     `json:"active"`
	Administrator bool     `json:"administrator"`
	Auditor       bool     `json:"auditor"`
	CreatedAt     string   `json:"created_at"`
}

func viewUser(ctx context.Context, p *provider.Provider, u storage.User) (userView, error) {
	groups, err := p.People.GroupsOf(ctx, u.ID)
	if groups == nil {
		groups = []string{}
	}
	if err != nil {
		return userView{}, err
	}
	administers, err := p.People.Administered(ctx, u.ID)
	if err != nil {
		return userView{}, err
	}
	profile, err := people.ProfileOf(u)
	return userView{u.ID, u.Number, u.Username, u.Email, profile.EmailVerified, u.FirstName, u.LastName, groups,
		append([]string{}, administers...), u.Active,
		u.Administrator, u.Auditor, timestamp(u.CreatedAt)}, err
}

func (p *program) userAddCommand() *cobra.Command {
	person := noPerson()
	var fromStdin, asJSON bool
	c := &cobra.Command{
		Use:   "add USERNAME",
		Short: "Add a person; standard input contains the password",
		Args:  secretArguments("password", "mandate user add USERNAME --password-stdin < password.txt", "USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if !fromStdin {
				return noPassword("add " + args[0])
			}
			person.Username = args[0]
			return p.addUser(c.Context(), person, asJSON)
		}}
	addFlags(c, personFlags(), &person)
	f := c.Flags()
	f.StringVar(&person.Subject, "subject", "", "the `ID` of the person in tokens (sub) (default: a random one)")
	f.BoolVar(&fromStdin, "password-stdin", false, "read the password from standard input")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// noPassword is the error of a command without --password-stdin. A password in a flag
// would be visible in the list of processes and in the history of the shell.
func noPassword(command string) error {
	return wrongUsage("no password: pass it on standard input with --password-stdin, for example: mandate user %s "+
		"--password-stdin < password.txt", command)
}

func (p *program) addUser(ctx context.Context, person people.Person, asJSON bool) error {
	var err error
	person.Password, err = p.readSecret("password")
	if err != nil {
		return err
	}
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	u, err := o.provider.People.AddUser(ctx, policy.Operator(), person)
	if err != nil {
		return err
	}
	view, err := viewUser(ctx, o.provider, u)
	if err != nil {
		return err
	}
	return p.report(asJSON, view, "Added %s.\n", u.Username)
}

func (p *program) userListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List all people", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listUsers(c.Context(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

const listStep = 500 // how many records are read at a time

func (p *program) listUsers(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	views := []userView{}
	for {
		users, _, err := o.provider.People.Users(ctx, "", listStep, len(views))
		if err != nil {
			return err
		}
		for _, u := range users {
			view, err := viewUser(ctx, o.provider, u)
			if err != nil {
				return err
			}
			views = append(views, view)
		}
		if len(users) < listStep {
			break
		}
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	rows := [][]string{{"USERNAME", "NAME", "EMAIL", "GROUPS", "STATE"}}
	for _, v := range views {
		rows = append(rows, []string{v.Username, dash(strings.TrimSpace(v.FirstName + " " + v.LastName)), dash(v.Email),
			dash(strings.Join(v.Groups, ", ")), v.state()})
	}
	return writeTable(p.Stdout, rows)
}

func (v userView) state() string {
	switch {
	case !v.Active:
		return "disabled"
	case v.Administrator:
		return "administrator"
	case v.Auditor:
		return "auditor"
	}
	return "enabled"
}

// dash makes an empty cell of a table visible.
func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func (p *program) userImportCommand() *cobra.Command {
	var trial, asJSON bool
	c := &cobra.Command{Use: "import FILE", Short: "Add all people of a CSV file, with the hashes of their passwords",
		Args: arguments("FILE"),
		Long: `Add all people of a CSV file, or none if it has a mistake. The first line names the
columns: username, and any of email, first_name, last_name, groups, password_hash, active,
subject and email_verified. Groups are separated by semicolons. A person whose username
somebody has is skipped, so the command can run again. A dash stands for standard input.

A hash is verified with its own scheme, and replaced when the person signs in:
  ` + strings.Join(password.Schemes(), "\n  ") + `
Without a hash, the person has no password, and can set one by a link.`,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := readList(p, args[0], people.ReadNewcomers)
			if err != nil {
				return err
			}
			return p.importUsers(c.Context(), list, trial, asJSON)
		}}
	c.Flags().BoolVar(&trial, "dry-run", false, "only check the file")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) importUsers(ctx context.Context, list []people.Newcomer, trial, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	done, err := o.provider.People.Import(ctx, list, trial)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(p.Stdout, struct {
			Added   int  `json:"added"`
			Existed int  `json:"existed"` // skipped: the username is there
			Trial   bool `json:"dry_run"`
		}{done.Added, done.Existed, trial})
	}
	text := "Added %s. Skipped %s who existed already.\n"
	if trial {
		text = "The file has no mistake. It would add %s, and skip %s who exist already.\n"
	}
	_, err = fmt.Fprintf(p.Stdout, text, ofPeople(done.Added), ofPeople(done.Existed))
	return err
}

func ofPeople(n int) string {
	if n == 1 {
		return "1 person"
	}
	return strconv.Itoa(n) + " people"
}

func (p *program) userPasswdCommand() *cobra.Command {
	var fromStdin bool
	c := &cobra.Command{
		Use:   "passwd USERNAME",
		Short: "Change the password of a person, and sign the person out everywhere",
		Args:  secretArguments("password", "mandate user passwd USERNAME --password-stdin < password.txt", "USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			if !fromStdin {
				return noPassword("passwd " + args[0])
			}
			password, err := p.readSecret("password")
			if err != nil {
				return err
			}
			return p.changeUser(
				c.Context(),
				args[0],
				"Changed the password of %s.\n",
				func(o *opened, _ *changedUser) error {
					return o.provider.People.ResetPassword(c.Context(), args[0], password)
				},
			)
		},
	}
	c.Flags().BoolVar(&fromStdin, "password-stdin", false, "read the new password from standard input")
	return p.withJSON(c)
}

func (p *program) userResetPasswordLinkCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "reset-password-link USERNAME", Short: "Print a link with which a person chooses a new " +
		"password", Args: arguments("USERNAME"),
		Long: `Print a link with which a person chooses a new password. It works once, and for 30
minutes. Give it to the person: whoever has it can set the password. The person's
sessions and tokens end when the link is used, and not before.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.printResetLink(c.Context(), args[0], asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) printResetLink(ctx context.Context, username string, asJSON bool) error {
	return p.withUser(ctx, username, func(o *opened, u storage.User) error {
		link, expires, err := o.provider.People.MakeResetLink(ctx, policy.Operator(), u.ID)
		if err != nil {
			return err
		}
		if asJSON {
			return writeJSON(p.Stdout, struct {
				Link      string `json:"link"`
				ExpiresAt string `json:"expires_at"`
			}{link, timestamp(expires)})
		}
		_, err = fmt.Fprintln(p.Stdout, link)
		return err
	})
}

func (p *program) userDisableCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use: "disable USERNAME",
			Short: "Disable an account: end its sessions, revoke its tokens, and suspend the applications for which only this " +
				"person is responsible",
			Args: arguments("USERNAME"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.changeUser(
					c.Context(),
					args[0],
					"Disabled %s.\n",
					func(o *opened, changed *changedUser) error {
						err := o.provider.People.DisableUser(c.Context(), args[0])
						if err != nil {
							return err
						}
						changed.Suspended, err = suspended(c.Context(), o.provider, changed.ID)
						return err
					},
				)
			},
		},
	)
}

// suspended lists the applications that are suspended while their owner is disabled.
func suspended(ctx context.Context, from *provider.Provider, owner string) ([]suspendedView, error) {
	views := []suspendedView{}
	owned, err := from.Clients.OwnedBy(ctx, owner)
	for _, a := range owned {
		if from.Rules.WhySuspended(a) != "" {
			views = append(views, suspendedView{a.ClientID, a.Name})
		}
	}
	return views, err
}

func (p *program) userEnableCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "enable USERNAME",
			Short: "Enable an account again, and the applications for which only this person is responsible",
			Args:  arguments("USERNAME"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.changeUser(c.Context(), args[0], "Enabled %s.\n", func(o *opened, _ *changedUser) error {
					return o.provider.People.EnableUser(c.Context(), args[0])
				})
			},
		},
	)
}

func (p *program) userDeleteCommand() *cobra.Command {
	var theirs string
	c := &cobra.Command{Use: "delete USERNAME", Short: "Delete a person; the sessions end, and the tokens are revoked",
		Args: arguments("USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.changeUser(c.Context(), args[0], "Deleted %s.\n", func(o *opened, _ *changedUser) error {
				return deleteUser(c.Context(), o.provider, args[0], theirs)
			})
		}}
	c.Flags().StringVar(&theirs, "applications", "", "`ACTION` for the applications for which only this person is "+
		"responsible: delete, or take-over (the operator becomes responsible)")
	return p.withJSON(c)
}

// deleteUser lists the applications of the person if the command does not say what
// happens to them.
func deleteUser(ctx context.Context, p *provider.Provider, username, theirs string) error {
	u, err := p.People.UserByName(ctx, username)
	if err != nil {
		return err
	}
	err = p.People.DeleteUser(ctx, policy.Operator(), u.ID, theirs)
	invalid, ok := errors.AsType[*oauth.Invalid](err)
	if !ok || invalid.At("applications") == "" || theirs != "" {
		return err
	}
	owned, err := p.Clients.OwnedBy(ctx, u.ID)
	if err != nil {
		return err
	}
	text := username + " is responsible for applications. Choose what happens to them with --applications delete or " +
		"--applications take-over:"
	for _, a := range owned {
		if !clients.OwnerResponsible(a) {
			continue // it remains
		}
		text += "\n  " + a.ClientID + "  " + a.Name + "  (standing: " + string(policy.StandingOf(a)) + ")"
	}
	return errors.New(text)
}

func (p *program) userLogoutCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "logout USERNAME",
			Short: "Sign a person out everywhere, and notify applications that have a back-channel logout URI",
			Args:  arguments("USERNAME"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.changeUser(
					c.Context(),
					args[0],
					"Signed %s out everywhere.\n",
					func(o *opened, changed *changedUser) error {
						_, err := o.provider.People.EndSessions(c.Context(), changed.ID)
						return err
					},
				)
			},
		},
	)
}

func (p *program) userResetFactorsCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use: "reset-factors USERNAME",
			Short: "Remove the authenticator app, the passkeys, the recovery codes and the accounts of other servers of a " +
				"person, and sign the person out everywhere",
			Args: arguments("USERNAME"),
			RunE: func(c *cobra.Command, args []string) error {
				return p.changeUser(
					c.Context(),
					args[0],
					"Removed every second factor of %s, and signed the person out everywhere.\n",
					func(o *opened, changed *changedUser) error {
						err := o.provider.People.ResetFactors(c.Context(), args[0])
						if err != nil {
							return err
						}
						changed.Identities, err = identities(c.Context(), o.provider, changed.ID)
						return err
					},
				)
			},
		},
	)
}

// identities lists the accounts of other servers that a person still has: those of a person without a password
// stay.
func identities(ctx context.Context, from *provider.Provider, id string) ([]onlyWayView, error) {
	views := []onlyWayView{}
	own, err := from.Identities.Of(ctx, id)
	for _, one := range own {
		views = append(views, onlyWayView{one.Issuer, one.Subject})
	}
	return views, err
}

// changedUser is a person as JSON, after a change. A deleted person is as before.
type changedUser struct {
	userView
	Suspended  []suspendedView `json:"suspended_applications,omitempty"` // of user disable
	Identities []onlyWayView   `json:"remaining_identities,omitempty"`   // of user reset-factors
}

type suspendedView struct {
	ClientID string `json:"client_id"`
	Name     string `json:"name"`
}

// onlyWayView is an account at another server that is the only way in.
type onlyWayView struct {
	Issuer  string `json:"issuer"`
	Subject string `json:"subject"`
}

// withUser opens the database and finds a person.
func (p *program) withUser(ctx context.Context, username string, use func(*opened, storage.User) error) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	u, err := o.provider.People.UserByName(ctx, username)
	if err == nil {
		err = use(o, u)
	}
	return missing(err, "person", username, "user list")
}

func (p *program) changeUser(ctx context.Context, name, done string, change func(*opened, *changedUser) error) error {
	return p.withUser(ctx, name, func(o *opened, u storage.User) error {
		changed := &changedUser{}
		var err error
		changed.userView, err = viewUser(ctx, o.provider, u)
		if err == nil {
			err = change(o, changed)
		}
		if err != nil {
			return err
		}
		now, err := o.provider.People.User(ctx, u.ID)
		if err == nil {
			changed.userView, err = viewUser(ctx, o.provider, now)
		}
		if err != nil && !errors.Is(err, oauth.ErrNotFound) {
			return err
		}
		return p.done(changed, "%s"+done, changed.consequences(), name)
	})
}

// consequences are the lines for a person about what else has changed, or has not.
func (c *changedUser) consequences() string {
	var text strings.Builder
	for _, a := range c.Suspended {
		fmt.Fprintf(
			&text,
			"Suspended %s (%s): mandate application take-over ends the suspension.\n",
			a.ClientID,
			a.Name,
		)
	}
	for _, i := range c.Identities {
		fmt.Fprintf(
			&text,
			"Still signs in with %s: %s is the only way in. Set a password with mandate user passwd, then run this command "+
				"again.\n",
			i.Issuer,
			i.Subject,
		)
	}
	return text.String()
}
