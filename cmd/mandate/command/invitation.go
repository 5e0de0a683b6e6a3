package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider/oauth"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// invitationView is an invitation as JSON. Link is set only when it is made, and only if no message has it.
type invitationView struct {
	ID        string   `json:"id"`
	Email     string   `json:"email"`
	Groups    []string `json:"groups"`
	InvitedBy string   `json:"invited_by"` // a username; empty: the operator
	Mailed    bool     `json:"mailed"`     // the link is sent to the address
	Link      string   `json:"link,omitempty"`
	Message   string   `json:"message,omitempty"` // of the link: waiting, sent or failed
	State     string   `json:"state"`             // open or expired
	CreatedAt string   `json:"created_at"`
	ExpiresAt string   `json:"expires_at"`
}

func viewInvitation(i storage.Invitation, link string) invitationView {
	groups := strings.FieldsFunc(i.Groups, func(r rune) bool { return r == '\n' })
	v := invitationView{
		ID:        i.ID,
		Email:     i.Email,
		Groups:    append([]string{}, groups...),
		Mailed:    i.Mailed,
		Link:      link,
		CreatedAt: timestamp(i.CreatedAt),
		ExpiresAt: timestamp(i.ExpiresAt),
	}
	if i.Inviter != nil {
		v.InvitedBy = *i.Inviter
	}
	v.State = "open"
	if i.ExpiresAt <= time.Now().Unix() {
		v.State = "expired"
	}
	switch {
	case !i.Mailed:
	case i.Unsent:
		v.Message = "failed"
	case i.Waiting:
		v.Message = "waiting"
	default:
		v.Message = "sent"
	}
	return v
}

// viewInvited describes an invitation that was made just now.
func viewInvited(one people.Invited) invitationView {
	one.Waiting = one.Mailed
	return viewInvitation(one.Invitation, one.Link)
}

// invitingFlags are the flags of the commands that invite people.
func invitingFlags(c *cobra.Command, how *people.Inviting, asJSON *bool) {
	f := c.Flags()
	f.Var(
		(*duration)(&how.Lifetime), "expires",
		"`DURATION` for which the link works, such as 48h or 3d (default: INVITATION_EXPIRE_SECONDS)",
	)
	noMail(c, &how.ByHand)
	f.StringVar(&how.Language, "language", "", "`TAG` of the language of the message, such as de (default: English)")
	f.BoolVar(asJSON, "json", false, "print JSON")
}

// noMail is the flag of the commands that make a link.
func noMail(c *cobra.Command, byHand *bool) {
	c.Flags().BoolVar(
		byHand, "no-mail", false, "print the link instead of sending it; the address then does not count as confirmed",
	)
}

func (p *program) invitationAddCommand() *cobra.Command {
	var one people.Invite
	var how people.Inviting
	var asJSON bool
	c := &cobra.Command{Use: "add EMAIL", Short: "Invite a person to make an account", Args: arguments("EMAIL"),
		Long: `Invite a person to make an account. The person gets a message with a link, which works
once. Without SMTP_URL, or with --no-mail, the command prints the link. Give it to the
person: whoever has it can make the account.`,
		RunE: func(c *cobra.Command, args []string) error {
			one.Email = args[0]
			return p.invite(c.Context(), []people.Invite{one}, how, asJSON)
		}}
	c.Flags().StringArrayVar(
		&one.Groups, "group", nil, "`NAME` of a group of which the person becomes a member; may be repeated",
	)
	invitingFlags(c, &how, &asJSON)
	return c
}

func (p *program) invitationImportCommand() *cobra.Command {
	var how people.Inviting
	var asJSON bool
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Invite all people of a CSV file, or none if it has a mistake",
		Args:  arguments("FILE"),
		Long: `Invite all people of a CSV file, or none if it has a mistake. The columns are email and
groups, and the first line names them. Groups are separated by semicolons. Commas,
semicolons or tabs separate the cells. A file with one address in each line needs no names
of columns. A dash stands for standard input.`,
		RunE: func(c *cobra.Command, args []string) error {
			list, err := readList(p, args[0], people.ReadInvites)
			if err != nil {
				return err
			}
			return p.invite(c.Context(), list, how, asJSON)
		},
	}
	invitingFlags(c, &how, &asJSON)
	return c
}

