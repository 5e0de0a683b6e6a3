package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"mandate/cmd/mandate/config"
	"mandate/storage"
)

func (p *program) migrateCommand() *cobra.Command {
	var plan bool
	c := &cobra.Command{Use: "migrate", Short: "Update the database schema", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.migrate(c.Context(), plan)
		}}
	c.Flags().BoolVar(&plan, "plan", false, "only list the migrations that would be applied")
	return c
}

func (p *program) migrate(ctx context.Context, plan bool) error {
	settings, err := config.Load(p.config, p.environ)
	if err != nil {
		return err
	}
	store, err := openStore(ctx, settings, toMigrate)
	if err != nil {
		return err
	}
	defer store.Close()
	work, heading := store.Migrate, "Applied"
	if plan {
		work, heading = store.Pending, "To be applied"
	}
	steps, err := work(ctx)
	p.list(heading, steps) // some may be applied although a later one failed
	if err == nil && len(steps) == 0 {
		_, err = fmt.Fprintln(p.stdout, "The schema is up to date.")
	}
	return err
}

func (p *program) list(heading string, steps []storage.Migration) {
	for _, step := range steps {
		fmt.Fprintf(p.stdout, "%s: %s\n", heading, step.Name)
		for _, note := range step.Notes {
			fmt.Fprintf(p.stdout, "Look at this: %s.\n", note)
		}
	}
}
