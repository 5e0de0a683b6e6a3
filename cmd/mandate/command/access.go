package command

import (
	"context"
	"encoding/csv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider/access"
	"mandate/provider/spreadsheet"
	"mandate/storage"
)

// verdictView is the answer for a person and an application as JSON.
type verdictView struct {
	Username   string          `json:"username"`
	ClientID   string          `json:"client_id"`
	Name       string          `json:"name"`
	Allowed    bool            `json:"allowed"`
	Conditions []conditionView `json:"conditions"`
}

type conditionView struct {
	Condition string   `json:"condition"`
	Met       bool     `json:"met"`
	Names     []string `json:"names"`
	Reason    string   `json:"reason,omitempty"`
}

// meanings says what each condition asks for, when it is met, and when it is not.
var meanings = map[access.Kind]struct{ set, unset string }{
	access.Active:   {"the account is enabled", ""},
	access.Running:  {"the application is not suspended", ""},
	access.Denied:   {"no member of a denied group", "no group is denied"},
	access.Allowed:  {"a member of an allowed group", "open to everybody"},
	access.Known:    {"gives the application access already", "takes new people"},
	access.Strength: {"can sign in as the application requires", "every sign-in is strong enough"},
}

func viewVerdict(v access.Verdict) verdictView {
	view := verdictView{Username: v.Person.Username, ClientID: v.Application.ClientID, Name: v.Application.Name,
		Allowed: v.Allowed()}
	for _, c := range v.Conditions {
		view.Conditions = append(view.Conditions, conditionView{string(c.Kind), c.Met, append([]string{}, c.Names...),
			c.Reason})
	}
	return view
}

func (p *program) accessCheckCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "check USERNAME CLIENT_ID",
		Short: "Say whether a person may use an application, with each condition",
		Args:  arguments("USERNAME", "CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withApplication(c.Context(), args[1], func(o *opened, a storage.Application) error {
				u, err := o.provider.People.UserByName(c.Context(), args[0])
				if err != nil {
					return missing(err, "person", args[0], "user list")
				}
				v, err := o.provider.Access.Check(c.Context(), a, u)
				if err != nil {
					return err
				}
				return p.showVerdict(v, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (p *program) showVerdict(v access.Verdict, asJSON bool) error {
	view := viewVerdict(v)
	if asJSON {
		return writeJSON(p.Stdout, view)
	}
	rows := [][]string{{"person", view.Username}, {"application", view.Name}, {"allowed", yes(view.Allowed)}, {"", ""},
		{"CONDITION", "MET", "NAMES"}}
	for _, c := range v.Conditions {
		meaning := meanings[c.Kind]
		text := meaning.set
		if len(c.Names) == 0 && meaning.unset != "" {
			text = meaning.unset
		}
		names := strings.Join(c.Names, ", ")
		if c.Reason != "" {
			names = c.Reason
		}
		rows = append(rows, []string{text, yes(c.Met), dash(names)})
	}
	return writeTable(p.Stdout, rows)
}

// listView is one row of an access list.
type listView struct {
	Username string `json:"username"`
	ClientID string `json:"client_id"`
	Name     string `json:"name"`
}

// writeList writes an access list. Both lists have the same columns, so that several can be joined.
func (p *program) writeList(list []listView, as listForm) error {
	if as.json {
		return writeJSON(p.Stdout, append([]listView{}, list...))
	}
	rows := [][]string{{"USERNAME", "CLIENT ID", "APPLICATION"}}
	for _, one := range list {
		rows = append(rows, []string{one.Username, one.ClientID, one.Name})
	}
	if !as.csv {
		return writeTable(p.Stdout, rows)
	}
	rows[0] = []string{"username", "client_id", "application"}
	for n := range rows {
		rows[n] = spreadsheet.Cells(rows[n]...)
	}
	return csv.NewWriter(p.Stdout).WriteAll(rows)
}

// listForm is how a list is written: as a table, as JSON or as CSV.
type listForm struct{ json, csv bool }

func (f *listForm) flags(c *cobra.Command) {
	c.Flags().BoolVar(&f.json, "json", false, "print JSON")
	c.Flags().BoolVar(&f.csv, "csv", false, "print CSV")
}

// check refuses two forms at once.
func (f listForm) check() error {
	if f.json && f.csv {
		return wrongUsage("--json and --csv exclude each other")
	}
	return nil
}

func (p *program) accessPeopleCommand() *cobra.Command {
	var as listForm
	c := &cobra.Command{
		Use:   "people CLIENT_ID",
		Short: "List the people who may use an application",
		Args:  arguments("CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			err := as.check()
			if err != nil {
				return err
			}
			return p.withApplication(c.Context(), args[0], func(o *opened, a storage.Application) error {
				var list []listView
				err := eachUser(c.Context(), o, a, func(u storage.User) {
					list = append(list, listView{u.Username, a.ClientID, a.Name})
				})
				if err != nil {
					return err
				}
				return p.writeList(list, as)
			})
		},
	}
	as.flags(c)
	return c
}

// eachUser calls a function for each person who may use an application.
func eachUser(ctx context.Context, o *opened, a storage.Application, use func(storage.User)) error {
	const batch = 1000
	for after := int64(0); ; {
		found, err := o.provider.Access.UsersOf(ctx, a, after, batch)
		for _, u := range found {
			use(u)
			after = u.Number
		}
		if err != nil || len(found) < batch {
			return err
		}
	}
}

func (p *program) accessApplicationsCommand() *cobra.Command {
	var as listForm
	c := &cobra.Command{
		Use:   "applications USERNAME",
		Short: "List the applications that a person may use",
		Args:  arguments("USERNAME"),
		RunE: func(c *cobra.Command, args []string) error {
			err := as.check()
			if err != nil {
				return err
			}
			return p.withUser(c.Context(), args[0], func(o *opened, u storage.User) error {
				found, err := o.provider.Access.UsableBy(c.Context(), u.ID)
				if err != nil {
					return err
				}
				var list []listView
				for _, a := range found {
					list = append(list, listView{u.Username, a.ClientID, a.Name})
				}
				return p.writeList(list, as)
			})
		},
	}
	as.flags(c)
	return c
}
