package command

import (
	"context"
	"encoding/csv"
	"strings"

	"github.com/spf13/cobra"

	"mandate/provider"
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
	Scopes     []string        `json:"scopes"` // the most that the application can get
	Claims     []expectedView  `json:"claims"`
}

// expectedView is a claim that the application would read.
type expectedView struct {
	Place  string `json:"place"`
	Name   string `json:"name"`
	Value  any    `json:"value"`
	Reason string `json:"reason"`
}

type conditionView struct {
	Condition string   `json:"condition"`
	Met       bool     `json:"met"`
	Names     []string `json:"names"`
	Reason    string   `json:"reason,omitempty"`
}

func viewVerdict(v provider.Outcome) verdictView {
	view := verdictView{Username: v.Person.Username, ClientID: v.Application.ClientID, Name: v.Application.Name,
		Allowed: v.Allowed(), Scopes: append([]string{}, v.Scopes...), Claims: []expectedView{}}
	for _, c := range v.Claims {
		view.Claims = append(view.Claims, expectedView(c))
	}
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
		Short: "Say what would happen if a person used an application: each condition, the scopes and the claims",
		Args:  arguments("USERNAME", "CLIENT_ID"),
		RunE: func(c *cobra.Command, args []string) error {
			return p.withApplication(c.Context(), args[1], func(o *opened, a storage.Application) error {
				u, err := o.provider.People.UserByName(c.Context(), args[0])
				if err != nil {
					return missing(err, "person", args[0], "user list")
				}
				v, err := o.provider.WhatWouldHappen(c.Context(), a, u)
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

func (p *program) showVerdict(v provider.Outcome, asJSON bool) error {
	view := viewVerdict(v)
	if asJSON {
		return writeJSON(p.Stdout, view)
	}
	rows := [][]string{{"person", view.Username}, {"application", view.Name}, {"allowed", yes(view.Allowed)}, {"", ""},
		{"CONDITION", "MET", "NAMES"}}
	for _, c := range v.Conditions {
		names := strings.Join(c.Names, ", ")
		if c.Reason != "" {
			names = c.Reason
		}
		rows = append(rows, []string{c.Meaning(), yes(c.Met), dash(names)})
	}
	if len(v.Scopes) > 0 {
		rows = append(rows, []string{"", ""}, []string{"scopes", strings.Join(v.Scopes, " ")}, []string{"", ""},
			[]string{"CLAIM", "WHERE", "VALUE", "FROM"})
	}
	for _, c := range v.Claims {
		rows = append(rows, []string{c.Name, c.Place, c.Text(), c.Reason})
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
	return p.accessListCommand("people", "CLIENT_ID", "List the people who may use an application",
		func(ctx context.Context, id string, add func(storage.User, storage.Application) error) error {
			return p.withApplication(ctx, id, func(o *opened, a storage.Application) error {
				return o.provider.Access.EachUser(ctx, a, func(u storage.User) error { return add(u, a) })
			})
		})
}

func (p *program) accessApplicationsCommand() *cobra.Command {
	return p.accessListCommand("applications", "USERNAME", "List the applications that a person may use",
		func(ctx context.Context, name string, add func(storage.User, storage.Application) error) error {
			return p.withUser(ctx, name, func(o *opened, u storage.User) error {
				return o.provider.Access.EachUsable(ctx, u.ID, func(a storage.Application) error { return add(u, a) })
			})
		})
}

// accessListCommand makes a command that lists who may use what. each calls its last argument with each row.
func (p *program) accessListCommand(
	use, argument, short string,
	each func(context.Context, string, func(storage.User, storage.Application) error) error,
) *cobra.Command {
	var as listForm
	c := &cobra.Command{
		Use:   use + " " + argument,
		Short: short,
		Args:  arguments(argument),
		RunE: func(c *cobra.Command, args []string) error {
			err := as.check()
			if err != nil {
				return err
			}
			var list []listView
			err = each(c.Context(), args[0], func(u storage.User, a storage.Application) error {
				list = append(list, listView{u.Username, a.ClientID, a.Name})
				return nil
			})
			if err != nil {
				return err
			}
			return p.writeList(list, as)
		},
	}
	as.flags(c)
	return c
}
