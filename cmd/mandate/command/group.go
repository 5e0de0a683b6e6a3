package command

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/provider"
	"mandate/provider/people"
	"mandate/provider/policy"
	"mandate/storage"
)

// groupView is a group as JSON.
type groupView struct {
	Name    string `json:"name"`
	Members int    `json:"members"`
}

func (p *program) groupAddCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "add NAME", Short: "Add a group", Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.addGroup(c.Context(), args[0], asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) addGroup(ctx context.Context, name string, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	err = o.provider.People.AddGroup(ctx, name)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(p.Stdout, groupView{Name: name})
	}
	_, err = fmt.Fprintf(p.Stdout, "Added the group %s.\n", name)
	return err
}

func (p *program) groupListCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Short: "List all groups", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.listGroups(c.Context(), asJSON)
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) listGroups(ctx context.Context, asJSON bool) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	groups, err := o.provider.People.Groups(ctx)
	if err != nil {
		return err
	}
	views := []groupView{}
	rows := [][]string{{"NAME", "MEMBERS"}}
	for _, g := range groups {
		views = append(views, groupView{g.Name, g.Members})
		rows = append(rows, []string{g.Name, strconv.Itoa(g.Members)})
	}
	if asJSON {
		return writeJSON(p.Stdout, views)
	}
	return writeTable(p.Stdout, rows)
}

// withGroup opens the database and finds a group.
func (p *program) withGroup(ctx context.Context, name string, use func(*opened) error) error {
	o, err := p.open(ctx, app.ToUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	_, err = o.provider.People.GroupNamed(ctx, name)
	if err != nil {
		return missing(err, "group", name, "group list")
	}
	return use(o)
}

// memberView is a group with its members as JSON.
type memberView struct {
	groupView
	Usernames []string          `json:"usernames"`
	Until     map[string]string `json:"until,omitempty"` // when the membership of a person ends by itself
}

func viewMembers(ctx context.Context, from *provider.Provider, name string) (memberView, error) {
	names, err := from.People.MembersOf(ctx, name)
	view := memberView{groupView{name, len(names)}, append([]string{}, names...), map[string]string{}}
	if err != nil {
		return view, err
	}
	temporary, err := from.People.Temporary(ctx, name, "")
	for _, m := range temporary {
		view.Until[m.Username] = timestamp(m.ExpiresAt)
	}
	return view, err
}

func (p *program) groupShowCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "show NAME", Short: "Show a group with its members", Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withGroup(c.Context(), args[0], func(o *opened) error {
				view, err := viewMembers(c.Context(), o.provider, args[0])
				if err != nil {
					return err
				}
				if asJSON {
					return writeJSON(p.Stdout, view)
				}
				rows := [][]string{{"name", view.Name}, {"members", strconv.Itoa(view.Members)}}
				for _, username := range view.Usernames {
					if end := view.Until[username]; end != "" {
						username += " until " + end
					}
					rows = append(rows, []string{"", username})
				}
				return writeTable(p.Stdout, rows)
			})
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) groupRenameCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "rename NAME NEW_NAME",
		Short: "Give a group another name; its members stay",
		Args:  arguments("NAME", "NEW_NAME"),
		Long: `Give a group another name. Its members stay, and open invitations lead to it. Applications
get the new name in the claim groups. GROUPS of SIGN_IN_SERVERS keeps the name that it has:
change the setting too, and restart the server.`,
		RunE: func(c *cobra.Command, args []string) error {
			return p.withGroup(c.Context(), args[0], func(o *opened) error {
				err := o.provider.People.RenameGroup(c.Context(), args[0], args[1])
				if err != nil {
					return missing(err, "group", args[0], "group list")
				}
				view, err := viewMembers(c.Context(), o.provider, args[1])
				if err != nil {
					return err
				}
				return p.report(asJSON, view, "Renamed the group %s to %s.\n", args[0], args[1])
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) groupAddMemberCommand() *cobra.Command {
	var until string
	c := p.memberCommand("add-member", "Make a person a member of a group", "Added %[2]s to the group %[1]s.\n",
		func(ctx context.Context, o *opened, u storage.User, group string) error {
			end, err := parseEnd(until)
			if err != nil {
				return wrongUsage("--until: %v", err)
			}
			return o.provider.People.Join(ctx, policy.Operator(), u, group, end)
		})
	c.Flags().StringVar(&until, "until", "", "the `DATE` (2027-01-31), time (2027-01-31T18:00:00Z) or duration from now "+
		"(90d) at which the membership ends by itself (default: it does not end)")
	return c
}

// parseEnd reads when something ends: a date, a time, or a duration from now. "": 0, it does not end. A date is its
// beginning in UTC.
func parseEnd(text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		at, err := time.Parse(layout, text)
		if err == nil {
			return at.Unix(), nil
		}
	}
	d, err := parseDuration(text)
	if err != nil {
		return 0, errors.New("write a date (2027-01-31), a time (2027-01-31T18:00:00Z) or a duration (90d)")
	}
	return time.Now().Add(d).Unix(), nil
}

func (p *program) groupRemoveMemberCommand() *cobra.Command {
	return p.memberCommand(
		"remove-member", "Remove a person from a group", "Removed %[2]s from the group %[1]s.\n",
		func(ctx context.Context, o *opened, u storage.User, group string) error {
			_, err := o.provider.People.ChangeUser(ctx, policy.Operator(), u.ID, func(person *people.Person) {
				person.Groups = slices.DeleteFunc(person.Groups, func(one string) bool { return one == group })
			})
			return err
		},
	)
}

// memberCommand changes whether a person is a member of a group. If that is so already, it does nothing, so that a
// script can run again.
func (p *program) memberCommand(
	use, short, done string,
	change func(ctx context.Context, o *opened, u storage.User, group string) error,
) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: use + " NAME USERNAME", Short: short, Args: arguments("NAME", "USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withGroup(c.Context(), args[0], func(o *opened) error {
				u, err := o.provider.People.UserByName(c.Context(), args[1])
				if err == nil {
					err = change(c.Context(), o, u, args[0])
				}
				if err != nil {
					return missing(err, "person", args[1], "user list")
				}
				view, err := viewMembers(c.Context(), o.provider, args[0])
				if err != nil {
					return err
				}
				return p.report(asJSON, view, done, args[0], u.Username)
			})
		}}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) groupDeleteCommand() *cobra.Command {
	return p.withJSON(
		&cobra.Command{Use: "delete NAME", Short: "Delete a group; its members stay", Args: arguments("NAME"),
			RunE: func(c *cobra.Command, args []string) error {
				o, err := p.open(c.Context(), app.ToUse)
				if err != nil {
					return err
				}
				defer o.store.Close()
				was, err := viewMembers(c.Context(), o.provider, args[0])
				if err == nil {
					err = o.provider.People.DeleteGroup(c.Context(), args[0])
				}
				if err != nil {
					return missing(err, "group", args[0], "group list")
				}
				return p.done(was, "Deleted the group %s.\n", args[0])
			}},
	)
}