// invite invites people, and prints the links that are not sent.
func (p *program) invite(ctx context.Context, list []people.Invite, how people.Inviting, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	made, err := o.provider.Invitations.Invite(ctx, policy.Operator(), list, how)
	if errors.Is(err, oauth.ErrNotFound) {
		return errors.New("an invitation would have no use: set SIGN_UP: invited, or NEW_PEOPLE: invited for one of the " +
			"SIGN_IN_SERVERS")
	}
	if err != nil {
		return err
	}
	if asJSON {
		views := []invitationView{}
		for _, one := range made {
			views = append(views, viewInvited(one))
		}
		if len(list) == 1 && list[0].Line == 0 {
			return writeJSON(p.Stdout, views[0])
		}
		return writeJSON(p.Stdout, views)
	}
	for _, one := range made {
		err = p.printInvited(one, len(made) > 1)
		if err != nil {
			return err
		}
	}
	return nil
}

// printInvited prints who was invited, and the link if no message has it. A link alone can be passed to
// another program.
func (p *program) printInvited(one people.Invited, several bool) error {
	var err error
	switch {
	case one.Link == "":
		_, err = fmt.Fprintf(p.Stdout, "Invited %s. A message with the link will be sent at once.\n", one.Email)
	case several:
		_, err = fmt.Fprintf(p.Stdout, "%s\t%s\n", one.Email, one.Link)
	default:
		_, err = fmt.Fprintln(p.Stdout, one.Link)
	}
	return err
}

// mostList is the largest file with a list of people, in bytes.
const mostList = 64 << 20

// readList reads a file, or standard input if its name is a dash.
func readList[T any](p *program, name string, read func(io.Reader) (T, error)) (T, error) {
	var none T
	from := p.Stdin
	if name != "-" {
		file, err := os.Open(name)
		if err != nil {
			return none, fmt.Errorf("open the list: %w", err)
		}
		defer file.Close()
		from = file
	}
	limited := &io.LimitedReader{R: from, N: mostList}
	list, err := read(limited)
	if limited.N <= 0 {
		return none, fmt.Errorf("%s is larger than %d MiB: split it", name, mostList>>20)
	}
	return list, err
}

func (p *program) invitationListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the invitations that nobody has used, and for 30 days those that have expired",
		Args:  arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listInvitations(c.Context(), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listInvitations(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	views := []invitationView{}
	for {
		found, _, err := o.provider.Invitations.List(ctx, "", listStep, len(views))
		if err != nil {
			return err
		}
		for _, i := range found {
			views = append(views, viewInvitation(i, ""))
		}
		if len(found) < listStep {
			break
		}
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	rows := [][]string{{"ID", "EMAIL", "GROUPS", "INVITED BY", "MESSAGE", "EXPIRES", "STATE"}}
	for _, v := range views {
		rows = append(
			rows,
			[]string{
				v.ID,
				v.Email,
				dash(strings.Join(v.Groups, ", ")),
				either(v.InvitedBy, "(operator)"),
				dash(v.Message),
				v.ExpiresAt,
				v.State,
			},
		)
	}
	return writeTable(p.Stdout, rows)
}

func (p *program) invitationRenewCommand() *cobra.Command {
	var byHand, asJSON bool
	c := &cobra.Command{
		Use:   "renew ID|EMAIL",
		Short: "Make a new link for an invitation, which may have expired; the old link ends",
		Args:  arguments("ID or EMAIL"),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := p.open(c.Context(), app.ToUse)
			if err != nil {
				return err
			}
			defer o.store.Close()
			var made people.Invited
			one, err := o.provider.Invitations.Named(c.Context(), args[0])
			if err == nil {
				made, err = o.provider.Invitations.Renew(c.Context(), policy.Operator(), one.ID, byHand)
			}
			if err != nil {
				return missing(err, "invitation", args[0], "invitation list")
			}
			if asJSON {
				return writeJSON(p.Stdout, viewInvited(made))
			}
			return p.printInvited(made, false)
		},
	}
	noMail(c, &byHand)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) invitationWithdrawCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{
			Use:   "withdraw ID|EMAIL",
			Short: "Withdraw an invitation; its link ends",
			Args:  arguments("ID or EMAIL"),
			RunE: func(c *cobra.Command, args []string) error {
				o, err := p.open(c.Context(), app.ToUse)
				if err != nil {
					return err
				}
				defer o.store.Close()
				one, err := o.provider.Invitations.Named(c.Context(), args[0])
				if err == nil {
					err = o.provider.Invitations.Withdraw(c.Context(), policy.Operator(), one.ID)
				}
				if err != nil {
					return missing(err, "invitation", args[0], "invitation list")
				}
				return p.done(viewInvitation(one, ""), "Withdrew the invitation of %s.\n", one.Email)
			},
		},
	)
}
