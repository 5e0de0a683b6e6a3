package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"
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
	o, err := p.open(ctx, toUse)
	if err != nil {
		return err
	}
	defer o.store.Close()
	err = o.provider.People.AddGroup(ctx, name)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(p.stdout, groupView{Name: name})
	}
	_, err = fmt.Fprintf(p.stdout, "Added the group %s.\n", name)
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
	o, err := p.open(ctx, toUse)
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
		return writeJSON(p.stdout, views)
	}
	return writeTable(p.stdout, rows)
}

func (p *program) groupDeleteCommand() *cobra.Command {
	return &cobra.Command{Use: "delete NAME", Short: "Delete a group; its members stay", Args: arguments("NAME"),
		RunE: func(c *cobra.Command, args []string) error {
			o, err := p.open(c.Context(), toUse)
			if err != nil {
				return err
			}
			defer o.store.Close()
			err = o.provider.People.DeleteGroup(c.Context(), args[0])
			if err != nil {
				return missing(err, "group", args[0], "group list")
			}
			_, err = fmt.Fprintf(p.stdout, "Deleted the group %s.\n", args[0])
			return err
		}}
}
