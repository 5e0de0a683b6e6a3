package command

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"mandate/app"
	"mandate/app/config"
	"mandate/storage"
)

func (p *program) migrateCommand() *cobra.Command {
	var plan bool
	c := &cobra.Command{Use: "migrate", Short: "Update the database schema", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			return p.migrate(c.Context(), plan)
		}}
	c.Flags().BoolVar(&plan, "plan", false, "only list the migrations that would be applied")
	return p.withJSON(c)
}

// migrationView is a migration as JSON.
type migrationView struct {
	Name  string   `json:"name"`
	Notes []string `json:"notes"` // what the operator has to do afterwards
}

func (p *program) migrate(ctx context.Context, plan bool) error {
	settings, err := config.Load(p.config, p.Environ)
	if err != nil {
		return err
	}
	store, err := app.OpenStore(ctx, settings, app.ToMigrate)
	if err != nil {
		return err
	}
	defer store.Close()
	work, heading, member := store.Migrate, "Applied", "applied"
	if plan {
		work, heading, member = store.Pending, "To be applied", "pending"
	}
	steps, err := work(ctx)
	if err != nil && len(steps) == 0 {
		return err
	}
	return errors.Join(p.list(heading, member, steps), err) // some may be applied although a later one failed
}

func (p *program) list(heading, member string, steps []storage.Migration) error {
	views, text := []migrationView{}, ""
	for _, step := range steps {
		views = append(views, migrationView{step.Name, append([]string{}, step.Notes...)})
		text += heading + ": " + step.Name + "\n"
		for _, note := range step.Notes {
			text += "Look at this: " + note + ".\n"
		}
	}
	if text == "" {
		text = "The schema is up to date.\n"
	}
	return p.done(map[string][]migrationView{member: views}, "%s", text)
}
